"""Trainers whose step stays an updater's: the manager and its loop beside Chainer, from the same weights.

Where Chainer fills the last batch of an epoch from the next one, an iterator that does the same has a fraction of
iterations in an epoch: what happens when is compared, too.
"""

import json
from types import SimpleNamespace

import chainer
import pytest
import pytorch_pfn_extras as ppe
import torch

from chainer2torch.engine import Options, migrate_source
from chainer2torch.native.iterators import SerialIterator
from chainer2torch.native.training import iterations_per_epoch
from tests.plan.native.test_native_trainers import HEAD, compare, run
from tests.support.native_programs import both, one_order

PROGRAM = """\
class Nested(Model):
    def forward(self, x, t):
        loss = super().forward(x, t)
        chainer.report({{'norm': F.sum(self.net.l1.W ** 2)}}, self.net.l1)
        return loss


class Twice(training.updaters.StandardUpdater):
    def update_core(self):
        batch = self.converter(self.get_iterator('main').next(), self.device)
        optimizer = self.get_optimizer('main')
        loss = optimizer.target(*batch)
        optimizer.update(lambda: loss)
        optimizer.update(lambda: loss)


{before}
def train(net, out):
    model = {model}
    optimizer = chainer.optimizers.{optimizer}
    optimizer.setup(model)
    train_iter = chainer.iterators.SerialIterator(data(20, 0), {batch}, shuffle=False)
    test_iter = chainer.iterators.SerialIterator(data(12, 1), 5, repeat=False, shuffle=False)
    if {batch} < 100:
        updater = {updater}(train_iter, optimizer)
    else:
        updater = {other}
    trainer = training.Trainer(updater, {stop}, out=out)
    gpu = int('-1')
    trainer.extend(extensions.Evaluator({evaluator}))
    trainer.extend(extensions.LogReport(trigger={log}))
    trainer.extend(extensions.PrintReport(['epoch', 'iteration', 'main/loss', 'validation/main/loss'], out=sys.stderr))
    {more}
    {run}
    return model
"""
USUAL = {
    "before": "",
    "model": "Model(net)",
    "optimizer": "Adam(0.01)",
    "batch": "5",
    "updater": "training.updaters.StandardUpdater",
    "other": "training.updaters.ParallelUpdater(train_iter, optimizer, devices={'main': -1})",
    "stop": "(3, 'epoch')",
    "log": "(1, 'epoch')",
    "evaluator": "test_iter, model",
    "more": "",
    "run": "trainer.run()",
}
SEES = "seen = []\n\n\n"
ASKS = """\
seen = []


def ask(trainer):
    updater = trainer.updater
    seen.append(updater.is_new_epoch)
    seen.append(len(updater.get_iterator('main').dataset))


"""
LAST = """\
seen = []


class Last(training.Extension):
    def __call__(self, trainer):
        seen.append(trainer.updater.iteration)

    def finalize(self):
        super().finalize()
        seen.append(type(self).__name__)


class Later(Last):
    def finalize(self):
        seen.append('later')
        super().finalize()


"""
OTHERS = """\
class Others(training.updaters.StandardUpdater):
    def __init__(self, iterator, optimizer):
        other = chainer.iterators.SerialIterator(data(10, 2), 5, shuffle=False)
        super().__init__({'main': iterator, 'other': other}, optimizer)

    def update_core(self):
        batch = next(self.get_iterator('main')) + next(self.get_iterator('other'))[:1]
        optimizer = self.get_optimizer('main')
        optimizer.update(optimizer.target, *self.converter(batch, self.device))


"""
NAMED = OTHERS.replace(
    "batch = next(self.get_iterator('main')) + next(self.get_iterator('other'))[:1]",
    "it, other = self.get_iterator('main'), self.get_iterator('other')\n        batch = it.next() + other.next()[:1]",
)
BORROWS = """\
seen = []


class Watches(training.Extension):
    def __init__(self, function):
        self.function = function

    def __call__(self, trainer):
        updater = trainer.updater
        seen.append((updater.epoch, updater.iteration, self.function(trainer.updater)))


def detail(updater):
    return '{:.5f}'.format(updater.epoch_detail)


"""
RUNS = "def go(trainer):\n    trainer.run()\n\n\n"
FILLED = """\
class Filled(training.updaters.StandardUpdater):
    def __init__(self, iterator, optimizer):
        {0}
        self.converter, self.iteration = chainer.dataset.concat_examples, 0

    def update_core(self):
        optimizer = self._optimizers['main']
        batch = self._iterators['main'].next()
        optimizer.update(optimizer.target, *self.converter(batch))


"""
FILLINGS = {
    "display": "self._iterators = {'main': iterator}\n        self._optimizers = {'main': optimizer}",
    "wrapped": "if isinstance(iterator, chainer.dataset.Iterator):\n            iterator = {'main': iterator}\n"
    "        self._iterators = iterator\n        if not isinstance(optimizer, dict):\n"
    "            optimizer = {'main': optimizer}\n        self._optimizers = optimizer",
    "call": "self._iterators = kwargs.pop('iterators')\n        self._optimizers = kwargs.pop('optimizers')",
}
MANY = """\
class Many(training.updaters.StandardUpdater):
    def __init__(self, *args, n=3):
        super().__init__(*args)
        self.n = n

    def draw(self):
        return self.converter(self.get_iterator('main').next(), self.device)

    def update_core(self):
        target, last = self.get_optimizer('main').target, lambda i: i == self.n - 1
        for i in range(self.n):
            x, t = self.draw()
            if last(i):
                self.get_optimizer('main').update(target, x, t)


"""
COUNTS = (
    "trainer.extend(lambda t: seen.append((t.updater.epoch, '{:.5f}'.format(t.updater.epoch_detail))), "
    "name='s', trigger=(1, 'iteration'))"
)
VARIANTS = {
    "two batches": {
        "before": SEES + "class Two(training.updaters.StandardUpdater):\n    def update_core(self):\n"
        "        for _ in range(2):\n            super().update_core()\n\n\n",
        "updater": "Two",
        "other": "Two(train_iter, optimizer)",
        "more": COUNTS,
    },
    "three batches, of four": {"before": SEES + MANY, "updater": "Many", "more": COUNTS, "stop": "(7, 'epoch')"},
    "three batches, or one": {
        "before": SEES + MANY,
        "updater": "(Twice if len(sys.argv) > 99 else Many)",
        "more": COUNTS,
        "log": "(2, 'epoch')",
    },
    "usual": {},
    "an updater of its own": {"updater": "Twice"},
    "parts that report": {"model": "Nested(net)", "log": "(2, 'iteration')"},
    "evaluated on a device": {"evaluator": "test_iter, model, device=gpu"},
    "evaluated on a device by a function": {
        "evaluator": "test_iter, model, device=gpu, eval_func=lambda *a: model(*a)"
    },
    "parts that report on a device": {"model": "Nested(net)", "evaluator": "test_iter, model, device=gpu"},
    "more than one batch an epoch, and one": {"batch": "20"},
    "two epochs": {"log": "(2, 'epoch')", "stop": "(4, 'epoch')"},
    "iterations": {"stop": "(7, 'iteration')", "log": "(2, 'iteration')"},
    "half an epoch": {"stop": "(2.5, 'epoch')"},
    "early stopping": {
        "stop": "training.triggers.EarlyStoppingTrigger(monitor='main/loss', patience=1, max_trigger=(6, 'epoch'))",
        "optimizer": "SGD(0.5)",
    },
    "points": {
        "before": SEES,
        "more": "trainer.extend(lambda t: seen.append(t.updater.iteration), name='s', "
        "trigger=training.triggers.ManualScheduleTrigger([1, 2.4], 'epoch'))",
    },
    "counts": {
        "before": SEES,
        "more": COUNTS,
    },
    "an optimizer of the updater": {
        "before": SEES,
        "more": "trainer.extend(lambda t: seen.append(t.updater.get_optimizer('main').alpha), name='s', "
        "trigger=(1, 'epoch'))",
    },
    "what only the updater knows": {
        "before": ASKS,
        "more": "trainer.extend(ask, name='s', trigger=(1, 'iteration'))",
    },
    "run elsewhere": {"before": RUNS, "run": "go(trainer)"},
    "run without words": {"run": "trainer.run(show_loop_exception_msg=False)"},
    "a shift": {"more": "trainer.extend(extensions.ExponentialShift('alpha', 0.5), trigger=(1, 'epoch'))"},
    "a rate": {"more": "trainer.extend(extensions.observe_lr(), trigger=(1, 'iteration'))"},
    "before": {"more": "trainer.extend(extensions.LogReport(filename='first'), call_before_training=True)"},
    "snapshots": {
        "more": "trainer.extend(extensions.snapshot(filename='s_{.updater.iteration}'), trigger=(1, 'epoch')); "
        "trainer.extend(extensions.snapshot_object(net, net.__class__.__name__ + '_{.updater.epoch}'))"
    },
    "best": {
        "more": "trainer.extend(extensions.snapshot_object(net, 'best'), "
        "trigger=training.triggers.MinValueTrigger('main/loss'))"
    },
    "one of two": {
        "run": "other = training.Trainer(updater, (1, 'epoch'), out=out) if optimizer.t else trainer\n    other.run()",
    },
    "a finalizer": {
        "before": LAST,
        "more": "trainer.extend(Last(), trigger=(1, 'epoch')); trainer.extend(Later(), trigger=(2, 'iteration'))",
    },
    "a trainer that a signature names": {
        "before": SEES + "def told(trainer: training.Trainer):\n    seen.append(trainer.updater.iteration)\n\n\n",
        "more": "trainer.extend(told, trigger=(1, 'epoch'))",
    },
    "an updater that is borrowed": {
        "before": BORROWS,
        "more": "trainer.extend(Watches(detail), trigger=(1, 'iteration'))",
    },
    "batches of another iterator": {"before": OTHERS, "updater": "Others"},
    "batches of another iterator that has a name": {"before": SEES + NAMED, "updater": "Others", "more": COUNTS},
    "a progress bar": {
        "more": "trainer.extend(extensions.ProgressBar(update_interval=1, out=open(out + '.bar', 'w')))"
    },
}
# what of the manager has to be in the text, where the usual is not
FORMS = {
    "ppe": {
        "what only the updater knows": "compat.TrainingManager",
        "usual": "compat.TrainingManager(updater, 3",
        "run elsewhere": "trainer.updater.update()",
    },
    "ignite": dict.fromkeys(
        (
            "two batches",
            "three batches, of four",
            "three batches, or one",
            "iterations",
            "half an epoch",
            "early stopping",
            "what only the updater knows",
            "run elsewhere",
            "before",
        ),
        "compat.EngineManager(",
    ),
}
MANAGERS = {"ppe": "Manager(", "ignite": "ppe.training.IgniteExtensionsManager("}
STAYS = {"one of two"}
ASKING = {"what only the updater knows", "run elsewhere"}
# the evaluator keeps its form: its function is no model; the iterator that a function asks for may be its own
KEEPS = {"evaluated on a device by a function", "what only the updater knows"}


