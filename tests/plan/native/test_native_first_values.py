"""Constructors in native style: plain nn.init gives every parameter the distribution that it has in Chainer."""

import copy
import math
import pickle
import sys
import types

import numpy as np
import pytest
import torch

from chainer2torch.engine import Options, migrate_source
from tests.support.native_programs import both, helpers, migrated

IMPORTS = (
    "import math\n\nimport chainer\nimport chainer.functions as F\nimport chainer.links as L\nimport numpy as np\n\n"
)
NET = """
class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        w = chainer.initializers.Uniform(0.3)
        with self.init_scope():
{layers}

    def __call__(self, x):
        return {forward}
"""
TORCHS = {"W": "weight", "b": "bias", "gamma": "weight", "beta": "bias"}


def net(*layers: str, forward: str = "x") -> str:
    return NET.format(layers="\n".join(f"            {layer}" for layer in layers), forward=forward)


def begins_alike(source: str, *inputs: np.ndarray) -> str:
    """Both classes are made, and called if there are inputs; every parameter has the same mean and spread."""
    np.random.seed(0)
    torch.manual_seed(0)
    theirs, ours, code = both(source, IMPORTS)
    model, module = theirs["Net"](), ours["Net"]()
    if inputs:
        model(*inputs)
        module(*map(torch.as_tensor, inputs))
    found = dict(module.named_parameters())
    for path, param in model.namedparams():
        layer, _, name = path[1:].replace("/", ".").rpartition(".")
        layer = layer.replace("a.1", "a.2")  # a Sequential counts its functions, too
        got, want = found.pop(f"{layer}.{TORCHS[name]}").detach().numpy(), param.array
        assert got.shape == want.shape
        if want.std() == 0:
            np.testing.assert_array_equal(got, want)
        else:
            assert abs(got.mean() - want.mean()) < 5 * want.std() * math.sqrt(2 / want.size), path
            assert got.std() / want.std() == pytest.approx(1, abs=5 / math.sqrt(want.size)), path
    assert not found
    return code


def test_layers_that_begin_alike_share_a_loop() -> None:
    source = net(
        "self.conv = L.Convolution2D(8, 20, 5)",
        "self.deconv = L.Deconvolution2D(20, 30, 4, groups=2)",
        "self.conv1 = L.Convolution1D(8, 20, 5)",
        "self.fc = L.Linear(40, 50)",
        forward="self.fc(F.reshape(x, (-1, 40)))",
    )
    code = begins_alike(source)
    assert "compat" not in code
    assert "        for layer in (self.conv, self.deconv, self.conv1, self.fc):\n" in code


def test_what_begins_otherwise_stands_by_itself() -> None:
    source = net(
        "self.a = L.Convolution2D(8, 20, 5, nobias=True)",
        "self.b = L.Convolution2D(8, 20, 5, initialW=w)",
        "self.c = L.Convolution2D(8, 20, 5, initialW=w)",
        "self.d = L.Convolution2D(8, 20, 5, initial_bias=0.5)",
        "self.e = L.Convolution2D(8, 20, 5, initialW=chainer.initializers.HeNormal(), initial_bias=2)",
        "self.f = L.BatchNormalization(20, initial_gamma=3)",
        forward="self.f(self.e(x)) if self.f(self.a(x)) is None else self.f(self.b(x))",
    )
    code = begins_alike(source)
    assert "compat.init" not in code
    assert (
        "        for layer in (self.b, self.c):\n            w(layer.weight)\n            nn.init.zeros_(layer.bias)\n"
        in code
    )


def test_values_that_nobody_knows_and_layers_without_a_shape_share_a_function() -> None:
    source = net(
        "self.a = L.Convolution2D(None, 20, 5, initialW=w)",
        "self.b = L.Convolution2D(None, 30, 5, initialW=w)",
        "self.c = L.Convolution2D(30, 20, 5, initialW=given, initial_bias=given)",
        "self.d = L.Convolution2D(20, 20, 5)",
        forward="self.d(self.c(self.b(self.a(x))))",
    ).replace("(self):\n        super", "(self, given=0.5):\n        super")
    code = begins_alike(source, np.zeros((1, 8, 30, 30), np.float32))
    assert (
        "        for layer in (self.a, self.b):\n"
        "            init_weights(layer, weight=w)\n"
        "        init_weights(self.c, weight=given, bias=given)\n"
    ) in code
    assert "compat" not in code and code.count("def init_weights(layer, weight=None, bias=None):\n") == 1


