"""Trainer programs in native style, run beside Chainer from the same weights: log, printed table, parameters."""

import io
import json
from unittest import mock

import chainer
import numpy as np
import pytest
import torch
import torch._dynamo  # torch.optim imports it late, and it bears no second import

from chainer2torch.compat.serializers.serializers import load_npz
from chainer2torch.engine import Options, migrate_source
from tests.support.native_programs import both, one_order

HEAD = """\
import sys

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import training
from chainer.training import extensions


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(3, 4)
            self.l2 = L.Linear(4, 2)

    def forward(self, x):
        return self.l2(F.tanh(self.l1(x)))


class Model(chainer.Chain):
    def __init__(self, net):
        super().__init__()
        with self.init_scope():
            self.net = net

    def forward(self, x, t):
        loss = F.softmax_cross_entropy(self.net(x), t)
        chainer.report({'loss': loss}, self)
        return loss


class Records(chainer.dataset.DatasetMixin):
    def __len__(self):
        return 20

    def get_example(self, i):
        x, t = data(20, 0)[i]
        return {'t': t, 'x': x}


class Partly(Records):
    by_name = True

    def get_example(self, i):
        found = super().get_example(i)
        return {'t': found['t'], 'x': found['x']} if self.by_name else (found['x'], found['t'])


class Weighted(Model):
    def forward(self, x, t, factor=0.5):
        return super().forward(x, t) * factor


def convert(batch, device):
    x, t = zip(*batch)
    return np.stack(x), np.array(t, 'i')


def send(batch, device):
    x = chainer.dataset.to_device(device, np.stack([example[0] for example in batch]))
    return x, chainer.dataset.to_device(device, np.array([example[1] for example in batch]))


def named(batch, device):
    x, t = convert(batch, device)
    return {'t': t, 'x': x}


def tupled(batch, device):
    return tuple([part for part in convert(batch, device)])


def grown(batch, device):
    parts = list(convert(batch, device))
    parts = parts if device is None else [part for part in parts]
    return tuple(parts)


def either(batch, device, by_name=True):
    if not by_name:
        return convert(batch, device)
    return named(batch, device)


chosen = eval('dict(own=named)')


def data(n, seed):
    rng = np.random.RandomState(seed)
    return chainer.datasets.TupleDataset(rng.randn(n, 3).astype('f'), rng.randint(0, 2, n).astype('i'))


"""
MAKING = """\
class Losses(Model):
    made = 0

    def get_loss_func(self, factor=1.0):
        Losses.made += 1

        def loss_of(x, t):
            loss = F.softmax_cross_entropy(self.net(x), t) * factor
            chainer.report({'loss': loss}, self)
            return loss
        return loss_of


"""
NESTED = """\
class Nested(Model):
    def forward(self, x, t):
        loss = super().forward(x, t)
        chainer.report({'norm': F.sum(self.net.l1.W ** 2)}, self.net.l1)
        return loss


"""
PROGRAM = """\
def train(net, out):
    model = {model}
    optimizer = chainer.optimizers.{optimizer}
    optimizer.setup(model)
    train_iter = chainer.iterators.{iterator}
    device = chainer.get_device("@numpy")
    test_iter = chainer.iterators.SerialIterator(data(12, 1), 5, repeat=False, shuffle=False)
    updater = training.updaters.StandardUpdater(train_iter, optimizer{updater})
    trainer = training.Trainer(updater, {stop}, out=out)
    trainer.extend(extensions.Evaluator(test_iter, model{evaluator}))
    trainer.extend(extensions.LogReport(trigger={log}))
    trainer.extend(extensions.PrintReport(['epoch', 'iteration', 'main/loss', 'validation/main/loss'], out=sys.stderr))
    {more}
    trainer.run()
    return model
"""
USUAL = {
    "model": "L.Classifier(net)",
    "optimizer": "Adam(0.01)",
    "iterator": "SerialIterator(data(20, 0), 4)",
    "updater": "",
    "stop": "(3, 'epoch')",
    "evaluator": "",
    "log": "(1, 'epoch')",
    "more": "",
}
VARIANTS = {
    "usual": {},
    "own model": {"model": "Model(net)"},
    "a value of a part": {"model": "Nested(net)"},
    "parts that the run tells": {"model": "Weighted(net)"},
    "parts that the run tells, on a device": {
        "model": "Weighted(net)",
        "updater": ", device=device",
        "evaluator": ", device=device",
    },
    "a device": {"updater": ", device=device", "iterator": "SerialIterator(data(20, 0), 5)"},
    "short batches at the end": {"iterator": "SerialIterator(data(20, 0), 10)", "stop": "(2, 'epoch')"},
    "in order": {"iterator": "SerialIterator(data(20, 0), 4, shuffle=False)"},
    "iterations": {"stop": "(8, 'iteration')", "log": "(3, 'iteration')"},
    "half an epoch": {"log": "(2, 'iteration')", "stop": "(5, 'iteration')"},
    "threads": {"iterator": "MultithreadIterator(data(20, 0), 4)"},
    "early stopping": {
        "stop": "training.triggers.EarlyStoppingTrigger(monitor='main/loss', patience=1, max_trigger=(6, 'epoch'))",
        "optimizer": "SGD(2.0)",
    },
    "loss function": {"updater": ", loss_func=lossfun", "more": "pass", "model": "lossy(net)"},
    "a loss function that a method makes": {
        "model": "Losses(net)",
        "updater": ", loss_func=model.get_loss_func()",
        "evaluator": ", eval_func=model.get_loss_func(factor=0.5)",
    },
    "a loss function that a method makes, on a device": {
        "model": "Losses(net)",
        "updater": ", device=device, loss_func=model.get_loss_func()",
        "evaluator": ", device=device, eval_func=model.get_loss_func(0.5)",
    },
    "a loss function without a name": {
        "updater": ", loss_func=lambda x, t: F.softmax_cross_entropy(model.predictor(x), t) + F.sum(net.l1.W ** 2)",
        "more": "trainer.reporter.add_observer('other', net)",
    },
    "clipping": {"more": "optimizer.add_hook(chainer.optimizer_hooks.GradientClipping(0.1))"},
    "rates": {"optimizer": "MomentumSGD(0.1)", "more": "trainer.extend(extensions.observe_lr())"},
    "rate of Adam": {"more": "trainer.extend(extensions.observe_lr())"},
    "falling rates": {
        "optimizer": "MomentumSGD(0.1)",
        "more": "trainer.extend(extensions.observe_lr()); "
        "trainer.extend(extensions.ExponentialShift('lr', 0.5), trigger=(1, 'epoch'))",
    },
    "falling at every step": {
        "optimizer": "SGD(0.1)",
        "more": "trainer.extend(extensions.ExponentialShift('lr', 0.9)); trainer.extend(extensions.observe_lr())",
    },
    "converter": {"updater": ", converter=convert, device=-1", "evaluator": ", converter=convert, device=-1"},
    "converter on a device": {
        "updater": ", converter=send, device=device",
        "evaluator": ", converter=send, device=device",
    },
    "a tuple of a list": {"updater": ", converter=tupled", "evaluator": ", converter=tupled"},
    "a tuple in the end": {"updater": ", converter=grown", "evaluator": ", converter=grown"},
    "names": {"model": "Model(net)", "updater": ", converter=named", "evaluator": ", converter=named"},
    "one that is looked up": {
        "model": "Model(net)",
        "updater": ", converter=chosen['own']",
        "evaluator": ", converter=chosen['own']",
        "more": "",
    },
    "one of two models": {"model": "Model(net) if net is not None else print(net)"},
    "this or that": {"model": "Model(net)", "updater": ", converter=either", "evaluator": ", converter=either"},
    "a function": {"more": "trainer.extend(lambda trainer: seen.append(trainer.updater.iteration), name='s')"},
    "an evaluator that is called by hand": {
        "more": "evaluator = extensions.Evaluator(test_iter, model)\n"
        "    seen.append({k: f'{float(v):.3f}' for k, v in evaluator().items()})",
        "model": "Model(net)",
    },
    "one of two runs": {
        "more": "if net is not None:\n        trainer.run(show_loop_exception_msg=False)\n        return model"
    },
    "examples with names": {
        "model": "L.Classifier(net, label_key='t')",
        "iterator": "SerialIterator(Records(), 5)",
        "evaluator": "EVALUATED",
    },
    "examples with names, on a device": {
        "model": "Model(net)",
        "iterator": "SerialIterator(Records(), 5)",
        "updater": ", device=device",
        "evaluator": "EVALUATED, device=device",
    },
    "snapshots": {
        "more": "trainer.extend(extensions.snapshot(filename='s_{.updater.iteration}'), trigger=(1, 'epoch'))"
    },
    "before": {"more": "trainer.extend(extensions.LogReport(filename='first'), call_before_training=True)"},
    "snapshots by the function that is Chainer's default": {
        "more": "trainer.extend(extensions.snapshot(chainer.serializers.save_npz, 'a_{.updater.iteration}'), "
        "trigger=(1, 'epoch'))\n"
        "    trainer.extend(extensions.snapshot_object(net, 'n_{.updater.iteration}', "
        "savefun=chainer.serializers.npz.save_npz), trigger=(2, 'epoch'))"
    },
    "best": {
        "more": "trainer.extend(extensions.snapshot_object(net, 'best'), "
        "trigger=training.triggers.MinValueTrigger('main/loss'))"
    },
}


