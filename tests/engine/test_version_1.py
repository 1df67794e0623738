"""Programs of version 1 of Chainer: their parameters and defaults, and how the version is told."""

import re
import sys
import textwrap
import types
from pathlib import Path
from typing import Any
from unittest import mock

import chainer
import chainer.functions as CF
import chainer.links as CL
import numpy as np
import pytest
import torch
from torch import nn

import chainer2torch
from chainer2torch import migrate_source
from chainer2torch.compat.functions.math_functions import matmul_of_columns
from chainer2torch.compat.variable.modes import call_in_mode
from chainer2torch.compat.links.normalization_links import BatchNormalization
from chainer2torch.compat.links.recurrent_links import LSTM, StatelessGRU
from chainer2torch.engine import Options, migrate_sources
from chainer2torch.rules.table import load_rules
from chainer2torch.vendor import compat_file, said
from chainer2torch.verify.worker import compat_module
from tests.support.native_programs import helpers

HEAD = "import chainer\nimport chainer.functions as F\nimport chainer.links as L\n"
RULES = load_rules()
ROWS = list(RULES.old.values())


def migrated(line: str, version: int | None = None, head: str = HEAD) -> tuple[str, set[str]]:
    result = migrate_source(
        f"{head}def f(x, t, h, c, w, k, train):\n    return {line}\n", options=Options(chainer_version=version)
    )
    text = result.code.rsplit("    return ", 1)[1].strip()
    return text, {site.state for site in result.sites}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("F.relu(x, use_cudnn=False)", "F.relu(x)"),
        ("F.tanh(x, False)", "torch.tanh(x)"),
        ("F.softmax(x, use_cudnn=True, axis=2)", "F.softmax(x, dim=2)"),
        ("F.max_pooling_2d(x, 2, stride=2, use_cudnn=False)", "F.max_pool2d(x, 2, stride=2, ceil_mode=True)"),
        (
            "F.convolution_2d(x, w, c, 2, 1, use_cudnn=False, deterministic=True)",
            "F.conv2d(x, w, bias=c, stride=2, padding=1)",
        ),
        ("F.dropout(x, 0.3, train)", "F.dropout(x, p=0.3, training=train)"),
        ("F.dropout(x, train=not train)", "F.dropout(x, training=not train)"),
        ("F.zoneout(h, x, train=train)", "compat.zoneout(h, x, training=train)"),
        (
            "F.spatial_pyramid_pooling_2d(x, 2, F.MaxPooling2D, use_cudnn=False)",
            "compat.spatial_pyramid_pooling_2d(x, 2, 'max')",
        ),
        (
            "F.n_step_lstm(2, 0.5, h, c, w, w, x, train=train)",
            "compat.n_step_lstm(2, 0.5, h, c, w, w, x, training=train)",
        ),
        (
            "F.n_step_birnn(2, 0.5, h, w, w, x, train, activation='relu')",
            "compat.n_step_birnn(2, 0.5, h, w, w, x, activation='relu', training=train)",
        ),
        ("L.Convolution2D(3, 8, 3, use_cudnn=False, nobias=True)", "compat.initialize(nn.Conv2d(3, 8, 3, bias=False))"),
        ("L.Linear(3, 4, wscale=1)", "compat.Linear(3, 4)"),
        ("L.Linear(3, 4, wscale=1.0, bias=0.5, nobias=False)", "compat.Linear(3, 4, initial_bias=0.5)"),
        ("L.Maxout(3, 4, 2, wscale=1)", "compat.Maxout(3, 4, 2)"),
        ("F.Linear(3, 4)(x)", "compat.Linear(3, 4)(x)"),
        ("F.EmbedID(3, 4)", "compat.initialize(nn.Embedding(3, 4))"),
        ("L.NStepLSTM(1, 2, 3, 0.5, use_cudnn=False)", "compat.NStepLSTM(1, 2, 3, 0.5)"),
    ],
)
def test_calls_that_only_version_1_understands(before: str, after: str) -> None:
    assert migrated(before) == (after, {"exact"})