@pytest.mark.parametrize("trainer", MANAGERS)
@pytest.mark.parametrize("name", [name for name in VARIANTS if name not in STAYS])
def test_log_table_parameters_and_times_are_the_same(name, trainer, tmp_path):
    source = PROGRAM.format(**{**USUAL, **VARIANTS[name]})
    theirs, ours, code = both(source, head=HEAD, trainer=trainer)
    assert "compat.Trainer" not in code and "import chainer\n" not in code, code
    assert FORMS[trainer].get(name, MANAGERS[trainer]) in code, code
    assert "compat.Evaluator(" not in code or name in KEEPS, code
    assert "extensions.Evaluator(test_iter, compat.observers(model)" in code or name in KEEPS, code
    compare(theirs, ours, code, tmp_path)
    if "seen" in theirs:
        assert ours["seen"] == theirs["seen"] != []
    assert ".updater = " not in code or name in ASKING, code


IN_TURN = """\
    if {batch} < 100:
        updater = {updater}(train_iter, optimizer)
    else:
        updater = {other}
"""


@pytest.mark.parametrize("trainer", MANAGERS)
@pytest.mark.parametrize(("filling", "made"), FILLINGS.items())
def test_an_updater_may_fill_what_its_base_keeps(filling, made, trainer, tmp_path):
    """``self._iterators = {'main': iterator}`` without a call of the base, as programs of versions 1 to 3 have it."""
    call = "Filled(train_iter, optimizer)"
    filled = FILLED.format(made)
    if filling == "call":
        call = "Filled(iterators={'main': train_iter}, optimizers={'main': optimizer})"
        filled = filled.replace("self, iterator, optimizer", "self, *args, **kwargs")
    program = PROGRAM.replace(IN_TURN, f"    updater = {call.replace('{', '{{').replace('}', '}}')}\n")
    program = program[program.index("{before}") :]  # without the model whose parts report
    source = program.format(**{**USUAL, "before": SEES + filled, "more": COUNTS})
    theirs, ours, code = both(source, head=HEAD, trainer=trainer)
    assert "compat.Trainer" not in code and "Late" not in code and MANAGERS[trainer] in code, code
    compare(theirs, ours, code, tmp_path)
    assert ours["seen"] == theirs["seen"] != []


