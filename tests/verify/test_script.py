"""Scripts in lockstep: hand-written pairs that compute the same, and planted faults, each of which must be named."""

import re

import pytest

from chainer2torch.verify import worker_process
from chainer2torch.verify.script.verify_script import verify_script
from chainer2torch.verify.worker_process import DeviceError
from tests.support import chainer_once

CHAINER = """
import sys
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np


class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__()
        with self.init_scope():
            self.l1 = L.Linear(None, 8)
            self.bn = L.BatchNormalization(8)
            self.l2 = L.Linear(8, 3)

    def __call__(self, x):
        return self.l2(F.dropout(F.relu(self.bn(self.l1(x))), 0.4))


def main():
    rng = np.random.RandomState(3)
    x, t = rng.rand(30, 5).astype("f"), rng.randint(0, 3, 30).astype("i")
    it = chainer.iterators.SerialIterator(chainer.datasets.TupleDataset(x, t), 7)
    model = Net()
    optimizer = chainer.optimizers.SGD(0.1)
    optimizer.setup(model)
    for i in range(int(sys.argv[1])):
        x, t = chainer.dataset.concat_examples(it.next())
        noise = np.random.rand(*x.shape).astype("f")
        loss = F.softmax_cross_entropy(model(x + 0.1 * noise), t)
        model.cleargrads()
        loss.backward()
        optimizer.update()
    chainer.serializers.save_npz("model.npz", model)


if __name__ == "__main__":
    main()
"""
TORCH = """
import sys
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.l1 = nn.LazyLinear(8)
        self.bn = nn.BatchNorm1d(8, eps=2e-5)
        self.l2 = nn.Linear(8, 3)

    def forward(self, x):
        return self.l2(F.dropout(F.relu(self.bn(self.l1(x))), 0.4, training=self.training))


def batches(n, size):
    order, at = np.random.permutation(n), 0
    while True:
        batch, at = order[at:at + size], at + size
        if at >= n:
            order, at = np.random.permutation(n), at - n
            batch = np.concatenate([batch, order[:at]])
        yield batch


def main():
    rng = np.random.RandomState(3)
    x, t = rng.rand(30, 5).astype("f"), rng.randint(0, 3, 30).astype("i")
    it = batches(30, 7)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for i in range(int(sys.argv[1])):
        batch = next(it)
        noise = torch.from_numpy(np.random.rand(len(batch), 5).astype("f"))
        loss = F.cross_entropy(model(torch.from_numpy(x[batch]) + 0.1 * noise), torch.from_numpy(t[batch]).long())
        model.zero_grad()
        loss.backward()
        optimizer.step()
    torch.save(model.state_dict(), "model.pt")


if __name__ == "__main__":
    main()
"""


def _verify(tmp_path, chainer, torch, *args, **options):
    for name, text in (("src", chainer), ("out", torch)):
        (tmp_path / name / "sub").mkdir(parents=True)
        (tmp_path / name / "sub" / "train.py").write_text(text)
    return verify_script(tmp_path / "src", tmp_path / "out", ["sub/train.py", *args], timeout=100, **options)


def _text(report):
    return "\n".join(report.lines())


def test_a_loop_in_lockstep(tmp_path):
    report = _verify(tmp_path, CHAINER, TORCH, "12")
    assert report.exit_code == 0, _text(report)
    assert report.iterations == 12
    assert len([step for step in report.steps if step.name == "loss"]) == 12
    assert report.unverified == ["model.npz: written by Chainer only", "model.pt: written by PyTorch only"]
    assert "EQUAL: 12 values" in _text(report) and "seed 0" in _text(report) and "rtol 0.0001" in _text(report)
    assert not (tmp_path / "src" / "model.npz").exists(), "the script runs in a copy"


def test_what_a_script_computes_from_initial_weights_is_equal(tmp_path):
    """Masks that are drawn from the weights before the first forward: both sides have the same weights by then."""
    before = ("    optimizer.setup(model)\n", "    mask = (abs(model.l2.W.array) > 0.2).astype('f')\n")
    chainer = CHAINER.replace(before[0], "".join(before)).replace("model(x + ", "(1 + mask.mean()) * model(x + ")
    torch = TORCH.replace(
        "model.parameters(), 0.1)\n",
        "model.parameters(), 0.1)\n    mask = (abs(model.l2.weight.detach()) > 0.2).float()\n",
    )
    torch = torch.replace("model(torch.from_numpy(x[batch])", "(1 + mask.mean()) * model(torch.from_numpy(x[batch])")
    report = _verify(tmp_path, chainer, torch, "3")
    assert report.exit_code == 0, _text(report)
    assert "mask.mean()) * model" in chainer and "mask.mean()) * model" in torch