@pytest.mark.parametrize("arguments", ["40", "40, chainer.initializers.One()", "40, chainer.initializers.One(), True"])
def test_values_that_some_callers_leave_out_and_biases_that_some_layers_lack(arguments: str) -> None:
    source = net("self.a = L.Linear(n, 50, initialW=w, initial_bias=b, nobias=without)", forward="self.a(x)").replace(
        "(self):\n        super", "(self, n, b=None, without=False):\n        super"
    )
    source += "\n\nPart = Net\nOther = lambda: Part(40, chainer.initializers.One())\n"
    source += f"\n\ndef Net():\n    return Part({arguments})\n"
    assert "        init_weights(self.a, weight=w, bias=b)\n" in begins_alike(source)


@pytest.mark.parametrize(
    "layers",
    [
        ["self.a = L.Linear(40, 50, initialW=given)", "given = 0"],
        ["self.a = L.Linear(40, 50, initialW=given)", "given[0] = 0"],
        ["self.a = L.Linear(40, 50, initialW=np.random.rand(50, 40))"],
    ],
)
def test_values_that_a_line_behind_would_not_get(layers: list[str]) -> None:
    source = net(*layers, forward="self.a(F.reshape(x, (-1, 40)))")
    source = source.replace("(self):\n        super", "(self, given=np.ones((50, 40))):\n        super")
    assert "self.a = init_weights(nn.Linear(40, 50), weight=" in begins_alike(source)


def test_behind_scopes_that_stay() -> None:
    """A class that asks whether it is within its scope keeps it; the values are set behind it."""
    source = """
class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        self.names = []
        with self.init_scope():
            self.a = L.Convolution2D(8, 20, 5)
            self.b = L.Convolution2D(20, 20, 5)

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if self.within_init_scope:
            self.names.append(name)

    def __call__(self, x):
        return self.b(self.a(x))
"""
    code = begins_alike(source)
    assert "        with compat.init_scope(self):\n" in code
    assert "\n        for layer in (self.a, self.b):\n" in code and "init_like_chainer" not in code


SCOPED = """
import chainer
import chainer.links as L
class Naming(chainer.Chain):
    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if SELF.within_init_scope:
            self.names = getattr(self, 'names', ()) + (name,)
class Above(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a = L.Convolution2D(8, 20, 5)
class Below(Naming):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.b = L.Convolution2D(8, 20, 5)
class Both(Above, Naming):
    pass
class Apart(chainer.Chain):
    def __init__(self, other, unknown):
        super().__init__()
        with self.init_scope():
            self.c = other
        with unknown.init_scope():
            unknown.c = other
"""


def test_only_links_that_ask_for_their_scope_keep_it() -> None:
    def scopes(text: str) -> list[bool]:
        code = migrate_source(text, options=Options(style="native")).code
        return ["compat.init_scope(self)" in code.split(f"class {name}")[1].split("class ")[0] for name in NAMES]

    NAMES = ("Above", "Below", "Apart")
    asked = SCOPED.replace("SELF", "self")
    assert scopes(asked) == [True, True, False]
    assert "with compat.init_scope(unknown):" in migrate_source(asked, options=Options(style="native")).code
    assert scopes(asked.replace("Above, Naming", "Naming")) == [False, True, False]
    assert scopes(SCOPED.replace("SELF", "value")) == [True, True, True]


def test_a_name_of_the_constructor_is_not_taken() -> None:
    source = net("self.a = L.Convolution2D(8, 20, 5)", "self.b = L.Convolution2D(8, 20, 5)").replace("w = ", "layer = ")
    assert "for link in (self.a, self.b):" in begins_alike(source)


def test_a_long_list_of_layers_is_broken() -> None:
    names = [f"convolution_{i}" for i in range(9)]
    code = begins_alike(net(*(f"self.{name} = L.Convolution2D(4, 5, 3)" for name in names)))
    assert max(map(len, code.splitlines())) <= 100
    assert all(code.count(f"self.{name}") == 2 for name in names)