INLINE = {
    "an updater inside": "",
    "an updater inside, on a device": ", device=device",
    "an updater inside, on a number": ", device=-1",
    "an updater inside, with a loss function that a method makes": ", loss_func=model.get_loss_func(2)",
}
VARIANTS |= {
    name: {"updater": updater, **({"model": "Losses(net)"} if "loss_func" in updater else {})}
    for name, updater in INLINE.items()
}


def run(namespace, model, out):
    """The log, and what was printed, without the time."""
    printed = io.StringIO()
    with mock.patch("sys.stderr", printed):
        namespace["train"](model, str(out))
    return json.loads((out / "log").read_text()), printed.getvalue().replace("\033[J", "").split()


@pytest.fixture(params=["ppe", "ignite"])
def trainer(request):
    """What the programs run on."""
    return request.param


def variant(name, more=""):
    """The text of a variant; ``more`` stands behind what its Trainer is extended with."""
    source = PROGRAM.replace("    {more}\n", more + "    {more}\n").format(**{**USUAL, **VARIANTS[name]})
    if name in INLINE:
        line = next(line for line in source.splitlines(keepends=True) if "updater = " in line)
        source = source.replace(line, "").replace("Trainer(updater,", f"Trainer({line.partition(' = ')[2].strip()},")
    if "Losses" in source:
        source = MAKING + source
    if "EVALUATED" in source:
        source = source.replace("EVALUATED", "").replace("data(12, 1)", "Records()")
    if "seen" in source:
        source = "seen = []\n" + source
    if "lossy" in source:
        source = (
            source.replace("lossy(net)", "net")
            .replace(
                "    optimizer =",
                "    def lossfun(x, t):\n        loss = F.softmax_cross_entropy(model(x), t)\n"
                "        chainer.report({'loss': loss}, model)\n        return loss\n    optimizer =",
                1,
            )
            .replace("Evaluator(test_iter, model)", "Evaluator(test_iter, model, eval_func=lossfun)")
        )
    source = NESTED + source if "Nested(" in source else source
    return source


