"""``patients`` is the older name of ``patience``: the trigger is that of pytorch-pfn-extras."""

import pytest

from tests.support import native_programs

PROGRAM = """
from chainer import training
from chainer.training import extensions


def train(model):
    data = [(np.array([i, 1, 0], 'f'), i % 2) for i in range(6)]
    optimizer = optimizers.SGD(0.1)
    optimizer.setup(model)
    updater = training.StandardUpdater(iterators.SerialIterator(data, 2), optimizer, device=-1, loss_func=lambda x, t: (
        F.softmax_cross_entropy(model(x), t)))
    stop = training.triggers.EarlyStoppingTrigger(
        (1, 'iteration'), 'v', {given}, max_trigger=(9, 'epoch'))
    trainer = training.Trainer(updater, stop, out='.')
    steps = []
    trainer.extend(extensions.observe_value('v', lambda t: 1), trigger=(1, 'iteration'))
    trainer.extend(lambda t: steps.append(1), name='count', trigger=(1, 'iteration'))
    trainer.run()
    return [len(steps)]
"""


@pytest.mark.parametrize("given", ["patients=2", "patience=2", "patients=4"])
def test_it_stops_as_chainers_does(given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = native_programs.check(PROGRAM.replace("{given}", given))
    assert "patience=" in code and "patients" not in code and " triggers.EarlyStoppingTrigger(" in code
    assert "compat.EarlyStoppingTrigger" not in code


@pytest.mark.parametrize("given", ["patients=None", "patience=None, patients=2"])
def test_where_it_may_be_none_the_helper_decides(given):
    code = native_programs.migrated(PROGRAM.replace("{given}", given)).code
    assert "compat.EarlyStoppingTrigger(" in code