LAZY = """\
    if nn.parameter.is_lazy(layer.weight):
        layer.reset_parameters = functools.partial(init_weights, layer)
        return layer
"""
PLAIN = """\
    nn.init.kaiming_normal_(layer.weight, nonlinearity='linear')
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    return layer
"""
GIVEN = """\
    if weight is None:
        nn.init.kaiming_normal_(layer.weight, nonlinearity='linear')
    else:
        weight(layer.weight)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    return layer
"""
EITHER = """\
    nn.init.kaiming_normal_(layer.weight, nonlinearity='linear')
    if layer.bias is not None:
        if bias is None:
            nn.init.zeros_(layer.bias)
        elif not callable(bias):
            layer.bias.copy_(torch.as_tensor(bias))
        else:
            bias(layer.bias)
    return layer
"""


@pytest.mark.parametrize(
    ("layers", "header", "body", "call"),
    [
        (["self.a = L.Convolution2D(None, 20, 5)"], "layer", LAZY + PLAIN, "        init_weights(self.a)\n"),
        (
            ["if len('x'):", "    self.a = L.Convolution2D(8, 20, 5)"],
            "layer",
            PLAIN,
            "            self.a = init_weights(nn.Conv2d(8, 20, 5))\n",
        ),
        (["self.a = L.Convolution2D(8, 20, 5, nobias=bool(w))"], "layer", PLAIN, "        init_weights(self.a)\n"),
        (
            ["self.a = chainer.Sequential(L.Convolution2D(8, 20, 5), F.relu, L.Convolution2D(20, 30, 2, initialW=w))"],
            "layer, weight=None",
            GIVEN,
            "self.a = nn.Sequential(init_weights(nn.Conv2d(8, 20, 5)), nn.ReLU(), "
            "init_weights(nn.Conv2d(20, 30, 2), weight=w))\n",
        ),
        (
            ["if len('x'):", "    self.a = L.Convolution2D(8, 20, 5, initial_bias=np.arange(20))"],
            "layer, bias=None",
            EITHER,
            "            self.a = init_weights(nn.Conv2d(8, 20, 5), bias=np.arange(20))\n",
        ),
    ],
)
def test_a_function_of_the_project_fills_what_lines_cannot(layers, header, body, call) -> None:
    """It has the parts that the calls of its file need, and no more."""
    code = begins_alike(net(*layers, forward="self.a(x)"), np.zeros((1, 8, 30, 30), np.float32))
    function = code[code.index(f"def init_weights({header}):\n") :].partition("\n\n\n")[0] + "\n"
    more = 3 if "is_lazy" in body else 0  # lines that say when
    assert function.endswith(body) and function.count("\n") == 2 + more + body.count("\n")
    assert call in code and "compat" not in code


def test_a_function_stands_above_its_first_use_under_a_free_name() -> None:
    """Between statements of the file, whose comments stay with them; the name is free in the whole project."""
    plain = net("self.a = L.Convolution2D(None, 5, 3)").replace("\nclass", "# the net\nclass")
    code = migrated(f"init_weights = 1\nsize = 3\n\n\n{plain}", IMPORTS).code
    assert "size = 3\n\n\ndef init_layer(layer):\n" in code and "    return layer\n\n\n# the net\nclass Net" in code
    assert migrated(code, "").code == code


def test_a_filled_layer_is_copied_pickled_and_filled_by_itself() -> None:
    """A lazy layer takes the function along; a copy fills its own weight, not the first one's."""
    *_, code = both(net("self.a = L.Linear(None, 5)", forward="self.a(x)"), IMPORTS)
    scope = {"__name__": "test_module"}
    exec(code, scope)
    first = scope["Net"]()
    second = copy.deepcopy(first)
    second(torch.ones(2, 3))
    assert not second.a.bias.any() and first.a.has_uninitialized_params()
    sys.modules["test_module"] = types.SimpleNamespace(**scope)
    try:
        again = pickle.loads(pickle.dumps(second))
    finally:
        del sys.modules["test_module"]
    assert torch.equal(again.a.weight, second.a.weight)


def test_the_constructor_of_version_1() -> None:
    source = """
    class Net(chainer.Chain):
        def __init__(self):
            super().__init__(a=L.Convolution2D(8, 20, 5), b=L.Linear(40, 50, nobias=True))

        def __call__(self, x):
            return self.b(F.reshape(self.a(x), (-1, 40)))
    """
    code = begins_alike(source)
    assert "compat" not in code
    assert "nn.init.kaiming_normal_(self.b.weight, nonlinearity='linear')\n" in code


