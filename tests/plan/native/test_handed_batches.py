"""Updaters whose loop hands them their batches, beside Chainer: however they draw them, and wherever they get them."""

import pytest

from chainer2torch.engine import Options, migrate_source, migrate_sources
from tests.plan.native.test_native_trainers import HEAD, compare
from tests.support.native_programs import both

PROGRAM = """\
class Updater(training.updaters.StandardUpdater):
    def __init__(self, *args, **kwargs):
        self.net = kwargs.pop('net')
        super().__init__(*args, **kwargs)

    def update_core(self):
        optimizer = self.get_optimizer({name})
        {draw}
        self.net.cleargrads()
        loss = self.net(x, t)
        loss.backward()
        optimizer.update()


def train(net, out):
    model = Model(net)
    optimizer = chainer.optimizers.SGD(0.2)
    optimizer.setup(model)
    train_iter = chainer.iterators.SerialIterator(data(20, 0), 5)
    {updater}
    trainer = training.Trainer(updater, {stop}, out=out)
    trainer.extend(extensions.LogReport())
    trainer.extend(extensions.PrintReport(['epoch', 'iteration', '{reported}/loss'], out=sys.stderr))
    {more}
    trainer.run()
    return model
"""
USUAL = {
    "name": "'main'",
    "draw": "x, t = self.converter(self.get_iterator('main').next(), self.device)",
    "updater": "updater = Updater(net=model, iterator=train_iter, optimizer=optimizer, device=-1)",
    "stop": "(3, 'epoch')",
    "reported": "main",
    "more": "",
}
UNKNOWN = "trainer.extend(eval('lambda trainer: None'), name='unknown')"
DISPLAY = """\
options = {'net': model}
    optimizers = {}
    optimizers['first'] = optimizer
    if len(sys.argv) > 99:
        options['device'] = 0
    else:
        options['device'] = -1
    options['iterator'] = {'main': train_iter}
    options['optimizer'] = optimizers
    updater = Updater(**options)"""
CHOSEN = """\
if len(sys.argv) > 99:
        updater = Updater(net=model, iterator=train_iter, optimizer=optimizer, device=-1)
    else:
        updater = training.StandardUpdater(train_iter, optimizer, device=-1)"""
PARALLEL = """\
if len(sys.argv) > 99:
        updater = Updater(net=model, iterator=train_iter, optimizer=optimizer, device=-1)
    else:
        updater = training.updaters.ParallelUpdater(train_iter, optimizer, devices={'main': -1, 'other': -1})"""
VALUE = """\
kind = training.updaters.StandardUpdater
    if len(sys.argv) > 99:
        updater = Updater(net=model, iterator=train_iter, optimizer=optimizer, device=-1)
    else:
        updater = kind(train_iter, optimizer)"""
METHODS = """
        self.net.cleargrads()
        loss = self.net(x, t)
        loss.backward()
        optimizer.update()

    def get_batch(self, device):
        iterator = self.get_iterator('main')
        examples = iterator.next()
        return self.converter(examples, device)

    def moved(self, device):
        batch = self.get_batch(device)
        return batch

    def unused(self, optimizer, x, t):
        for _ in range(2):
            x, t = self.converter(self.get_iterator('main').next(), -1)"""
