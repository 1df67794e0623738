"""Runs one computation in Chainer and in PyTorch and compares outputs, gradients and second derivatives.

    check(lambda x: F.elu(x, alpha=2.0), lambda x: compat.elu(x, alpha=2.0), ["f32[3,4]"], double_backward=True)

An input is a NumPy array, a text for :func:`draw` (``"f32[3,4]>0"``), a list or tuple of those, or any other value,
which both sides get as it is. Float arrays reach Chainer as Variables and PyTorch as tensors that require a gradient,
in every dtype of `dtypes`; other arrays as plain ndarrays and tensors. Unless ``strided=False`` everything runs a
second time with non-contiguous inputs. Nothing is skipped: a gradient that only one side has fails unless it is zero.
"""

import ast
import re

import chainer
import numpy as np
import torch

FLOATS = (np.float32, np.float64)
RTOL = {np.dtype("f2"): 1e-2, np.dtype("f4"): 1e-4, np.dtype("f8"): 1e-8}
ATOL = {np.dtype("f2"): 1e-2, np.dtype("f4"): 1e-5, np.dtype("f8"): 1e-10}
_SPEC = re.compile(r"(f16|f32|f64|i8|i16|i32|i64|u8|bool)\[([\d, ]*)\]\s*(.*)")
_DTYPES = {
    "f16": "f2",
    "f32": "f4",
    "f64": "f8",
    "i8": "i1",
    "i16": "i2",
    "i32": "i4",
    "i64": "i8",
    "u8": "u1",
    "bool": "?",
}


def draw(spec, rng):
    """Draws the input that a text of a rule's `given` describes (docs/adding-a-rule.md); lists of texts give lists."""
    if isinstance(spec, (list, tuple)):
        return type(spec)(draw(item, rng) for item in spec)
    if not isinstance(spec, str):
        return spec
    if spec.startswith("="):
        return ast.literal_eval(spec[1:].strip())
    match = _SPEC.fullmatch(spec.strip())
    if match is None:
        raise ValueError(f"not an input: {spec!r}")
    kind, shape, rest = match.groups()
    dtype = np.dtype(_DTYPES[kind])
    shape = tuple(int(n) for n in shape.split(",") if n.strip())
    if dtype.kind == "b":
        return np.asarray(rng.rand(*shape) < 0.5)
    if dtype.kind == "f":
        return np.asarray(_floats(rest, shape, rng)).astype(dtype)
    low, high = _integer_range(rest)
    return np.asarray(rng.randint(low, high, size=shape)).astype(dtype)


def _floats(rest, shape, rng):
    if not rest:
        return rng.randn(*shape)
    if rest in (">0", "> 0"):
        return np.abs(rng.randn(*shape)) + 0.1
    match = re.fullmatch(r"in [(\[](.+),(.+)[)\]]", rest)
    if match is None:
        raise ValueError(f"not a range: {rest!r}")
    return rng.uniform(float(match.group(1)), float(match.group(2)), size=shape)


def _integer_range(rest):
    if not rest:
        return 0, 10
    match = re.fullmatch(r"<\s*(-?\d+)", rest)
    if match:
        return 0, int(match.group(1))
    match = re.fullmatch(r"in \[(.+),(.+)\)", rest)
    if match is None:
        raise ValueError(f"not a range: {rest!r}")
    return int(match.group(1)), int(match.group(2))