def test_an_updater_that_fills_them_counts_on_from_a_snapshot(tmp_path):
    """What the updater and its iterators count is saved with the manager."""
    counted = FILLED.format(FILLINGS["display"]).replace(
        "batch = self", "seen.append(self.iteration)\n        batch = self"
    )
    program = PROGRAM.replace(IN_TURN, "    updater = Filled(train_iter, optimizer)\n")
    program = program[program.index("{before}") :]
    saving = "trainer.extend(extensions.snapshot(filename='last'), trigger=(1, 'epoch'))"
    first = {**USUAL, "before": SEES + counted, "more": saving, "stop": "(1, 'epoch')"}
    further = {**first, "more": "chainer.serializers.load_npz(out + '/last', trainer)", "stop": "(2, 'epoch')"}
    sides = [both(program.format(**one), head=HEAD) for one in (first, further)]
    for side in (0, 1):
        for program in sides:
            with one_order():
                run(program[side], program[side]["Net"](), tmp_path / str(side))
        assert [program[side]["seen"] for program in sides] == [[0, 1, 2, 3], [4, 5, 6, 7]]


# programs in which only the updater knows how many iterations an epoch has
OWN_CLOCKS = {
    "two batches, or one of another class": {
        "before": "class Two(training.updaters.StandardUpdater):\n    def update_core(self):\n"
        "        for _ in range(2):\n            super().update_core()\n\n\n",
        "updater": "Two",
    },
    "two batches, or one": {
        "before": "class Two(training.updaters.StandardUpdater):\n    def update_core(self):\n"
        "        for i in range(2):\n            if i and self.iteration:\n                break\n"
        "            super().update_core()\n\n\n",
        "updater": "Two",
    },
    "as many batches as another class says": {
        "before": MANY + "class More(Many):\n    def update_core(self):\n        super().update_core()\n\n\n",
        "updater": "More",
    },
    "another number of batches later": {"before": MANY, "updater": "Many", "more": "updater.n = 2"},
    "as many batches as nobody knows": {
        "before": MANY + "class Other(Twice):\n    n = 5\n\n\n",
        "updater": "(Other if out else Many)",
    },
    "no batch at last, in a block": {
        "before": "class Two(training.updaters.StandardUpdater):\n    def update_core(self):\n"
        "        with chainer.using_config('train', True):\n"
        "            if self.get_optimizer('main').t > 9:\n                return\n"
        "            super().update_core()\n\n\n",
        "updater": "Two",
    },
    "a batch that may fail": {
        "before": "class Two(training.updaters.StandardUpdater):\n    def update_core(self):\n"
        "        try:\n            assert self.get_optimizer('main').t < 9\n            super().update_core()\n"
        "        except AssertionError:\n            pass\n\n\n",
        "updater": "Two",
    },
    "no batch at last": {
        "before": "class Two(training.updaters.StandardUpdater):\n    def update_core(self):\n"
        "        if self.get_optimizer('main').t > 9:\n            return\n        super().update_core()\n\n\n",
        "updater": "Two",
    },
    "a batch now and then": {
        "before": "class Two(training.updaters.StandardUpdater):\n    def update_core(self):\n"
        "        if self.iteration % 2:\n            super().update_core()\n\n\n",
        "updater": "Two",
    },
    "an order of its own": {
        "before": "def other(dataset):\n"
        "    return chainer.iterators.SerialIterator(dataset, 3, order_sampler=order)\n\n\n"
        "def order(current_order, position):\n    return np.arange(5)\n\n\n",
    },
    "an order of its own by position": {
        "before": "def other(dataset):\n"
        "    return chainer.iterators.SerialIterator(dataset, 3, True, None, order)\n\n\n"
        "def order(current_order, position):\n    return np.arange(5)\n\n\n",
    },
    "an iterator of its own": {"before": "class Mine(chainer.dataset.Iterator):\n    pass\n\n\n"},
    "counters of its own": {
        "before": "class Two(training.updaters.StandardUpdater):\n"
        "    epoch = property(lambda self: self.iteration // 3)\n"
        "    epoch_detail = property(lambda self: self.iteration / 3)\n\n\n",
        "updater": "Two",
    },
}
WITHOUT_END = ("at last", "now and then")  # where no epoch ends any more, or the clock stands still between
# programs in which a manager would count otherwise, or is not made where it can be seen
KEPT = {
    "one of two": VARIANTS["one of two"],
    "an iterator that is closed": {
        "before": "class Mine(chainer.dataset.Iterator):\n    def finalize(self):\n        pass\n\n\n"
    },
    "an update of its own": {
        "before": "class Two(training.updaters.StandardUpdater):\n"
        "    def update(self):\n        super().update()\n\n\n",
        "updater": "Two",
    },
    "a finalizer with a manager of its own": {
        "before": "class Last(training.Extension):\n    def finalize(self):\n        manager = 'end'\n"
        "        print(manager)\n\n\n",
        "more": "trainer.extend(Last(), trigger=(1, 'epoch'))",
    },
    "a stop trigger that is read": {"more": "print(trainer.stop_trigger)"},
}


