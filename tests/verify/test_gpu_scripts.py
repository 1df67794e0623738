"""A script that cannot do without a GPU is compared where there is none: on the CPU, on both sides."""

import pytest
import torch

from chainer2torch.verify.script.verify_script import verify_script
from chainer2torch.verify.worker import torch_host
from tests.support import model_batch

TRAINER = """
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import cuda, training
from chainer.training import extensions


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(5, 8)
            self.l2 = L.Linear(8, 3)

    def forward(self, x):
        xp = cuda.cupy
        noise = xp.random.normal(0, 0.1, x.shape).astype(np.float32)
        return self.l2(F.tanh(self.l1(x + noise)))


def main():
    cuda.get_device_from_id(0).use()
    rng = np.random.RandomState(3)
    data = chainer.datasets.TupleDataset(rng.rand(30, 5).astype('f'), rng.randint(0, 3, 30).astype('i'))
    model = L.Classifier(Net())
    model.to_gpu()
    optimizer = chainer.optimizers.Adam()
    optimizer.setup(model)
    iterator = chainer.iterators.SerialIterator(data, 10)
    updater = training.StandardUpdater(iterator, optimizer, device=0)
    trainer = training.Trainer(updater, (2, 'epoch'))
    trainer.extend(extensions.LogReport())
    trainer.run()


if __name__ == '__main__':
    main()
"""
LOOP = TRAINER.replace("updater = training.StandardUpdater(iterator, optimizer, device=0)", "LOOP")
LOOP = (
    LOOP[: LOOP.index("    LOOP")]
    + """    for _ in range(6):
        x, t = chainer.dataset.concat_examples(iterator.next(), 0)
        optimizer.update(model, cuda.to_gpu(x), chainer.Variable(t))
        print(cuda.to_cpu(model.loss.array))


if __name__ == '__main__':
    main()
"""
)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize("text", [TRAINER, LOOP], ids=["trainer", "loop"])
def test_it_is_equal_and_the_report_says_where_it_ran(tmp_path, text):
    (tmp_path / "src").mkdir()
    (tmp_path / "src/train.py").write_text(text)
    model_batch.migrated_tree(tmp_path / "src", tmp_path / "out")
    assert "cuda" in (tmp_path / "out/train.py").read_text()
    report = verify_script(tmp_path / "src", tmp_path / "out", ["train.py"], timeout=100)
    assert report.ok and report.iterations == 6, "\n".join(report.lines())
    assert report.facts["device"] == "cpu, as the GPU that the script asks for"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_what_programs_ask_of_cuda_is_on_the_host():
    own = torch.cuda.device
    with torch_host.gpu_on_host():
        torch.cuda.init()
        torch.cuda.synchronize()
        with torch.cuda.device(1):
            made = torch.zeros(2, device=torch.device("cuda", 1)).to(torch.device("cuda:1")).cuda(0)
        assert made.device == torch.device("cpu") and torch.cuda.current_device() == 0
    assert torch.cuda.device is own and torch.device("cuda", 1).index == 1


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_what_stands_for_cuda_is_no_function_twice():
    """Torch's compiler, which pytorch-pfn-extras loads, keeps a rule for each function, and stopped at one with two."""
    from torch._dynamo import trace_rules

    with torch_host.gpu_on_host():
        assert trace_rules.get_torch_obj_rule_map.__wrapped__()
        names = set(vars(torch_host)["_HOST"])
        assert len({id(getattr(torch.cuda, name)) for name in names}) == len(names)
