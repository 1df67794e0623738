"""Layers with the arguments of Chainer's links, and the members of layers of which nobody knows what they are."""

import chainer
import chainer.links as L
import numpy as np
import pytest
import torch
import torch.nn as nn

from chainer2torch.native import link_attributes, link_layers, links
from chainer2torch.native.first_values import Constant, NaN, as_initializer
from chainer2torch.native.layers import BatchNorm, Embedding
from tests.support.native_snippets import migrated, run


def _loaded(layer, link):
    """The layer with the values of a link."""
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(link.W.array))
        if link.b is not None:
            layer.bias.copy_(torch.tensor(link.b.array))
    return layer


@pytest.mark.parametrize("n_in", [4, None])
def test_a_convolution_takes_the_arguments_of_the_link(n_in):
    x = np.random.default_rng(0).standard_normal((2, 4, 7, 6)).astype("f")
    given = (n_in, 6, 3, 2, 1)
    link = L.Convolution2D(*given, dilate=2, groups=2, initial_bias=0.5)
    layer = link_layers.Convolution2D(*given, dilate=2, groups=2, initial_bias=0.5)
    y = layer(torch.tensor(x))  # it has its shape now
    assert isinstance(layer, nn.Conv2d) and type(layer) is link_layers.Convolution2D
    assert y.shape == link(x).shape and (layer.bias == 0.5).all()
    assert np.allclose(_loaded(layer, link)(torch.tensor(x)).detach().numpy(), link(x).array, atol=1e-5)


@pytest.mark.parametrize("n_in", [4, None])
@pytest.mark.parametrize("outsize", [None, (14, 11)])
def test_a_deconvolution_takes_the_arguments_of_the_link(n_in, outsize):
    x = np.random.default_rng(0).standard_normal((2, 4, 7, 6)).astype("f")
    given = (n_in, 6, 3, 2, 1, False, outsize)
    link = L.Deconvolution2D(*given, initial_bias=0.5)
    layer = link_layers.Deconvolution2D(*given, initial_bias=0.5)
    y = layer(torch.tensor(x))
    assert isinstance(layer, nn.ConvTranspose2d) and y.shape == link(x).shape and (layer.bias == 0.5).all()
    y = _loaded(layer, link)(torch.tensor(x))
    assert np.allclose(y.detach().numpy(), link(x).array, atol=1e-5)


def test_two_arguments_are_the_outputs_and_the_kernel():
    layer = link_layers.Convolution2D(6, 3)
    layer(torch.ones(1, 2, 5, 5))
    assert layer.weight.shape == L.Convolution2D(2, 6, 3).W.shape


def test_first_values_of_a_class_of_the_program_are_the_links():
    class Own(link_layers.Convolution2D):
        def __init__(self, n_in):
            self.scale = 2
            super().__init__(n_in, 400, 3, nobias=True)

    for layer in (Own(50), Own(None)):
        layer(torch.ones(1, 50, 3, 3))
        assert layer.scale == 2 and layer.bias is None and type(layer) is Own
        assert layer.weight.std().item() == pytest.approx((50 * 9) ** -0.5, rel=0.02)


def test_the_size_is_of_what_arrives_at_the_layer():
    class Rows(link_layers.LinearLink):
        def forward(self, x):
            return super().forward(x.reshape(-1, x.shape[2])).reshape(*x.shape[:2], -1)

    class Masked(link_layers.Convolution2D):
        def forward(self, x):
            return super().forward(torch.cat([x, x[:, :1]], dim=1))

    rows, masked = Rows(None, 5), Masked(None, 4, 3)
    assert rows(torch.ones(2, 3, 6)).shape == (2, 3, 5) and rows.weight.shape == (5, 6)
    assert masked(torch.ones(2, 3, 5, 5)).shape == (2, 4, 3, 3) and masked.weight.shape == (4, 4, 3, 3)
    assert masked.in_channels == 4 and rows.in_features == 6 and (rows.bias == 0).all()
    again = Rows(None, 5)
    again.load_state_dict(rows.state_dict())
    assert torch.equal(again(torch.ones(2, 3, 6)), rows(torch.ones(2, 3, 6)))