@pytest.mark.parametrize("name", KEPT)
def test_what_counts_otherwise_keeps_the_trainer(name):
    source = HEAD + PROGRAM.format(**{**USUAL, **KEPT[name]})
    code = migrate_source(source, options=Options(style="native")).code
    assert "compat.Trainer(" in code and "ExtensionsManager" not in code, code


HALVES = """\
class Halves(training.Extension):
    trigger = (1, 'epoch')

    def __init__(self, attr):
        self._attr, self._init = attr, None

    def initialize(self, trainer):
        self._init = getattr(self._optimizer(trainer), self._attr)

    def _optimizer(self, trainer):
        return trainer.updater.get_optimizer('main')

    def __call__(self, trainer):
        setattr(self._optimizer(trainer), self._attr, self._init * 0.5 ** trainer.updater.epoch)


"""


@pytest.mark.parametrize(
    "optimizer, attr", [("MomentumSGD(0.1)", "lr"), ("RMSprop(0.02)", "lr"), ("Adam(0.1)", "alpha")]
)
def test_an_extension_asks_for_a_setting_by_its_name(optimizer, attr, tmp_path):
    """`lr` of an Adam is no setting: where the program makes one, its optimizer keeps Chainer's names."""
    more = f"trainer.extend(Halves({attr!r}))"
    program = {**USUAL, "before": HALVES, "optimizer": optimizer, "more": more}
    theirs, ours, code = both(PROGRAM.format(**program), head=HEAD)
    assert ("compat.setting(" in code) == ("Late" not in code) == (attr == "lr"), code
    compare(theirs, ours, code, tmp_path)