DRAWS = {
    "within": {},
    "under the name of the iterator": {
        "draw": "it = self._iterators['main']\n        batch = it.__next__()\n        x, t = self.converter(batch, -1)",
    },
    "of a known size": {
        "draw": "size = self._iterators['main'].batch_size\n        it = self._iterators['main']\n"
        "        batch = next(it)\n        assert len(batch) == size\n        x, t = self.converter(batch, -1)",
        "more": "assert updater.net is model",
    },
    "in two branches": {
        "draw": "if len(sys.argv) > 99:\n            batch = next(self.get_iterator('main'))\n        else:\n"
        "            batch = self.get_iterator('main').next()\n        x, t = self.converter(batch, self.device)",
    },
    "by methods of its own": {"draw": "x, t = self.moved(-1)" + METHODS},
    "from a dictionary of arguments": {"updater": DISPLAY, "name": "'first'", "reported": "first"},
    "with what is not understood": {"more": UNKNOWN, "stop": "(11, 'iteration')"},
    "chosen when it runs": {"updater": CHOSEN, "more": UNKNOWN},
    "on several devices": {"updater": PARALLEL},
    "of a class that is a value": {"updater": VALUE, "more": UNKNOWN},
}


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("trainer", ["ppe", "ignite"])
def test_log_table_and_parameters_are_the_same(name, trainer, tmp_path):
    theirs, ours, code = both(PROGRAM.format(**{**USUAL, **DRAWS[name]}), head=HEAD, trainer=trainer)
    assert "BatchUpdater):" in code and "updater.update_core(batch)" in code, code
    kept = name == "by methods of its own"  # a method that nobody calls
    assert "Batches(" not in code and "next(it" not in code and "train_iter" in code, code
    assert ("get_iterator" in code) == ("next(" in code) == kept, code
    compare(theirs, ours, code, tmp_path)


GETS = """
    both = {{'main': train_iter, 'other': other}}
    updater = Updater(net=model, iterator=both, optimizer=optimizer, device=-1)"""
FURTHER = "other = chainer.iterators.SerialIterator(data(15, 3), 5{options})" + GETS
MADE = "make = lambda again: chainer.iterators.SerialIterator(data(15, 3), 5, again)\n    other = make(True)" + GETS
STEP = "\n        x, t = F.concat((x, {x}), 0), F.concat((t, {t}), 0)"
CALLED = """
        self.net.cleargrads()
        self.net(x, t).backward()
        optimizer.update()

    def more(self):
        return self.converter(next(self._iterators['other']), self.device)"""
SEVERAL = {
    "one of each": {
        "draw": USUAL["draw"]
        + "\n        x2, t2 = self.converter(self.get_iterator('other').next(), self.device)"
        + STEP.format(x="x2", t="t2"),
        "updater": FURTHER.format(options=""),
    },
    "several in a loop": {
        "draw": USUAL["draw"]
        + "\n        for _ in range(2):\n            x2, t2 = self.converter(self.get_iterator('other').next(), -1)"
        + STEP.format(x="x2", t="t2").replace("\n", "\n    "),
        "updater": FURTHER.format(options=", shuffle=False"),
    },
    "by a method of its own, beside evaluators": {
        "draw": USUAL["draw"] + "\n        x2, t2 = self.more()" + STEP.format(x="x2", t="t2") + CALLED,
        "updater": FURTHER.format(options=", True, shuffle=False"),
        "more": "test_iter = chainer.iterators.SerialIterator(data(12, 1), 5, repeat=False, shuffle=False)\n"
        "    trainer.extend(extensions.Evaluator(test_iter, model, device=-1))",
    },
    "with what is not understood": {
        "draw": USUAL["draw"]
        + "\n        x2, t2 = self.converter(self.get_iterator('other').next(), self.device)"
        + STEP.format(x="x2", t="t2"),
        "updater": FURTHER.format(options=""),
        "more": UNKNOWN,
        "stop": "(11, 'iteration')",
    },
}


@pytest.mark.parametrize("name", SEVERAL)
def test_further_iterators_are_drawn_from_where_they_were(name, tmp_path):
    theirs, ours, code = both(PROGRAM.format(**{**USUAL, **SEVERAL[name]}), head=HEAD)
    assert "BatchUpdater):" in code and "updater.update_core(batch)" in code, code
    assert "self.next_batch('other')" in code and "get_iterator" not in code and "Batches(" not in code, code
    compare(theirs, ours, code, tmp_path)


