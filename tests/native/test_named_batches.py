"""Batches whose examples nobody knows: the project's own data sets say whether they go to the model by name."""

import sys
import types
from unittest import mock

import numpy as np
import pytest
import pytorch_pfn_extras  # noqa: F401 - its operators are registered once for a process

from chainer2torch.engine import migrate_source
from chainer2torch.rules.table import load_rules
from chainer2torch.vendor import compat_file

RULES = load_rules(style="native", lazy=True)
PROGRAM = """
import chainer
import chainer.links as L
from chainer import training
from chainer.training import extensions


class Data(chainer.dataset.DatasetMixin):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def get_example(self, i):
        return dict(x=self.rows[i][0], t=self.rows[i][1])


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(3, 2)

    def __call__(self, x, t):
        loss = chainer.functions.softmax_cross_entropy(self.l(x), t)
        chainer.report({'loss': loss}, self)
        return loss


def main(config, sets):
    model = Net()
    if config.gpu is not None:
        model.to_gpu(config.gpu)
    opt = chainer.optimizers.SGD()
    opt.setup(model)
    train_iter = chainer.iterators.SerialIterator(sets['train'], 4)
    test_iter = chainer.iterators.SerialIterator(sets['test'], 4, repeat=False, shuffle=False)
    updater = training.StandardUpdater(train_iter, opt, device=config.gpu)
    trainer = training.Trainer(updater, (2, 'epoch'))
    trainer.extend(extensions.Evaluator(test_iter, model, device=config.gpu))
    trainer.extend(extensions.LogReport())
    trainer.run()
"""
TUPLES = "return self.rows[i][0], self.rows[i][1]"
NAMED = "return dict(x=self.rows[i][0], t=self.rows[i][1])"


@pytest.mark.parametrize(
    ("example", "loop"), [(NAMED, "for batch in train_iter:"), (TUPLES, "for x, t in train_iter:")]
)
def test_the_loop_runs_without_a_gpu(example, loop, tmp_path, monkeypatch):
    """The number of the GPU is None then, which the program asks."""
    result = migrate_source(PROGRAM.replace(NAMED, example), rules=RULES)
    assert result.error is None and loop in result.code
    compat = types.ModuleType("chainer_compat")
    exec(compile(compat_file.build(result.helpers, style="native"), "<helpers>", "exec"), compat.__dict__)
    program: dict = {}
    monkeypatch.chdir(tmp_path)
    with mock.patch.dict(sys.modules, chainer_compat=compat):
        exec(compile(result.code, "<migrated>", "exec"), program)
        rows = [(np.ones(3, "f") * i, np.int32(i % 2)) for i in range(8)]
        sets = {name: program["Data"](rows) for name in ("train", "test")}
        program["main"](types.SimpleNamespace(gpu=None), sets)
    assert "validation/main/loss" in (tmp_path / "result" / "log").read_text()