@pytest.mark.parametrize("period", ["(1, 'epoch')", "(2, 'epoch')", "(0.5, 'epoch')"])
@pytest.mark.parametrize("name", OWN_CLOCKS)
def test_a_manager_asks_the_updater_for_epochs_that_only_that_knows(name, period, tmp_path):
    program = {**USUAL, **OWN_CLOCKS[name], "log": period, "more": f"{OWN_CLOCKS[name].get('more', '')}\n    {COUNTS}"}
    program["before"] = SEES + program["before"]
    if any(words in name for words in WITHOUT_END) or "fail" in name:
        program["stop"] = "(16, 'iteration')"
    theirs, ours, code = both(PROGRAM.format(**program), head=HEAD)
    assert "own_clock=True" in code and "compat.Trainer" not in code, code
    compare(theirs, ours, code, tmp_path)
    assert ours["seen"] == theirs["seen"] != []


MINE = """\
class Mine(chainer.dataset.Iterator):
    def __init__(self, dataset, batch_size):
        self.dataset, self.batch_size, self.drawn = dataset, batch_size, 0

    def __next__(self):
        batch = [self.dataset[(self.drawn + i) % len(self.dataset)] for i in range(self.batch_size)]
        self.drawn += self.batch_size
        return batch

    epoch = property(lambda self: self.drawn // len(self.dataset))
    epoch_detail = property(lambda self: self.drawn / len(self.dataset))

    def serialize(self, serializer):
        self.drawn = serializer('drawn', self.drawn)


"""
GIVEN = {
    "an iterator of its own": ("Twice", "compat.IteratorUpdater):"),
    "one of two": ("(Twice if out else Many)", "compat.IteratorUpdater):"),
    "an iterator or a loader": (
        "(lambda it, opt: Twice(it, opt) if out else Twice(chainer.iterators.SerialIterator(data(9, 0), 3), opt))",
        "compat.Updater):",
    ),
}