def _of_version(version: int, source: str) -> tuple[str, torch.nn.Module]:
    result = migrate_source(IMPORTS + source, options=Options(style="native", chainer_version=version))
    assert result.error is None
    space = {"compat": helpers(result), "__name__": "migrated"}
    exec(compile(result.code.replace("import chainer_compat as compat\n", ""), "<migrated>", "exec"), space)
    return result.code, space["Net"]()


def test_scales_of_initializers_are_said_where_the_weight_is_filled() -> None:
    source = net(
        "v = chainer.initializers.LeCunNormal(3)",
        "s = len('ab')",
        "self.a = L.Convolution2D(8, 20, 5, initialW=chainer.initializers.HeNormal(s))",
        "self.b = L.Convolution2D(None, 30, 5, initialW=chainer.initializers.HeNormal(0.1))",
        "self.c = L.Convolution2D(30, 20, 5, initialW=v)",
        forward="self.c(self.b(self.a(x)))",
    )
    code = begins_alike(source, np.zeros((1, 8, 30, 30), np.float32))
    assert "compat" not in code and code.count("numel()") == 3


def test_the_scale_of_version_1() -> None:
    """Of 1.9 and later, whose names the program has: there the scale's root is what multiplies."""
    torch.manual_seed(0)
    layers = (
        "self.a = L.Convolution2D(8, 20, 5, wscale=math.sqrt(2))",
        "self.b = L.Linear(100, 50, wscale=0.1, bias=3)",
        "if len('x'):",
        "    self.c = L.Convolution2D(8, 20, 5, wscale=0.2 * len('abc'), bias=2)",
    )
    code, module = _of_version(1, net(*layers, forward="self.b(F.reshape(self.a(x) + self.c(x), (-1, 100)))"))
    assert "compat" not in code and "(nn.Conv2d(8, 20, 5), scale=math.sqrt(0.2 * len('abc')), bias=2)" in code
    assert module.c.weight.std().item() == pytest.approx(math.sqrt(0.6 / 200), rel=0.05)
    assert module.c.bias.tolist() == [2] * 20 and "self.a = nn.Conv2d(8, 20, 5)\n" in code
    assert module.a.weight.std().item() == pytest.approx(math.sqrt(math.sqrt(2) / 200), rel=0.05)
    assert module.b.weight.std().item() == pytest.approx(math.sqrt(0.1 / 100), rel=0.05)
    assert module.a.bias.tolist() == [0] * 20 and module.b.bias.tolist() == [3] * 50


@pytest.mark.parametrize("forward", ["self.bn(F.reshape(x, (2, 4, 3, 3)))", "self.bn(F.reshape(x, w))"])
def test_running_variances_of_version_4(forward: str) -> None:
    """They start at 1, as in Chainer 7, and not at 0: the declared difference ``first-variances``."""
    code, module = _of_version(4, net("self.bn = L.BatchNormalization(4, decay=0.8, use_beta=True)", forward=forward))
    assert "compat.BatchNormalization" not in code
    bn = module.bn
    assert (bn.eps, bn.momentum) == (2e-5, pytest.approx(0.2))
    assert bn.running_var.tolist() == [1] * 4 and bn.running_mean.tolist() == [0] * 4 and "running_var" not in code
    assert bn.weight.tolist() == [1] * 4 and bn.bias.tolist() == [0] * 4
    _, today = _of_version(7, net("self.bn = L.BatchNormalization(4)", forward=forward))
    assert today.bn.running_var.tolist() == [1] * 4


def test_a_size_that_is_replaced_is_not_none() -> None:
    source = """
    class Net(chainer.Chain):
        def __init__(self, n=None, m=None, k=None):
            super().__init__()
            n = 8 if n is None else n
            if m is None:
                m = 9
            with self.init_scope():
                self.a = L.Convolution2D(n, 20, 5)
                self.b = L.Convolution2D(m, 20, 5)
                self.c = L.Convolution2D(k or 7, 20, 5)
    """
    assert "compat" not in begins_alike(source)


@pytest.mark.parametrize(
    "statement", ["if m:\n            n = 8", "n = m", "if n is None:\n            n = m", "n = 8\n        n = m"]
)
def test_a_size_that_may_still_be_none(statement: str) -> None:
    source = f"""
class Net(chainer.Chain):
    def __init__(self, n=None, m=None):
        super().__init__()
        {statement}
        with self.init_scope():
            self.a = L.Convolution2D(n, 20, 5)
"""
    assert "compat.conv(2, n, 20, 5)" in migrated(source, IMPORTS).code


