"""The rows of chainer.Variable: that there is one for every name, and what examples cannot say."""

import chainer
import chainer.functions as F
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from chainer2torch.compat.variable import variables
from chainer2torch.native import graphs, indexing
from chainer2torch.rules.table import load_rules
from tests.support import differential
from tests.support.row_examples import load_rows

_ROWS = load_rows("variable")


def test_every_public_name_has_a_row():
    # Operators that Python 3 never calls, and what belongs to the class as a Python object.
    other = {
        "__init__",
        "__copy__",
        "__reduce__",
        "__hash__",
        "__array_priority__",
        "__div__",
        "__rdiv__",
        "__nonzero__",
        "__module__",
        "__dict__",
        "__weakref__",
        "__doc__",
        "__repr__",
        "__str__",
        "__annotations__",
    }
    names = {n for n in vars(chainer.Variable) if n.startswith("__") or not n.startswith("_")} - other
    assert names <= set(_ROWS)
    assert set(_ROWS) <= set(dir(chainer.Variable(np.zeros(1, "f"))))  # also what every object has


def test_every_public_name_of_parameters_has_a_row():
    rows = load_rules(strict=False)
    names = {name for name in dir(chainer.Parameter) if not name.startswith("_")}
    missing = {name for name in names if rows.member("chainer.Parameter", name) is None}
    assert not missing


GET_ITEM = pytest.mark.parametrize("get_item", [variables.get_item, indexing.get_item], ids=["long", "short"])


def _index_strategy(size):
    bound = st.one_of(st.none(), st.integers(-size - 1, size + 1))
    return st.one_of(
        st.integers(-size, size - 1),
        st.builds(slice, bound, bound, st.sampled_from([None, 1, 2, -1, -2])),
        st.none(),
        st.just(Ellipsis),
        st.lists(st.integers(-size, size - 1), min_size=2, max_size=2).map(lambda i: np.array(i, np.int32)),
    )


@GET_ITEM
@settings(max_examples=300, deadline=None)
@given(items=st.lists(_index_strategy(3), min_size=1, max_size=4))
def test_get_item_is_numpys(get_item, items):
    x = np.arange(27.0).reshape(3, 3, 3)
    slices = tuple(items)
    axes = sum(item is not None and item is not Ellipsis for item in items)
    twice = sum(item is Ellipsis for item in items) > 1
    if twice and get_item is indexing.get_item:
        return  # torch takes it, Chainer does not
    if twice or axes > 3:
        with pytest.raises(IndexError):
            get_item(torch.from_numpy(x), slices)
        return
    differential.check(
        lambda v: F.get_item(v, slices),
        lambda v: get_item(v, slices),
        [x],
        dtypes=[np.float64],
        strided=False,
    )


@pytest.mark.parametrize(
    "slices",
    [
        np.array([[True, False, True], [False, False, True]]),
        (np.array([True, False]), 1),
        [1, 0],
        [[1, 0], [0, 2]],
        np.array([1, 0], np.uint8),
        np.array([], np.int32),
        (0, np.array([0, 1])),
        (1, 2),
        np.int64(1),
        (slice(None, None, -1), np.array([2, 0])),
        [slice(0, 1), None],
        (Ellipsis, np.array([0, 0])),
    ],
)
@pytest.mark.parametrize("tail", [(), (2,)])
@GET_ITEM
def test_get_item_with_arrays(slices, tail, get_item):
    def to_torch_index(item):
        return torch.from_numpy(item) if isinstance(item, np.ndarray) else item

    as_tensors = tuple(map(to_torch_index, slices)) if isinstance(slices, tuple) else to_torch_index(slices)
    for index in (slices, as_tensors):
        differential.check(
            lambda x: F.get_item(x, slices),
            lambda x, index=index: get_item(x, index),
            [np.random.RandomState(0).randn(2, 3, *tail)],
        )


@pytest.mark.parametrize("slices", [5, (0, 0, 0), np.array([0, 7])])
@GET_ITEM
def test_get_item_out_of_bounds(slices, get_item):
    differential.check_raises(lambda x: x[slices], lambda x: get_item(x, slices), ["f32[2,3]"])


@GET_ITEM
def test_mixed_indices_are_where_torch_differs(get_item):
    x = torch.arange(24.0).reshape(2, 3, 4)
    index = torch.tensor([0, 1])
    assert x[0, :, index].shape == (3, 2)  # were it as in NumPy, the helper would not be needed
    assert get_item(x, (0, slice(None), index)).shape == x.numpy()[0, :, index.numpy()].shape == (2, 3)


