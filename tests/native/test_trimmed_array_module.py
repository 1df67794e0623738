"""The array module that a project gets has what the project says; each use is run beside NumPy."""

import types

import numpy as np
import pytest
import torch

from chainer2torch.vendor import compat_file
from chainer2torch.vendor.said import words

USES = [
    "xp.zeros((2, 3), 'f') + x",
    "xp.asarray([x[0], x[1]])",
    "xp.random.normal(size=3, dtype='f')",
    "xp.random.randint(5, size=4)",
    "xp.reshape(x, (3, 2))",
    "xp.add.at(x, (xp.asarray([0, 0]),), 1)",
    "xp.exp(x, out=x)",
    "xp.random.shuffle(x)",
    "xp.flip(x, 1)",
    "xp.exp(x, x)",
    "xp.add(x, x, x)",
    "xp.logical_and.reduce((x > 1, x < 4))",
    "xp.reshape(x, (3, 2))",
    "xp.broadcast_to(x, (4, 2, 3))",
    "xp.linalg.norm(x, axis=1)",
    "xp.transpose(x)",
    "xp.arange(3) if xp == np else None",
    "xp.arange(3) if np != xp else xp.ones(2)",
    "xp.exp(x, **{'out': x})",
    "xp.zeros((2, 3), xp.float32) + xp.pi",
]


def cut(use):
    return compat_file.build(["array_module"], compat_file.NATIVE, said=words(use))


@pytest.mark.parametrize("use", USES)
def test_it_computes_what_numpy_does(use):
    module = types.ModuleType("chainer_compat")
    exec(compile(cut(use), "<helpers>", "exec"), module.__dict__)
    x = np.arange(6, dtype="f").reshape(2, 3)
    tensor = torch.from_numpy(x.copy())
    np.random.seed(0)
    theirs = eval(use, {"xp": np, "x": x, "np": np}) if "dtype" not in use else np.random.normal(size=3).astype("f")
    np.random.seed(0)
    ours = eval(use, {"xp": module.array_module(tensor), "x": tensor, "np": np})
    np.testing.assert_allclose(tensor, x)
    if theirs is None:
        assert ours is None
    else:
        assert isinstance(ours, torch.Tensor) and str(ours.dtype) == f"torch.{theirs.dtype}"
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_what_nobody_says_is_not_there():
    short, whole = (compat_file.build(["array_module"], compat_file.NATIVE, said=said) for said in (["zeros"], None))
    optional = ("call.at =", "drawn", "broadcast_to", "def transpose", "def scatter_add", "__eq__", "_WRITING", '"out"')
    for part in optional:
        assert part in whole and part not in short


def test_an_attribute_of_the_name_is_no_keyword():
    assert '"out"' not in cut("xp.tanh(model.out(x))")


WRITES = [
    "xp.exp(x, out=x)",
    "xp.exp(x, x)",
    "xp.add(x, 2 * x, x)",
    "xp.add(x, y[0], out=(x,))",
    "xp.sum(y, 0, out=x)",
    "xp.modf(y[0], x, y[1])",
    "xp.copyto(x, y[0])",
    "xp.copyto(x, y[1], where=x > 0)",
    "xp.fill_diagonal(y, 7)",
    "xp.add.at(x, [0, 0, 2], y[0])",
]


@pytest.mark.parametrize("use", WRITES)
def test_a_function_writes_into_an_array_on_a_gpu(use, monkeypatch):
    """On a GPU NumPy has a copy of the array; here the module believes that it is on one, and copies, too."""
    module = types.ModuleType("chainer_compat")
    exec(compile(cut(use), "<helpers>", "exec"), module.__dict__)
    on_host = module._on_host

    def copied(x):
        if isinstance(x, (list, tuple)):
            return type(x)(map(copied, x))
        return on_host(x).copy() if isinstance(x, torch.Tensor) else on_host(x)

    monkeypatch.setattr(module, "_on_host", copied)
    monkeypatch.setattr(module, "_on_device", lambda y, device: torch.as_tensor(y))
    x, y = np.arange(3, dtype="f") / 3, np.arange(9, dtype="f").reshape(3, 3) / 5
    mine, other = torch.from_numpy(x.copy()), torch.from_numpy(y.copy())
    theirs = eval(use, {"xp": np, "x": x, "y": y})
    ours = eval(use, {"xp": module.ArrayModule("meta"), "x": mine, "y": other})
    np.testing.assert_allclose(mine, x, rtol=1e-6)
    np.testing.assert_allclose(other, y, rtol=1e-6)
    if isinstance(theirs, np.ndarray):
        assert ours is mine or ours is other
    else:
        assert isinstance(ours, tuple) and ours[0] is mine if isinstance(theirs, tuple) else ours is None