def test_a_mode_in_a_call_leaves_a_plain_layer() -> None:
    """Version 1 says ``test=`` in each call: the layer is put into the mode, so it needs no other class."""
    forward = "self.bn(F.reshape(x, (2, 4, 3, 3)), test=True)"
    code, module = _of_version(1, net("self.bn = L.BatchNormalization(4)", forward=forward))
    assert isinstance(module.bn, torch.nn.BatchNorm2d) and "self.bn.train(False)(" in code
    module.bn.running_var.fill_(4)
    x = torch.arange(72.0)
    expected = x.reshape(2, 4, 3, 3) / math.sqrt(4 + 2e-5)
    torch.testing.assert_close(module(x), expected)


OPTIONS = """
class Net(chainer.Chain):
    more = {'initial_bias': chainer.initializers.Constant(2), 'nobias': False}

    def __init__(self):
        super().__init__()
        options = {'initialW': chainer.initializers.Uniform(0.3), 'pad': 1}
        with self.init_scope():
            self.a = L.Convolution2D(8, 20, 5, **options)
            self.b = L.Convolution2D(20, 20, 5, **options, **self.more)
            self.c = L.Convolution2D(20, 20, 5, **{'nobias': True}, **dict(pad=1))
            self.d = L.Convolution2D(None, 20, ksize=5, **options)

    def __call__(self, x):
        return self.d(self.c(self.b(self.a(x))))
"""


def test_options_of_a_dictionary_are_read_one_by_one() -> None:
    code = begins_alike(OPTIONS, np.zeros((1, 8, 30, 30), np.float32))
    assert "compat.Convolution2D" not in code
    assert "self.b = nn.Conv2d(20, 20, 5, padding=1)\n" in code
    assert "        options['initialW'](self.b.weight)\n        self.more['initial_bias'](self.b.bias)\n" in code
    assert "self.c = nn.Conv2d(20, 20, 5, padding=1, bias=False)\n" in code
    assert "        init_weights(self.d, weight=options['initialW'])\n" in code


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("        with self", "        options['stride'] = 2\n        with self"),
        ("        with self", "        options.update(stride=2)\n        with self"),
        ("        with self", "        other = options\n        other['stride'] = 2\n        with self"),
        ("        with self", "        options = dict(options, stride=2)\n        with self"),
        ("        with self", "        if self.a is None:\n            options = {}\n        with self"),
        ("options = {", "options = {**self.more, "),
    ],
)
def test_options_that_change_are_not_read(old: str, new: str) -> None:
    code = migrated(OPTIONS.replace(old, new, 1), IMPORTS).code
    assert "self.a = compat.Convolution2D(8, 20, 5, **options)\n" in code


def test_options_of_a_class_that_another_one_replaces_are_not_read() -> None:
    other = "class Other(Net):\n    more = {'stride': 2}\n"
    code = migrated(OPTIONS + other, IMPORTS).code
    assert "self.b = compat.Convolution2D(20, 20, 5, **options, **self.more)\n" in code


HELD = """
class Tower(chainer.Chain):
    def __init__(self, trunk):
        super().__init__()
        for name, link in trunk:
            if not name.startswith('_'):
                self.add_link(name, link)
        self.trunk = trunk

    def __call__(self, x):
        for name, link in self.trunk:
            x = link(x)
        return x

class Net(chainer.Chain):
    def __init__(self):
        super().__init__(
            first=Tower([
                ('conv', L.Convolution2D(8, 20, 5)),
                ('bn', L.BatchNormalization(20)),
                ('_relu', F.relu),
                ('inner', Tower([('conv', L.Convolution2D(20, 20, 5)), ('fc', L.Deconvolution2D(20, 30, 4))]))]),
            second=Tower([('conv', L.Convolution2D(8, 20, 5))]))

    def __call__(self, x):
        return self.first(x)
"""


def test_layers_in_a_list_that_their_link_adds_to_itself() -> None:
    code = begins_alike(HELD)
    assert "compat.init" not in code
    assert (
        "        for block in (self.first, self.second):\n"
        "            for layer in block.modules():\n"
        "                if isinstance(layer, (nn.Conv2d, nn.ConvTranspose2d)):\n"
        "                    nn.init.kaiming_normal_(layer.weight, nonlinearity='linear')\n"
        "                    nn.init.zeros_(layer.bias)\n"
    ) in code