def check(
    chainer_fn,
    torch_fn,
    inputs,
    *,
    dtypes=FLOATS,
    grad=True,
    double_backward=False,
    rtol=None,
    atol=None,
    check_dtype=True,
    strided=True,
    seed=0,
):
    """Asserts that both functions give the same outputs and gradients for `inputs`, in every dtype of `dtypes`.

    Args:
        grad: Compare the gradients of all float inputs for random output gradients.
        double_backward: Also compare the second derivatives, with respect to the inputs and the output gradients.
        rtol, atol: Instead of the tolerance of each dtype (1e-4 / 1e-5 in float32, 1e-8 / 1e-10 in float64).
        check_dtype: The outputs' dtypes must be equal (False where the rule's note says that they differ).
        strided: Run once more with non-contiguous inputs.
    """
    drawn = draw(list(inputs), np.random.RandomState(seed))
    has_float = any(a.dtype.kind == "f" for a in _leaves(drawn))
    for dtype in dtypes if has_float else (None,):
        cast = _cast(drawn, dtype)
        for layout in (_same, _non_contiguous) if strided else (_same,):
            _check_once(chainer_fn, torch_fn, cast, layout, grad, double_backward, rtol, atol, check_dtype, seed)


def check_raises(chainer_fn, torch_fn, inputs, seed=0, torch_error=(ValueError, TypeError, RuntimeError, IndexError)):
    """Asserts that both functions raise for `inputs` (where Chainer refuses, the migrated code must not go on)."""
    drawn = draw(list(inputs), np.random.RandomState(seed))
    for fn, convert, errors in ((chainer_fn, to_chainer, Exception), (torch_fn, to_torch, torch_error)):
        try:
            fn(*convert(drawn))
        except errors:
            continue
        raise AssertionError(("Chainer" if fn is chainer_fn else "torch") + " did not raise")


def run(chainer_fn, torch_fn, inputs, seed=0):
    """Returns (Chainer's result, torch's result) as nested tuples of ndarrays, for tests with their own criterion."""
    drawn = draw(list(inputs), np.random.RandomState(seed))
    return to_numpy(chainer_fn(*to_chainer(drawn))), to_numpy(torch_fn(*to_torch(drawn)))


def to_chainer(value):
    """Float arrays become Variables, other arrays stay; containers are walked."""
    return _map(value, lambda a: chainer.Variable(a) if a.dtype.kind == "f" else a)


def to_torch(value):
    """Arrays become tensors of the same dtype, strides and values; float ones require a gradient."""
    return _map(value, _tensor)


def to_numpy(value):
    """Variables and tensors (in tuples and lists, too) become ndarrays."""
    if isinstance(value, (list, tuple)):
        return tuple(to_numpy(v) for v in value)
    if isinstance(value, torch.Tensor):
        return value.detach().cpu().numpy(force=True)
    if isinstance(value, chainer.Variable):
        return value.array
    return value


def assert_same(actual, expected, *, rtol=None, atol=None, check_dtype=True, what="output"):
    """Asserts that two results of :func:`to_numpy` are equal: structure, shapes, dtypes and values (nan equals nan)."""
    if isinstance(expected, tuple):
        assert isinstance(actual, tuple) and len(actual) == len(expected), f"{what}: {actual!r} for {expected!r}"
        for i, (a, e) in enumerate(zip(actual, expected, strict=True)):
            assert_same(a, e, rtol=rtol, atol=atol, check_dtype=check_dtype, what=f"{what}[{i}]")
        return
    if expected is None or isinstance(expected, (str, bool)):
        assert actual is expected or actual == expected, f"{what}: {actual!r} for {expected!r}"
        return
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape, f"{what}: shape {actual.shape} for {expected.shape}"
    if check_dtype:
        assert actual.dtype == expected.dtype, f"{what}: dtype {actual.dtype} for {expected.dtype}"
    if expected.dtype.kind in "fc":
        np.testing.assert_allclose(
            actual,
            expected,
            rtol=RTOL.get(expected.dtype, 1e-4) if rtol is None else rtol,
            atol=ATOL.get(expected.dtype, 1e-5) if atol is None else atol,
            err_msg=what,
        )
    else:
        np.testing.assert_array_equal(actual, expected, err_msg=what)