@pytest.mark.parametrize("name", VARIANTS)
def test_log_table_and_parameters_are_the_same(name, trainer, tmp_path):
    rtol = 1e-3 if name == "early stopping" else 2e-5  # a large rate
    source = variant(name)
    theirs, ours, code = both(source, head=HEAD, trainer=trainer)
    assert ("Engine(train_step)" in code) == ("run_iteration" not in code) == (trainer == "ignite")
    for gone in ("import chainer\n", "Updater", "compat.Trainer", "SerialIterator", "TODO"):
        assert gone not in code, code
    if name.startswith(("parts that", "examples with")):
        assert "batch))" not in code and "call_with" not in code, code
    compare(theirs, ours, code, tmp_path, rtol)
    if "Nested(" in source:
        assert "trainer.reporter.add_observers('', compat.observers(model).items())" in code, code
    if "seen = []" in source:
        assert ours["seen"] == theirs["seen"] != []
    if "Losses" in source:
        assert ours["Losses"].made == theirs["Losses"].made == source.count("=model.get_loss_func"), "each made once"


def test_an_evaluator_that_is_called_by_hand_names_parts_as_chainer_does():
    source = NESTED + (
        "def run(net):\n"
        "    test_iter = chainer.iterators.SerialIterator(data(12, 1), 5, repeat=False, shuffle=False)\n"
        "    return sorted(extensions.Evaluator(test_iter, Nested(net))())\n"
    )
    theirs, ours, code = both(source, head=HEAD)
    assert "compat.Evaluator" not in code, code
    assert ours["run"](ours["Net"]()) == theirs["run"](theirs["Net"]()) == ["main/loss", "main/net/l1/norm"]