# Every other row: a call of version 1, and the call of today that means the same.
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("F.sigmoid(x, True)", "F.sigmoid(x)"),
        ("F.log_softmax(x, use_cudnn=False)", "F.log_softmax(x)"),
        ("F.average_pooling_2d(x, 2, 2, 0, False)", "F.average_pooling_2d(x, 2, 2, 0)"),
        ("F.average_pooling_nd(x, 2, use_cudnn=False)", "F.average_pooling_nd(x, 2, None, 0, 0)"),
        ("F.max_pooling_nd(x, 2, cover_all=False, use_cudnn=False)", "F.max_pooling_nd(x, 2, None, 0, False, False)"),
        ("F.batch_normalization(x, w, c, 1e-3, use_cudnn=False)", "F.batch_normalization(x, w, c, 1e-3)"),
        (
            "F.fixed_batch_normalization(x, w, c, h, k, 1e-3, False)",
            "F.fixed_batch_normalization(x, w, c, h, k, 1e-3, None)",
        ),
        ("F.convolution_nd(x, w, c, 2, 1, False, True)", "F.convolution_nd(x, w, c, 2, 1, True, 1, 1)"),
        ("F.deconvolution_2d(x, w, c, 2, 1, None, False, True)", "F.deconvolution_2d(x, w, c, 2, 1, None)"),
        ("F.deconvolution_nd(x, w, use_cudnn=False)", "F.deconvolution_nd(x, w, None, 1, 0, None, 1, 1)"),
        ("F.dilated_convolution_2d(x, w, dilate=2, use_cudnn=False)", "F.dilated_convolution_2d(x, w, dilate=2)"),
        (
            "F.sigmoid_cross_entropy(x, t, use_cudnn=False, normalize=False)",
            "F.sigmoid_cross_entropy(x, t, normalize=False)",
        ),
        ("F.spatial_transformer_grid(x, (2, 3), False)", "F.spatial_transformer_grid(x, (2, 3))"),
        ("F.spatial_transformer_sampler(x, w, use_cudnn=True)", "F.spatial_transformer_sampler(x, w)"),
        ("F.n_step_bilstm(2, 0.5, h, c, w, w, x, use_cudnn=False)", "F.n_step_bilstm(2, 0.5, h, c, w, w, x)"),
        ("F.n_step_gru(2, 0.5, h, w, w, x, use_cudnn=False)", "F.n_step_gru(2, 0.5, h, w, w, x)"),
        ("F.n_step_bigru(2, 0.5, h, w, w, x, use_cudnn=False)", "F.n_step_bigru(2, 0.5, h, w, w, x)"),
        (
            "F.n_step_rnn(2, 0.5, h, w, w, x, use_cudnn=True, activation='relu')",
            "F.n_step_rnn(2, 0.5, h, w, w, x, activation='relu')",
        ),
        ("L.DilatedConvolution2D(3, 8, 3, dilate=2, use_cudnn=False)", "L.DilatedConvolution2D(3, 8, 3, dilate=2)"),
        (
            "L.DilatedConvolution2D(k, 8, 3, dilate=2, bias=1)",
            "L.DilatedConvolution2D(k, 8, ksize=3, dilate=2, initial_bias=1)",
        ),
        ("L.MLPConvolution2D(3, (8, 4), 3, use_cudnn=False)", "L.MLPConvolution2D(3, (8, 4), ksize=3)"),
        (
            "L.MLPConvolution2D(3, (8, 4), 3, 2, 1, 1, F.tanh, True, 0.1, 0.3)",
            "L.MLPConvolution2D(3, (8, 4), ksize=3, stride=2, pad=1, activation=F.tanh, conv_init=0.1, bias_init=0.3)",
        ),
        ("L.ConvolutionND(2, 3, 8, 3, use_cudnn=False)", "L.ConvolutionND(2, 3, 8, ksize=3)"),
        ("L.DeconvolutionND(2, 3, 8, 3, use_cudnn=False)", "L.DeconvolutionND(2, 3, 8, ksize=3)"),
        ("L.StatelessLSTM(3, 4, forget_bias_init=2)", "L.StatelessLSTM(3, 4, bias_init=0, forget_bias_init=2)"),
        *(
            (f"L.{name}(1, 2, 3, 0.5, True)", f"L.{name}(1, 2, 3, 0.5)")
            for name in (
                "NStepBiLSTM",
                "NStepGRU",
                "NStepBiGRU",
                "NStepRNNTanh",
                "NStepBiRNNTanh",
                "NStepRNNReLU",
                "NStepBiRNNReLU",
            )
        ),
    ],
)
def test_calls_with_the_meaning_of_todays(old: str, new: str) -> None:
    assert migrated(old, 1)[0] == migrated(new, 7)[0]
    assert migrated(old, 1)[1] == {"exact"}


def test_a_link_that_takes_the_mode_today_is_told_it() -> None:
    code = migrate_source(f"{HEAD}d = L.SimplifiedDropconnect(3, 2)\ny = d(x, train=False)\n").code
    assert "y = d(x, train=False)\n" in code


@pytest.mark.parametrize(
    "name",
    [
        "NStepLSTM",
        "NStepBiLSTM",
        "NStepGRU",
        "NStepBiGRU",
        "NStepRNNTanh",
        "NStepBiRNNTanh",
        "NStepRNNReLU",
        "NStepBiRNNReLU",
    ],
)
def test_recurrent_links_are_told_the_mode(name: str) -> None:
    states = "h, c, x" if name.endswith("LSTM") else "h, x"
    code = migrate_source(f"{HEAD}r = L.{name}(1, 2, 3, 0.5)\ny = r({states}, train=False)\nz = r({states})\n").code
    assert f"y = compat.call_in_mode(r, False, {states})\nz = r({states})\n" in code
    # no later version takes an argument more
    code = migrate_source(f"{HEAD}r = L.{name}(1, 2, 3, 0.5)\ny = r({states}, train)\n").code
    assert f"y = compat.call_in_mode(r, train, {states})\n" in code


