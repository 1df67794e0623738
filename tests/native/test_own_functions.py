"""The short base classes of a program's own functions, and NumPy's methods of tensors, beside Chainer and NumPy."""

import inspect
import re
import sys
import types

import chainer
import numpy as np
import pytest
import torch

from chainer2torch.compat.functions import own_functions as faithful
from chainer2torch.native import own_functions as compat
from chainer2torch.native.arrays import astype, numpy_methods
from chainer2torch.vendor import compat_file
from chainer2torch.vendor.said import words


def node_class(base):
    class MulTanh(base):
        """y = tanh(x) * w, whose backward reads an input and an output, with their graph."""

        def forward(self, inputs):
            x, w = inputs
            tanh = np.tanh if isinstance(x, np.ndarray) else torch.tanh
            self.retain_inputs((1,))
            self.retain_outputs((1,))
            t = tanh(x)
            return t * w, t

        def backward(self, indexes, grad_outputs):
            (w,), (t,) = self.get_retained_inputs(), self.get_retained_outputs()
            gy, gt = grad_outputs
            gy = w * 0 if gy is None else gy
            gt = gy * w if gt is None else gy * w + gt
            found = {0: gt * (1 - t * t), 1: gy * t}
            return tuple(found[i] for i in indexes)

    return MulTanh


def old_class(base):
    class Scale(base):
        """Writes into its input and into the gradient, and gives an integer output as well."""

        def forward(self, inputs):
            x = inputs[0]
            x[:] = x * 3
            return x, (x > 0).astype("i4") if isinstance(x, np.ndarray) else (x > 0).int()

        def backward(self, inputs, grad_outputs):
            g = grad_outputs[0]
            g *= inputs[0]
            return (g,)

    return Scale


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_new_style_with_second_derivatives(dtype):
    rng = np.random.RandomState(0)
    x, w = (rng.randn(3, 4).astype(dtype) for _ in range(2))
    cx, cw = chainer.Variable(x), chainer.Variable(w)
    y, _ = node_class(chainer.FunctionNode)().apply((cx, cw))
    (gx,) = chainer.grad([y], [cx], enable_double_backprop=True)
    chainer.functions.sum(gx * gx).backward()
    tx, tw = (torch.from_numpy(a).requires_grad_() for a in (x, w))
    ty, _ = node_class(compat.FunctionNode)().apply((tx, tw))
    (tgx,) = torch.autograd.grad([ty.sum()], [tx], create_graph=True)
    (tgx * tgx).sum().backward()
    for ours, theirs in [(ty, y.array), (tgx, gx.array), (tx.grad, cx.grad), (tw.grad, cw.grad)]:
        np.testing.assert_allclose(ours.detach().numpy(), theirs, rtol=1e-5, atol=1e-6)


def test_only_the_gradients_that_are_needed():
    w = torch.ones(2, requires_grad=True)
    y, _ = node_class(compat.FunctionNode)().apply((torch.ones(2), w))
    y.sum().backward()
    assert w.grad is not None


def test_old_style_may_write_into_its_arrays():
    x = np.array([1.0, -2.0, 3.0], "f4")
    cx = chainer.Variable(x.copy())
    y, positive = old_class(chainer.Function)()(cx)
    chainer.functions.sum(y * y).backward()
    tx = torch.from_numpy(x.copy()).requires_grad_()
    ty, t_positive = old_class(compat.Function)()(tx)
    (ty * ty).sum().backward()
    np.testing.assert_array_equal(ty.detach().numpy(), y.array)
    np.testing.assert_array_equal(t_positive.numpy(), positive.array)
    np.testing.assert_allclose(tx.grad.numpy(), cx.grad)


def test_a_function_without_a_forward_raises():
    with pytest.raises(AttributeError):
        compat.FunctionNode().apply((torch.ones(1),))


@pytest.mark.parametrize(
    "method",
    [
        lambda a: a.max(),
        lambda a: a.min(axis=1, keepdims=True),
        lambda a: a.max((0, 2)),
        lambda a: a.std(),
        lambda a: a.std(axis=0, ddof=1),
        lambda a: a.var(axis=(0, 1)),
        lambda a: a.nonzero(),
        lambda a: a.repeat(2),
        lambda a: a.repeat([1, 2, 3], axis=1),
        lambda a: a.copy(),
        lambda a: a.cumprod(),
        lambda a: a.cumsum(),
        lambda a: a.dot(np.arange(4.0)),
        lambda a: a.round(1),
    ],
)
def test_methods_of_arrays(method):
    array = np.random.RandomState(0).randn(2, 3, 4)
    array[0, 0, 0] = 0
    ours, theirs = method(numpy_methods(torch.from_numpy(array))), method(numpy_methods(array))
    for a, b in zip(ours, theirs, strict=True) if isinstance(theirs, tuple) else [(ours, theirs)]:
        np.testing.assert_allclose(a.numpy(), b)


