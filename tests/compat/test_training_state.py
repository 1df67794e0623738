"""Triggers, shifts and stored state without a training: every step of them, and every point where they may be stored.

What is fed to both sides is a stand-in for a trainer that counts; the state goes through Chainer's own serializers.
"""

import types
import warnings

import chainer
import numpy as np
import pytest
import torch
from chainer import training as chainer_training

from chainer2torch.compat.serializers.state_io import StateReader, StateWriter
from chainer2torch.compat.training import shift_extensions, triggers
from chainer2torch.native import shifts as native_shifts

LOSSES = [3.0, 2.0, 2.5, 2.0, 1.0, 1.0, 1.5, 0.5, 4.0, 0.25, 0.25, 0.125]


class Counting:
    """What a trigger asks of a trainer; an epoch has four iterations."""

    def __init__(self):
        self.updater = types.SimpleNamespace(iteration=0, epoch=0, epoch_detail=0.0, previous_epoch_detail=0.0)
        self.elapsed_time = 0.0
        self.observation = {}

    def advance(self, by=1):
        updater = self.updater
        updater.previous_epoch_detail = updater.epoch_detail
        updater.iteration += by
        updater.epoch_detail = updater.iteration / 4
        updater.epoch = updater.iteration // 4
        self.elapsed_time = updater.iteration * 1.5
        loss = LOSSES[updater.iteration % len(LOSSES)]
        self.observation = {"main/loss": loss, "main/accuracy": -loss}


TRIGGERS = {
    "epochs": lambda t: t.IntervalTrigger(1, "epoch"),
    "part of an epoch": lambda t: t.IntervalTrigger(0.4, "epoch"),
    "iterations": lambda t: t.IntervalTrigger(3, "iteration"),
    "each iteration": lambda t: t.IntervalTrigger(1, "iteration"),
    "points of epochs": lambda t: t.ManualScheduleTrigger([0.5, 2], "epoch"),
    "points": lambda t: t.ManualScheduleTrigger([7, 2, 3], "iteration"),
    "point": lambda t: t.ManualScheduleTrigger(4, "iteration"),
    "once": lambda t: t.OnceTrigger(),
    "on resume": lambda t: t.OnceTrigger(True),
    "time": lambda t: t.TimeTrigger(4.5),
    "time of fractions": lambda t: t.TimeTrigger(2.0),
    "min": lambda t: t.MinValueTrigger("main/loss", (2, "iteration")),
    "max": lambda t: t.MaxValueTrigger("main/loss", trigger=(1, "iteration")),
    "min of epochs": lambda t: t.MinValueTrigger("main/loss"),
    "max of epochs": lambda t: t.MaxValueTrigger("main/accuracy"),
    "best": lambda t: t.BestValueTrigger("main/loss", lambda best, new: new <= best, (1, "iteration")),
    "best of epochs": lambda t: t.BestValueTrigger("main/loss", lambda best, new: new != best),
    "stop": lambda t: t.EarlyStoppingTrigger((1, "iteration")),
    "stop after two": lambda t: t.EarlyStoppingTrigger((1, "iteration"), "main/accuracy", 2),
    "stop by mode": lambda t: t.EarlyStoppingTrigger((2, "iteration"), "main/loss", patients=1, mode="max"),
    "stop by epochs": lambda t: t.EarlyStoppingTrigger(patience=1, max_trigger=(9, "iteration")),
    "stop at once": lambda t: t.EarlyStoppingTrigger((1, "iteration"), patience=0, mode="min"),
    "stop at the end": lambda t: t.EarlyStoppingTrigger(max_trigger=(2, "epoch"), patience=50),
}
SERIALIZERS = (
    (chainer_training.triggers, chainer.serializers.DictionarySerializer, chainer.serializers.NpzDeserializer),
    (triggers, StateWriter, StateReader),
)


def entries_of(writer):
    return writer.target if hasattr(writer, "target") else writer.entries


def fires(api, name, stored, lost, stride=1):
    """When a trigger fires, if it is stored after so many steps and restored without the entries that are lost."""
    module, writer, reader = api
    trainer, trigger, found = Counting(), TRIGGERS[name](module), []
    for step in range(12):
        if step == stored:
            kept = writer()
            if hasattr(trigger, "serialize"):
                trigger.serialize(kept)
            entries = {key: value for key, value in entries_of(kept).items() if key not in lost}
            found.append(sorted(entries_of(kept)))
            trigger = TRIGGERS[name](module)
            if hasattr(trigger, "serialize"):
                trigger.serialize(reader(entries))
        trainer.advance(stride)
        found.append(bool(trigger(trainer)))
        if hasattr(trigger, "finished"):
            found.append(bool(trigger.finished))
        if hasattr(trigger, "count"):
            found.append(float(trigger.count))
    return found