@pytest.mark.parametrize(
    ("line", "version_1", "version_2"),
    [
        (
            "F.softmax_cross_entropy(x, t, False)",
            "compat.softmax_cross_entropy(x, t)",
            "compat.softmax_cross_entropy(x, t, False)",
        ),
        ("L.GRU(6, 5)", "compat.StatelessGRU(5, 6, bias_init=0)", "compat.GRU(6, 5)"),
    ],
)
def test_one_call_with_two_meanings(line: str, version_1: str, version_2: str) -> None:
    assert migrated(line, 1) == (version_1, {"exact"})
    assert migrated(line, 2) == migrated(line, 7) == (version_2, {"exact"})
    assert migrated(line) == (line, {"manual"})  # nothing tells the version: it is asked for
    # the file tells it
    assert migrated(line, head=HEAD + "v = F.relu(y, use_cudnn=False)\n")[0] == version_1
    assert migrated(line, head=HEAD + "chainer.using_config('train', True)\n")[0] == version_2


def test_the_rest_of_the_project_tells_the_version() -> None:
    files = {"a.py": HEAD + "g = L.GRU(6, 5)\n", "b.py": HEAD + "import a\nv = chainer.Variable(a.x, volatile='on')\n"}
    assert "compat.StatelessGRU(5, 6, bias_init=0)" in migrate_sources(files)["a.py"].code
    files["b.py"] = HEAD + "import a\nchainer.using_config('train', True)\n"
    assert "compat.GRU(6, 5)" in migrate_sources(files)["a.py"].code


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("L.Convolution2D(3, 8, 3, 1, 1, True)", "bias=False"),
        ("L.Linear(3, 4, True)", "compat.Linear(3, 4, True)"),
    ],
)
def test_a_flag_is_no_scale(line: str, expected: str) -> None:
    text, states = migrated(line)
    assert expected in text and states == {"exact"}


@pytest.mark.parametrize(
    ("line", "old", "new"),
    [
        ("L.LSTM(3, 4)", "compat.LSTM(3, 4, bias_init=0, forget_bias_init=0)", "compat.LSTM(3, 4)"),
        ("F.split_axis(x, k, 1)", "compat.split_axis(x, k, 1, force_tuple=False)", "compat.split_axis(x, k, 1)"),
    ],
)
def test_defaults_that_have_changed(line: str, old: str, new: str) -> None:
    assert migrated(line, 1) == (old, {"exact"})
    assert migrated(line, 2) == migrated(line) == (new, {"exact"})


def test_links_that_are_told_the_mode() -> None:
    code = migrate_source(
        HEAD
        + """
class M(chainer.Chain):
    def __init__(self):
        super(M, self).__init__(bn=L.BatchNormalization(4), i=L.InceptionBN(3, 1, 2, 3, 4, 5, 'max', 6))
    def __call__(self, x, test=False):
        a = self.bn(x, test)
        b = self.bn(x, test=not test, finetune=True)
        c = self.bn(x, finetune=True)
        return a, b, c, self.i(x, test=test), self.bn(x)
""",
        options=Options(chainer_version=1),
    ).code
    for line in (
        "a = compat.call_in_mode(self.bn, not test, x)",
        "b = compat.call_in_mode(self.bn, test, x, finetune=True)",
        "c = self.bn(x, finetune=True)",
        "compat.call_in_mode(self.i, not test, x), self.bn(x)",
    ):
        assert line in code


def test_the_gru_of_version_1_is_called_with_its_state() -> None:
    result = migrate_source(HEAD + "g = L.GRU(6, 5)\ny = g(h, x)\nv = F.relu(y, use_cudnn=False)\n")
    assert "g = compat.StatelessGRU(5, 6, bias_init=0)\ny = g(h, x)\n" in result.code
    assert {s.state for s in result.sites} == {"exact"}


