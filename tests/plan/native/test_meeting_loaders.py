"""An updater that draws from two iterators: a short batch of one loader must not meet a whole one of the other."""

import sys
from unittest import mock

import chainer
import numpy as np
import pytest
from chainer.iterators import SerialIterator

from chainer2torch.engine import Options, migrate_source
from chainer2torch.verify.worker import batch_order
from tests.support.native_programs import helpers

PROGRAM = """
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import training


class Updater(training.StandardUpdater):
    def update_core(self):
        optimizer = self.get_optimizer('main')
        x = self.converter(self.get_iterator('main').next())
        y = {other}
        loss = F.mean_squared_error(optimizer.target(x), optimizer.target(y))
        optimizer.target.cleargrads()
        loss.backward()
        optimizer.update()


def train():
    model = L.Linear(3, 2)
    optimizer = chainer.optimizers.SGD(0.1)
    optimizer.setup(model)
    xs = [np.full(3, i, 'f') for i in range(10)]
    main = chainer.iterators.SerialIterator(xs, 4)
    second = chainer.iterators.SerialIterator(xs[:7], 4)
    trainer = training.Trainer(Updater({iterators}, optimizer), (6, 'iteration'), out='out')
    trainer.run()
"""
SECOND = "self.converter(self.get_iterator('second').next())"


def written(other, iterators):
    return PROGRAM.replace("{other}", other).replace("{iterators}", iterators)


MAKING = """    def __init__(self, main, second, optimizer):
        both = {'main': main, 'second': second}
        super().__init__(both, optimizer)

    def update_core"""


@pytest.mark.parametrize(
    "iterators", ["{'main': main, 'second': second}", "dict(main=main, second=second)", "main, second"]
)
def test_loaders_whose_batches_meet_leave_the_short_one_out(iterators, tmp_path, monkeypatch):
    source = written(SECOND, iterators)
    if iterators == "main, second":
        source = source.replace("    def update_core", MAKING)
    result = migrate_source(source, options=Options(style="native"))
    assert result.code.count("drop_last=True") == 2, result.code
    monkeypatch.chdir(tmp_path)
    space = {}
    with mock.patch.dict(sys.modules, chainer_compat=helpers(result)):
        exec(result.code, space)
        space["train"]()  # a batch of 2 examples beside one of 4 would raise


@pytest.mark.parametrize(
    ("other", "iterators"), [("x", "{'main': main, 'second': second}"), (SECOND, "{'main': main}"), ("x", "main")]
)
def test_others_keep_it(other, iterators):
    result = migrate_source(written(other, iterators), options=Options(style="native"))
    assert "DataLoader(" in result.code and "drop_last" not in result.code


def test_chainers_iterators_do_the_same_in_a_comparison():
    model = chainer.links.Linear(3, 1)
    optimizer = chainer.optimizers.SGD().setup(model)
    with batch_order.chainer_loads(0, whole=True):
        alone = SerialIterator([1, 2, 3, 4, 5], 2)
        chainer.training.StandardUpdater(alone, optimizer)
        given = {"main": SerialIterator([1, 2, 3, 4, 5], 2), "other": SerialIterator([1, 2, 3], 2, repeat=False)}
        chainer.training.StandardUpdater(given, optimizer)
        assert [len(alone.next()) for _ in range(3)] == [2, 2, 1]
        assert [len(given["main"].next()) for _ in range(4)] == [2] * 4 and given["main"].epoch == 2
        assert [len(batch) for batch in given["other"]] == [2, 1]
    assert len(np.unique([len(alone.next()) for _ in range(4)])) == 1
