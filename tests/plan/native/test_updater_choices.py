"""Updaters of which only the run tells the class: the loop does with each that it may be as its class wants it."""

import sys
import types
from unittest import mock

import pytest

from chainer2torch.engine import Options, migrate_source, migrate_sources
from chainer2torch.vendor import compat_file, said
from tests.plan.native.test_native_trainers import HEAD, compare
from tests.support.native_programs import both

CLASS = """\
class {name}(training.updaters.StandardUpdater):
    def __init__(self, *args, **kwargs):
        self.net = kwargs.pop('net')
        super().__init__(*args, **kwargs)

    def update_core(self):
        optimizer = self.get_optimizer('main')
        {draw}
        self.net.cleargrads()
        loss = self.net(x, t)
        loss.backward()
        optimizer.update()


"""
ONCE = "x, t = self.converter(self.get_iterator('main').next(), self.device)"
TWICE = """\
for _ in range(2):
            x, t = self.converter(self.get_iterator('main').next(), self.device)
            self.net.cleargrads()
            self.net(x, t).backward()
            optimizer.update()"""
TRAIN = """\
def train(net, out):
    model = Model(net)
    optimizer = chainer.optimizers.SGD(0.2)
    optimizer.setup(model)
    train_iter = chainer.iterators.{iterator}
    {updater}
    trainer = training.Trainer(updater, {stop}, out=out)
    trainer.extend(extensions.LogReport())
    trainer.extend(extensions.PrintReport(['epoch', 'iteration', 'main/loss'], out=sys.stderr))
    {more}
    trainer.run()
    return model
"""
SERIAL = "SerialIterator(data(20, 0), 5)"
OPTIONS = "(net=model, iterator=train_iter, optimizer=optimizer, device=-1)"
BRANCHES = f"""\
if {{condition}}:
        updater = One{OPTIONS}
    else:
        updater = Other{OPTIONS}"""
UNKNOWN = "trainer.extend(eval('lambda trainer: None'), name='unknown')"
MIXED = {
    "two that draw once": (ONCE, ONCE, "len(sys.argv) > 99", "updater.update_core(batch)"),
    "one of which draws more": (ONCE, TWICE, "len(sys.argv) > 99", None),
    "the other of which draws more": (TWICE, ONCE, "len(sys.argv) > 99", None),
}


@pytest.mark.parametrize("more", ["", UNKNOWN], ids=["", "with what is not understood"])
@pytest.mark.parametrize("trainer", ["ppe", "ignite"])
@pytest.mark.parametrize("name", MIXED)
def test_one_of_two_classes(name, trainer, more, tmp_path):
    first, second, condition, form = MIXED[name]
    updater = BRANCHES.format(condition=condition)
    source = CLASS.format(name="One", draw=first) + CLASS.format(name="Other", draw=second)
    source += TRAIN.format(iterator=SERIAL, updater=updater, stop="(7, 'iteration')", more=more)
    theirs, ours, code = both(source, head=HEAD, trainer=trainer)
    if form is not None:
        assert form in code and "Batches" not in code, code
    compare(theirs, ours, code, tmp_path)


def test_that_draw_once_or_as_often_as_they_say(tmp_path):
    """All of them draw themselves then, and the epoch is as long as the updater that it is makes it."""
    first = CLASS.format(name="One", draw=ONCE)
    second = CLASS.format(name="Other", draw=TWICE.replace("range(2)", "range(self.times)"))
    second = second.replace("self.net = kwargs.pop('net')", "self.net = kwargs.pop('net')\n        self.times = 2")
    for condition in ("len(sys.argv) > 99", "len(sys.argv) < 99"):
        updater = BRANCHES.format(condition=condition)
        train = TRAIN.format(iterator=SERIAL, updater=updater, stop="(3, 'epoch')", more=UNKNOWN)
        theirs, ours, code = both(first + second + train, head=HEAD)
        assert "updater.update_core()" in code and code.count("self.next_batch()") == 2, code
        assert "Batches" not in code and "getattr(updater, 'times', 1)" in code, code
        compare(theirs, ours, code, tmp_path / condition[-4])


LOADED = "kind = getattr(__import__('importlib').import_module('steps'), 'Updater')\n    "
DISPLAYS = {
    "update": LOADED + "options = eval('{{}}')\n    options.update({{'net': model, 'iterator': train_iter, "
    "'optimizer': {{'main': optimizer}}, 'device': -1}})\n    updater = kind(**options)",
    "items": LOADED + "options = eval(\"{{'device': -1}}\")\n    options['net'] = model\n    "
    "options['optimizer'] = optimizer\n    options['iterator'] = train_iter\n    updater = kind(**options)",
    "a display": LOADED + "options = {{'net': model, 'iterator': train_iter, 'optimizer': optimizer}}\n    "
    "updater = kind(**options)",
    "under its own name": LOADED.replace("kind", "updater") + "options = eval('{{}}')\n    "
    "options.update({{'net': model, 'iterator': train_iter, 'optimizer': optimizer}})\n    "
    "updater = updater(**options)",
}


def files(updater, steps, iterator=SERIAL, stop="(3, 'epoch')", more=""):
    """The files of a program whose updater no import shows."""
    train = HEAD + TRAIN.format(iterator=iterator, updater=updater.format(), stop=stop, more=more)
    return {"train.py": train, "steps.py": "from chainer import training\n\n\n" + steps}


