"""Ranks and dtypes that the analysis states are those of the values: each expression is executed beside it.

What the call tells must be known; what it does not tell must stay open, which two runs with other ranks show.
"""

import ast

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
import pytest

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import HostArray, Lst, Scalar, Tensor, Tup
from chainer2torch.analysis.module_index import Project
from chainer2torch.analysis.source import Source
from chainer2torch.rules.table import load_rules

_HEAD = "import chainer\nimport chainer.functions as F\nimport chainer.links as L\nimport numpy as np\n"
_GIVEN = {
    "a": "np.ones((2, 3), 'f')",
    "b": "np.ones((2, 3, 4), 'f')",
    "i": "np.zeros((2, 3), 'i')",
    "m": "np.ones((2, 3), bool)",
    "row": "np.arange(2)",
    "x": "chainer.Variable(np.ones((2, 3), 'f'))",
    "y": "chainer.Variable(np.ones((2, 3, 4), 'f'))",
    "z": "chainer.Variable(np.ones((2, 3, 4, 4), 'f'))",
    "t": "chainer.Variable(np.zeros((2,), 'i'))",
    "n": "int('2')",
    "k": "int('1')",
}
_SETUP = "".join(f"{name} = {value}\n" for name, value in _GIVEN.items())

# of these the rank must be known
TENSORS = """
F.concat((x, x))
F.concat([x, x], axis=0)
F.concat((x, unknown(x)))
F.stack([y, y])
F.stack((y, unknown(y)), axis=2)
F.separate(y)[0]
F.separate(z, axis=1)[-1]
F.split_axis(y, 2, axis=2)[0]
F.split_axis(y, (1,), 1)[1]
F.max_pooling_nd(unknown(z), (1, 2))
F.average_pooling_nd(unknown(y), 2, stride=(2,))
F.resize_images(unknown(z), (2, 2))
L.ConvolutionND(2, 3, 4, 2)(unknown(z))
L.DeconvolutionND(ndim=1, in_channels=3, out_channels=2, ksize=2)(unknown(y))
F.squeeze(F.sum(y, axis=1, keepdims=True), axis=1)
F.squeeze(F.sum(y, axis=(0, 1), keepdims=True), axis=(0, 1))
F.expand_dims(x, 1)
F.add(x, x)
F.add(x, y[0, 0, :3])
F.maximum(x, x)
F.minimum(y, y)
F.where(m, x, x)
F.matmul(x, x, transb=True)
F.matmul(y, y, transb=True)
F.matmul(y, x.T[:, :], transa=True)
F.tensordot(y, y, axes=3)
F.tensordot(y, y, axes=((1, 2), (1, 2)))
F.einsum('ij,ijk->ik', x, y)
F.linear(y, np.ones((5, 12), 'f'))
F.linear(y, np.ones((5, 4), 'f'), n_batch_axes=2)
F.embed_id(i, np.ones((5, 6), 'f'))
F.cumsum(y)
F.cumsum(y, axis=1)
F.diagonal(y)
F.vstack((x[0], x[0]))
F.hstack((x, x))
F.dstack((x, x))
F.tile(x, (2, 1, 1))
F.tile(y, 2)
F.repeat(y, 2, axis=0)
F.repeat(y, 2)
F.pad(y, 1, 'constant')
F.pad_sequence([x, x])
F.broadcast(x, y[0, 0, :3])[1]
F.broadcast_to(x, (4, 2, 3))
F.transpose_sequence([x, x])[0]
F.reshape(y, (2, 12))
F.reshape(y, y.shape[:1] + (-1,))
F.reshape(y, (-1,) + y.shape[2:])
F.reshape(y, (n, 3) + y.shape[2:])
F.reshape(y, (2,) * 3 + (3,))
F.reshape(y, (*y.shape[:2], 2, 2))
F.flatten(y)
F.transpose(y, (0, 2, 1))
F.swapaxes(y, 1, 2)
F.moveaxis(y, 1, 2)
F.rollaxis(y, 2)
F.sum(y)
F.sum(y, axis=1)
F.sum(y, axis=(1, 2))
F.sum(y, axis=1, keepdims=True)
F.mean(y, axis=0)
F.average(y, axis=(0, 1))
F.max(y, axis=2)
F.min(y, axis=2, keepdims=False)
F.prod(y, axis=1)
F.logsumexp(y, axis=1)
F.argmax(y, axis=1)
F.argmin(y)
F.cast(y, 'd')
F.get_item(y, (0, slice(1)))
F.get_item(y, (slice(None), None, 1))
F.select_item(x, t)
F.softmax_cross_entropy(x, t)
F.softmax_cross_entropy(x, t, reduce='no')
F.sigmoid_cross_entropy(x, i, reduce='no')
F.gaussian_kl_divergence(x, x)
F.gaussian_kl_divergence(x, x, reduce='no')
F.bernoulli_nll(x, x, reduce='no')
F.average_pooling_2d(z, 2)
F.max_pooling_2d(z, 2)
F.dropout(y)
F.lstm(x, F.concat((x, x, x, x)))[0]
L.NStepLSTM(1, 3, 5, 0.)(None, None, [x, x])[0]
L.NStepLSTM(1, 3, 5, 0.)(None, None, [x, x])[2][0]
L.NStepBiLSTM(1, 3, 5, 0.)(None, None, [x, x])[2][1]
L.NStepGRU(1, 3, 5, 0.)(None, [x, x])[1][0]
L.NStepRNNTanh(1, 3, 5, 0.)(None, [x, x])[0]
L.StatelessLSTM(3, 5)(None, None, x)[1]
L.EmbedID(4, 5)(i)
y[0]
y[:, 0]
y[..., 0]
y[:, None]
y[n - 1, ..., None]
y[np.newaxis]
y[row]
y[[0, 1]]
y[:, row, row]
y[m]
y[-1:, 0, ::2]
x.reshape(3, 2)
x.reshape((3, n))
x.reshape(n, *y.shape[1:2])
x.T
y.transpose(0, 2, 1)
x * 2 + x
y * x[0, 0]
x ** 2
-x
F.sqrt(x) / 3.0
F.concat(F.separate(y, axis=1), axis=1)
F.concat([h for h in F.separate(y, axis=1)], axis=1)
""".strip().splitlines()
ARRAYS = """
np.concatenate([a, a])
np.concatenate((b, b), axis=2)
np.concatenate([a, b], axis=None)
np.stack([a, a])
np.stack((b, b), 1)
np.vstack([a[0], a[0]])
np.vstack((a, a))
np.hstack([a, a])
np.hstack([a[0], a[0]])
np.expand_dims(a, 0)
np.squeeze(b[:1], axis=0)
np.squeeze(b[:1], 0)
np.transpose(b, (0, 2, 1))
np.swapaxes(b, 0, 1)
np.reshape(b, (2, -1))
np.tile(a, (2, 1))
np.repeat(a, 2)
np.repeat(a, 2, axis=0)
np.repeat(a, 2, 1)
np.broadcast_to(a, (4, 2, 3))
np.argsort(a)
np.argsort(b, axis=0)
np.argsort(b, axis=None)
np.ravel(b)
np.outer(a, b)
np.dot(a, a.T)
np.dot(b, a[0, 0])
np.dot(b, np.ones((5, 4, 2), 'f'))
np.matmul(b, np.ones((4, 2), 'f'))
np.where(m, a, a)
np.where(a > 0)[0]
np.where(a > 0, 1, b[0, 0, :3])
np.nonzero(m)[0]
np.split(b, 2)[0]
np.cumsum(a)
np.cumsum(a, axis=1)
np.diff(b)
np.pad(a, 1, 'constant')
np.unique(row)
np.take(b, row, axis=1)
np.take(b, i)
np.einsum('ij,ijk->k', a, b)
np.flatnonzero(a)
np.argwhere(m)
np.bincount(row)
np.array([[1, 2], [3, 4]])
np.asarray([a, a], dtype='d')
np.zeros((n, 3), dtype=np.float32)
np.zeros(a.shape[:1] + (5,))
np.zeros((4,) + b.shape)
np.full((2, 2), 3.5)
np.random.rand(2, 3)
np.random.uniform(-1, 1, (2, 3, 4))
np.random.randint(0, 5, size=(2, 3))
np.random.permutation(5)
np.arange(5)
np.linspace(0, 1, 5)
a.astype('i')
a.argsort()
b.argsort(axis=1)
b.swapaxes(0, 1)
b[:1].squeeze(0)
b.repeat(2, axis=1)
b.take(row, axis=0)
b.dot(a[0, 0])
b.clip(0, 1)
b.diagonal()
b.cumsum(axis=0)
b.reshape(2, -1)
b.max(axis=1)
b.mean(axis=(0, 2))
b.sum(axis=1, keepdims=True)
a[row]
a[m]
b[i[0], :, 0]
b[:, None, 0]
a[:, ::-1]
a + b[0, 0, :3]
a * 2
a[0] * a
""".strip().splitlines()
# of these the rank depends on values: (expression, what is known not to show in it), one line each
OPEN = {
    "F.squeeze(v)": ["np.ones((1, 2, 3), 'f')", "np.ones((4, 2, 3), 'f')"],
    "F.sum(y, axis=c)": ["1", "(1, 2)"],
    "F.max(y, axis=1, keepdims=c)": ["True", "False"],
    "F.reshape(y, c)": ["(2, 12)", "(24,)"],
    "F.reshape(y, (24,) + (1,) * c)": ["1", "2"],
    "F.reshape(y, c[:2])": ["(24,)", "(2, 12, 1)"],
    "F.reshape(x, (2, 3, *c))": ["()", "(1,)"],
    "F.matmul(x, v)": ["np.ones(3, 'f')", "np.ones((3, 2), 'f')"],
    "F.add(x, v)": ["np.ones((2, 3), 'f')", "np.ones((1, 2, 3), 'f')"],
    "F.tile(x, c)": ["2", "(2, 1, 1)"],
    "F.get_item(y, c)": ["0", "(0, 1)"],
    "y[c]": ["0", "(0, 1)"],
    "y[:, c]": ["0", "None"],
    "x * v": ["np.ones((2, 3), 'f')", "np.ones((1, 2, 3), 'f')"],
    "np.squeeze(a * v)": ["1.0", "np.ones((2, 2, 3), 'f')"],
    "np.zeros(c)": ["3", "(3, 4)"],
    "np.tile(a, c)": ["2", "(2, 1, 1)"],
    "np.expand_dims(a, c)": ["0", "(0, 1)"],
    "np.concatenate([a, a], axis=c)": ["0", "None"],
    "np.asarray(c)": ["1.0", "[1.0, 2.0]"],
    "a[c]": ["0", "slice(1)"],
    "b.sum(axis=c)": ["0", "(0, 1)"],
    "np.einsum(c, a, b)": ["'ij,ijk->k'", "'ij,ijk->jk'"],
    "np.random.uniform(size=c)": ["3", "(3, 4)"],
}