def test_a_variable_of_integers_is_a_tensor() -> None:
    text = "import chainer\nimport numpy as np\nt = chainer.Variable(np.zeros(3, dtype=np.int32))\n"
    code = migrate_source(text).code
    assert "t = compat.variable(np.zeros(3, dtype=np.int32))" in code


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_call_in_a_mode_is_a_call_under_that_configuration(dtype: str) -> None:
    with chainer.using_config("dtype", np.dtype(dtype)):
        link, layer = CL.BatchNormalization(3), BatchNormalization(3, dtype=np.dtype(dtype))
    x = np.random.RandomState(0).randn(6, 3).astype(dtype)
    for train in (True, False, True, False):
        with chainer.using_config("train", train):
            expected = link(x)
        actual = call_in_mode(layer, train, torch.tensor(x))
        np.testing.assert_allclose(actual.detach(), expected.array, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(layer.running_mean, link.avg_mean, rtol=1e-5, atol=1e-7)
        assert layer.training
    layer.eval()
    call_in_mode(layer, True, torch.tensor(x))
    assert not layer.training


def test_the_forget_gate_of_version_1_starts_at_zero() -> None:
    link = CL.LSTM(3, 4, bias_init=0, forget_bias_init=0)
    layer = LSTM(3, 4, bias_init=0, forget_bias_init=0)
    np.testing.assert_array_equal(link.upward.b.array, 0)
    assert not any(p.any() for name, p in layer.named_parameters() if name.endswith("bias"))


def test_the_gru_of_version_1_is_the_stateless_one_of_today() -> None:
    link = CL.StatelessGRU(5, 6)
    h, x = np.ones((2, 6), "f"), np.ones((2, 5), "f")
    assert link(h, x).shape == StatelessGRU(5, 6)(torch.tensor(h), torch.tensor(x)).shape


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_nothing_that_version_1_was_told_is_lost(row) -> None:
    today = RULES.rows[row.name]
    used = {
        name
        for case in row.cases
        for name in row.signature.names
        if re.search(rf"\b{name}\b", f"{case.when} {case.torch}")
    }
    assert row.signature.names - today.signature.names - used <= {*row.ignores, *row.renames, "name"}


def test_dropout_in_both_modes() -> None:
    x = np.ones((100, 100), "f")
    with chainer.using_config("train", False):
        assert (CF.dropout(x, 0.5).array == 1).all()
    assert bool((nn.functional.dropout(torch.tensor(x), 0.5, training=False) == 1).all())


@pytest.mark.parametrize("scale", ["0.5", "w", "True"])
def test_the_scale_of_weights_is_a_question_of_the_version(scale: str) -> None:
    assert migrated(f"L.Linear(3, 4, wscale={scale})") == (
        f"compat.Linear(3, 4, initialW=compat.LeCunNormal(scale={scale}))",
        {"review"},
    )


def test_parameters_that_go_from_one_function_set_to_another() -> None:
    result = migrate_source(
        HEAD
        + """
class Agent(object):
    def __init__(self):
        self.model = chainer.FunctionSet(l1=F.Linear(4, 5), l2=F.Linear(5, 2))
        self.target = chainer.FunctionSet(l1=F.Linear(4, 5), l2=F.Linear(5, 2))
    def synchronize(self):
        self.target.copy_parameters_from(self.model.parameters)
    def load(self, arrays):
        self.target.copy_parameters_from(arrays)
        return self.model.parameters
"""
    )
    assert "        compat.copyparams(self.target, self.model, copy_persistent=False)\n" in result.code
    states = [(s.symbol.rsplit(".", 1)[1], s.state) for s in result.sites if "parameters" in s.symbol]
    assert sorted(states) == [
        ("copy_parameters_from", "exact"),
        ("copy_parameters_from", "manual"),
        ("parameters", "exact"),
        ("parameters", "manual"),
    ]


@pytest.mark.parametrize("style", ["native", "faithful"])
@pytest.mark.parametrize(
    "fill, state, is_sorted",
    [
        ("param[:] = np.random.uniform(-0.08, 0.08, param.shape)", "exact", True),
        ("param[...] = 0.1", "exact", True),
        ("param[:] = np.sign(param)", "exact", False),  # any order will do
        ("param[:] = 0\n            print(param)", "manual", False),
        ("param[0] = 0.1", "exact", False),
    ],
)
def test_a_loop_fills_the_arrays_of_a_function_set(fill: str, state: str, is_sorted: bool, style: str) -> None:
    result = migrate_source(
        HEAD
        + f"""
import numpy as np
class Net(chainer.FunctionSet):
    def __init__(self):
        super().__init__(l2=F.Linear(4, 5), embed=F.EmbedID(7, 3), l1=F.Linear(5, 2))
        for param in self.parameters:
            {fill}
""",
        options=Options(style=style),
    )
    states = [site.state for site in result.sites if site.symbol.endswith("parameters")]
    assert states == [state], result.code
    assert ("in sorted(self.named_children())" in result.code) == is_sorted
    if not is_sorted or style == "faithful":  # the long helpers are a file of their own
        return
    space: dict[str, Any] = {}
    exec(result.code, space)
    np.random.seed(0)
    net = space["Net"]()
    np.random.seed(0)
    # Version 1 has them in the order of the layers' names, a layer's weight before its bias.
    for layer in (net.embed, net.l1, net.l2):
        for param in layer.parameters():
            drawn = np.random.uniform(-0.08, 0.08, param.shape) if "uniform" in fill else np.full(param.shape, 0.1)
            np.testing.assert_array_equal(param.detach().numpy(), drawn.astype(np.float32))


@pytest.mark.parametrize(
    "version,arguments,state",
    [
        (1, "4, 8, 3", "review"),
        (7, "4, 8, 3", "exact"),
        (None, "4, 8, 3", "exact"),
        (1, "4, 8, 3, initialW=w", "exact"),
        (1, "4, 8, 3, wscale=0.5", "review"),
    ],
)
def test_initial_weights_of_deconvolutions_had_another_spread(version: int | None, arguments: str, state: str) -> None:
    """Up to 1.8 (chainer/links/connection/deconvolution_2d.py) the fan-in was that of the input channels."""
    source = f"import chainer.links as L\n\n\ndef make(w):\n    return L.Deconvolution2D({arguments})\n"
    result = migrate_source(source, options=Options(chainer_version=version))
    assert [s.state for s in result.sites if s.symbol.endswith("Deconvolution2D")] == [state]
    assert "initial_bias" not in result.code


# -- what the same call computed: figures of Chainer 1.24.0 under Python 3.6 and NumPy 1.13 ---------------------------


def test_running_variances_of_version_1_start_at_zero() -> None:
    text, states = migrated("L.BatchNormalization(6, 0.8, use_beta=False, use_cudnn=False)", 1)
    assert text == "compat.BatchNormalization(6, decay=0.8, use_beta=False, initial_avg_var=0)" and states == {"close"}
    assert "initial_avg_var=0" in migrated("L.BatchNormalization(6)", 4)[0]
    assert (
        migrated("L.BatchNormalization(axis=(0, 2))", 4)[0]
        == "compat.BatchNormalization(None, axis=(0, 2), initial_avg_var=0)"
    )
    assert (
        migrated("L.BatchNormalization(6)", 5)[0]
        == migrated("L.BatchNormalization(6)")[0]
        == "compat.BatchNormalization(6)"
    )
    ours = BatchNormalization(2, initial_avg_var=0)
    ours(torch.tensor([[1.0, 2.0], [3.0, 6.0], [5.0, 7.0]]))
    assert ours.running_mean.tolist() == pytest.approx([0.3, 0.5])
    assert ours.running_var.tolist() == pytest.approx([0.40000305, 0.70000303], rel=1e-5)
    out = call_in_mode(ours, False, torch.tensor([[1.0, 2.0]]))
    assert out.detach().numpy() == pytest.approx(np.array([[1.10676527, 1.79281342]]), rel=1e-5)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("L.BatchNormalization", "BatchNormalization"),
        ("L.BatchNormalization(*x)", "BatchNormalization"),
        ("L.InceptionBN(3, 4, 5, 6, 7, 8, 'max')", "InceptionBN"),
        ("L.LayerNormalization(4)", "LayerNormalization"),
        ("chainer.initializers.GlorotNormal()", "GlorotNormal"),
        ("chainer.initializers.GlorotUniform(0.5)", "GlorotUniform"),
    ],
)
def test_what_version_1_drew_or_counted_in_another_way_is_told(line: str, name: str) -> None:
    text, states = migrated(line, 1)
    assert states == {"review"} and f"compat.{name}" in text
    assert migrated(line, 5)[1] == {"exact"}