def _check_once(chainer_fn, torch_fn, arrays, layout, grad, double_backward, rtol, atol, check_dtype, seed):
    rng = np.random.RandomState(seed + 1)
    tolerance = {"rtol": rtol, "atol": atol}
    c_in, t_in = to_chainer(_map(arrays, layout)), to_torch(_map(arrays, layout))
    c_out, t_out = chainer_fn(*c_in), torch_fn(*t_in)
    assert_same(to_numpy(t_out), to_numpy(c_out), check_dtype=check_dtype, **tolerance)
    c_xs, t_xs = _flat(c_in, chainer.Variable), _float_tensors(t_in)
    assert len(c_xs) == len(t_xs)
    if not grad or not c_xs:
        return
    c_ys, t_ys = _float_outputs(c_out, t_out)
    if not c_ys:
        return
    gys = [np.asarray(rng.randn(*y.shape)).astype(y.dtype) for y in c_ys]
    c_gys = [chainer.Variable(g) for g in gys]
    t_gys = [torch.tensor(g, requires_grad=double_backward) for g in gys]
    c_gxs = chainer.grad(c_ys, c_xs, c_gys, enable_double_backprop=double_backward)
    t_gxs = torch.autograd.grad(t_ys, t_xs, t_gys, allow_unused=True, create_graph=double_backward)
    _assert_same_grads(t_gxs, c_gxs, c_xs, "gradient of input", tolerance)
    if not double_backward:
        return
    pairs = [(c, t) for c, t in zip(c_gxs, t_gxs, strict=True) if c is not None and t is not None]
    weights = [np.asarray(rng.randn(*c.shape)).astype(c.dtype) for c, _ in pairs]
    c_second = chainer.grad([c for c, _ in pairs], c_xs + c_gys, [chainer.Variable(w) for w in weights])
    t_pairs = [(t, torch.tensor(w)) for (_, t), w in zip(pairs, weights, strict=True) if t.requires_grad]
    t_second = torch.autograd.grad([t for t, _ in t_pairs], t_xs + t_gys, [w for _, w in t_pairs], allow_unused=True)
    _assert_same_grads(t_second, c_second, c_xs + c_gys, "second derivative by", tolerance)


def _assert_same_grads(t_gxs, c_gxs, c_xs, what, tolerance):
    for i, (t, c, x) in enumerate(zip(t_gxs, c_gxs, c_xs, strict=True)):
        zeros = np.zeros(x.shape, x.dtype)  # None and zero are the same gradient
        assert_same(
            zeros if t is None else to_numpy(t), zeros if c is None else to_numpy(c), what=f"{what} {i}", **tolerance
        )


def _float_outputs(c_out, t_out):
    c_ys, t_ys = [], []
    arrays = _flat(c_out, (chainer.Variable, np.ndarray)), _flat(t_out, (torch.Tensor, np.ndarray))
    for c, t in zip(*arrays, strict=True):
        if isinstance(c, chainer.Variable) and c.dtype.kind == "f" and c.creator is not None:
            assert t.requires_grad, "Chainer's output has a gradient, torch's has none"
            c_ys.append(c)
            t_ys.append(t)
    return c_ys, t_ys


def _float_tensors(value):
    return [t for t in _flat(value, torch.Tensor) if t.is_floating_point()]


def _flat(value, kind):
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in _flat(item, kind)]
    return [value] if isinstance(value, kind) else []


def _leaves(value):
    return _flat(value, np.ndarray)


def _map(value, fn):
    if isinstance(value, (list, tuple)):
        return type(value)(_map(item, fn) for item in value)
    return fn(value) if isinstance(value, np.ndarray) else value


def _cast(value, dtype):
    return _map(value, lambda a: a.astype(dtype) if a.dtype.kind == "f" else a)


def _same(array):
    return array.copy()


def _non_contiguous(array):
    """The same values with other strides: every second column of an array that is twice as wide."""
    if array.ndim == 0:
        return array.copy()
    wide = np.full(array.shape[:-1] + (2 * array.shape[-1],), 77, dtype=array.dtype)
    wide[..., ::2] = array
    return wide[..., ::2]


def _tensor(array):
    tensor = torch.from_numpy(array)  # shares the memory, so the strides are the array's
    return tensor.requires_grad_() if tensor.is_floating_point() else tensor