@pytest.mark.parametrize("log", ["(1, 'epoch')", "(3, 'iteration')"])
@pytest.mark.parametrize("name", GIVEN)
def test_updaters_of_iterators_of_its_own(name, log, tmp_path):
    updater, form = GIVEN[name]
    text = PROGRAM.format(**{**USUAL, "before": SEES + MINE + MANY, "updater": updater, "log": log, "more": COUNTS})
    text = text.replace("chainer.iterators.SerialIterator(data(20, 0), 5, shuffle=False)", "Mine(data(20, 0), 6)")
    assert "Mine(data(20, 0), 6)" in text
    theirs, ours, code = both(text, head=HEAD)
    assert form in code and "own_clock=True" in code, code
    compare(theirs, ours, code, tmp_path)
    assert ours["seen"] == theirs["seen"] != []


@pytest.mark.parametrize("name", OWN_CLOCKS)
def test_an_engine_has_no_such_clock(name):
    source = HEAD + PROGRAM.format(**{**USUAL, **OWN_CLOCKS[name]})
    code = migrate_source(source, options=Options(style="native", trainer="ignite")).code
    assert "compat.Trainer(" in code and "ExtensionsManager" not in code, code


def test_a_run_with_an_own_clock_goes_on_from_a_snapshot(tmp_path):
    program = {**USUAL, **OWN_CLOCKS["two batches, or one"], "log": "(1, 'iteration')"}
    program["before"] += "path = [None]\n\n\ndef load(trainer):\n    if path[0]:\n"
    program["before"] += "        chainer.serializers.load_npz(path[0], trainer)\n\n\n"
    snapshot = "extensions.snapshot(filename='s{.updater.iteration}')"
    program["more"] = f"trainer.extend({snapshot}, trigger=(1, 'epoch'))\n    load(trainer)"
    theirs, ours, code = both(PROGRAM.format(**program), HEAD)
    assert "own_clock=True" in code, code
    logs = {}
    for namespace, side in ((theirs, "theirs"), (ours, "ours")):
        with one_order():
            run(namespace, namespace["Net"](), tmp_path / side)
        files = sorted((tmp_path / side).glob("s*"), key=lambda path: int(path.name[1:]))
        logs[side] = [[int(path.name[1:]) for path in files]]
        for i, file in enumerate(files):
            namespace["path"][0] = str(file)
            with one_order():
                namespace["train"](namespace["Net"](), str(tmp_path / f"{side}{i}"))
            written = tmp_path / f"{side}{i}" / "log"  # nothing is left to do for one that is over
            log = json.loads(written.read_text()) if written.exists() else []
            logs[side].append([(entry["epoch"], entry["iteration"]) for entry in log])
    assert logs["ours"] == logs["theirs"] and len(logs["ours"]) == 4