@pytest.mark.parametrize(
    ("line", "state"),
    [
        ("L.Linear(3, 4, initialW=chainer.initializers.GlorotUniform())", "exact"),
        ("L.Linear(3, 4, initialW=chainer.initializers.GlorotNormal(0.5))", "exact"),
        ("L.Convolution2D(3, 4, 3, initialW=chainer.initializers.GlorotNormal())", "review"),
        ("[chainer.initializers.GlorotNormal()]", "review"),
    ],
)
def test_the_weights_of_a_linear_layer_have_no_kernel_to_count(line: str, state: str) -> None:
    assert state in migrated(line, 1)[1] and ("review" in migrated(line, 1)[1]) is (state == "review")


def test_a_vector_of_version_1_is_a_matrix_of_one_column() -> None:
    assert migrated("F.matmul(x, w, transa=True)", 1) == ("compat.matmul_of_columns(x, w, transa=True)", {"exact"})
    assert (
        migrated("F.matmul(F.reshape(x, (3, 4)), F.reshape(w, (5, 4)), transb=True)", 1)[0]
        == "torch.matmul(torch.reshape(x, (3, 4)), torch.reshape(w, (5, 4)).T)"
    )
    assert migrated("map(F.matmul, x, w)", 1) == ("map(compat.matmul_of_columns, x, w)", {"exact"})
    assert migrated("F.matmul(x, w)", 3)[0] == "torch.matmul(x, w)"
    row, matrix = torch.tensor([1.0, 2.0, 3.0]), torch.arange(6.0).reshape(3, 2)
    assert matmul_of_columns(row, matrix, transa=True).tolist() == [[16, 22]]
    assert matmul_of_columns(matrix, row, transa=True).tolist() == [[16], [22]]
    assert matmul_of_columns(row, row, transb=True).tolist() == [[1, 2, 3], [2, 4, 6], [3, 6, 9]]


@pytest.mark.parametrize(
    ("line", "after", "state"),
    [
        ("len(chainer.Variable(x))", "compat.variable(x).numel()", "exact"),
        ("len(F.relu(x).data)", "len(F.relu(x).detach())", "exact"),
        ("len(x)", "len(x)", None),
        ("(lambda: len(F.tanh(x) * 2))()", "(lambda: (torch.tanh(x) * 2).numel())()", "exact"),
        ("len(F.relu(x) if k else [x])", "len(F.relu(x) if k else [x])", "review"),
    ],
)
def test_the_length_of_a_variable_of_version_1_is_its_size(line: str, after: str, state: str | None) -> None:
    text, states = migrated(line, 1)
    assert text == after and (state is None or state in states)
    assert ".numel()" not in migrated(line, 2)[0] and "review" not in migrated(line, 2)[1]


def test_the_length_of_a_parameter_is_a_question_of_what_is_passed() -> None:
    """The same method may be called with an array and with a Variable."""
    source = HEAD + "\n\ndef f(y):\n    return len(y)\n\n\ndef g(x):\n    return f(F.relu(x)) + f(x)\n"
    result = migrate_source(source, options=Options(chainer_version=1))
    assert "return len(y)" in result.code and "numel" not in result.code.replace("write x.numel()", "")
    only = migrate_source(source.replace(" + f(x)", ""), options=Options(chainer_version=1))
    assert [site.state for site in only.sites if site.symbol.endswith("__len__")] == ["review"]


