"""Making Variables and Parameters."""

import chainer
import chainer.functions as F
import numpy as np
import pytest
import torch

from chainer2torch.compat.initializers import initializers
from chainer2torch.compat.variable import parameters


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4", "i8", "?", "u1"])
@pytest.mark.parametrize("requires_grad", [True, False])
def test_variable_wraps_an_array(dtype, requires_grad):
    array = np.arange(3).astype(dtype)
    v, t = chainer.Variable(array, requires_grad=requires_grad), parameters.variable(array, requires_grad=requires_grad)
    assert t.detach().numpy().dtype == v.dtype
    assert t.requires_grad is (v.requires_grad and v.dtype.kind == "f")
    array[1] = 1 - array[1]
    np.testing.assert_array_equal(t.detach().numpy(), v.array)  # both share the memory


def test_variable_starts_a_graph_of_its_own():
    x = np.ones(2, "f")
    v = chainer.Variable((chainer.Variable(x) * 3).array)
    F.sum(v * v).backward()
    start = torch.ones(2, requires_grad=True)
    t = parameters.variable((start * 3).detach())
    (t * t).sum().backward()
    np.testing.assert_array_equal(t.grad.numpy(), v.grad)
    assert start.grad is None


@pytest.mark.parametrize("data", [None, 1.5, [1.0, 2.0]])
def test_variable_takes_arrays_only(data):
    if data is not None:  # an empty Variable of Chainer
        with pytest.raises(TypeError):
            chainer.Variable(data)
    with pytest.raises(TypeError):
        parameters.variable(data)


def test_first_gradient_is_added_to():
    v = chainer.Variable(np.ones(2, "f"), grad=np.full(2, 5, "f"))
    F.sum(v * 2).backward()
    t = parameters.variable(np.ones(2, "f"), grad=np.full(2, 5, "f"))
    (t * 2).sum().backward()
    np.testing.assert_array_equal(t.grad.numpy(), v.grad)


def test_as_variable_and_as_array():
    array = np.ones(2, "f")
    assert chainer.as_variable(array).requires_grad is parameters.as_variable(array).requires_grad is False
    t = torch.ones(2, requires_grad=True)
    assert parameters.as_variable(t) is t
    assert parameters.as_array(t).data_ptr() == t.data_ptr()
    assert not parameters.as_array(t).requires_grad
    assert parameters.as_array(array) is array
    assert parameters.as_array(3) == chainer.as_array(3) == 3


@pytest.mark.parametrize(
    "args", [(2.5, (3, 2)), (None, (2,)), (np.arange(3.0),), (np.arange(2, dtype="f"), (2,)), (1, ()), (0, 3)]
)
def test_parameter(args):
    expected = chainer.Parameter(*args).array
    actual = parameters.parameter(*args)
    assert isinstance(actual, torch.nn.Parameter)
    assert actual.requires_grad
    np.testing.assert_array_equal(actual.detach().numpy(), expected)
    assert actual.detach().numpy().dtype == expected.dtype


def test_parameter_shares_an_array():
    array = np.zeros(3, "f")
    p = parameters.parameter(array)
    array[0] = 7
    assert p[0].item() == 7


def test_parameter_that_gets_its_shape_later():
    p, q = parameters.parameter(0.5), chainer.Parameter(0.5)
    assert parameters.parameter_is_initialized(p) is q.is_initialized is False
    parameters.initialize_parameter(p, (2, 3))
    q.initialize((2, 3))
    assert parameters.parameter_is_initialized(p) is q.is_initialized is True
    assert type(p) is torch.nn.Parameter
    np.testing.assert_array_equal(p.detach().numpy(), q.array)
    with pytest.raises(TypeError):
        parameters.initialize_parameter(p, (2, 3))


def test_parameter_takes_initializers():
    torch.manual_seed(0)
    p = parameters.parameter(initializers.Normal(0.1), (2000,))
    assert abs(p.std().item() - 0.1) < 0.01


def test_names_of_parameters_are_known_after_setup():
    import torch.nn as nn

    from chainer2torch.compat.links.link_names import parameter_name
    from chainer2torch.compat.optimizers.optimizers import SGD

    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    with pytest.raises(AttributeError, match="not known"):
        parameter_name(model[0].weight)
    SGD().setup(model)
    assert [parameter_name(p) for p in model.parameters()] == ["W", "b", "gamma", "beta"]
