"""Optimizers that programs write, and the state of all of them, against Chainer's: the same code runs with both."""

import types

import chainer
import numpy as np
import pytest
import torch

from chainer2torch.compat.optimizers import optimizer_hyperparameters, update_rule
from tests.compat import test_optimizers as optimizer_tests
from tests.compat.test_trainer import BOTH, Ours, Theirs
from tests.support.serialized import entries_of, read_into, same_entries

Rules = {Theirs: chainer.UpdateRule, Ours: update_rule.UpdateRule}


def own_optimizer(api, core="update_core"):
    """An optimizer with a state of its own, as programs write one."""
    zeros = np.zeros_like if api is Theirs else torch.zeros_like
    base = chainer.GradientMethod if api is Theirs else optimizer_tests.optimizer_base.GradientMethod
    proxy = chainer.optimizer.HyperparameterProxy if api is Theirs else optimizer_hyperparameters.HyperparameterProxy

    def update(self, param):
        self.state["s"] += param.grad
        self.state["n"] += 1
        param.data -= self.hyperparam.rate * self.state["s"] / self.t

    def init_state(self, param):
        self.state["s"] = zeros(param.data)
        self.state["n"] = 0

    rule = type("Rule", (Rules[api],), {core: update, "init_state": init_state})

    class Method(base):
        rate = proxy("rate")

        def __init__(self, rate):
            super().__init__()
            self.hyperparam.rate = rate

        def create_update_rule(self):
            return rule(self.hyperparam)

    return Method


def optimizer_pair(name, options, dtype="float64"):
    theirs, ours = optimizer_tests.models(dtype)
    if name == "own":
        return theirs, ours, own_optimizer(Theirs)(0.1).setup(theirs), own_optimizer(Ours)(0.1).setup(ours)
    return (
        theirs,
        ours,
        getattr(chainer.optimizers, name)(**options).setup(theirs),
        getattr(optimizer_tests.optimizers, name)(**options).setup(ours),
    )


@pytest.mark.parametrize("name, options", [*optimizer_tests.CASES, ("own", {})])
def test_the_state_of_an_optimizer_goes_both_ways(name, options):
    """`serialize`: equal keys and arrays, also of a disabled parameter; either goes on from what the other stored."""
    theirs, ours, reference, optimizer = optimizer_pair(name, options)
    for model in (theirs, ours):
        model.b.update_rule.enabled = False
    optimizer_tests.train(optimizer, reference, theirs, ours, steps=3)
    for model in (theirs, ours):
        model.a.update_rule.enabled = False
    optimizer_tests.train(optimizer, reference, theirs, ours, steps=3)
    stored = entries_of(reference), entries_of(optimizer)
    same_entries(*stored)
    assert [int(stored[1][key]) for key in ("t", "a/t", "b/t", "scalar/t")] == [6, 3, 0, 6]
    new_theirs, new_ours, new_reference, new_optimizer = optimizer_pair(name, options)
    for new, old in ((new_theirs, theirs), (new_ours, ours)):
        new.b.update_rule.enabled = False
        for shape in optimizer_tests.SHAPES:
            getattr(new, shape).data[...] = getattr(old, shape).data
    read_into(new_reference, stored[1])
    read_into(new_optimizer, stored[0])
    assert new_optimizer.t == 6 and new_ours.a.update_rule.t == new_theirs.a.update_rule.t == 3
    for model in (new_theirs, new_ours):
        model.b.update_rule.enabled = True
    optimizer_tests.train(new_optimizer, new_reference, new_theirs, new_ours, steps=3)
    optimizer_tests.check(new_theirs, new_ours, 1e-8)
    same_entries(entries_of(new_reference), entries_of(new_optimizer), 1e-8)


def test_an_enabled_parameter_needs_its_state():
    *_, reference, optimizer = pair = optimizer_pair("MomentumSGD", {})
    optimizer_tests.train(optimizer, reference, *pair[:2], steps=1)
    entries = {key: value for key, value in entries_of(optimizer).items() if key != "a/v"}
    for new in optimizer_pair("MomentumSGD", {})[2:]:
        with pytest.raises(KeyError, match="a/v"):
            read_into(new, entries)


def test_hyperparameter_proxies():
    for api in BOTH:
        method = own_optimizer(api)
        optimizer = method(0.5)
        assert optimizer.rate == optimizer.hyperparam.rate == 0.5
        optimizer.rate = 0.25
        assert optimizer.hyperparam.rate == 0.25
        optimizer.hyperparam.rate = 0.125
        assert optimizer.rate == 0.125
        assert method.rate is vars(method)["rate"]
        assert type(method.rate).__name__ == "HyperparameterProxy"


def test_update_core_of_each_device():
    """`update_core_cpu` and `update_core_gpu` take the place of `update_core`: one is called, by where the data are."""
    theirs, ours = optimizer_tests.models()
    pair = [own_optimizer(api, "update_core_cpu")(0.1).setup(model) for api, model in ((Theirs, theirs), (Ours, ours))]
    optimizer_tests.train(pair[1], pair[0], theirs, ours, steps=4)
    optimizer_tests.check(theirs, ours)
    for api in BOTH:
        rule = Rules[api]()
        for name in ("update_core_cpu", "update_core_gpu"):
            with pytest.raises(NotImplementedError):
                getattr(rule, name)(None)
        gpu_only = own_optimizer(api, "update_core_gpu")(0.1).setup(optimizer_tests.models()[api is Ours])
        with pytest.raises(NotImplementedError):
            gpu_only.update()
    called = []
    rule_class = type("Rule", (Rules[Ours],), {"update_core_gpu": lambda self, param: called.append(param)})
    param = types.SimpleNamespace(is_cuda=True)  # what a parameter on a GPU says
    rule_class().update_core(param)
    assert called == [param]


