"""Single examples, first and last values, devices that are not given: what larger tests pass by, beside Chainer."""

import chainer
import chainer.links as L
import numpy as np
import pytest
import torch
from chainer import gradient_check as theirs_check
from chainer import testing as theirs_tools
from chainer.link_hooks import SpectralNormalization, TimerHook
from torch import nn

from chainer2torch.compat.dataset import convert, datasets, iterators
from chainer2torch.compat.distributions.distributions import UniformDistribution
from chainer2torch.compat.hooks import link_hooks
from chainer2torch.compat.optimizers import update_rule
from chainer2torch.compat.optimizers.optimizers_by_name import OptimizersByName
from chainer2torch.compat.testing import gradient_check, testing_tools


def test_a_single_dataset_and_a_single_example():
    for module in (chainer.datasets, datasets):
        single = module.TupleDataset(np.arange(3))
        assert len(single) == 3 and single[1] == (1,) and list(single[:2]) == [(0,), (1,)]
        for wrong in ((), (np.arange(3), np.arange(2)), (np.arange(2), np.arange(3))):
            with pytest.raises(ValueError):
                module.TupleDataset(*wrong)
    assert convert.concat_examples([torch.tensor([1.0, 2])], padding=0).tolist() == [[1, 2]]
    ragged = convert.concat_examples([torch.tensor([[1.0, 2]]), torch.tensor([[3.0], [4]])], padding=-1)
    assert ragged.tolist() == [[[1, 2], [-1, -1]], [[3, -1], [4, -1]]]


class Own(convert.Converter):
    def __call__(self, batch, device=None):
        return "own", batch, device


def test_what_converters_are_told():
    told = []

    def plain(batch, device):
        told.append(device)
        return batch

    for device, expected in (("cpu", -1), ("cuda:2", 2), ("cuda", 0)):
        convert._call_converter(plain, [1], torch.device(device))
        assert told.pop() == expected
        assert convert._call_converter(Own(), [1], torch.device(device)) == ("own", [1], torch.device(device))
    convert._call_converter(plain, [1], None)
    assert told.pop() is None
    assert convert._call_converter(convert.concat_examples, [1, 2], torch.device("cpu")).tolist() == [1, 2]
    wrapped = convert.converter()(lambda batch, device=None, more=0: (batch, device, more))
    cpu = torch.device("cpu")
    assert wrapped([1]) == ([1], None, 0) and wrapped([1], None) == ([1], None, 0)
    assert wrapped([1], -1, 5) == ([1], cpu, 5) and wrapped([1], device=-1) == ([1], cpu, 0)
    assert wrapped([1], device=None, more=2) == ([1], None, 2) and isinstance(wrapped, convert.Converter)
    with pytest.raises(TypeError, match="callable"):
        convert.converter()(3)


@pytest.mark.parametrize("name", ["SerialIterator", "MultithreadIterator", "MultiprocessIterator"])
@pytest.mark.parametrize("options", [{}, {"repeat": False, "shuffle": False}, {"shuffle": False}], ids=str)
def test_positions_of_iterators(name, options):
    if name == "MultiprocessIterator" and not options:
        return  # it draws the next order before the last batch of an epoch is asked for: two orders for a reset
    found = []
    for module in (chainer.iterators, iterators if name != "MultiprocessIterator" else _processes()):
        np.random.seed(0)
        iterator = getattr(module, name)(list(range(5)), 2, **options)
        seen = []
        for step in range(7):
            if step == 4:
                iterator.reset()
            try:
                batch = next(iterator)
            except StopIteration:
                batch = "stop"
            seen.append((batch, iterator.epoch, iterator.is_new_epoch, iterator.epoch_detail))
            seen.append(iterator.previous_epoch_detail)
        iterator.reset()
        seen += [iterator.previous_epoch_detail, iterator.epoch_detail, iterator.epoch, iterator.is_new_epoch]
        iterator.finalize()
        found.append(seen)
    assert found[0] == found[1]


def _processes():
    from chainer2torch.compat.dataset import multiprocess_iterator

    return multiprocess_iterator


def test_states_of_own_update_rules():
    state = update_rule._RuleState(torch.device("cpu"))
    host = np.arange(3.0)
    state["same"], state["turned"] = host, host[::-1]
    fixed = np.arange(2.0)
    fixed.flags.writeable = False
    state["fixed"], state["text"], state["tensor"], state["none"] = fixed, np.array(["a"]), torch.ones(1), None
    assert state["same"].data_ptr() == host.ctypes.data and state["turned"].tolist() == [2, 1, 0]
    state["fixed"] += 1
    assert fixed.tolist() == [0, 1] and isinstance(state["text"], np.ndarray) and state["none"] is None
    assert state.setdefault("new", np.zeros(1)).tolist() == [0] and isinstance(state["new"], torch.Tensor)
    assert state.setdefault("new", 5) is state["new"]