@pytest.mark.parametrize("bad", ["f32[3,2]", "f64[2,3]"])
def test_set_grad_refuses_what_chainer_refuses(bad):
    def in_chainer(x, g):
        x.grad = g.array

    def in_torch(x, g):
        variables.set_grad(x, g.detach())

    differential.check_raises(in_chainer, in_torch, ["f32[2,3]", bad])


def test_set_array_refuses_whole_numbers_where_a_gradient_is_required():
    with pytest.raises(RuntimeError):
        variables.set_array(torch.zeros(2, requires_grad=True), np.arange(2))


def test_backward_needs_a_gradient_of_several_numbers():
    with pytest.raises(RuntimeError):
        variables.backward(torch.ones(2, requires_grad=True) * 2)


def test_backward_keeps_the_gradient_of_its_start():
    x = torch.ones(2, requires_grad=True)
    y = x.sum() * 2
    variables.backward(y, retain_grad=True)
    assert y.grad.item() == 1
    assert x.grad.tolist() == [2, 2]


def _recurrent(w, cut_after, keep):
    """Four steps h = h * w and the sum of them; after some of them the graph behind the sum so far is cut."""
    h, loss = w * 1, w * 0
    for i in range(4):
        h = keep(h) * w
        loss = keep(loss) + h
        if i in cut_after:
            (variables.unchain_backward if isinstance(w, torch.Tensor) else chainer.Variable.unchain_backward)(loss)
    return keep(loss) + keep(h) * w


@pytest.mark.parametrize("cut_after", [(), (0,), (1,), (0, 2), (3,)])
def test_unchain_backward_truncates_as_in_chainer(cut_after):
    differential.check(
        lambda w: _recurrent(w, cut_after, lambda h: h), lambda w: _recurrent(w, cut_after, variables.live), ["f32[2]"]
    )


@pytest.mark.parametrize("shape", [(), (1,), (2, 3)])
def test_a_gradient_that_was_set_is_where_backward_starts(shape):
    g = np.full(shape, 2.5, "f")
    x = chainer.Variable(np.full(shape, 3, "f"))
    y = x * x
    y.grad = g
    y.backward()
    for run in (variables.backward, lambda u: u.backward()):
        t = torch.full(shape, 3.0, requires_grad=True)
        u = t * t
        variables.set_grad(u, g)
        run(u)
        np.testing.assert_array_equal(t.grad.numpy(), x.grad)


@pytest.mark.parametrize("module", [variables, graphs])
def test_a_gradient_that_was_set_is_for_one_way_back_from_this_result(module):
    def in_chainer(x):
        x = chainer.Variable(x)
        y = chainer.functions.sum(x * x)
        z = y * 3
        y.grad = np.array(2.5, "f")
        z.backward()  # it goes through y and takes no notice
        y.grad = np.array(2.5, "f")
        y.backward()
        first = x.grad
        y.backward()  # begins with one again
        return first, x.grad

    def in_torch(x):
        x = torch.from_numpy(x).requires_grad_()
        y = (x * x).sum()
        z = y * 3
        module.set_grad(y, np.array(2.5, "f"))
        z.backward(retain_graph=True)
        y.backward(retain_graph=True)
        first = x.grad.clone()
        module.backward(y)
        return first, x.grad

    x = np.array([1, -2, 3], "f")
    for theirs, ours in zip(in_chainer(x.copy()), in_torch(x.copy())):
        np.testing.assert_array_equal(ours.numpy(), theirs)


def test_a_gradient_that_reaches_a_cut_is_refused():
    v = torch.ones(2, requires_grad=True)
    h = v * 2
    variables.unchain_backward(h.sum())
    with pytest.raises(RuntimeError, match="compat.live"):
        (h * 3).sum().backward()
    (variables.live((h, None))[0] * v).sum().backward()
    assert v.grad.tolist() == [2, 2]


def test_creator_is_none_where_grad_fn_is():
    x = chainer.Variable(np.ones(2, "f"))
    t = torch.ones(2, requires_grad=True)
    assert (x.creator is None, (x * 2).creator is None) == (t.grad_fn is None, (t * 2).grad_fn is None)


def test_move_variable_keeps_the_gradient():
    p = torch.nn.Parameter(torch.ones(2))
    p.sum().backward()
    variables.move_variable(p, "cpu")
    assert p.grad.tolist() == [1, 1]
    assert isinstance(p, torch.nn.Parameter)