def test_an_own_rule_is_not_given_a_float32_copy():
    model = optimizer_tests.models("float16")[1]
    optimizer = own_optimizer(Ours)(0.1)
    optimizer.use_fp32_update()
    optimizer.setup(model)
    with pytest.raises(NotImplementedError, match="float16"):
        optimizer.update()


@pytest.mark.parametrize("name", ["SGD", "MomentumSGD", "Adam", "own"])
def test_rules_that_are_called_by_hand(name):
    """`update` counts and calls the hooks before and after; the optimizer goes on from there."""
    theirs, ours, reference, optimizer = optimizer_pair(name, {})
    logs = []
    for model in (theirs, ours):
        rule, calls = model.a.update_rule, []
        rule.add_hook(lambda rule, param, calls=calls: calls.append(("pre", rule.t)), name="one")
        rule.add_hook(lambda rule, param, calls=calls: calls.append(("post", rule.t)), name="two", timing="post")
        with pytest.raises(KeyError):
            rule.add_hook(print, name="one")
        with pytest.raises(TypeError):
            rule.add_hook(3)
        logs.append(calls)
    optimizer_tests.set_gradients(theirs, ours, np.random.RandomState(5))
    for model in (theirs, ours):
        rule = model.a.update_rule
        rule.update(model.a)
        rule.remove_hook("one")
        with pytest.raises(KeyError):
            rule.remove_hook("one")
        rule.update(model.a)
        rule.enabled = False
        rule.update(model.a)
        rule.enabled = True
        assert rule.t == 2
    optimizer_tests.check(theirs, ours)
    optimizer_tests.train(optimizer, reference, theirs, ours, steps=3)
    optimizer_tests.check(theirs, ours)
    assert ours.a.update_rule.t == theirs.a.update_rule.t == 5 and optimizer.t == 3
    assert logs[0] == logs[1] == [("pre", 1), ("post", 1), ("post", 2), ("post", 3), ("post", 4), ("post", 5)]
    same_entries(entries_of(reference), entries_of(optimizer))
    expected = {"SGD": set(), "MomentumSGD": {"v"}, "Adam": {"m", "v"}, "own": {"s", "n"}}[name]
    assert set(theirs.a.update_rule.state or ()) == expected
    for key in expected:  # Adam has counters of torch's there, too
        np.testing.assert_allclose(ours.a.update_rule.state[key], theirs.a.update_rule.state[key], rtol=1e-9)


@pytest.mark.parametrize("name", ["Adam", "MomentumSGD", "SGD"])
def test_a_snapshot_of_version_1_counts_once(name):
    """Chainer 1 stored `t` for the optimizer alone; today's Chainer does not read such a file."""
    theirs, ours, reference, optimizer = optimizer_pair(name, {})
    optimizer_tests.train(optimizer, reference, theirs, ours, steps=4)
    stored = {key: value for key, value in entries_of(reference).items() if key == "t" or not key.endswith("/t")}
    new_theirs, new_ours, _, new_optimizer = optimizer_pair(name, {})
    new_ours.load_state_dict(ours.state_dict())
    read_into(new_optimizer, stored)
    assert new_optimizer.t == 4
    optimizer_tests.train(new_optimizer, reference, theirs, new_ours, steps=3)
    optimizer_tests.check(theirs, new_ours, 1e-8)
    with pytest.raises(KeyError, match="t is not in the file"):
        read_into(optimizer_pair(name, {})[3], {})


@pytest.mark.parametrize("name", ["Adam", "MomentumSGD", "RMSprop"])
def test_the_state_of_a_rule_can_be_made_early_and_put_elsewhere(name):
    """As programs do that share it between processes: each array is replaced by one on memory of their own."""
    theirs, ours, reference, optimizer = optimizer_pair(name, {})
    memories = []
    for model in (theirs, ours):
        memory = []
        for attribute in ("a", "b"):
            param = getattr(model, attribute)
            rule = param.update_rule
            rule._state = {}
            rule.init_state(param)
            for key, value in sorted(rule.state.items()):
                memory.append(np.zeros(tuple(value.shape)))
                rule.state[key] = memory[-1]
        memories.append(memory)
    optimizer_tests.train(optimizer, reference, theirs, ours, steps=3)
    optimizer_tests.check(theirs, ours)
    for expected, found in zip(*memories, strict=True):
        assert np.abs(expected).max() > 0
        np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("stepped", [True, False])
def test_statistics_of_layers_are_no_state_of_an_optimizer(stepped):
    theirs = chainer.Chain(fc=chainer.links.Linear(3, 4), bn=chainer.links.BatchNormalization(4))
    ours = torch.nn.ModuleDict({"fc": torch.nn.Linear(3, 4), "bn": torch.nn.BatchNorm1d(4)})
    reference = chainer.optimizers.MomentumSGD().setup(theirs)
    optimizer = optimizer_tests.optimizers.MomentumSGD().setup(ours)
    if stepped:
        for param in theirs.params():
            param.grad = np.ones_like(param.array)
        for param in ours.parameters():
            param.grad = torch.ones_like(param)
        reference.update()
        optimizer.update()
    stored = entries_of(reference), entries_of(optimizer)
    same_entries(*stored)
    new = optimizer_tests.optimizers.MomentumSGD().setup(torch.nn.ModuleDict({"fc": torch.nn.Linear(3, 4)}))
    read_into(new, {key: value for key, value in stored[0].items() if "bn" not in key})
    assert new.t == stepped
