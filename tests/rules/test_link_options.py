"""Every option of every exact link has been set to something else than its default, in an example or here.

Here both sides start by themselves, without weights that are handed over: all initial values are constants or arrays,
so that the options that choose them show in what is saved and in what comes out.
"""

import ast

import chainer
import numpy as np
import pytest
import torch

from chainer2torch.rules.table import load_rules
from chainer2torch.rules.signature import BindError
from tests.support.both_sides import both
from tests.support.links import arrays_of

RULES = load_rules()
HEAD = """
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np


def v(*shape, scale=1.0, dtype='f'):
    return chainer.Variable((np.sin(np.arange(np.prod(shape)) * 1.3) * scale).reshape(shape).astype(dtype))


def w(*shape):
    return np.cos(np.arange(np.prod(shape)) * 0.7).reshape(shape).astype('f')


"""
CASES = [
    (
        "L.BatchNormalization(3, decay=0.7, eps=0.1, initial_gamma=w(3), initial_beta=0.5, initial_avg_mean=w(3), "
        "initial_avg_var=2)",
        "link(v(4, 3))",
    ),
    ("L.BatchNormalization(3, dtype=np.float64, use_gamma=False)", "link(v(4, 3, dtype='d'))"),
    (
        "L.BatchRenormalization(3, rmax=2, dmax=1, decay=0.7, eps=0.1, initial_gamma=w(3), initial_beta=0.5, "
        "initial_avg_mean=w(3), initial_avg_var=2)",
        "link(v(4, 3))",
    ),
    ("L.BatchRenormalization(3, dtype=np.float64, use_gamma=False, use_beta=False)", "link(v(4, 3, dtype='d'))"),
    ("L.BatchNormalization(3, dtype=np.float64)", "link(v(4, 3))"),
    ("L.Bilinear(2, 3, 4, initialW=w(2, 3, 4), initial_bias=(w(2, 4), w(3, 4), w(4)))", "link(v(5, 2), v(5, 3))"),
    ("L.Bilinear(2, 3, 4, True, w(2, 3, 4))", "link(v(5, 2), v(5, 3))"),
    (
        "L.Convolution1D(4, 6, 3, initialW=w(6, 2, 3), initial_bias=0.2, dilate=2, groups=2, pad=1, stride=2)",
        "link(v(2, 4, 9))",
    ),
    ("L.Convolution1D(2, 3, 3, stride=2, cover_all=True, initialW=0.1, nobias=True)", "link(v(2, 2, 8))"),
    (
        "L.Convolution3D(2, 4, 2, pad=1, initialW=w(4, 1, 2, 2, 2), initial_bias=w(4), groups=2, dilate=2, stride=2)",
        "link(v(1, 2, 4, 3, 3))",
    ),
    ("L.Convolution3D(2, 3, 2, stride=2, nobias=True, cover_all=True, initialW=0.1)", "link(v(1, 2, 3, 3, 3))"),
    (
        "L.ConvolutionND(2, 4, 6, 3, nobias=True, initialW=w(6, 2, 3, 3), groups=2, pad=1, stride=2, dilate=2)",
        "link(v(1, 4, 6, 6))",
    ),
    ("L.ConvolutionND(2, 2, 3, 3, initialW=0.1, initial_bias=w(3), stride=2, cover_all=True)", "link(v(1, 2, 6, 6))"),
    (
        "L.Deconvolution1D(4, 6, 3, pad=1, initialW=w(4, 3, 3), initial_bias=w(6), dilate=2, groups=2, stride=2)",
        "link(v(1, 4, 5))",
    ),
    ("L.Deconvolution1D(2, 3, 3, stride=2, outsize=(8,), nobias=True, initialW=0.1)", "link(v(1, 2, 3))"),
    ("L.Deconvolution2D(4, 6, 3, pad=1, initialW=w(4, 3, 3, 3), initial_bias=w(6), groups=2)", "link(v(1, 4, 3, 3))"),
    (
        "L.Deconvolution3D(2, 4, 2, pad=1, initialW=w(2, 2, 2, 2, 2), initial_bias=0.3, groups=2, stride=2)",
        "link(v(1, 2, 3, 3, 3))",
    ),
    ("L.Deconvolution3D(2, 3, 2, stride=2, outsize=(5, 5, 5), nobias=True, initialW=0.1)", "link(v(1, 2, 2, 2, 2))"),
    (
        "L.DeconvolutionND(2, 4, 6, 3, initialW=w(4, 3, 3, 3), initial_bias=w(6), dilate=2, groups=2, pad=1)",
        "link(v(1, 4, 3, 3))",
    ),
    ("L.DeconvolutionND(2, 2, 3, 3, stride=2, outsize=(8, 8), nobias=True, initialW=0.1)", "link(v(1, 2, 3, 3))"),
    ("L.DecorrelatedBatchNormalization(4, groups=2, decay=0.7, eps=0.1)", "link(v(6, 4))"),
    ("L.DecorrelatedBatchNormalization(4, groups=2, dtype=np.float64)", "link(v(6, 4, dtype='d'))"),
    (
        "L.DeformableConvolution2D(2, 3, 3, stride=2, pad=1, offset_nobias=True, offset_initialW=0.05, "
        "deform_initialW=w(3, 2, 3, 3), deform_initial_bias=0.3)",
        "link(v(1, 2, 5, 5))",
    ),
    (
        "L.DeformableConvolution2D(2, 3, 3, offset_initialW=0.05, offset_initial_bias=0.3, deform_nobias=True, "
        "deform_initialW=0.1)",
        "link(v(1, 2, 5, 5))",
    ),
    ("L.DepthwiseConvolution2D(2, 3, 3, initialW=w(3, 2, 3, 3), initial_bias=w(6))", "link(v(1, 2, 5, 5))"),
    (
        "L.DilatedConvolution2D(2, 3, 3, stride=2, pad=2, dilate=2, initialW=w(3, 2, 3, 3), initial_bias=w(3))",
        "link(v(1, 2, 7, 7))",
    ),
    ("L.Highway(3, activate=F.tanh, init_Wh=w(3, 3), init_Wt=0.1, init_bh=w(3), init_bt=0.5)", "link(v(4, 3))"),
    ("L.Inception(2, 2, 2, 2, 2, 2, 2, conv_init=0.1, bias_init=0.2)", "link(v(2, 2, 4, 4))"),
    ("L.InceptionBN(2, 2, 2, 2, 2, 2, 'max', 2, conv_init=0.1)", "link(v(2, 2, 4, 4))"),
    ("L.LocalConvolution2D(2, 3, 5, 3, initialW=0.1, initial_bias=0.2)", "link(v(1, 2, 5, 5))"),
    ("L.MLPConvolution2D(2, (3, 4), 3, conv_init=0.1, bias_init=0.2)", "link(v(1, 2, 5, 5))"),
    ("L.Maxout(3, 2, 4, initialW=0.3, initial_bias=0.5)", "link(v(4, 3))"),
    ("L.Scale(1, (3,), bias_term=True)", "link(v(2, 3, 4))"),
    ("L.Scale(1, bias_term=True, bias_shape=(3,))", "link(v(2, 3, 4), v(3))"),
    ("L.SimplifiedDropconnect(3, 2, ratio=0.3, initialW=w(2, 3), initial_bias=w(2))", "link(v(4, 3), train=False)"),
    ("L.StatelessGRU(3, 2, init=w(2, 3), inner_init=0.2, bias_init=w(2))", "link(v(4, 2), v(4, 3))"),
    (
        "L.StatelessLSTM(3, 2, lateral_init=0.2, upward_init=w(2, 3), bias_init=0.3, forget_bias_init=0.7)",
        "link(None, None, v(4, 3))[1]",
    ),
    *(
        (f"L.NStep{name}(2, 3, 2, 0.0, initialW=0.2, initial_bias=0.3)", call)
        for name, call in (
            (cell + rest, f"link({'None, ' * (2 if rest == 'LSTM' else 1)}[v(4, 3), v(2, 3)])[-1][0]")
            for cell in ("", "Bi")
            for rest in ("GRU", "LSTM", "RNNTanh", "RNNReLU")
        )
    ),
]
# Links that start from random numbers: only their dtypes are compared.
DTYPES = [
    "L.InceptionBN(2, 2, 2, 2, 2, 2, 'max', 2, dtype=np.float64)",
    "L.BinaryHierarchicalSoftmax(3, ((0, 1), 2), dtype=np.float64)",
    "L.NegativeSampling(3, [1, 2, 3], 2, dtype=np.float64)",
]
# Options of which the proof lies elsewhere: in tests below, in tests/compat/test_links_vision.py.
ELSEWHERE = {
    "LocalConvolution2D": {"stride"},
    "NegativeSampling": {"power"},
    "GoogLeNet": {"pretrained_model"},
    "VGG16Layers": {"pretrained_model"},
    "VGG19Layers": {"pretrained_model"},
    **{f"ResNet{n}Layers": {"pretrained_model", "downsample_fb"} for n in (50, 101, 152)},
}