def compare(theirs, ours, code, tmp_path, rtol=2e-5):
    """Runs both sides; everything that they leave behind has to be the same."""
    file, model, module = io.BytesIO(), theirs["Net"](), ours["Net"]()
    chainer.serializers.save_npz(file, model)
    file.seek(0)
    load_npz(file, module)
    with one_order():
        expected, table = run(theirs, model, tmp_path / "theirs")
    with one_order():
        found, printed = run(ours, module, tmp_path / "ours")
    assert len(found) == len(expected) > 0, code
    for one, other in zip(expected, found):
        assert set(one) == set(other), code
        for key in set(one) - {"elapsed_time"}:
            assert other[key] == pytest.approx(one[key], rel=rtol), (key, code)
    assert printed[:4] == table[:4] and len(printed) == len(table)
    np.testing.assert_allclose(np.array(printed[4:], "f8"), np.array(table[4:], "f8"), rtol=2e-4)
    weights = dict(model.namedparams())
    for path, value in module.state_dict().items():
        layer, _, kind = path.partition(".")
        theirs_value = weights[f"/{layer}/{'W' if kind == 'weight' else 'b'}"].array
        torch.testing.assert_close(value, torch.tensor(theirs_value), rtol=10 * rtol, atol=1e-6)
    names = [sorted(p.name for p in (tmp_path / side).iterdir()) for side in ("ours", "theirs")]
    assert names[0] == names[1]