KEPT = {
    "an iterator that ends": {"updater": FURTHER.format(options=", repeat=False")},
    "one that may end": {"updater": FURTHER.format(options=", len(sys.argv) < 99")},
    "one that a function makes": {"updater": MADE.format()},
    "a training that goes on": {"more": "chainer.serializers.load_npz(out, trainer)"},
    "a snapshot that is found": {"more": "trainer.extend(extensions.snapshot(autoload=True))"},
    "one of that name": {"more": "updater.next_batch = None"},
    "a name of the base": {"more": "updater._batches = None"},
}


@pytest.mark.parametrize("name", KEPT)
def test_further_iterators_that_end_or_are_saved_keep_their_form(name):
    draws = {**USUAL, **SEVERAL["one of each"]}
    code = migrate_source(HEAD + PROGRAM.format(**{**draws, **KEPT[name]}), options=Options(style="native")).code
    assert "BatchUpdater" not in code and "self.next_batch" not in code and "update_core(self)" in code, code


@pytest.mark.parametrize("first", ["", "again = train_iter\n    "])
def test_one_iterator_under_two_names_gives_each_batch_once(first, tmp_path):
    twice = (
        f"{first}updater = Updater(net=model, iterator={{'main': train_iter, 'other': "
        f"{'again' if first else 'train_iter'}}}, optimizer=optimizer)"
    )
    source = PROGRAM.format(**{**USUAL, **SEVERAL["one of each"], "updater": twice})
    theirs, ours, code = both(source.replace("data(20, 0), 5)", "data(20, 0), 5, shuffle=False)"), head=HEAD)
    assert "self.next_batch" not in code, code
    compare(theirs, ours, code, tmp_path)


TWO = """\
test_iter = chainer.iterators.SerialIterator(data(12, 1), 5, repeat=False, shuffle=False)
    trainer.extend(extensions.Evaluator(test_iter, model, device=-1))
    trainer.extend(extensions.Evaluator(chainer.iterators.SerialIterator(data(8, 2), 5, False, False), model))
    trainer.extend(extensions.Evaluator(test_iter, model), name='third')
    for seed in (5, 6):
        again = chainer.iterators.SerialIterator(data(8, seed), 5, False, False)
        trainer.extend(extensions.Evaluator(again, model))
    """


@pytest.mark.parametrize("more", [TWO, TWO + UNKNOWN], ids=["native", "with what is not understood"])
def test_evaluators_without_a_name_have_the_keys_that_chainer_gives_them(more, tmp_path):
    theirs, ours, code = both(PROGRAM.format(**{**USUAL, "more": more}), head=HEAD)
    assert code.count("name='validation'") == 3, code
    compare(theirs, ours, code, tmp_path)


TAKES = """\
for _ in range(self.{times}):
            x, t = self.converter(self.get_iterator('main').next(), self.device)
            self.net.cleargrads()
            self.net(x, t).backward()
            optimizer.update()"""
TIMES = "self.net = kwargs.pop('net')\n        self.times = 3"
ITSELF = {
    "in a loop": {"draw": TAKES.format(times="times")},
    "with what is not understood": {"draw": TAKES.format(times="times"), "more": UNKNOWN},
    "until an iteration": {"draw": TAKES.format(times="times"), "more": UNKNOWN, "stop": "(5, 'iteration')"},
    "beside an evaluator": {
        "draw": TAKES.format(times="times"),
        "more": "test_iter = chainer.iterators.SerialIterator(data(12, 1), 5, repeat=False, shuffle=False)\n"
        "    trainer.extend(extensions.Evaluator(test_iter, model, device=-1))",
    },
    "twice": {
        "draw": "it = self.get_iterator('main')\n        first, second = next(it), it.next()\n"
        "        x, t = self.converter(first + second, self.device)"
    },
}


@pytest.mark.parametrize("name", ITSELF)
@pytest.mark.parametrize("trainer", ["ppe", "ignite"])
def test_an_updater_that_takes_several_batches_draws_them(name, trainer, tmp_path):
    source = PROGRAM.format(**{**USUAL, **ITSELF[name]}).replace("self.net = kwargs.pop('net')", TIMES)
    theirs, ours, code = both(source, head=HEAD, trainer=trainer)
    assert "BatchUpdater):" in code and "updater.update_core()" in code and "self.next_batch()" in code, code
    assert "get_iterator" not in code and "Batches(" not in code and "compat.iterations_of(train_iter, " in code, code
    compare(theirs, ours, code, tmp_path)