@pytest.mark.parametrize("name", TRIGGERS)
def test_triggers_fire_alike_and_go_on_alike(name):
    losses = ({"previous_iteration"}, {"previous_epoch_detail"}, {"finished"}, {"_flag_first"})
    for stored in (None, 0, 1, 4, 7, 8):
        for lost in (set(), *losses, set().union(*losses)):
            for stride in (1, 3):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    theirs, ours = (fires(api, name, stored, lost, stride) for api in SERIALIZERS)
                assert theirs == ours, (stored, lost, stride)
            if stored is None:
                break


@pytest.mark.parametrize("name", TRIGGERS)
def test_what_triggers_say_of_themselves(name):
    theirs, ours = (TRIGGERS[name](module) for module, *_ in SERIALIZERS)
    assert hasattr(theirs, "get_training_length") == hasattr(ours, "get_training_length")
    if hasattr(theirs, "get_training_length"):
        assert theirs.get_training_length() == ours.get_training_length()
    assert getattr(theirs, "unit", None) == getattr(ours, "unit", None)
    assert ours.may_fire(3, 4) is True  # asked before the values are known


@pytest.mark.parametrize("given", [None, (2, "iteration"), lambda trainer: trainer.updater.iteration == 5, "own"])
def test_what_a_trigger_is_made_of(given):
    found = []
    for module, get_trigger in ((chainer_training.triggers, chainer_training.get_trigger), (triggers, None)):
        get_trigger = get_trigger or triggers.get_trigger
        trigger = get_trigger(module.IntervalTrigger(3, "iteration") if given == "own" else given)
        trainer, calls = Counting(), []
        for _ in range(6):
            trainer.advance()
            calls.append(bool(trigger(trainer)))
        found.append(calls)
    assert found[0] == found[1]


def test_units_of_triggers():
    for module, *_ in SERIALIZERS:
        for make in (module.IntervalTrigger, module.ManualScheduleTrigger):
            with pytest.raises(ValueError):
                make(2, "minute")
        with pytest.raises(TypeError):
            module.EarlyStoppingTrigger(patience=1, patients=1)
        with pytest.raises(KeyError):
            trigger, trainer = module.MinValueTrigger("missing", (1, "iteration")), Counting()
            trainer.advance()
            trigger(trainer)


SHIFTS = {
    "ExponentialShift": [
        (0.5,),
        (0.0,),
        (2.0, 0.1, 0.5),
        (0.5, 0.1, 0.03),
        (1.0, 0.1, 0.05),
        (1.0, 0.1, 0.2),
        (0.5, 0.1, 0.0125),
    ],
    "InverseShift": [(0.1, 0.75), (0.0, 2.0), (0.1, -1.0, 0.1, 0.12), (0.5, 0.0, 0.1, 0.2), (0.5, 1.0, 0.1, 0.04)],
    "StepShift": [(0.5, 3), (0.5, 2, 0.1, 0.04), (1.0, 2, 0.1, 0.2), (2.0, 1.5, 0.1, 0.7), (1.0, 1, 0.1, 0.05)],
    "PolynomialShift": [
        (0.5, 20),
        (2.0, 5),
        (1.0, 4, 0.3),
        (0.5, 20, 0.1, 0.08),
        (-0.5, 20, 0.1, 0.11),
        (0.0, 20, 0.1, 0.2),
    ],
    "LinearShift": [((0.1, 0.01), (2, 6)), ((0.1, 0.7), (3, 3)), ((0.1, 0.7), (0, 3)), ((1, 2), (3, 4))],
    "MultistepShift": [(0.1, [2, 5], 0.1), (0.1, [2, 5], None), (2.0, [1, 2, 3], 0.5), (0.5, [3, 3, 4], 1.0)],
    "WarmupShift": [(0.01, 5, 0.1), (None, 5, 0.1), (0.5, 1, 0.3)],
}