@pytest.mark.parametrize(
    ("value", "after", "why"),
    [
        ("L.StatelessLSTM", "compat.StatelessLSTM", "forget gate starts at 0"),
        ("L.LSTM", "compat.LSTM", "forget gate starts at 0"),
        ("L.GRU", "compat.StatelessGRU", "keeps no state"),
        ("F.dropout", "compat.dropout", "other defaults"),
    ],
)
def test_a_name_of_version_1_that_is_called_under_another_one_is_said(value, after, why):
    """What the call under the other name leaves out was something else then."""
    source = f"{HEAD}make = kept = {value}\nlink = make(3, 4)\nx = chainer.Variable(w, volatile='on')\n"
    result = migrate_source(source)
    assert f"make = kept = {after}\n" in result.code
    told = [s for s in result.sites if s.symbol.endswith(value.split(".")[1])]
    assert [s.state for s in told] == ["review"] and why in told[0].message, told
    later = migrate_source(source.replace("volatile='on'", "name='on'"), options=Options(chainer_version=7))
    assert {s.state for s in later.sites if s.symbol.endswith(value.split(".")[1])} == {"exact"}


def test_names_of_version_1_that_mean_the_same_are_exact():
    result = migrate_source(f"{HEAD}make, act = L.Convolution2D, F.relu\nx = chainer.Variable(w, volatile='on')\n")
    assert {s.state for s in result.sites} == {"exact"}


def test_a_class_on_a_link_of_version_1_is_said():
    """Its own constructor leaves out what had another default."""
    result = migrate_source(
        f"{HEAD}class Own(L.LSTM):\n    def __init__(self, n):\n        super().__init__(n, n)\n"
        "x = chainer.Variable(w, volatile='on')\n"
    )
    assert [s.state for s in result.sites if s.symbol == "chainer.links.LSTM"] == ["review"]


@pytest.mark.parametrize("how", ["test=not self.train", "not self.train"])
@pytest.mark.parametrize("link", ["self[name]", "getattr(self, name)"])
def test_the_mode_of_a_link_that_is_looked_up_by_name(link: str, how: str) -> None:
    """A block of the project takes `test` itself, a batch normalization is put in that mode."""
    code = migrate_source(
        textwrap.dedent(f"""
        import chainer
        import chainer.functions as F
        import chainer.links as L

        class Block(chainer.Chain):
            def __init__(self, size):
                super(Block, self).__init__(fc=L.Linear(size, size), bn=L.BatchNormalization(size))

            def __call__(self, x, test=False):
                return F.relu(self.bn(self.fc(x), test=test))

        class Net(chainer.Chain):
            def __init__(self):
                super(Net, self).__init__()
                self.names = []
                for i, block in enumerate([Block(3), L.BatchNormalization(3), Block(3)]):
                    self.names.append('l%d' % i)
                    self.add_link('l%d' % i, block)
                self.train = True

            def __call__(self, x):
                for name in self.names:
                    x = {link}(x, {how})
                return x

        def constant(x, volatile='on'):
            return chainer.Variable(x, volatile=volatile)
        """)
    ).code
    assert code.count("compat.call_as_version_1(") == 1, code
    namespace: dict[str, Any] = {"__name__": "migrated"}
    if "chainer_compat" not in sys.modules:
        compat_module.install(str(Path(chainer2torch.__file__).parent / "compat"))
    exec(code, namespace)
    net = namespace["Net"]()
    x = torch.randn(5, 3)
    parts = [net.l0.bn, net.l1, net.l2.bn]
    net.train_ = True
    net(x)
    trained = [bn.running_mean.clone() for bn in parts]
    assert all(mean.abs().sum() > 0 for mean in trained)
    net.train_ = False
    out = net(x)
    assert all(torch.equal(bn.running_mean, mean) for bn, mean in zip(parts, trained)), "test mode keeps statistics"
    net.eval()
    net.train_ = True
    assert not torch.allclose(net(x), out), "the flag of the call counts, not the mode of the module"


_REGISTERED = """
import chainer
import chainer.functions as F
import chainer.links as L


class Block(chainer.Chain):
    def __init__(self, kind{more}):
        layers = {{'c': L.Linear(3, 4)}}
        if kind == 'bn':
            layers['n'] = L.BatchNormalization(4)
        super(Block, self).__init__(**layers)
        {also}

    def __call__(self, x, test=False):
        return self.n(self.c(x), test=test)
"""


def test_a_layer_that_no_line_names_takes_the_mode() -> None:
    """``super().__init__(**layers)``: what ``self.n`` is the run tells, and PyTorch's layers take no ``test=``."""
    code = migrate_source(_REGISTERED.format(more="", also="pass")).code
    assert "compat.call_in_mode(self.n, not test, self.c(x))" in code
    namespace: dict[str, Any] = {"__name__": "migrated"}
    if "chainer_compat" not in sys.modules:
        compat_module.install(str(Path(chainer2torch.__file__).parent / "compat"))
    exec(code, namespace)
    net = namespace["Block"]("bn")
    x = torch.randn(5, 3)
    net(x)
    mean = net.n.running_mean.clone()
    assert mean.abs().sum() > 0
    net(x, test=True)
    assert torch.equal(net.n.running_mean, mean)