def test_batches_that_two_classes_draw_by_methods_of_one_name(tmp_path):
    """No parameter can hand such a method its batch: which class is meant, only the run tells."""
    usual = PROGRAM.format(**{**USUAL, "draw": "x, t = self.get_batch()"})
    method = (
        "\n\n    def get_batch(self):\n        return self.converter(self.get_iterator('main').next(), self.device)\n"
    )
    cls, rest = usual.split("\n\n\ndef train")
    source = f"{cls}{method}\n\n{cls.replace('Updater(', 'Other(', 1)}{method}\n\ndef train{rest}"
    theirs, ours, code = both(source, head=HEAD)
    assert code.count("BatchUpdater):") == code.count("self.next_batch()") == 2 and "update_core()" in code, code
    compare(theirs, ours, code, tmp_path)


def test_an_order_that_is_kept_goes_on_from_a_snapshot():
    """How far the loader has come, no snapshot says; where it shuffles, that makes no difference."""
    resumed = {**USUAL, **ITSELF["in a loop"], "more": "chainer.serializers.load_npz(out, trainer)"}
    source = (HEAD + PROGRAM.format(**resumed)).replace("self.net = kwargs.pop('net')", TIMES)
    ordered = source.replace("data(20, 0), 5)", "data(20, 0), 5, shuffle=False)")
    for text, form in ((source, "BatchUpdater):"), (ordered, "compat.Updater):")):
        assert form in migrate_source(text, options=Options(style="native")).code


ASKED = """
    @training.make_extension(trigger={trigger})
    def look(trainer):
        {look}

    trainer.extend(look)"""
ASKS = {
    "a counter of itself": (
        {"draw": USUAL["draw"] + "\n        print('at', self.iteration)"},
        "connect_trainer(trainer)",
    ),
    "a counter, within an extension": (
        {"more": ASKED.format(trigger="(2, 'iteration')", look="print(updater.iteration, updater.epoch_detail)")},
        "connect_trainer(trainer)",
    ),
    "a member of its own": (
        {"more": UNKNOWN + ASKED.format(trigger="(1, 'epoch')", look="print(trainer.updater.net is model)")},
        "Manager(",
    ),
    "a counter, by a trigger": (
        {"more": UNKNOWN + ASKED.format(trigger="lambda trainer: trainer.updater.iteration % 2 == 0", look="pass")},
        "trainer.iteration % 2",
    ),
    "a member by its text": (
        {
            "more": UNKNOWN
            + ASKED.format(
                trigger="(1, 'epoch')",
                look="own = trainer.updater\n        print(getattr(own, 'net', None) is model, hasattr(own, 'nets'))",
            )
        },
        "Manager(",
    ),
    "members by a name": (
        {
            "more": UNKNOWN
            + ASKED.format(
                trigger="(1, 'epoch')",
                look="own = trainer.updater\n        print(own.device, own.net is model, own.epoch)",
            )
        },
        "connect_trainer(trainer)",
    ),
}


@pytest.mark.parametrize("name", ASKS)
@pytest.mark.parametrize("trainer", ["ppe", "ignite"])
def test_what_is_asked_of_an_updater_beside_its_batches(name, trainer, tmp_path):
    changes, form = ASKS[name]
    theirs, ours, code = both(PROGRAM.format(**{**USUAL, **changes}), head=HEAD, trainer=trainer)
    assert "BatchUpdater):" in code and "updater.update_core(batch)" in code and form in code, code
    compare(theirs, ours, code, tmp_path)


