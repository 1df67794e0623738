"""Chainer's function classes as objects: names and calls of old versions, which Chainer 7.8.1 has no more."""

import sys
import types
from unittest import mock

import chainer
import chainer.functions as F
import numpy as np
import pytest
import torch
from chainer.functions.pooling.max_pooling_nd import MaxPoolingND

from chainer2torch.compat.functions.function_objects import FunctionObject, JoiningFunctionObject, MaxPooling2D
from chainer2torch.compat.functions.own_functions import FunctionNode
from chainer2torch.compat.functions.pooling import upsampling_2d
from chainer2torch.engine import Options, migrate_source
from chainer2torch.native import function_objects as native
from chainer2torch.vendor import compat_file

HEAD = "import chainer\nimport chainer.functions as F\n"


def migrated(text: str, options: Options | None = None) -> tuple[str, list[str]]:
    """The last line of the result and the states of its sites."""
    source = HEAD + text + "\n"
    result = migrate_source(source, options=options)
    assert result.error is None
    line = source.count("\n")
    return result.code.rstrip().splitlines()[-1], [s.state for s in result.sites if s.line == line]


@pytest.mark.parametrize(
    "before, after",
    [
        ("f = F.ReLU()", "f = compat.FunctionObject(F.relu)"),
        ("f = F.ReLU(False)", "f = compat.FunctionObject(F.relu)"),
        ("f = F.Sigmoid(use_cudnn=True)", "f = compat.FunctionObject(torch.sigmoid)"),
        ("f = F.LeakyReLU(0.1)", "f = compat.FunctionObject(F.leaky_relu, negative_slope=0.1)"),
        ("f = F.Softmax()", "f = compat.FunctionObject(F.softmax, dim=1)"),
        ("f = F.MaxPooling2D(3, 2, 1)", "f = compat.MaxPooling2D(3, stride=2, pad=1)"),
        ("f = F.MaxPooling2D(3, 2, use_cudnn=False)", "f = compat.MaxPooling2D(3, stride=2)"),
        ("n = F.MaxPooling2D(2, 2).indexes.shape", "n = compat.MaxPooling2D(2, stride=2).indexes.shape"),
        (
            "f = F.SoftmaxCrossEntropy(False, False)",
            "f = compat.FunctionObject(compat.softmax_cross_entropy, normalize=False)",
        ),
        ("f = F.Concat(axis=2)", "f = compat.JoiningFunctionObject(torch.cat, dim=2)"),
        ("f = F.Reshape((2, 3))", "f = compat.FunctionObject(compat.reshape, shape=(2, 3))"),
    ],
)
def test_names_of_version_1(before, after):
    line, states = migrated(before, Options(chainer_version=1) if "False" in before else None)
    assert line.replace("torch.nn.functional.", "F.").replace("nn.functional.", "F.") == after
    assert states and set(states) == {"exact"}


def test_a_class_that_is_not_called_stays():
    _, states = migrated("class Mine(F.ReLU): pass")
    assert "manual" in states


def test_a_function_and_a_link_of_one_name_are_told_apart():
    """Up to version 2 `F.BatchNormalization` was the link; the module of the function has a class of that name, too."""
    source = "from chainer.functions.normalization.batch_normalization import BatchNormalization\n"
    source += "f = BatchNormalization(1e-3)\n"
    result = migrate_source(source)
    assert [s.state for s in result.sites if s.line == 2] == ["manual"]


@pytest.mark.parametrize("pooling", [MaxPooling2D, native.MaxPooling2D])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "shape, options",
    [
        ((2, 3, 6, 7), {"ksize": 2}),
        ((2, 3, 7, 7), {"ksize": 3, "stride": 2, "pad": 1}),
        ((1, 2, 8, 5), {"ksize": (3, 2), "stride": 2, "cover_all": False}),
    ],
)
def test_max_pooling(pooling, dtype, shape, options):
    values = np.random.RandomState(0).randn(*shape).astype(dtype)
    x = chainer.Variable(values.copy())
    (y,) = MaxPoolingND(2, **options).apply((x,))
    F.sum(y * y).backward()
    t = torch.from_numpy(values.copy()).requires_grad_()
    (ours,) = pooling(**options).apply((t,))
    (ours * ours).sum().backward()
    np.testing.assert_array_equal(ours.detach().numpy(), y.array)
    np.testing.assert_allclose(t.grad.numpy(), x.grad, rtol=1e-6)