@pytest.mark.parametrize("also", ["self.n = n", "self.add_link(n=n)"])
def test_what_a_caller_gives_takes_the_mode_as_it_did(also: str) -> None:
    code = migrate_source(_REGISTERED.format(more=", n", also=also)).code
    assert "call_as_version_1" not in code


_NAMED_ELSEWHERE = """
import chainer
import chainer.functions as F
import chainer.links as L


class Told(chainer.Chain):
    def __call__(self, x, test):
        return x


def block():
    return chainer.Chain(c=L.Linear(3, 4), n=L.BatchNormalization(4))


def call(c, x):
    return F.relu(c.n(c.c(x), test=True))


class Net(chainer.Chain):
    def __init__(self):
        layers = {}
        layers['c'] = L.Linear(3, 4)
        layers['n'] = L.BatchNormalization(4)
        super(Net, self).__init__(**layers)

    def __call__(self, x, test=False):
        return self.n(self.c(x), test=test)
"""


def test_a_layer_that_has_its_name_elsewhere_takes_the_mode() -> None:
    """The names of layers tell what ``c.n`` may be, also beside a model of the project that takes ``test`` itself."""
    code = migrate_source(_NAMED_ELSEWHERE).code
    assert "compat.call_as_version_1(c.n, c.c(x), test=True)" in code, code
    assert "compat.call_in_mode(self.n, not test, self.c(x))" in code, code
    namespace: dict[str, Any] = {"__name__": "migrated"}
    if "chainer_compat" not in sys.modules:
        compat_module.install(str(Path(chainer2torch.__file__).parent / "compat"))
    exec(code, namespace)
    x = torch.randn(5, 3)
    for net, run in ((namespace["Net"](), None), (namespace["block"](), namespace["call"])):
        before = net.n.running_mean.clone()
        if run is None:
            net(x, test=True)
            assert torch.equal(net.n.running_mean, before)
            net(x)
            assert not torch.equal(net.n.running_mean, before)
        else:
            run(net, x)
            assert torch.equal(net.n.running_mean, before)


def test_a_list_that_is_called_forward() -> None:
    """Networks of the time keep their layers' names in `self.forward`; it must not hide the method."""
    code = migrate_source(
        textwrap.dedent("""
        import chainer
        import chainer.functions as F
        import chainer.links as L

        class Net(chainer.Chain):
            def __init__(self):
                super(Net, self).__init__(a=L.Linear(3, 3), b=L.Linear(3, 3))
                self.forward = ['a', 'b']

            def __call__(self, x, train=True):
                for name in self.forward:
                    x = F.relu(self[name](x))
                return x

        class Wider(Net):
            def __call__(self, x):
                return super(Wider, self).__call__(x) + 1
        """)
    ).code
    namespace: dict[str, Any] = {"__name__": "migrated"}
    if "chainer_compat" not in sys.modules:
        compat_module.install(str(Path(chainer2torch.__file__).parent / "compat"))
    exec(code, namespace)
    x = torch.ones(2, 3)
    assert namespace["Net"]()(x).shape == namespace["Wider"]()(x).shape == (2, 3)
    assert "def __call__(self, x, train=True):" in code


_WITHOUT_TEST = """
import chainer
import chainer.functions as F
import chainer.links as L
from chainer.training import extensions


class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__(fc=L.Linear(2, 3), bn=L.BatchNormalization(3))

    def __call__(self, x, train=True):
        return self.bn(F.dropout(self.fc(x), 0.5, train))


def extend(trainer, it, net):
    trainer.extend(extensions.EVALUATOR(it, net))
"""


@pytest.mark.parametrize("evaluator", [True, False])
def test_a_batch_normalization_without_test_takes_its_batch_in_an_evaluation_too(evaluator: bool) -> None:
    source = _WITHOUT_TEST.replace("EVALUATOR", "Evaluator" if evaluator else "snapshot_of")
    result = migrate_source(source, options=Options(style="native", chainer_version=1))
    assert ("self.bn.train()(" in result.code) is evaluator, result.code
    if evaluator:
        ours: dict[str, Any] = {}
        exec(result.code.replace("import chainer_compat as compat", "").split("def extend")[0], ours)
        net = ours["Net"]().eval()
        y = net(inputs := torch.rand(4, 2), False)
        x = net.fc(inputs)
        torch.testing.assert_close(y, (x - x.mean(0)) / x.var(0, correction=0).add(2e-5).sqrt())


_ARRAYS = """
import numpy as np
from chainer import FunctionSet
import chainer.functions as F

model = FunctionSet(enc=F.Linear(2, 3), dec=F.Linear(3, 2))
model.enc.W[:] = np.arange(6.).reshape(3, 2)
model.enc.b.fill(2)
model.enc.b[0] = 1
model.dec.W[...] = model.enc.W.T
"""