@pytest.fixture(scope="module")
def kind_of():
    """The kind of each of some expressions, of a program that has the values in ``_GIVEN``."""

    rules = load_rules()

    def find(expressions, unknown=""):
        text = _HEAD + _SETUP + unknown + "".join(f"show({e})\n" for e in expressions)
        source = Source(text, ast.parse(text))
        analysis = Analysis(Project({"main.py": source}), rules).run()
        calls = [n for n in source.nodes if isinstance(n, ast.Call) and getattr(n.func, "id", "") == "show"]
        return [analysis.kind(call.args[0]) for call in sorted(calls, key=lambda n: n.lineno)]

    return find


def _run(expression, extra=""):
    names = {"chainer": chainer, "F": F, "L": L, "np": np, "unknown": lambda value: value}
    exec(_SETUP + extra, names)
    return eval(expression, names)


def _same_dtype(stated, value):
    actual = str(value.dtype)
    # Chainer's counts and positions are int32 and become int64
    return (
        stated == actual
        or stated in ("floating", "floats")
        and actual.startswith("float")
        or {stated, actual} == {"int64", "int32"}
    )


@pytest.mark.parametrize("kind, expressions", [(Tensor, TENSORS), (HostArray, ARRAYS)], ids=["tensors", "arrays"])
def test_what_a_call_tells_is_known(kind_of, kind, expressions):
    wrong = []
    for expression, found in zip(expressions, kind_of(expressions), strict=True):
        value = _run(expression)
        if not (
            isinstance(found, kind)
            and found.rank == value.ndim
            and (found.dtype is None or _same_dtype(found.dtype, value))
        ):
            wrong.append((expression, found, value.shape, value.dtype))
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("expression", OPEN)
def test_what_depends_on_values_stays_open(kind_of, expression):
    (found,) = kind_of([expression], "from somewhere import c, v\n")
    values = [_run(expression, f"c = v = {value}\n") for value in OPEN[expression]]
    assert len({np.ndim(getattr(value, "array", value)) for value in values}) == 2
    assert not isinstance(found, (Tensor, HostArray)) or found.rank is None
    assert not isinstance(found, (Scalar, Lst, Tup))