# what keeps an updater drawing its batches
DRAWN = {
    "it asks for epochs": {"draw": USUAL["draw"] + "\n        assert self.epoch >= 0"},
    "a loss asks for epochs": {"more": "model.lossfun = lambda y, t: F.softmax_cross_entropy(y, t) * updater.epoch"},
    "it asks whether one begins": {"draw": USUAL["draw"] + "\n        assert self.is_new_epoch in (True, False)"},
    "of two iterators": {"draw": USUAL["draw"] + "\n        self.get_iterator('other')"},
    "somebody steps it": {"more": "updater.update()"},
    "somebody looks into it": {"more": "print(updater.get_iterator('main'))"},
    "batches of a method": {"draw": "x, t = self.draw()", "updater": "Updater.draw = draw\n    " + USUAL["updater"]},
}


@pytest.mark.parametrize("name", DRAWN)
def test_what_draws_its_batches_goes_on_doing_so(name):
    source = HEAD + PROGRAM.format(**{**USUAL, **DRAWN[name]})
    code = migrate_source(source, options=Options(style="native")).code
    assert "BatchUpdater" not in code and "update_core(self)" in code, code
    assert "draws=0" not in code  # drawn where nobody sees it: the Trainer counts


def test_an_updater_that_no_import_shows_is_counted_as_it_draws():
    """A manager counts one batch an iteration: another file's updater may draw more."""
    made = "updater = __import__('importlib').import_module('steps').Updater(train_iter, optimizer)"
    steps = "from chainer import training\n\n\n" + PROGRAM.partition("\n\n\ndef train")[0].format(**USUAL)
    train = HEAD + "\n\ndef train" + PROGRAM.partition("\n\n\ndef train")[2].format(**{**USUAL, "updater": made})
    for text, form in (
        (steps, "compat.TrainingManager(updater, 3, out_dir=out)"),
        (steps.replace("optimizer.update()", TWICE), "own_clock=True"),
    ):
        results = migrate_sources({"steps.py": text, "train.py": train}, options=Options(style="native"))
        assert form in results["train.py"].code and "BatchUpdater" not in results["steps.py"].code


TWICE = "optimizer.update(self.net, *self.converter(self.get_iterator('main').next(), -1))"


SAVES = {
    "a class": "class Save(training.Extension):\n        trigger = (1, 'epoch')\n\n"
    "        def __call__(self, trainer):\n            {save}\n    trainer.extend(Save())",
    "a lambda": "trainer.extend(lambda trainer: {save}, name='s', trigger=(1, 'epoch'))",
    "a function": "def save(trainer):\n        {save}\n    trainer.extend(save, trigger=(2, 'iteration'))",
    "a decorated function, unknown": UNKNOWN + "\n    @training.make_extension(trigger=(1, 'epoch'))\n"
    "    def save(trainer):\n        {save}\n    trainer.extend(save)",
}


@pytest.mark.parametrize("name", SAVES)
@pytest.mark.parametrize("trainer", ["ppe", "ignite"])
def test_an_extension_saves_its_trainer(name, trainer, tmp_path):
    """pytorch-pfn-extras hands models to those extensions only that say that they need them."""
    more = SAVES[name].format(save="chainer.serializers.save_npz(out + '/saved', trainer)")
    theirs, ours, code = both(PROGRAM.format(**{**USUAL, "more": more}), head=HEAD, trainer=trainer)
    assert "torch.save(compat.manager_state(trainer), out + '/saved')" in code, code
    compare(theirs, ours, code, tmp_path)
    assert [*tmp_path.rglob("saved")], code


def test_an_updater_has_no_file_of_its_own():
    source = HEAD + PROGRAM.format(**{**USUAL, "more": "chainer.serializers.save_npz(out, updater)"})
    for text, style in (
        (source, "native"),
        (source, "faithful"),
        (source.replace("updater)\n", "trainer)\n"), "faithful"),
    ):
        sites = [s for s in migrate_source(text, options=Options(style=style)).sites if "save_npz" in s.symbol]
        assert [site.state for site in sites] == ["manual"] and "trainer" in sites[0].message