@pytest.mark.parametrize("trainer", MANAGERS)
def test_a_run_goes_on_from_a_snapshot(trainer, tmp_path):
    more = "trainer.extend(extensions.snapshot(filename='s'), trigger=(2, 'epoch'))\n    load(trainer)"
    before = "path = [None]\n\n\ndef load(trainer):\n    if path[0]:\n"
    before += "        chainer.serializers.load_npz(path[0], trainer)\n"
    source = PROGRAM.format(**{**USUAL, "before": before + "\n\n", "more": more})
    theirs, ours, code = both(source, HEAD, trainer)
    assert "trainer.load_state_dict(" in code and MANAGERS[trainer] in code, code
    for namespace, side in ((theirs, "theirs"), (ours, "ours")):
        with one_order():
            run(namespace, namespace["Net"](), tmp_path / side)
        namespace["path"][0] = str(tmp_path / side / "s")
        first = json.loads((tmp_path / side / "log").read_text())
        with one_order():
            again, _ = run(namespace, namespace["Net"](), tmp_path / (side + "2"))
        assert [e["iteration"] for e in first] == [e["iteration"] for e in again] == [4, 8, 12]
        assert [e["main/loss"] for e in first] == [e["main/loss"] for e in again]


@pytest.mark.parametrize("size, batch", [(20, 6), (20, 5), (7, 3), (10, 4), (3, 3)])
@pytest.mark.parametrize("period", [1, 2, 3])
def test_epochs_are_counted_as_an_iterator_counts_that_fills_its_last_batch(size, batch, period):
    theirs = chainer.iterators.SerialIterator(list(range(size)), batch, shuffle=False)
    ours = SerialIterator(list(range(size)), batch, shuffle=False)
    updater = SimpleNamespace(get_iterator=lambda name: ours)
    manager = ppe.training.ExtensionsManager(
        torch.nn.Linear(1, 1), [], 100, iters_per_epoch=iterations_per_epoch(updater)
    )
    chainers, pfns = (
        chainer.training.get_trigger((period, "epoch")),
        ppe.training.triggers.IntervalTrigger(period, "epoch"),
    )
    fired = 0
    for iteration in range(1, 5 * size + 1):
        previous = theirs.epoch_detail
        assert next(theirs) == next(ours)
        counters = {name: getattr(theirs, name) for name in ("epoch", "epoch_detail", "is_new_epoch")}
        trainer = SimpleNamespace(
            updater=SimpleNamespace(previous_epoch_detail=previous, iteration=iteration, **counters)
        )
        with manager.run_iteration():
            pass
        assert manager.epoch == theirs.epoch and manager.epoch_detail == pytest.approx(theirs.epoch_detail)
        assert f"{manager.epoch_detail:.3f}" == f"{theirs.epoch_detail:.3f}"
        assert pfns(manager) == chainers(trainer)
        fired += pfns(manager)
    assert fired