REFUSED = """
F.depth2space(unknown(y), 1)
F.depthwise_convolution_2d(unknown(y), np.ones((1, 3, 1, 1), 'f'))
F.dilated_convolution_2d(unknown(y), np.ones((1, 3, 1, 1), 'f'))
F.im2col(unknown(y), 1)
F.resize_images(unknown(y), (1, 1))
F.shift(unknown(y))
F.space2depth(unknown(y), 1)
F.spatial_pyramid_pooling_2d(unknown(y), 1)
F.spatial_transformer_sampler(unknown(y), np.zeros((2, 2, 1, 1), 'f'))
F.upsampling_2d(unknown(y), np.zeros((2, 3, 1, 1), 'i'), 1)
F.max_pooling_nd(unknown(y), (1, 1))
F.average_pooling_nd(unknown(y), 1, stride=(1, 1))
L.ConvolutionND(2, 3, 4, 1)(unknown(y))
L.DeconvolutionND(2, 3, 4, 1)(unknown(y))
L.DeformableConvolution2D(3, 4, 1)(unknown(y))
L.Inception(3, 1, 1, 1, 1, 1, 1)(unknown(y))
L.LocalConvolution2D(3, 4, (4, 4), 1)(unknown(y))
L.MLPConvolution2D(3, (4,), 1)(unknown(y))
""".strip().splitlines()


@pytest.mark.parametrize("expression", REFUSED)
def test_an_input_of_another_rank_is_refused(expression):
    with pytest.raises((chainer.utils.type_check.InvalidType, ValueError, AssertionError, IndexError)):
        _run(expression)