@pytest.mark.parametrize("interval", [1, 2, 3])
def test_dynamic_loss_scales_grow_and_shrink(interval):
    scales = []
    for side in ("theirs", "ours"):
        if side == "theirs":
            link = L.Linear(2, 1, initialW=1)
            optimizer = chainer.optimizers.SGD(0.1).setup(link)
        else:
            link = nn.Linear(2, 1)
            optimizer = OptimizersByName.SGD(0.1).setup(link)
        optimizer.loss_scaling(interval=interval)
        seen = [optimizer._loss_scale]
        for step in range(5):
            value = np.inf if step == 3 else 1.0
            x = np.full((1, 2), value, "f")

            def loss(x):
                y = link(x if side == "theirs" else torch.as_tensor(x))  # noqa: B023
                return chainer.functions.sum(y) if side == "theirs" else y.sum()  # noqa: B023

            optimizer.update(loss, x)
            seen += [optimizer._loss_scale, bool(optimizer.is_safe_to_update())]
        scales.append(seen)
        for wrong in ({"interval": 0}, {"scale": 0}, {"scale": -1.0}):
            with pytest.raises(ValueError):
                optimizer.loss_scaling(**wrong)
        optimizer.loss_scaling(interval=1)
        optimizer.loss_scaling(scale=8.0)
        assert optimizer._loss_scale == 8.0
    np.testing.assert_allclose(scales[1], scales[0], rtol=1e-9)


def test_a_weight_of_one_row_has_a_spectral_norm():
    layer = link_hooks.add_hook(nn.Linear(3, 1), link_hooks.SpectralNormalization())
    theirs = L.Linear(3, 1).add_hook(SpectralNormalization())
    theirs.W.array[...] = layer.weight.detach().numpy()
    x = np.ones((2, 3), "f")
    expected = theirs(x).array - theirs.b.array
    np.testing.assert_allclose(
        (layer(torch.as_tensor(x)) - layer.bias).detach().numpy(), expected, rtol=1e-4, atol=1e-5
    )
    with pytest.raises(ValueError, match="empty"):
        link_hooks.add_hook(nn.Linear(3, 0), link_hooks.SpectralNormalization())


def test_how_far_from_a_parabola_is_too_far():
    """The share of a third power from which on numerical_grad refuses a function is Chainer's, within a twentieth."""
    refused = []
    for module in (theirs_check, gradient_check):
        seen = []
        for share in np.geomspace(1e-3, 1e3, 280):
            x = np.array([0.5])
            try:
                module.numerical_grad(
                    lambda: (x**2 + share * (x - 0.5) ** 3 * 100,),  # noqa: B023
                    (x,),
                    (np.ones(1),),
                    eps=0.1,
                    detect_nondifferentiable=True,
                    diff_atol=0.01,
                    diff_rtol=0.01,
                )
                seen.append(False)
            except module.NondifferentiableError:
                seen.append(True)
        refused.append(seen)
    assert refused[0] == refused[1] and 0 < sum(refused[0]) < 280


@pytest.mark.parametrize("shape", [(), (3,), (1, 1), (2, 0)])
def test_matrices_have_two_axes(shape):
    found = []
    for module in (theirs_tools, testing_tools):
        try:
            found.append(module.generate_matrix(shape, singular_values=1.0).shape)
        except ValueError:
            found.append(None)
    assert found[0] == found[1]


def test_a_rule_without_an_optimizer_updates_half_numbers_too():
    class Rule(update_rule.UpdateRule):
        def update_core(self, param):
            param.data -= param.grad

    param = nn.Parameter(torch.ones(2, dtype=torch.float16))
    param.grad = torch.full((2,), 0.5, dtype=torch.float16)
    rule = Rule()
    rule.update(param)
    assert param.tolist() == [0.5, 0.5] and rule.t == 1
    rule.enabled = False
    rule.update(param)
    assert param.tolist() == [0.5, 0.5] and rule.t == 1


@pytest.mark.parametrize("seconds", [0.0, 1e-10, 1e-9, 5e-7, 1e-6, 9e-4, 1e-3, 0.5, 1.0, 120.0])
def test_units_of_times(seconds):
    assert link_hooks._unit_of(seconds) == TimerHook()._choose_unit(seconds)[1]


def test_divergence_of_uniform_distributions_with_the_same_borders():
    low, high = np.array([0.0, 0.0, -1.0, 0.0], "f"), np.array([1.0, 2.0, 1.0, 1.0], "f")
    other_low, other_high = np.array([0.0, -1.0, -0.5, 0.0], "f"), np.array([1.0, 2.0, 1.0, 0.5], "f")
    theirs = chainer.kl_divergence(
        chainer.distributions.Uniform(low=low, high=high), chainer.distributions.Uniform(low=other_low, high=other_high)
    )
    made = [torch.as_tensor(value) for value in (low, high, other_low, other_high)]
    ours = UniformDistribution(low=made[0], high=made[1])._kl(UniformDistribution(low=made[2], high=made[3]))
    np.testing.assert_allclose(ours, theirs.array, rtol=1e-6)
    assert np.isfinite(theirs.array).tolist() == [True, True, False, False]