UPDATER = """\
class Updater(training.updaters.StandardUpdater):

    def __init__(self, *args, **kwargs):
        self.net = kwargs.pop('net')
        super().__init__(*args, **kwargs)

    def update_core(self):
        optimizer = self.get_optimizer({name})
        batch = self.get_iterator('main').next()
        x, t = self.converter(batch, self.device)
        assert len(batch) == len(x)
        {step}


def train(net, out):
    model = Model(net)
    optimizer = chainer.optimizers.SGD(0.2)
    optimizer.setup({model})
    {other}
    train_iter = chainer.iterators.SerialIterator(data(20, 0), 5)
    updater = Updater(net=model, iterator=train_iter, optimizer={optimizers}, device=-1)
    trainer = training.Trainer(updater, (3, 'epoch'), out=out)
    trainer.extend(extensions.LogReport())
    trainer.extend(extensions.PrintReport(['epoch', 'iteration', '{reported}/loss', 'seen'], out=sys.stderr))
    trainer.extend(note)
    trainer.run()
    return model


@training.make_extension(trigger=(1, 'iteration'), priority=training.PRIORITY_WRITER)
def note(trainer):
    chainer.report({{'seen': trainer.updater.epoch + 0.5 * trainer.updater.iteration}})
"""
CLASS = """\
class Note(training.Extension):
    trigger = (1, 'iteration')
    priority = training.PRIORITY_WRITER

    def initialize(self, trainer):
        self.first = trainer.updater.iteration

    def __call__(self, trainer):
        chainer.report({'seen': trainer.updater.epoch_detail - self.first})


"""
ONE = """\
self.net.cleargrads()
        loss = self.net(x, t)
        loss.backward()
        optimizer.update()"""
TWO = """\
loss = F.softmax_cross_entropy(self.net.net(x), t)
        chainer.report({'loss': loss}, self.net.net.l1)
        self.net.cleargrads()
        loss.backward()
        optimizer.update()
        self.get_optimizer('second').update()"""
USUAL_UPDATER = {
    "name": "'main'",
    "model": "model",
    "other": "",
    "optimizers": "optimizer",
    "reported": "main",
    "step": ONE,
}
UPDATERS = {
    "one optimizer": {},
    "a loss function": {"step": "optimizer.update(self.net, x, t)"},
    "two optimizers": {
        "name": "'first'",
        "model": "net.l1",
        "other": "other = chainer.optimizers.MomentumSGD(0.2)\n    other.setup(net.l2)",
        "optimizers": "{'first': optimizer, 'second': other}",
        "reported": "first",
        "step": TWO,
    },
    "two optimizers by keyword": {
        "name": "'first'",
        "model": "net.l1",
        "other": "other = chainer.optimizers.MomentumSGD(0.2)\n    other.setup(net.l2)",
        "optimizers": "dict(first=optimizer, second=other)",
        "reported": "first",
        "step": TWO,
    },
    "what the base keeps": {
        "step": "optimizer = self._optimizers['main']\n        "
        "assert self._iterators['main'] is self.get_iterator('main')\n        " + ONE,
    },
}


@pytest.mark.parametrize("name", UPDATERS)
def test_updaters_of_the_programs_own(name, trainer, tmp_path):
    source = UPDATER.format(**{**USUAL_UPDATER, **UPDATERS[name]})
    theirs, ours, code = both(source, head=HEAD, trainer=trainer)
    if name == "what the base keeps":
        assert ("Engine(lambda engine, batch: updater.update())" in code) == (trainer == "ignite")
        assert "(compat.Updater)" in code and "updater.update()" in code, code
    else:
        assert "(compat.BatchUpdater)" in code and "updater.update_core(batch)" in code, code
        assert "Batches" not in code and "get_iterator" not in code, code
    compare(theirs, ours, code, tmp_path)


def test_an_extension_class_of_the_programs_own(trainer, tmp_path):
    source = CLASS + PROGRAM.format(**{**USUAL, "more": "trainer.extend(Note())"})
    theirs, ours, code = both(source, head=HEAD, trainer=trainer)
    assert "class Note(ppe.training.Extension)" in code and "trainer.epoch_detail" in code
    compare(theirs, ours, code, tmp_path)