def test_methods_that_change_the_array():
    array = np.random.RandomState(0).randn(3, 4)
    x = torch.from_numpy(array.copy())
    numpy_methods(x).sort(axis=0)
    np.testing.assert_array_equal(x.numpy(), np.sort(array, axis=0))
    numpy_methods(x).fill(2)
    assert (x == 2).all() and isinstance(numpy_methods(x).get(), np.ndarray)
    assert numpy_methods("text") == "text"


@pytest.mark.parametrize("dtype", ["f", "int32", np.float64, np.dtype("uint8"), "?", int])
def test_astype_of_both(dtype):
    array = np.array([[0.0, 1.5], [2.0, 3.7]], "f4")
    expected = array.astype(dtype)
    ours, theirs = astype(torch.from_numpy(array), dtype), astype(array, dtype)
    np.testing.assert_array_equal(ours.numpy(), expected)
    assert theirs.dtype == expected.dtype == ours.numpy().dtype
    again = astype(array, ours.dtype)  # a dtype of torch for an array of NumPy
    assert again.dtype == expected.dtype
    same = torch.from_numpy(array)
    assert astype(same, "f4", copy=False) is same and astype(same, "f4") is not same


def partial_class(base):
    class Product(base):
        """Keeps its second input and its output only: the first one is not there in ``backward``."""

        def forward_cpu(self, inputs):
            self.retain_inputs((1,))
            self.retain_outputs((0,))
            return (inputs[0] * inputs[1],)

        def backward_cpu(self, inputs, grad_outputs):
            assert inputs[0] is None
            return grad_outputs[0] * inputs[1], None

    return Product


def test_old_style_gets_the_inputs_that_it_keeps():
    x, w = np.array([1.0, -2.0], "f4"), np.array([3.0, 5.0], "f4")
    cx, tx = chainer.Variable(x), torch.from_numpy(x).requires_grad_()
    y = partial_class(chainer.Function)()(cx, w)
    chainer.functions.sum(y).backward()
    ty = partial_class(compat.Function)()(tx, torch.from_numpy(w))
    ty.sum().backward()
    np.testing.assert_array_equal(ty.detach().numpy(), y.array)
    np.testing.assert_array_equal(tx.grad.numpy(), cx.grad)


@pytest.mark.parametrize("made", [old_class, partial_class, node_class], ids=lambda made: made.__name__)
def test_what_a_project_gets_is_cut_to_its_protocol(made, monkeypatch):
    """The vendored text, cut by the words of the class, computes the same; a project of one protocol has that alone."""
    old = made is not node_class
    name = "Function" if old else "FunctionNode"
    source = re.sub(
        r"class (\w+)\(base\)", rf"class \1(compat.{name})", inspect.getsource(made)
    ) + "Own().apply(())\n" * (not old)
    text = compat_file.build([name], style="native", said=words(source))
    assert ("class _Step" in text) is not old and ("class _OldStep" in text) is old
    assert ("retain_inputs" in text) is (made is not old_class) and ("backward_cpu" in text) is (made is partial_class)
    module = types.ModuleType("chainer_compat")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(text, vars(module))
    x, w = torch.tensor([1.0, -2.0]), torch.tensor([3.0, 5.0])
    results = []
    for space in (compat, module):
        a = x.clone().requires_grad_()
        function, inputs = made(getattr(space, name))(), (a,) if made is old_class else (a, w)
        y = function(*inputs) if old else function.apply(inputs)
        y = y[0] if isinstance(y, tuple) else y
        (y * y).sum().backward()
        results += [y.detach(), a.grad]
    assert torch.equal(results[0], results[2]) and torch.equal(results[1], results[3])


@pytest.mark.parametrize("short", [True, False])
def test_an_old_function_in_a_graph_that_is_kept_for_second_derivatives(short):
    """Its gradients are numbers there, as in Chainer; only who asks for their gradient gets an error."""

    def double(base):
        class Double(base):
            def forward(self, inputs):
                return (inputs[0] * 2,)

            def backward(self, inputs, grad_outputs):
                return (grad_outputs[0] * inputs[0],)

        return Double()

    x, v = chainer.Variable(np.array([1, 2], "f")), chainer.Variable(np.array([3, 5], "f"))
    y = chainer.functions.sum(double(chainer.Function)(x) * v**2)
    gx, gv = chainer.grad([y], [x, v], enable_double_backprop=True)
    (again,) = chainer.grad([gv], [v], grad_outputs=[chainer.Variable(np.ones(2, "f"))])

    t, w = torch.tensor([1.0, 2], requires_grad=True), torch.tensor([3.0, 5], requires_grad=True)
    u = (double(compat.Function if short else faithful.Function)(t) * w**2).sum()
    gt, gw = torch.autograd.grad(u, [t, w], create_graph=True)
    (ours,) = torch.autograd.grad(gw.sum(), w, retain_graph=True)
    for given, expected in ((gt.detach(), gx), (gw.detach(), gv), (ours, again)):
        np.testing.assert_array_equal(given.numpy(), expected.array)
    with pytest.raises(RuntimeError):
        chainer.grad([gx], [x], grad_outputs=[chainer.Variable(np.ones(2, "f"))])
    with pytest.raises(RuntimeError, match="differentiated twice"):
        gt.sum().backward()