def chainer_side(name, args, mode, stored):
    optimizer = types.SimpleNamespace(lr=0.07)
    trainer = types.SimpleNamespace(updater=types.SimpleNamespace(get_optimizer={"main": optimizer}.__getitem__))
    module, writer, reader = mode
    return rates(
        lambda: getattr(module, name)("lr", *args),
        trainer,
        lambda: optimizer.lr,
        stored,
        lambda one: (one.serialize(kept := writer()), entries_of(kept))[1],
        lambda one, entries: one.serialize(reader(entries)),
    )


def native_side(name, args, stored):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.07)
    return rates(
        lambda: getattr(native_shifts, name)("lr", *args),
        types.SimpleNamespace(optimizers={"main": optimizer}),
        lambda: optimizer.param_groups[0]["lr"],
        stored,
        lambda one: one.state_dict(),
        lambda one, state: one.load_state_dict(state),
    )


def rates(make, trainer, rate, stored, save, load):
    shift, found = make(), []
    shift.initialize(trainer)
    found.append(rate())
    for step in range(8):
        if step == stored:
            kept, shift = save(shift), make()
            load(shift, kept)
            shift.initialize(trainer)
            found.append(rate())
        shift(trainer)
        found.append(rate())
    return found


@pytest.mark.parametrize("name, args", [(name, args) for name, variants in SHIFTS.items() for args in variants])
def test_rates_and_where_they_go_on(name, args):
    modes = [(chainer_training.extensions, *SERIALIZERS[0][1:]), (shift_extensions, *SERIALIZERS[1][1:])]
    for stored in (None, 0, 1, 4):
        theirs, ours = (chainer_side(name, args, mode, stored) for mode in modes)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
        np.testing.assert_allclose(native_side(name, args, stored), theirs, rtol=1e-12)
    for module in (chainer_training.extensions, shift_extensions, native_shifts):
        optimizer = types.SimpleNamespace(lr=0.07)
        if module is native_shifts:
            optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.07)
        shift = getattr(module, name)("lr", *args, optimizer=optimizer)
        shift.initialize(None)  # the one that is given is taken: no trainer is asked
        shift(None)
        assert optimizer is not None


@pytest.mark.parametrize(
    "value", [3, 2.5, True, None, "text", np.arange(3.0), np.float32(2), np.array(7), np.zeros((0, 2), "f")]
)
@pytest.mark.parametrize("strict", [True, False])
def test_values_come_back_as_from_chainers_serializers(value, strict):
    found = []
    for _, writer, reader in SERIALIZERS:
        kept = writer()
        kept("a", value)
        kept["part"]["/inner/"]("/b", value)
        entries = dict(entries_of(kept))
        read = reader(entries, strict=strict)
        given = np.empty_like(value) if isinstance(value, np.ndarray) else value
        got = [read("/a", given), read["/part"]["inner"]("b", given)]
        if isinstance(value, np.ndarray):
            assert got[0] is given
        for other in (0, 0.0, None, False) if isinstance(value, (int, float)) else ():
            try:
                got.append(read("a", other))
            except TypeError:
                got.append("not safely")
        try:
            got.append(read["part"]("missing", 5))
        except KeyError:
            got.append("missing")
        found.append((sorted(entries), got))
    assert found[0][0] == found[1][0]
    for theirs, ours in zip(found[0][1], found[1][1], strict=True):
        np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))
        assert theirs is None or isinstance(theirs, np.ndarray) or type(theirs) is type(ours)


def test_what_is_read_into_another_shape_or_is_an_object():
    reader = StateReader({"p/a": np.arange(4.0), "p/o": np.array([1, "x"], dtype=object), "p/x": np.ones(2)}, "p/")
    for target in (torch.zeros(3), np.zeros(3), np.zeros((4, 1))):
        with pytest.raises(ValueError, match="shape"):
            reader("a", target)
    with pytest.raises(ValueError, match="objects"):
        reader("o", None)
    with pytest.raises(KeyError, match="it has p/a, p/o, p/x, ..."):
        reader("b", 1)
    with pytest.raises(KeyError, match="no key under q/"):
        StateReader(reader.entries, "q/")("b", 1)
    with pytest.raises(KeyError, match="no key under /"):
        StateReader({})("b", 1)
    target = torch.zeros(2, 2, requires_grad=True)
    assert StateReader({"a": np.arange(4).reshape(2, 2)})("a", target) is target
    assert target.tolist() == [[0, 1], [2, 3]] and target.requires_grad
    assert "a" in reader and "/a" in reader and "q" not in reader
