"""Compares a Chainer link with a torch module: same weights, several training steps, then evaluation, and back."""

import io

import chainer
import numpy as np
import torch
import torch.nn as nn

from chainer2torch.compat.serializers.serializers import load_npz, save_npz
from tests.support.differential import draw

RTOL = {"float32": 2e-4, "float64": 1e-8}
ATOL = {"float32": 2e-5, "float64": 1e-10}


def check_link(
    make_link,
    make_module,
    inputs,
    *,
    call="__call__",
    steps=3,
    dtypes=("float32", "float64"),
    modes=(True, False),
    rtol=None,
    atol=None,
    kwargs=None,
    seed=0,
):
    """Runs both from Chainer's weights: ``steps`` training steps (plain gradient descent), then a call in eval mode.

    ``inputs`` are specs for `draw` or lists of specs. Compared after each step: outputs, gradients of the float inputs,
    and everything that saving writes (so all parameters, hence their gradients, and all persistent values). At the end
    the module's file goes into a new Chainer link, bit by bit. Returns the torch module of the last dtype.
    """
    for dtype in dtypes:
        with chainer.using_config("dtype", np.dtype(dtype)), _default_dtype(dtype):
            np.random.seed(seed)
            torch.manual_seed(seed)
            link, module = make_link(), make_module()
            rng = np.random.RandomState(seed)
            batches = [_cast(draw_all(inputs, rng), dtype) for _ in range(steps + 1)]
            with chainer.using_config("train", False):
                _reset(link)
                getattr(link, call)(*_variables(batches[0])[0], **(kwargs or {}))  # gives lazy parameters their shapes
                _reset(link)
            load_npz(npz_of(link), module)
            _assert_same_state(link, module, dtype, exact=True)
            tolerance = {"rtol": rtol or RTOL[dtype], "atol": atol or ATOL[dtype]}
            for train in modes:
                module.train(train)
                for batch in batches[:-1] if train else batches[-1:]:
                    with chainer.using_config("train", train):
                        _step(link, module, call, batch, kwargs or {}, tolerance)
                    _assert_same_state(link, module, dtype, tolerance=tolerance)
            _check_round_trip(make_link, module)
    return module


def draw_all(specs, rng):
    return [[draw(s, rng) for s in spec] if isinstance(spec, (list, tuple)) else draw(spec, rng) for spec in specs]


def npz_of(link):
    file = io.BytesIO()
    chainer.serializers.save_npz(file, link, compression=False)  # of millions of numbers it takes seconds
    file.seek(0)
    return file


def arrays_of(obj):
    """What saving writes, as {key: array}, for a link or a module."""
    file = io.BytesIO()
    (save_npz if isinstance(obj, nn.Module) else chainer.serializers.save_npz)(file, obj, compression=False)
    file.seek(0)
    with np.load(file, allow_pickle=True) as arrays:
        return {key: arrays[key] for key in arrays.files}


def _step(link, module, call, batch, kwargs, tolerance):
    c_args, c_leaves = _variables(batch)
    t_args, t_leaves = _tensors(batch)
    link.cleargrads()
    module.zero_grad()
    c_outs = _float_leaves(getattr(link, call)(*c_args, **kwargs))
    t_outs = _float_leaves(getattr(module, call)(*t_args, **kwargs))
    assert len(c_outs) == len(t_outs) > 0
    rng = np.random.RandomState(1)
    c_loss = t_loss = 0
    for c, t in zip(c_outs, t_outs, strict=True):
        np.testing.assert_allclose(t.detach().numpy(), c.array, **tolerance, err_msg="output")
        assert t.detach().numpy().dtype == c.array.dtype
        gy = np.asarray(rng.randn(*c.shape)).astype(c.dtype)
        if c.creator_node is not None:
            c_loss = c_loss + chainer.functions.sum(c * gy)
        if t.requires_grad:
            t_loss = t_loss + (t * torch.as_tensor(gy)).sum()
    if isinstance(c_loss, int):
        assert isinstance(t_loss, int)
        return
    c_loss.backward()
    t_loss.backward()
    for c, t in zip(c_leaves, t_leaves, strict=True):
        expected = np.zeros_like(c.array) if c.grad is None else c.grad
        actual = np.zeros_like(c.array) if t.grad is None else t.grad.numpy()
        np.testing.assert_allclose(actual, expected, **tolerance, err_msg="gradient of an input")
    for param in link.params():
        if param.grad is not None:
            param.array -= 0.1 * param.grad
    with torch.no_grad():
        for param in module.parameters():
            if param.grad is not None:
                param -= 0.1 * param.grad


def _assert_same_state(link, module, dtype, exact=False, tolerance=None):
    expected, actual = arrays_of(link), arrays_of(module)
    assert sorted(actual) == sorted(expected)
    for key in expected:
        assert actual[key].shape == expected[key].shape, key
        assert actual[key].dtype == expected[key].dtype, key
        if exact or expected[key].dtype == object:
            np.testing.assert_array_equal(actual[key], expected[key], err_msg=key)
        else:
            np.testing.assert_allclose(actual[key], expected[key], err_msg=key, **tolerance)


def _check_round_trip(make_link, module):
    file = io.BytesIO()
    save_npz(file, module)
    file.seek(0)
    again = make_link()
    chainer.serializers.load_npz(file, again)
    expected, actual = arrays_of(module), arrays_of(again)
    assert sorted(actual) == sorted(expected)
    for key in expected:
        np.testing.assert_array_equal(actual[key], expected[key], err_msg=key)


class _default_dtype:
    def __init__(self, dtype):
        self.dtype = getattr(torch, dtype)

    def __enter__(self):
        self.old = torch.get_default_dtype()
        torch.set_default_dtype(self.dtype)

    def __exit__(self, *args):
        torch.set_default_dtype(self.old)


def _reset(link):
    if hasattr(link, "reset_state"):
        link.reset_state()


def _cast(values, dtype):
    return [
        _cast(v, dtype)
        if isinstance(v, list)
        else v.astype(dtype)
        if getattr(v, "dtype", None) is not None and v.dtype.kind == "f"
        else v
        for v in values
    ]


def _variables(values):
    leaves = []

    def convert(value):
        if isinstance(value, list):
            return [convert(v) for v in value]
        if not isinstance(value, np.ndarray):
            return value
        variable = chainer.Variable(value.copy())
        if value.dtype.kind == "f":
            leaves.append(variable)
        return variable

    return [convert(v) for v in values], leaves


def _tensors(values):
    leaves = []

    def convert(value):
        if isinstance(value, list):
            return [convert(v) for v in value]
        if not isinstance(value, np.ndarray):
            return value
        tensor = torch.from_numpy(value.copy())
        if value.dtype.kind == "f":
            leaves.append(tensor.requires_grad_())
        return tensor

    return [convert(v) for v in values], leaves


def _float_leaves(value):
    if isinstance(value, (list, tuple)):
        return [leaf for v in value for leaf in _float_leaves(v)]
    dtype = getattr(value, "dtype", None)
    if isinstance(value, chainer.Variable):
        return [value] if dtype.kind == "f" else []
    return [value] if isinstance(value, torch.Tensor) and value.is_floating_point() else []