@pytest.mark.parametrize("pooling", [MaxPooling2D, native.MaxPooling2D])
@pytest.mark.parametrize(
    "options", [{"ksize": 2}, {"ksize": 3, "stride": 2, "pad": 1}, {"ksize": (3, 2), "stride": 2, "cover_all": False}]
)
def test_what_upsampling_asks_of_a_max_pooling(pooling, options):
    """The object keeps where the maxima were, and forgets it with the next input."""
    values = np.random.RandomState(1).randn(2, 3, 7, 8).astype("f")
    pool = pooling(**options)
    with pytest.raises(AttributeError):
        _ = pool.indexes
    for data in (values, -values):
        y, indexes = F.max_pooling_2d(data, return_indices=True, **options)
        ours = pool(torch.from_numpy(data).requires_grad_())
        np.testing.assert_array_equal(pool.indexes.numpy(), indexes)
        args = {
            "ksize": (pool.kh, pool.kw),
            "stride": (pool.sy, pool.sx),
            "pad": (pool.ph, pool.pw),
            "outsize": (7, 8),
            "cover_all": pool.cover_all,
        }
        theirs = F.upsampling_2d(y, indexes, **args)
        np.testing.assert_array_equal(upsampling_2d(ours, pool.indexes, **args).detach().numpy(), theirs.array)
    if pooling is MaxPooling2D:
        pool.indexes = pool.indexes[:, :, :1, :1]
        assert pool.indexes.shape == (2, 3, 1, 1)


def test_calls_and_several_outputs():
    x = torch.arange(6.0).reshape(2, 3)
    assert FunctionObject(torch.sum, dim=1)(x).tolist() == [3, 12]
    parts = FunctionObject(torch.split, split_size_or_sections=1, dim=1)(x)
    assert isinstance(parts, tuple) and [p.shape for p in parts] == [(2, 1)] * 3
    assert isinstance(FunctionObject(torch.sum), FunctionNode)
    joined = JoiningFunctionObject(torch.cat, dim=1)
    assert torch.equal(joined(x, x), torch.cat([x, x], dim=1))
    assert torch.equal(joined.apply([x])[0], x)


def test_the_short_ones():
    x = torch.arange(6.0).reshape(2, 3)
    assert native.FunctionObject(torch.sum, dim=1)(x).tolist() == [3, 12]
    parts = native.FunctionObject(torch.split, split_size_or_sections=1, dim=1).forward((x,))
    assert isinstance(parts, tuple) and [p.shape for p in parts] == [(2, 1)] * 3
    joined = native.JoiningFunctionObject(torch.cat, dim=1)
    assert torch.equal(joined(x, x), torch.cat([x, x], dim=1))
    asked = "f = F.ReLU()\ndef run(g, x):\n    return g.apply((x,))\n"
    code = migrate_source(HEAD + asked, options=Options(style="native"))
    assert "FunctionNode" not in " ".join(map(str, code.helpers)) and "compat.FunctionObject(F.relu)" in code.code


@pytest.mark.parametrize("style", ["native", "faithful"])
def test_a_function_object_is_a_function_node(style):
    head = "import chainer\nfrom chainer.functions.activation.relu import ReLU\n"
    text = head + "asked = [isinstance(f, chainer.FunctionNode) for f in (ReLU(), chainer.links.Linear(3, 2))]\n"
    result = migrate_source(text, options=Options(style=style))
    compat = types.ModuleType("chainer_compat")
    exec(compat_file.build(result.helpers, style=style), compat.__dict__)
    ours, theirs = {}, {}
    with mock.patch.dict(sys.modules, {"chainer_compat": compat}):
        exec(result.code, ours)
    exec(text, theirs)
    assert ours["asked"] == theirs["asked"] == [True, False]