@pytest.mark.parametrize("n_in", [6, None])
def test_a_linear_link_flattens_and_keeps_its_class(n_in):
    class Own(link_layers.LinearLink):
        pass

    x = np.random.default_rng(0).standard_normal((4, 2, 3)).astype("f")
    layer = Own(n_in, 5, initialW=np.arange(30, dtype="f").reshape(5, 6), initial_bias=1)
    link = L.Linear(n_in, 5, initialW=np.arange(30, dtype="f").reshape(5, 6), initial_bias=1)
    assert np.allclose(layer(torch.tensor(x)).detach().numpy(), link(x).array, rtol=1e-4, atol=1e-4)
    assert type(layer) is Own and isinstance(layer, nn.Linear)
    with pytest.raises(RuntimeError):
        layer(torch.ones(4, 7))


def test_a_lazy_layer_takes_weights_that_are_loaded():
    filled = link_layers.LinearLink(6, 5)
    lazy = link_layers.LinearLink(None, 5)
    lazy.load_state_dict(filled.state_dict())
    x = torch.ones(2, 6)
    assert torch.equal(lazy(x), filled(x))


def test_what_first_values_may_be():
    tensor = torch.empty(300, 100)
    as_initializer(None)(tensor)
    assert tensor.std().item() == pytest.approx(0.1, rel=0.02)
    for value in (2, np.full((300, 100), 2.0), Constant(2), chainer.initializers.Constant(2)):
        if isinstance(value, chainer.Initializer):
            array = np.empty((300, 100), "f")
            as_initializer(value)(array)
            assert (array == 2).all()
        else:
            as_initializer(value)(tensor)
            assert (tensor == 2).all()
    as_initializer(None, 0)(tensor)
    assert (tensor == 0).all()
    NaN()(tensor)
    assert tensor.isnan().all()
    array = np.zeros(3)
    Constant(np.arange(3))(array)
    assert array.tolist() == [0, 1, 2]


def test_members_by_the_names_of_the_links():
    own, set_ = link_attributes.link_attribute, link_attributes.set_link_attribute
    conv, norm, linear = nn.Conv2d(2, 3, 3, padding=1, bias=False), nn.BatchNorm2d(3), nn.Linear(2, 3)
    assert own(conv, "W") is conv.weight and own(conv, "b") is None and own(conv, "pad") == (1, 1)
    assert own(norm, "gamma") is norm.weight and own(norm, "avg_var") is norm.running_var
    assert own(norm, "decay") == pytest.approx(0.9) and own(norm, "N") == 0
    assert own(linear, "in_size") == 2 and own(Embedding(4, 3), "ignore_label") == -1
    assert own(nn.Embedding(4, 3), "ignore_label") is None
    for layer, name in ((conv, "gamma"), (norm, "W"), (linear, "pad"), (conv, "avg_mean")):
        with pytest.raises(AttributeError):
            own(layer, name)
    set_(norm, "decay", 0.5)
    set_(norm, "N", 4)
    assert norm.momentum == 0.5 and own(norm, "N") == 4
    values = torch.ones(3, 2)
    set_(linear, "W", values)
    assert isinstance(linear.weight, nn.Parameter) and linear.weight.data_ptr() == values.data_ptr()
    set_(linear, "W", np.full((3, 2), 0.5))  # in version 1 parameters were arrays
    assert isinstance(linear.weight, nn.Parameter) and linear.weight.dtype == torch.float32
    computed = linear.weight * 2
    set_(linear, "W", computed)
    assert linear.weight is computed and "weight" not in dict(linear.named_parameters())


def test_a_copy_shares_the_memory_and_not_the_parameters():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(3, 2)
            self.state = None

    model = Model()
    other = links.shared_copy(model)
    other.state = 1
    assert model.state is None and other.first is not model.first
    assert other.first.weight is not model.first.weight
    assert other.first.weight.data_ptr() == model.first.weight.data_ptr()
    with pytest.raises(ValueError, match="no shape"):
        links.shared_copy(nn.LazyLinear(3))