def test_held_layers_with_and_without_a_bias() -> None:
    source = HELD.replace("            second=Tower([('conv', L.Convolution2D(8, 20, 5))]))", "        )")
    code = begins_alike(source.replace("(20, 20, 5)", "(20, 20, 5, nobias=True)"))
    assert "        for layer in self.first.modules():\n" in code
    assert "                if layer.bias is not None:\n                    nn.init.zeros_(layer.bias)\n" in code


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("('inner',", "('_inner',"),
        ("('inner',", "(np.__name__,"),
        ("self.add_link(name, link)", "self.add_link(name + '_', link)"),
        ("not name.startswith('_')", "name != 'conv'"),
        ("        self.trunk = trunk\n", "        self.trunk = trunk\n        self.add_link('own', L.Linear(3, 4))\n"),
        ("L.Convolution2D(20, 20, 5)", "L.Convolution2D(20, 20, 5, initialW=chainer.initializers.HeNormal())"),
        ("L.Deconvolution2D(20, 30, 4)", "L.Deconvolution2D(None, 30, 4)"),
        (
            "        for name, link in trunk:\n            if",
            "        trunk = trunk[1:]\n        for name, link in trunk:\n            if",
        ),
    ],
)
def test_layers_that_may_not_be_held(old: str, new: str) -> None:
    source = HELD.replace("            second=Tower([('conv', L.Convolution2D(8, 20, 5))]))", "        )")
    code = migrated(source.replace(old, new, 1), IMPORTS).code
    assert ".modules()" not in code and "init_weights(nn." in code


def test_a_deconvolution_of_version_1_is_plain_and_asks_about_its_version_only():
    source = (
        IMPORTS
        + """
class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__(
            d=L.Deconvolution2D(12, 6, 4, stride=2, pad=1),
            e=L.Deconvolution2D(6, 3, 4, wscale=2),
        )

def data(x):
    return chainer.Variable(x, volatile='on')
"""
    )
    code = migrate_source(source, options=Options(style="native")).code
    assert "self.d = nn.ConvTranspose2d(12, 6, 4, stride=2, padding=1)" in code and "C2T200" in code
    assert "self.d" in code.split("def data")[0].split("kaiming_normal_")[0]
    assert "std=2 / self.e.weight[0].numel() ** 0.5" in code


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("initial_gamma=chainer.initializers.One(), initial_beta=chainer.initializers.Zero()", ""),
        ("initial_gamma=1, initial_beta=0.0", ""),
        ("initial_gamma=chainer.initializers.Zero()", "weight=nn.init.zeros_"),
        ("initial_beta=1", "bias=1"),
    ],
)
def test_a_normalization_is_told_no_values_that_it_begins_with(given: str, said: str) -> None:
    forward = "self.g(self.f(x))"
    layers = (
        f"self.f = L.BatchNormalization(3, {given})",
        f"self.g = chainer.Sequential(L.BatchNormalization(3, {given}))",
    )
    code = begins_alike(net(*layers, forward=forward), np.ones((2, 3, 4, 4), "f"))
    assert ("compat.filled(" in code) == bool(said) and "nn.init.ones_" not in code.replace(said, ""), code
    assert (f"compat.filled(self.f, {said})" in code) == bool(said), code


def test_a_value_that_an_unseen_caller_may_change_is_told() -> None:
    source = (
        "import chainer\nimport chainer.links as L\n\n\nclass Conf:\n    gamma = 1\n\n\nclass Net(chainer.Chain):\n"
        "    def __init__(self):\n        super().__init__()\n        with self.init_scope():\n"
        "            self.bn = L.BatchNormalization(3, initial_gamma=Conf.gamma)\n"
    )
    assert "weight=Conf.gamma" in migrate_source(source, options=Options(style="native")).code


@pytest.mark.parametrize(("parameter", "told"), [("self", ""), ("self, begin=None", "filled")])
def test_a_name_that_is_none_tells_no_values(parameter: str, told: str) -> None:
    """That of a parameter is told: callers that nobody sees may give another value."""
    source = net(
        "begin = None" if not told else "pass",
        "self.e = L.EmbedID(5, 3, begin, -1)",
        "self.bn = L.BatchNormalization(3, initial_gamma=begin)",
        forward="self.bn(self.e(x))",
    ).replace("__init__(self)", f"__init__({parameter})")
    code = begins_alike(source, np.array([0, 1, 2, 4], "i"))
    assert ("filled" in code) == bool(told), code
