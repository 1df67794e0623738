"""Updaters of one's own that keep Chainer's form: those that say all of a step have a base without one."""

import pytest

from tests.plan.native.test_lent_optimizers import DISPLAYED
from tests.support.native_programs import check, migrated

OPTIONS = "options = {'optimizer': opts, 'iterator': iterators.SerialIterator(data, 8, shuffle=False)"


def test_one_that_makes_its_step_itself():
    code = check(DISPLAYED, rtol=1e-4)
    assert "class Two(compat.Updater)" in code


def test_one_whose_models_go_to_a_device():
    code = check(DISPLAYED.replace(OPTIONS, OPTIONS + ", 'device': -1"), rtol=1e-4)
    assert "class Two(compat.Updater)" in code


MORE = {
    "the step of the base": (
        "second.update()\n",
        "second.update()\n        super().update_core() if x is None else 0\n",
    ),
    "an option": (OPTIONS, OPTIONS + ", 'loss_func': None"),
    "a question for the class": (
        "trainer.run()\n",
        "trainer.run()\n    assert isinstance(updater, training.updaters.StandardUpdater)\n",
    ),
    "many arguments": (
        "updater = Two(**options)",
        "updater = Two(options['iterator'], opts, chainer.dataset.concat_examples, None, None)",
    ),
}


@pytest.mark.parametrize(("old", "new"), MORE.values(), ids=MORE)
def test_one_that_is_asked_for_more_keeps_its_base(old, new):
    assert DISPLAYED.replace(old, new) != DISPLAYED
    assert "class Two(compat.StandardUpdater)" in check(DISPLAYED.replace(old, new), rtol=1e-4)


def test_one_without_a_step_keeps_its_base():
    text = DISPLAYED.replace("def update_core(self):", "def another(self):")
    assert "class Two(compat.StandardUpdater)" in migrated(text).code