_COPY = """
import chainer.links as L

def copy(src, dst):
    for a, b in zip(src.links(), dst.links()):
        if isinstance(a, L.BatchNormalization):
            b.avg_mean = a.avg_mean
        elif isinstance(a, (L.Linear, L.Convolution2D)):
            use(a.W)
        else:
            use(a.b)
"""


def test_a_class_test_says_which_names_a_link_has_and_asks_for_all_that_it_may_be():
    code = migrated(_COPY).code
    assert "isinstance(a, nn.modules.batchnorm._BatchNorm)" in code and "isinstance(a, (nn.Linear, nn.Conv2d))" in code
    assert "b.running_mean = a.running_mean" in code and "use(a.weight)" in code
    for layer in (BatchNorm(3), nn.BatchNorm1d(3)):
        assert isinstance(layer, nn.modules.batchnorm._BatchNorm)


@pytest.mark.parametrize(
    "made", ["L.BatchNormalization((3, 4))", "L.BatchNormalization(axis=0)", "L.BatchNormalization(3, dtype=given)"]
)
def test_a_normalization_of_several_axes_is_asked_for_too(made):
    code = migrated(_COPY + f"\ndef make(given):\n    return {made}\n").code
    assert "compat.BatchNormalization)" in code


_BESIDE = """
import chainer
import chainer.links as L

class Model(chainer.Chain):
    def __init__(self, n):
        super().__init__()
        layers = [('conv', L.{conv}(3, n, 3)), ('norm', L.BatchNormalization({size})), ('more', {more})]
        for name, layer in layers:
            self.add_link(name, layer)
        self.names = [name for name, _ in layers]
    def __call__(self, x):
        for name in self.names:
            x = self[name](x)
        return x
"""


@pytest.mark.parametrize(
    ("conv", "size", "more", "made"),
    [
        ("Convolution2D", "n", "L.Convolution2D(n, n, 3)", "nn.BatchNorm2d"),
        ("Deconvolution3D", "size=n", "L.Linear(None, 10)", "nn.BatchNorm3d"),
        ("Convolution2D", "n", "L.Linear(None, n)", "compat.BatchNorm"),
        ("Convolution2D", "n", "Own(n)", "nn.BatchNorm2d"),
        ("Convolution2D", "2 * n", "L.Linear(None, 10)", "nn.BatchNorm2d"),
        ("Convolution2D", "3", "L.Linear(None, 10)", "nn.BatchNorm2d"),
        ("Convolution2D", "2 * n", "L.Convolution1D(n, 3, 3)", "compat.BatchNorm"),
        ("Convolution2D", "5", "L.Linear(None, 5)", "compat.BatchNorm"),  # what stands behind it made nothing
        ("Convolution2D", "5", "L.Convolution2D(n, 5, 3)", "nn.BatchNorm2d"),
        ("Linear", "n", "L.Linear(n, 5)", "nn.BatchNorm1d"),
        ("Linear", "2 * n", "L.Convolution2D(n, 5, 3)", "compat.BatchNorm"),
        ("Linear", "n", "L.Convolution2D(n, n, 3)", "compat.BatchNorm"),
        (
            "Convolution2D",
            "2 * n",
            "L.ConvolutionND(ndim=3, in_channels=n, out_channels=2 * n, ksize=3)",
            "nn.BatchNorm3d",
        ),
        ("Convolution2D", "n", "L.DeconvolutionND(3, n, n, 3)", "compat.BatchNorm"),
        ("Convolution2D", "2 * n", "L.ConvolutionND(k, n, 2 * n, 3)", "nn.BatchNorm2d"),
    ],
)
def test_the_rank_of_a_normalization_follows_from_the_layers_beside_it(conv, size, more, made):
    code = migrated(_BESIDE.format(conv=conv, size=size, more=more)).code
    assert f"{made}(" in code