def test_it_stops_after_the_iterations_asked_for(tmp_path):
    report = _verify(tmp_path, CHAINER, TORCH, "1000000", iterations=4)
    assert (report.exit_code, report.iterations) == (0, 4), _text(report)


FAULTS = {
    "eps": ("eps=2e-5", "eps=1e-3"),
    "train mode": ("training=self.training", "training=False"),
    "an unused parameter": (
        "torch.optim.SGD(model.parameters(), 0.1)",
        "torch.optim.SGD([{'params': model.l1.parameters()}, {'params': model.bn.parameters()},"
        " {'params': model.l2.weight}], 0.1)",
    ),
    "order": ("order, at = np.random.permutation(n), 0", "order, at = np.arange(n), 0"),
    "fewer updates": ("int(sys.argv[1])", "int(sys.argv[1]) - 1"),
    "no weights to load": ("self.l2 = nn.Linear(8, 3)", "self.output = nn.Linear(8, 3); self.l2 = self.output"),
    "crash": ("loss.backward()", "undefined_name"),
}


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    """The same original under Chainer is run once."""
    return chainer_once.cached(tmp_path_factory.mktemp("chainer"))


@pytest.mark.parametrize("name", FAULTS)
def test_planted_faults(tmp_path, name, once, monkeypatch):
    before, after = FAULTS[name]
    assert before in TORCH
    monkeypatch.setattr(worker_process, "run_worker", once)
    report = _verify(tmp_path, CHAINER, TORCH.replace(before, after), "8", float64=False)
    assert report.exit_code == 1
    text = _text(report)
    assert "DIFFERENT: first at iteration" in text or "ERROR: " in text


def test_the_first_difference_is_named(tmp_path, once, monkeypatch):
    monkeypatch.setattr(worker_process, "run_worker", once)
    late = TORCH.replace("loss.backward()", "loss = loss * (1.01 if i == 5 else 1)\n        loss.backward()")
    report = _verify(tmp_path, CHAINER, late, "8", float64=False)
    assert "DIFFERENT: first at iteration 6, loss" in _text(report)


def test_float64_tells_rounding_from_meaning(tmp_path, once, monkeypatch):
    monkeypatch.setattr(worker_process, "run_worker", once)
    before = "F.softmax_cross_entropy(model(x + 0.1 * noise), t)"
    assert before in CHAINER
    rounded = CHAINER.replace(before, "F.softmax_cross_entropy((model(x + 0.1 * noise) + 3e4) - 3e4, t)")
    report = _verify(tmp_path / "rounding", rounded, TORCH, "4")
    assert report.exit_code == 0, _text(report)
    assert "DIFFERENT: first at iteration" in _text(report) and "EQUAL in float64: 4 values" in _text(report)
    # it is Chainer's version that rounds here, and the report says so
    rounding = re.search(r"from Chainer's float64: Chainer (\S+), PyTorch (\S+)", _text(report))
    assert float(rounding[1]) > 1e-4 and float(rounding[2]) < 1e-5
    report = _verify(tmp_path / "meaning", rounded, TORCH.replace("0.1)", "0.1001)"), "4")
    assert report.exit_code == 1
    assert "the difference is one of meaning" in _text(report)


def test_a_script_without_updates_is_a_failure(tmp_path):
    report = _verify(tmp_path, "import chainer\n", "import torch\n")
    assert report.exit_code == 1
    assert "nothing was compared" in _text(report)


def test_dead_and_hanging_workers(tmp_path):
    report = _verify(tmp_path, "import os\nprint('last words', flush=True)\nos._exit(3)\n", "x = 1\n")
    assert report.exit_code == 1
    assert "Chainer worker ended with exit status 3" in _text(report) and "last words" in _text(report)