@pytest.mark.parametrize("style", ["native", "faithful"])
def test_parameters_that_are_written_were_arrays(style: str) -> None:
    """No Variable takes `W[:] = v` or `W.fill(v)`: up to version 1.4 these were arrays, which no graph watches."""
    result = migrate_source(_ARRAYS, options=Options(style=style))
    assert {site.state for site in result.sites} <= {"exact", "close"}
    helpers = types.ModuleType("chainer_compat")
    exec(compat_file.build(result.helpers, style=style, said=said.words(result.code)), helpers.__dict__)
    ours: dict[str, Any] = {}
    with mock.patch.dict(sys.modules, chainer_compat=helpers):
        exec(result.code, ours)
    model = ours["model"]
    torch.testing.assert_close(model.enc.weight.detach(), torch.arange(6.0).reshape(3, 2))
    torch.testing.assert_close(model.dec.weight.detach(), torch.arange(6.0).reshape(3, 2).T)
    assert model.enc.bias.tolist() == [1, 2, 2] and model.enc.bias.requires_grad


_COMPUTED = """
import chainer
import chainer.functions as F
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self, n=2):
        {made}
        self.n = n

    def __call__(self, x, test=False):
        for i in range(self.n):
            x = {taken}(self['c%d' % i](x), test=test)
        return x
"""
_REGISTERING = [
    "layers = {}\n        for i in range(n):\n            layers['c%d' % i] = L.Linear(3, 3)\n            "
    "layers['n%d' % i] = L.BatchNormalization(3)\n        super(Net, self).__init__(**layers)",
    "super(Net, self).__init__()\n        for i in range(n):\n            self.add_link('c{}'.format(i), "
    "L.Linear(3, 3))\n            self.add_link('n{}'.format(i), L.BatchNormalization(3))",
]


def _keeps_its_statistics_in_tests(result: Any, style: str) -> None:
    """Runs the migrated ``Net`` in both modes: `test` reaches its layers."""
    module = helpers(result) if style == "native" else None
    namespace: dict[str, Any] = {"__name__": "migrated"}
    if "chainer_compat" not in sys.modules:
        compat_module.install(str(Path(chainer2torch.__file__).parent / "compat"))
    with mock.patch.dict(sys.modules, {"chainer_compat": module} if module else {}):
        exec(result.code, namespace)
    net = namespace["Net"]()
    x = torch.randn(5, 3)
    net(x)
    mean = net.n1.running_mean.clone()
    assert mean.abs().sum() > 0
    net(x, test=True)
    assert torch.equal(net.n1.running_mean, mean)


@pytest.mark.parametrize("made", _REGISTERING)
@pytest.mark.parametrize("taken", ["self['n%d' % i]", "self['n{}'.format(i)]", "getattr(self, 'n' + str(i))"])
@pytest.mark.parametrize("style", ["native", "faithful"])
def test_layers_under_computed_names_take_the_mode(made: str, taken: str, style: str) -> None:
    """The model takes ``test`` itself, and so may what it looks up; PyTorch's layers do not."""
    result = migrate_source(_COMPUTED.format(made=made, taken=taken), options=Options(style=style))
    _keeps_its_statistics_in_tests(result, style)


_GIVEN_TO_THE_BASE = """
import chainer
import chainer.functions as F
import chainer.links as L


class Base(chainer.Chain):
    def __init__(self, **links):
        super(Base, self).__init__(**links)


class Net(Base):
    def __init__(self):
        super(Net, self).__init__(c0=L.Linear(3, 3), n0=L.BatchNormalization(3), c1=L.Linear(3, 3),
                                  n1=L.BatchNormalization(3))

    def __call__(self, x, test=False):
        for i in range(2):
            layer = getattr(self, 'c%d' % i)
            norm = {taken}
            x = norm(layer(x), test=test)
        return x


def constant(x, volatile='on'):
    return chainer.Variable(x, volatile=volatile)
"""


@pytest.mark.parametrize(
    "taken", ["self['n%d' % i]", "getattr(self, 'n{}'.format(i))", "getattr(self, 'n' + str(i))", "self[f'n{i}']"]
)
@pytest.mark.parametrize("style", ["native", "faithful"])
def test_layers_that_a_base_is_given_take_the_mode_by_another_name(taken: str, style: str) -> None:
    """A local name stands for what is looked up; the model takes ``test`` itself."""
    result = migrate_source(_GIVEN_TO_THE_BASE.replace("{taken}", taken), options=Options(style=style))
    _keeps_its_statistics_in_tests(result, style)


OWN_WORDS = """
import chainer


class Layer(object):
    def words(self):
        return {{k: v for k, v in self.{collected}.items() if not k.startswith('_')}}


class Linear(Layer):
    def __init__(self, in_size, out_size, {word}):
        self.in_size, self.out_size, self.{word} = in_size, out_size, {word}

    def to_link(self):
        return chainer.links.Linear(**self.words())
"""


@pytest.mark.parametrize(
    ("word", "collected", "asked"),
    [("bias", "__dict__", "bias"), ("wscale", "__dict__", "wscale"), ("nobias", "__dict__", ""), ("bias", "table", "")],
)
def test_words_of_version_1_that_a_class_collects_of_itself_are_asked_for(word, collected, asked):
    """``L.Linear(**args)`` of ``self.__dict__``: the helper raised for ``bias=``, and nothing said so."""
    (site,) = migrate_source(OWN_WORDS.format(word=word, collected=collected)).sites
    assert (site.state == "review" and f"`{asked}` of version 1" in site.message) is bool(asked), site