@pytest.mark.parametrize(
    "step",
    [
        "loss = self.net(x, t)\n        optimizer.update(lambda: loss)\n        optimizer.update(lambda: loss)",
        "y = F.tanh(self.net.net(x))\n        optimizer.update(self.far, y, t)\n"
        "        optimizer.update(self.near, y, t)",
        "y = self.net.net(x)\n        self.net.cleargrads()\n        self.far(y, t).backward()\n"
        "        optimizer.update()\n        optimizer.update(self.near, y, t)",
    ],
)
def test_graphs_that_outlive_a_step(step, tmp_path):
    source = UPDATER.format(**{**USUAL_UPDATER, "step": step + LOSSES})
    theirs, ours, code = both(source, head=HEAD)
    assert "(compat.BatchUpdater)" in code and "compat.step_keeping_graphs(optimizer)" in code, code
    assert "torch.optim.SGD(" in code, code
    compare(theirs, ours, code, tmp_path)


LOSSES = """

    def far(self, y, t):
        loss = F.softmax_cross_entropy(F.matmul(y, self.net.net.l2.W), F.argmax(y, axis=1).array * 0 + t)
        chainer.report({'loss': loss}, self.net)
        return loss

    def near(self, y, t):
        return F.softmax_cross_entropy(y * F.sum(self.net.net.l2.W), t)"""


# what is changed of the usual program, and what the report says of the Trainer then
ESCAPES = {
    "a converter that is made at the call": (
        {"updater": ", converter=lambda batch, device: convert(batch, device)"},
        "what the converter returns is not known",
    ),
    "examples of which only some have names": (
        {"model": "Model(net)", "iterator": "SerialIterator(Partly(), 5)"},
        "only some examples are dictionaries",
    ),
    "in a loop": ({"more": "optimizer = None"}, "`optimizer` gets another value later"),
}


@pytest.mark.parametrize("name", ESCAPES)
def test_what_is_not_understood_keeps_its_updater_and_the_report_says_why(name):
    changed, reason = ESCAPES[name]
    source = HEAD + PROGRAM.format(**{**USUAL, **changed})
    result = migrate_source(source, options=Options(style="native"))
    assert "compat.StandardBatchUpdater" in result.code, result.code
    assert "extensions.Evaluator(" in result.code and "compat.Evaluator(" not in result.code, result.code
    assert result.code.count("collate_fn=list)") == 1 and "torch.optim" not in result.code
    said = [s.message for s in result.sites if s.symbol == "chainer.training.Trainer"]
    assert len(said) == 1 and reason in said[0], said


@pytest.mark.parametrize(
    "name",
    ["a converter that is made at the call", "examples of which only some have names"],
)
def test_loaders_are_read_by_what_stays_an_object(name, tmp_path):
    theirs, ours, code = both(PROGRAM.format(**{**USUAL, **ESCAPES[name][0]}), head=HEAD)
    assert "compat.Batches" not in code and "collate_fn=list" in code
    compare(theirs, ours, code, tmp_path)


def test_a_run_goes_on_from_a_snapshot(trainer, tmp_path):
    more = "trainer.extend(extensions.snapshot(filename='s'), trigger=(2, 'epoch'))"
    in_order = "SerialIterator(data(20, 0), 4, shuffle=False)"
    program = PROGRAM.format(**{**USUAL, "iterator": in_order, "more": more + "\n    load(trainer)"})
    source = "def load(trainer):\n    if path[0]:\n        chainer.serializers.load_npz(path[0], trainer)\n\n\n"
    theirs, ours, code = both("path = [None]\n\n\n" + source + program, head=HEAD, trainer=trainer)
    assert "trainer.load_state_dict(" in code, code
    logs = []
    for namespace, side in ((theirs, "theirs"), (ours, "ours")):
        net = namespace["Net"]()
        with one_order():
            run(namespace, net, tmp_path / side)
        namespace["path"][0] = str(tmp_path / side / "s")
        text = (tmp_path / side / "log").read_text()
        with one_order():
            log, _ = run(namespace, namespace["Net"](), tmp_path / (side + "2"))
        logs.append((json.loads(text), log))
    for first, again in logs:
        assert [e["iteration"] for e in first] == [e["iteration"] for e in again] == [5, 10, 15]
        assert [e["main/loss"] for e in first] == [e["main/loss"] for e in again]
