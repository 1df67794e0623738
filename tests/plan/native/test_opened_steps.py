"""Steps that the loop says itself though something else of their program is not understood, run beside Chainer."""

import pytest

from chainer2torch.engine import Options, migrate_source
from tests.plan.native.test_native_trainers import HEAD, INLINE, PROGRAM, USUAL, VARIANTS, compare, variant
from tests.support.native_programs import both

UNKNOWN = "    trainer.extend(eval('lambda trainer: None'), name='unknown')\n"
GONE = ("Updater", "compat.Trainer", "iterations_per_epoch", "SerialIterator", "import chainer\n")


@pytest.fixture(params=["ppe", "ignite"])
def trainer(request):
    """What the programs run on."""
    return request.param


def check(source, trainer, tmp_path, rtol=2e-5, gone=GONE):
    """Nothing of the updater is left, and both sides do the same."""
    theirs, ours, code = both(source, head=HEAD, trainer=trainer)
    for name in gone:
        assert name not in code, code
    assert "optimizer.zero_grad()" in code and "optimizer.step()" in code, code
    compare(theirs, ours, code, tmp_path, rtol)
    if "seen" in theirs:
        assert ours["seen"] == theirs["seen"] != []
    return code


# an updater that has no name is not replaced in a program of which something is not understood
@pytest.mark.parametrize("name", [name for name in VARIANTS if name not in INLINE])
def test_an_extension_that_is_not_known_leaves_the_step_as_it_is(name, trainer, tmp_path):
    check(variant(name, UNKNOWN), trainer, tmp_path, 1e-3 if name == "early stopping" else 2e-5)


BEFORE = """\
class Nested(Model):
    def forward(self, x, t):
        loss = super().forward(x, t)
        chainer.report({'norm': F.sum(self.net.l1.W ** 2)}, self.net.l1)
        return loss


def ready(optimizer, model):
    optimizer.setup(model)


"""
BORROW = """\
def borrow(trainer):
    updater = trainer.updater
    chainer.report({'count': updater.iteration, 'epochs': updater.epoch_detail})


"""
ALONE = {
    "a shift of something else": {"more": "trainer.extend(extensions.ExponentialShift('eps', 0.5))"},
    "a part that reports": {"model": "Nested(net)", "log": "(2, 'iteration')"},
    "a rate that a function asks for": {
        "more": "trainer.extend(extensions.observe_value('rate', lambda t: t.updater.get_optimizer('main').alpha)); "
        + UNKNOWN.strip()
    },
    "an updater that is borrowed": {
        "more": "trainer.extend(borrow, name='b', trigger=(1, 'iteration')); " + UNKNOWN.strip()
    },
    "a model that is set up elsewhere": {
        "optimizer": "Adam(0.01)\n    ready(optimizer, model)\n    optimizer",
        "more": UNKNOWN.strip(),
    },
}


@pytest.mark.parametrize("name", ALONE)
def test_what_else_is_not_understood(name, trainer, tmp_path):
    source = PROGRAM.format(**{**USUAL, **ALONE[name]})
    source = source.replace("    optimizer\n    optimizer.setup(model)\n", "")
    check(BEFORE + (BORROW if "borrow" in source else "") + source, trainer, tmp_path)


TWO = """\
def train(net, out, early={early}):
    model = L.Classifier(net)
    optimizer = chainer.optimizers.SGD({rate})
    optimizer.setup(model)
    train_iter = chainer.iterators.SerialIterator(data(20, 0), 4)
    test_iter = chainer.iterators.SerialIterator(data(12, 1), 5, repeat=False, shuffle=False)
    updater = training.updaters.StandardUpdater(train_iter, optimizer)
    if early:
        stop = training.triggers.EarlyStoppingTrigger(monitor='main/loss', patience=1, max_trigger=(6, 'epoch'))
        trainer = training.Trainer(updater, stop, out=out)
    else:
        trainer = training.Trainer(updater, {stop}, out=out)
    trainer.extend(extensions.Evaluator(test_iter, model))
    trainer.extend(extensions.LogReport(trigger=(1, 'epoch')))
    trainer.extend(extensions.PrintReport(['epoch', 'iteration', 'main/loss', 'validation/main/loss'], out=sys.stderr))
    trainer.run()
    return model
"""