def test_a_hanging_worker_is_ended(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text("import time\nprint('waiting', flush=True)\ntime.sleep(60)\n")
    report = verify_script(tmp_path / "src", tmp_path / "src", ["train.py"], timeout=9)
    assert "the Chainer worker was ended after 9 s (--timeout)" in _text(report) and "waiting" in _text(report)


def test_what_is_missing_is_said(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"train\.py: no such script"):
        verify_script(tmp_path, tmp_path, ["train.py"])
    with pytest.raises(DeviceError, match="it is cpu or cuda"):
        verify_script(tmp_path, tmp_path, ["train.py"], device="tpu")


GAN_CHAINER = """
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import training
from chainer.training import extensions


class Updater(training.StandardUpdater):
    def __init__(self, *args, **kwargs):
        self.gen, self.dis = kwargs.pop("models")
        super(Updater, self).__init__(*args, **kwargs)

    def update_core(self):
        gen_opt, dis_opt = self.get_optimizer("gen"), self.get_optimizer("dis")
        real = self.converter(self.get_iterator("main").next(), self.device)
        z = chainer.Variable(np.random.uniform(-1, 1, (len(real), 4)).astype("f"))
        fake = self.gen(z)
        loss_dis = F.sum(F.softplus(-self.dis(real))) + F.sum(F.softplus(self.dis(fake)))
        loss_gen = F.sum(F.softplus(-self.dis(fake)))
        self.gen.cleargrads()
        loss_gen.backward()
        gen_opt.update()
        self.dis.cleargrads()
        loss_dis.backward()
        dis_opt.update()
        chainer.report({"loss": loss_gen}, self.gen)
        chainer.report({"loss": loss_dis}, self.dis)


gen, dis = L.Linear(4, 6), L.Linear(6, 1)
opts = {}
for name, model in (("gen", gen), ("dis", dis)):
    opts[name] = chainer.optimizers.SGD(0.01)
    opts[name].setup(model)
data = np.random.RandomState(0).rand(20, 6).astype("f")
it = chainer.iterators.SerialIterator(data, 5)
updater = Updater(it, opts, models=(gen, dis))
trainer = training.Trainer(updater, (2, "epoch"), out="result")
trainer.extend(extensions.LogReport(trigger=(1, "epoch")))
trainer.run()
"""


GAN_TORCH = """
import json
import os
import numpy as np
import pytorch_pfn_extras as ppe
import torch
import torch.nn as nn
import torch.nn.functional as F

gen, dis = nn.Linear(4, 6), nn.Linear(6, 1)
gen_opt, dis_opt = torch.optim.SGD(gen.parameters(), 0.01), torch.optim.SGD(dis.parameters(), 0.01)
data = np.random.RandomState(0).rand(20, 6).astype("f")
reporter = ppe.reporting.Reporter()
reporter.add_observer("gen", gen)
reporter.add_observer("dis", dis)
order = np.random.permutation(20)
entries = []
with reporter:
    for i in range(8):
        at = i % 4 * 5
        real = torch.from_numpy(data[order[at:at + 5]])
        if at == 15:
            order = np.random.permutation(20)
        fake = gen(torch.from_numpy(np.random.uniform(-1, 1, (5, 4)).astype("f")))
        loss_dis = F.softplus(-dis(real)).sum() + F.softplus(dis(fake)).sum()
        loss_gen = F.softplus(-dis(fake)).sum()
        gen.zero_grad()
        loss_gen.backward(retain_graph=True)
        gen_opt.step()
        dis.zero_grad()
        loss_dis.backward()
        dis_opt.step()
        ppe.reporting.report({"loss": loss_gen}, gen)
        ppe.reporting.report({"loss": loss_dis}, dis)
        if at == 0:
            entries.append({"gen/loss": 0, "dis/loss": 0, "epoch": len(entries) + 1, "elapsed_time": 0})
        entries[-1].update({"iteration": i + 1, "gen/loss": entries[-1]["gen/loss"] + loss_gen.item() / 4,
                            "dis/loss": entries[-1]["dis/loss"] + loss_dis.item() / 4})
os.makedirs("result")
with open("result/log", "w") as stream:
    json.dump(entries, stream)
"""


def test_a_trainer_with_two_optimizers_and_a_log(tmp_path):
    """A custom updater under a Trainer against a loop written by hand: two models, two losses, reported values."""
    report = _verify(tmp_path, GAN_CHAINER, GAN_TORCH)
    assert report.exit_code == 0, _text(report)
    assert {step.optimizer for step in report.steps} == {0, 1}
    names = {step.name for step in report.steps}
    assert {"gen/loss", "dis/loss", "log result/log: gen/loss", "log result/log: epoch"} <= names
    assert not any("elapsed_time" in name for name in names)


LOGS = {
    "a key less": ('"iteration": i + 1, ', "", "result/log: entry 0 has the keys"),
    "an entry less": ("json.dump(entries, ", "json.dump(entries[:1], ", "result/log: 2 entries under Chainer, 1 under"),
    "a value of the second entry": (
        "loss_gen.item() / 4",
        "loss_gen.item() / (4 if i < 4 else 4.01)",
        "DIFFERENT: first at iteration 8, log result/log: gen/loss",
    ),
    "no log": ('"result/log"', '"result/report"', "result/log: written by Chainer only"),
}


@pytest.mark.parametrize("name", LOGS)
def test_a_trainer_with_another_log_is_a_failure(tmp_path, name, once, monkeypatch):
    monkeypatch.setattr(worker_process, "run_worker", once)
    before, after, said = LOGS[name]
    assert before in GAN_TORCH
    report = _verify(tmp_path, GAN_CHAINER, GAN_TORCH.replace(before, after), float64=False)
    assert report.exit_code == 1
    assert said in _text(report)
