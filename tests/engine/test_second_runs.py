"""A file that still names Chainer at a marked place is read by a second run as by the first one."""

import textwrap

import pytest

from chainer2torch.engine import migrate_source
from chainer2torch.rules.table import load_rules

RULES = {style: load_rules(style=style, lazy=True) for style in ("faithful", "native")}

HEAD = """\
import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L
from chainer import training
from chainer.training import extensions


def check(self, types):
    pass


F.SigmoidCrossEntropy.check_type_forward = check


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(3, 4)

    def __call__(self, x, t):
        return F.softmax_cross_entropy(self.l(x), t)


"""
PROGRAMS = {
    # what is made anew in each round, of a loader and for a device that all rounds have in common, shares no graph
    "a loader and a device": """
        def main(gpu, data, kind):
            model = L.Classifier(Net()) if kind else Net()
            optimizer = chainer.optimizers.Adam()
            optimizer.setup(model)
            it = chainer.iterators.SerialIterator(data, 3)
            updater = training.StandardUpdater(it, optimizer, device=gpu)
            trainer = training.Trainer(updater, (2, 'epoch'))
            trainer.extend(extensions.LogReport())
            trainer.run()
        """,
    "an updater that is saved": """
        def main(devices, data):
            optimizer = chainer.optimizers.Adam()
            optimizer.setup(Net())
            it = chainer.iterators.SerialIterator(data, 3)
            if len(devices) > 1:
                updater = training.updaters.MultiprocessParallelUpdater([it], optimizer, devices=devices)
            else:
                updater = training.StandardUpdater(it, optimizer, device=devices[0])
            while updater.iteration < 4:
                updater.update()
                chainer.serializers.save_npz('resume', updater)
        """,
    "a gradient that is given": """
        def main(values):
            x = chainer.Variable(values)
            y = F.tanh(x)
            data = y.data
            y.grad = np.ones_like(data)
            y.backward()
            print(x.grad[0])
        """,
}


@pytest.mark.parametrize("style", RULES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_second_run_changes_nothing(name, style):
    first = migrate_source(HEAD + textwrap.dedent(PROGRAMS[name]).lstrip(), rules=RULES[style]).code
    assert "TODO" in first and "retain" not in first
    assert migrate_source(first, rules=RULES[style]).code == first