@pytest.mark.parametrize("stop", ["(3, 'epoch')", "(7, 'iteration')"])
@pytest.mark.parametrize("early, rate", [(True, "2.0"), (False, "0.5")])
def test_one_of_two_trainers_runs(early, rate, stop, trainer, tmp_path):
    code = check(TWO.format(early=early, rate=rate, stop=stop), trainer, tmp_path, 1e-3)
    assert code.count("optimizer.step()") == (1 if trainer == "ppe" else 2), code


KEPT = {
    "a name of the updater's function": "trainer.extend(lambda t: print(updater.iteration), name='s')",
    "an updater that is borrowed for more": "trainer.extend(lambda t: print(t.updater.connect_trainer), name='s')",
    "an updater that is kept": "trainer.extend(lambda t: print([t.updater]), name='s')",
    "somebody asks for the updater": "trainer.extend(lambda t: print(t.updater.get_iterator('main')), name='s')",
    "another one reads the iterator": "trainer.extend(extensions.Evaluator(train_iter, model), name='again')",
    "the optimizer counts epochs": "trainer.extend(lambda t: print(optimizer.epoch), name='s')",
    "a loss function or none": "",
}


HANDED = {"a name of the updater's function", "another one reads the iterator", "a loss function or none"}


@pytest.mark.parametrize("name", KEPT)
def test_what_needs_the_updater_keeps_it(name):
    updater = ", loss_func=model if len(sys.argv) > 1 else None" if not KEPT[name] else ""
    changed = {"more": UNKNOWN.strip() + ("; " + KEPT[name] if KEPT[name] else ""), "updater": updater}
    source = HEAD + PROGRAM.format(**{**USUAL, **changed})
    code = migrate_source(source, options=Options(style="native")).code
    if name in HANDED:
        assert "compat.StandardBatchUpdater(train_iter, optimizer" in code and "update_core(batch)" in code, code
    else:
        assert "compat.StandardUpdater(train_iter, optimizer" in code and "updater.update()" in code, code


MOVED = """
def train(net, out, gpu):
    model = Model(net)
    {before}
    optimizer = chainer.optimizers.SGD(0.1)
    optimizer.setup(model)
    train_iter = chainer.iterators.SerialIterator(data(20, 0), 4)
    updater = training.updaters.StandardUpdater(train_iter, optimizer, device={device}{more})
    trainer = training.Trainer(updater, (3, 'epoch'), out=out)
    trainer.extend(extensions.LogReport())
    {unknown}
    trainer.run()
"""


@pytest.mark.parametrize("unknown", ["", UNKNOWN.strip()])
@pytest.mark.parametrize(
    ("device", "before", "more", "there", "moved"),
    [
        ("gpu", "", "", "model.to(device)", True),
        ("gpu", "model.to_gpu(gpu)", "", "loss = model(x.to(device), t.to(device))", False),
        ("0", "", "", "device = torch.device('cuda', 0)", True),
        ("-1", "", "", "loss = model(x, t)", False),
        ("chainer.get_device('@numpy')", "", "", "updater.update_core(batch)", False),
        ("gpu", "", ", converter=convert", "convert(batch, gpu)", True),
        ("'@numpy'", "", ", converter=convert", "convert(batch, '@numpy')", True),
        ("-1", "", ", converter=Convert()", "updater.update_core(batch)", False),
    ],
)
def test_the_model_goes_to_the_device_of_its_updater(device, before, more, there, moved, unknown):
    """Chainer's updater sends it there, where the program has not."""
    convert = (
        "\n\ndef convert(batch, device):\n    x = np.array([x for x, _ in batch])\n"
        "    return F.relu(chainer.Variable(x)), chainer.Variable(np.array([t for _, t in batch]))\n"
    )
    source = HEAD + convert + MOVED.format(device=device, before=before, more=more, unknown=unknown)
    code = migrate_source(source, options=Options(style="native")).code
    assert there in code and ("    model.to(" in code) == moved, code


CONVERTS = """
class Convert:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, batch, device):
        return chainer.dataset.concat_examples([(x * self.factor, t) for x, t in batch], device)


"""


def test_an_object_of_the_program_converts_the_batches(tmp_path):
    source = PROGRAM.format(**{**USUAL, "updater": ", converter=convert"})
    source = CONVERTS + source.replace("    updater =", "    convert = Convert(2)\n    updater =", 1)
    theirs, ours, code = both(source, head=HEAD)
    assert "Updater" not in code and "convert(batch, None)" in code, code
    compare(theirs, ours, code, tmp_path)