@pytest.mark.parametrize("made, call", CASES, ids=[made for made, _ in CASES])
def test_options(made, call):
    original, migrated = both(
        f"""
        link = {made}
        y = {call}
    """,
        head=HEAD,
    )
    saved, theirs = arrays_of(migrated["link"]), arrays_of(original["link"])
    assert saved.keys() == theirs.keys()
    for key, value in theirs.items():
        np.testing.assert_allclose(saved[key], value, rtol=1e-4, atol=1e-6, err_msg=key)
        assert saved[key].dtype == value.dtype or value.dtype.kind in "iu", key
    assert isinstance(migrated["y"], torch.Tensor) and isinstance(original["y"], chainer.Variable)
    np.testing.assert_allclose(migrated["y"].detach().numpy(), original["y"].array, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("made", DTYPES)
def test_dtypes(made):
    original, migrated = both(f"link = {made}\n", head=HEAD)
    saved, theirs = arrays_of(migrated["link"]), arrays_of(original["link"])
    floats = {key: (value.shape, value.dtype) for key, value in theirs.items() if value.dtype.kind == "f"}
    assert floats and {key: (saved[key].shape, saved[key].dtype) for key in floats} == floats


def test_the_power_of_negative_sampling():
    original, migrated = both(
        """
        def run(power):
            link = L.NegativeSampling(3, [1, 5, 2, 8, 40, 3, 9], 6, power)
            link.W.array[...] = w(7, 3)
            np.random.seed(3)
            return link(v(5, 3), np.array([0, 1, 2, 3, 1], 'i'))

        values = [float(run(power).array) for power in (0.75, 0.1, 2.0)]
    """,
        head=HEAD,
    )
    assert migrated["values"] == pytest.approx(original["values"], rel=1e-5)
    assert len(set(original["values"])) == 3


def test_local_convolution_takes_no_stride_in_chainer_either():
    original, migrated = both(
        """
        def run():
            return L.LocalConvolution2D(2, 3, 5, 3, stride=2)(v(1, 2, 5, 5))
    """,
        head=HEAD,
    )
    for side in (original, migrated):
        with pytest.raises((ValueError, RuntimeError)):
            side["run"]()


def _given(text, row):
    """The options that calls of a row's name in a text set to something else than the default."""
    found = set()
    for call in ast.walk(ast.parse(text)):
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and call.func.attr == row.name.rpartition(".")[2]
        ):
            try:
                bound = row.signature.bind(call.args, call.keywords)
            except BindError:
                continue
            found |= {
                name for name, node in bound.given.items() if ast.unparse(node) != row.signature.defaults.get(name)
            }
    return found


@pytest.mark.parametrize(
    "name",
    sorted(
        name
        for name, row in RULES.rows.items()
        if name.startswith("chainer.links.")
        and name.count(".") == 2
        and row.state == "exact"
        and row.signature is not None
    ),
)
def test_no_option_is_left_out(name):
    row = RULES.rows[name]
    texts = [text for example in row.examples for text in (example.options.get("setup", ""), example.before)]
    set_once = set().union(*(_given(text, row) for text in [*texts, *(made for made, _ in CASES), *DTYPES]))
    assert row.signature.defaults.keys() - set_once <= ELSEWHERE.get(name.rpartition(".")[2], set())
