"""Updaters whose ``__init__`` calls that of no base and fills what Chainer's fills, run beside Chainer."""

import pytest

from chainer2torch.engine import Options, migrate_source
from tests.plan.native.test_handed_batches import UNKNOWN
from tests.plan.native.test_native_trainers import HEAD, compare
from tests.support.native_programs import both

PROGRAM = """\
from chainer.dataset import convert as convert_module
from chainer.dataset import iterator as iterator_module


class Updater(training.StandardUpdater):
    def __init__(self, {parameters}):
        {keeps}
        self.converter = convert_module.concat_examples
        {device}
        self.iteration = 0

    def update_core(self):
        batch = self._iterators['main'].next()
        x, t = self.converter(batch, self.where)
        {more}
        loss = F.softmax_cross_entropy(self.second(F.tanh(self.first(x))), t)
        self.first.cleargrads()
        self.second.cleargrads()
        loss.backward()
        self._optimizers['first'].update()
        self._optimizers['second'].update()
        chainer.report({{'sum': loss}})
        chainer.report({{'loss': loss}}, self.second)


def train(net, out):
    model = Model(net)
    first, second = net.l1, net.l2
    opt_first, opt_second = chainer.optimizers.SGD(0.2), chainer.optimizers.Adam()
    opt_first.setup(first)
    opt_second.setup(second)
    train_iter = chainer.iterators.SerialIterator(data(20, 0), 5)
    updater = {made}
    trainer = training.Trainer(updater, {stop}, out=out)
    trainer.extend(extensions.LogReport())
    trainer.extend(extensions.PrintReport(['epoch', 'iteration', 'sum', 'second/loss'], out=sys.stderr))
    {extend}
    trainer.run()
    return model
"""
OPTIMIZERS = "optimizers={'first': opt_first, 'second': opt_second}"
USUAL = {
    "parameters": "*args, **kwargs",
    "keeps": "self._iterators = kwargs.pop('iterators')\n        self.first, self.second = kwargs.pop('models')\n"
    "        self._optimizers = kwargs.pop('optimizers')",
    "device": "self.where = kwargs.pop('device')",
    "more": "",
    "made": "Updater(iterators={'main': train_iter}, models=(first, second), device=-1, " + OPTIMIZERS + ")",
    "stop": "(3, 'epoch')",
    "extend": "",
}
ONE_BY_ONE = {
    "parameters": "iterator, opt_a, opt_b, device=None",
    "keeps": "if isinstance(iterator, iterator_module.Iterator):\n            iterator = {'main': iterator}\n"
    "        self._iterators = iterator\n        self._optimizers = {'first': opt_a, 'second': opt_b}\n"
    "        self.first, self.second = opt_a.target, opt_b.target",
    "device": "self.where = device",
    "made": "Updater(train_iter, opt_first, opt_b=opt_second)",
}
TWO = {
    **ONE_BY_ONE,
    "parameters": "iterator_a, iterator_b, opt_a, opt_b, device=None",
    "keeps": "self._iterators = {'other': iterator_a, 'main': iterator_b}\n"
    "        self._optimizers = {'first': opt_a, 'second': opt_b}\n"
    "        self.first, self.second = opt_a.target, opt_b.target",
    "more": "x2, t2 = self.converter(self._iterators['other'].next(), self.where)\n"
    "        x, t = F.concat((x, x2), 0), F.concat((t, t2), 0)",
    "made": "Updater(chainer.iterators.SerialIterator(data(15, 3), 5), train_iter, opt_first, opt_second, -1)",
}
DICTIONARY = {
    "parameters": "iterator, models, optimizers, device",
    "keeps": "self._iterators = {'main': iterator}\n        if not isinstance(optimizers, dict):\n"
    "            optimizers = {'main': optimizers}\n        self._optimizers = optimizers\n"
    "        self.first, self.second = models",
    "device": "self.where = device",
    "made": "Updater(train_iter, (first, second), device=-1, " + OPTIMIZERS + ")",
}
ASKED = {"more": "x = x * (1 + self.iteration % 3)"}
HANDED = {
    "keyword arguments": {},
    "one by one": ONE_BY_ONE,
    "two iterators": TWO,
    "a dictionary, if it is one": DICTIONARY,
    "its own count": ASKED,
    "its own count, with what is not understood": {**ASKED, "extend": UNKNOWN, "stop": "(11, 'iteration')"},
    "one by one, with what is not understood": {**ONE_BY_ONE, "extend": UNKNOWN},
}


@pytest.mark.parametrize("name", HANDED)
@pytest.mark.parametrize("trainer", ["ppe", "ignite"])
def test_log_table_and_parameters_are_the_same(name, trainer, tmp_path):
    theirs, ours, code = both(PROGRAM.format(**{**USUAL, **HANDED[name]}), head=HEAD, trainer=trainer)
    assert "BatchUpdater):" in code and "updater.update_core(batch)" in code and "self.iteration = 0" not in code, code
    assert ("Late" in code) == ("extend" in HANDED[name]) and "Batches" not in code and ".next()" not in code, code
    compare(theirs, ours, code, tmp_path)


@pytest.mark.parametrize("given", [{}, ONE_BY_ONE, ASKED], ids=["keyword arguments", "one by one", "its own count"])
def test_where_the_trainer_stays_its_updater_draws_of_what_it_has_filled_in(given):
    """A Trainer of Chainer's form hands nobody a batch, and a loader in such a dictionary has no ``next()``."""
    stops = "trainer.stop_trigger = training.trigger.get_trigger((11, 'iteration'))"
    source = HEAD + PROGRAM.format(**{**USUAL, **given, "extend": stops})
    code = migrate_source(source, options=Options(style="native")).code
    assert "compat.Trainer(" in code and "train_iter = compat.Batches(" in code and "update_core(self):" in code, code


KEPT = {
    "another beginning": {"device": "self.where = kwargs.pop('device')\n        self.iteration = 4"},
    "a count of its own": {"more": "self.iteration += 1"},
    "asked at once": {"device": "self.where = kwargs.pop('device')\n        self.start = self.iteration = 0"},
}


@pytest.mark.parametrize("name", KEPT)
def test_a_class_that_counts_otherwise_draws_its_batches(name):
    source = HEAD + PROGRAM.format(**{**USUAL, **KEPT[name]})
    code = migrate_source(source, options=Options(style="native")).code
    assert "BatchUpdater" not in code and "self.iteration = 0" in code and "update_core(self):" in code, code


def test_a_draw_in_a_loop_of_the_programs_own_is_another_reader():
    source = HEAD + PROGRAM.format(**{**USUAL, "extend": "batch = train_iter.next()"})
    code = migrate_source(source, options=Options(style="native")).code
    assert "train_iter = DataLoader(" not in code, code