def test_a_normalization_without_gamma_loses_its_weight_in_a_line():
    code = migrated(
        "import chainer\nimport chainer.links as L\n\n\nclass Net(chainer.Chain):\n    def __init__(self, n, flag):\n"
        "        super().__init__()\n        with self.init_scope():\n"
        "            self.conv = L.Convolution2D(3, n, 3)\n"
        "            self.a = L.BatchNormalization(n, use_gamma=False)\n"
        "        if flag:\n            with self.init_scope():\n"
        "                self.more = [L.BatchNormalization(n, use_gamma=False)]\n\n"
        "    def __call__(self, x):\n        return self.a(self.conv(x))\n"
    ).code
    assert "self.a = nn.BatchNorm2d(n, eps=2e-05)" in code and "del self.a.weight" in code
    assert "self.a.register_buffer('weight', torch.ones_like(self.a.bias), persistent=False)" in code
    assert "[compat.BatchNorm(n, eps=2e-05, weight=False)]" in code


_OWN_PARAMETERS = """
import chainer
import numpy as np

class Own(chainer.Link):
    def __init__(self, n):
        super(Own, self).__init__(W=(n, 4), b=(n,))
        self.W.data[...] = 1
        self.b.data.fill(2)
        self.add_param('g', (n, 4), dtype='f')
        self.add_param('h', (n, 4), initializer=chainer.initializers.Normal(0.1))
"""


def test_parameters_of_a_link_are_plain_parameters_that_are_nan_until_they_are_set():
    result = migrated(_OWN_PARAMETERS)
    assert "self.W = nn.Parameter(torch.full((n, 4), torch.nan))" in result.code
    assert "self.register_parameter('g', nn.Parameter(torch.full((n, 4), torch.nan)))" in result.code
    assert not {"add_param", "add_params", "faithful_parameter"} & set(result.helpers)
    pair = migrated(_OWN_PARAMETERS.replace("b=(n,)", "b=((n,), np.float32)"))
    assert "compat.add_params(" in pair.code


@pytest.mark.parametrize(
    ("shape", "plain"), [("(n, 4)", True), ("((n, 4), np.float32)", False), ("((4, 2), 'f')", False), ("n", False)]
)
def test_the_name_of_a_shape_is_as_good(shape, plain):
    given = "super(Own, self).__init__(W=(n, 4), b=(n,))"
    code = migrated(_OWN_PARAMETERS.replace(given, f"shape = {shape}\n        super().__init__(W=shape)")).code
    assert ("self.W = nn.Parameter(torch.full(shape, torch.nan))" in code) is plain
    assert ("compat.add_params(self, W=shape)" in code) is not plain


_SIZED = """
import chainer.links as L


class Scaled(L.{link}):
    def _initialize_params(self, n_in):
        super(Scaled, self)._initialize_params(n_in)
        with self.init_scope():
            self.gamma = chainer.Parameter(np.arange(n_in, dtype=np.float32) + 0.5)


class Own(Scaled):
    def __call__(self, x):
        if self.W.array is None:
            self._initialize_params(x.shape[1])
        return super(Own, self).__call__(x) * self.gamma.array.sum()


def run(xs):
    results = []
    for cls in (Scaled, Own):
        for n_in in (2, None):
            link = cls(n_in, 3{more}, initialW=chainer.initializers.Constant(0.5), initial_bias=0.25)
            early = n_in is not None and hasattr(link, 'gamma')
            y = link(F.reshape(chainer.Variable(xs[0]), {shape}))
            results.append((early, y.array.tolist(), link.gamma.array.tolist(), link.W.array.tolist()))
    return results
"""


@pytest.mark.parametrize(
    ("link", "more", "shape"),
    [("Convolution2D", ", 1", "(1, 2, 1, 1)"), ("Deconvolution2D", ", 1", "(1, 2, 1, 1)"), ("Linear", "", "(1, 2)")],
)
def test_what_depends_on_the_input_size_is_made_where_chainer_makes_it(link, more, shape):
    """Spectral normalization makes its gamma there; the method of the program was never called."""
    theirs, ours, code = run(_SIZED.format(link=link, more=more, shape=shape))
    assert "class Scaled(compat." in code and [each[0] for each in theirs] == [True, False, True, False]
    for one, other in zip(theirs, ours, strict=True):
        assert one[0] == other[0]
        for values, same in zip(one[1:], other[1:], strict=True):
            np.testing.assert_allclose(values, same, rtol=1e-6)