def sides(texts, trainer="ppe"):
    """The namespaces of train.py on both sides, and the migrated texts; each sees its own steps.py while it runs."""
    results = migrate_sources(texts, options=Options(style="native", trainer=trainer))
    assert not any(result.error for result in results.values())
    codes = {path: result.code for path, result in results.items()}
    words = set().union(*map(said.words, codes.values()))
    names = set().union(*(result.helpers for result in results.values()))
    helpers = types.ModuleType("chainer_compat")
    exec(compat_file.build(names, style="native", said=words), helpers.__dict__)
    found = []
    for side in (texts, codes):
        with mock.patch.dict(sys.modules, chainer_compat=helpers):
            steps, namespace = types.ModuleType("steps"), {"__name__": "train"}
            exec(compile(side["steps.py"], "steps.py", "exec"), steps.__dict__)
            exec(compile(side["train.py"], "train.py", "exec"), namespace)
        namespace["train"] = _with_steps(steps, namespace["train"])
        found.append(namespace)
    return *found, codes


def _with_steps(steps, train):
    def wrapped(*args):
        with mock.patch.dict(sys.modules, steps=steps):
            return train(*args)

    return wrapped


@pytest.mark.parametrize("name", DISPLAYS)
@pytest.mark.parametrize("draw", [ONCE, "x, t = self.batch()"], ids=["a parameter", "a method"])
def test_a_class_that_no_import_shows(name, draw, tmp_path):
    steps = CLASS.format(name="Updater", draw=draw)
    if draw != ONCE:  # two classes that draw by methods of one name: no parameter can hand them their batch
        steps = steps.rstrip() + "\n\n    def batch(self):\n        " + ONCE.replace("x, t =", "return") + "\n\n\n"
        steps += steps.replace("class Updater", "class Second")
    theirs, ours, codes = sides(files(DISPLAYS[name], steps))
    text = codes["train.py"] + codes["steps.py"]
    assert "Batches" not in text and "compat.StandardUpdater" not in text and "BatchUpdater):" in text, text
    assert ("updater.update_core(batch)" in text) == (draw == ONCE), text
    compare(theirs, ours, text, tmp_path)


def test_a_class_that_no_import_shows_and_that_draws_more(tmp_path):
    steps = CLASS.format(name="Updater", draw=TWICE.replace("range(2)", "range(self.times)"))
    steps = steps.replace("self.net = kwargs.pop('net')", "self.net = kwargs.pop('net')\n        self.times = 2")
    theirs, ours, codes = sides(files(DISPLAYS["update"], steps))
    text = codes["train.py"] + codes["steps.py"]
    assert "self.next_batch()" in text and "updater.times)" in text and "Batches" not in text, text
    compare(theirs, ours, text, tmp_path)


# where one of the updaters that it may be asks for what nobody would count
COUNTED = {
    "an epoch of another class": CLASS.format(name="Updater", draw=ONCE)
    + CLASS.format(name="Second", draw=ONCE + "\n        assert self.epoch >= 0"),
    "an epoch of its own": CLASS.format(name="Updater", draw=ONCE + "\n        assert self.epoch >= 0"),
}


@pytest.mark.parametrize("name", COUNTED)
def test_an_updater_that_counts_keeps_what_counts(name, tmp_path):
    theirs, ours, codes = sides(files(DISPLAYS["update"], COUNTED[name]))
    text = codes["train.py"] + codes["steps.py"]
    assert "BatchUpdater" not in text and "update_core(self)" in text and "updater.update()" in text, text
    compare(theirs, ours, text, tmp_path)


def test_an_updater_beside_another_trainer_has_the_form_of_that():
    """It may be the one that a class that no import shows is: both Trainers do with it as that one says."""
    texts = files(DISPLAYS["update"], CLASS.format(name="Updater", draw=ONCE))
    own = CLASS.format(name="Own", draw=ONCE) + TRAIN.format(
        iterator=SERIAL, updater="updater = Own" + OPTIONS, stop="(2, 'epoch')", more="print(updater.iteration)"
    )
    results = migrate_sources({**texts, "own.py": HEAD + own}, options=Options(style="native"))
    assert "updater.update()" in results["train.py"].code and "BatchUpdater" not in results["steps.py"].code


READ = {
    "looked up": "print(options['iterator'])",
    "given on": "print(options)",
    "of two displays": "options = eval('options')",
}


@pytest.mark.parametrize("name", READ)
def test_a_dictionary_that_goes_elsewhere_keeps_its_iterator(name):
    updater = DISPLAYS["update"].replace("updater = kind", READ[name].replace("{", "{{") + "\n    updater = kind")
    texts = files(updater, CLASS.format(name="Updater", draw=ONCE))
    code = migrate_sources(texts, options=Options(style="native"))["train.py"].code
    assert ("compat.Batches(" in code) == (name != "of two displays"), code


def test_what_is_no_updater_keeps_its_iterator():
    source = HEAD + TRAIN.format(iterator=SERIAL, updater=DISPLAYS["update"].format(), stop="(3, 'epoch')", more="")
    code = migrate_source(source.replace("Trainer(updater", "Trainer(other"), options=Options(style="native")).code
    assert "compat.Batches(" in code, code
