"""Hooks of links against Chainer's, over several training steps and in test mode."""

import copy
import io
import sys
from pathlib import Path

import chainer
import numpy as np
import pytest
import torch
import torch.nn as nn
from chainer import link_hooks as CH
from chainer import links as L

import chainer2torch
from chainer2torch.compat.links import convolution_links, deconvolution_links, linear
from chainer2torch.compat.hooks import link_hooks
from chainer2torch.engine import migrate_source
from chainer2torch.rules.table import load_rules
from chainer2torch.verify.worker import compat_module
from chainer2torch.verify.rules import given, snippets
from chainer2torch.verify.rules.callmatrix import Variant
from tests.support.both_sides import both, check_class
from tests.support.links import check_link

LAYERS = {
    "linear": (lambda: L.Linear(6, 4), lambda: nn.Linear(6, 4), "f32[5,6]"),
    "compat linear": (lambda: L.Linear(None, 4), lambda: linear.Linear(None, 4), "f32[5,6]"),
    "lazy linear": (lambda: L.Linear(None, 4), lambda: nn.LazyLinear(4), "f32[5,6]"),
    "convolution": (lambda: L.Convolution2D(3, 4, 3), lambda: nn.Conv2d(3, 4, 3), "f32[2,3,5,5]"),
    "transposed": (lambda: L.Deconvolution2D(3, 4, 3), lambda: nn.ConvTranspose2d(3, 4, 3), "f32[2,3,5,5]"),
    "compat transposed": (
        lambda: L.DeconvolutionND(1, 3, 4, 3),
        lambda: deconvolution_links.DeconvolutionND(1, 3, 4, 3),
        "f32[2,3,5]",
    ),
    "embedding": (lambda: L.EmbedID(7, 4), lambda: nn.Embedding(7, 4), "i32[5]<7"),
}
HOOKS = [
    ("SpectralNormalization", {}),
    ("SpectralNormalization", {"n_power_iteration": 3, "eps": 0.1}),
    ("SpectralNormalization", {"use_gamma": True}),
    ("SpectralNormalization", {"factor": 0.3}),
    ("WeightStandardization", {}),
    ("WeightStandardization", {"eps": 0.5}),
]


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("hook, options", HOOKS)
def test_hooks_that_change_the_weight(hook, options, layer):
    make_link, make_module, spec = LAYERS[layer]
    lazy = layer in ("compat linear", "lazy linear")

    def with_shape():
        link = make_link()
        if lazy:  # the vector of the iteration is saved only when the weight has its shape
            with chainer.using_config("train", False):
                link(np.zeros((5, 6), chainer.config.dtype))
        return link.add_hook(getattr(CH, hook)(**options))

    def module_with_shape():
        module = make_module()
        if lazy:
            module(torch.zeros(5, 6))
        return link_hooks.add_hook(module, getattr(link_hooks, hook)(**options))

    module = check_link(with_shape, module_with_shape, [spec], rtol=5e-4 if "0.5" in str(options) else None)
    assert isinstance(module.weight, nn.Parameter)


@pytest.mark.parametrize("hook, options", HOOKS)
@pytest.mark.parametrize("layer", ["compat linear", "lazy linear", "convolution without input size"])
def test_weights_without_shape(hook, options, layer):
    """The vector starts from random numbers with the first call: compared from then on."""
    make_link, make_module, x = {
        "compat linear": (lambda: L.Linear(None, 4), lambda: linear.Linear(None, 4), (5, 6)),
        "lazy linear": (lambda: L.Linear(None, 4), lambda: nn.LazyLinear(4), (5, 6)),
        "convolution without input size": (
            lambda: L.Convolution2D(None, 4, 3),
            lambda: convolution_links.Convolution2D(None, 4, 3),
            (2, 3, 5, 5),
        ),
    }[layer]
    link = make_link().add_hook(getattr(CH, hook)(**options))
    module = link_hooks.add_hook(make_module(), getattr(link_hooks, hook)(**options))
    data = np.random.RandomState(0).randn(*x).astype("f")
    link(data)
    module(torch.from_numpy(data))
    from chainer2torch.compat.serializers.serializers import load_npz
    from tests.support.links import npz_of

    load_npz(npz_of(link), module)
    np.testing.assert_allclose(module(torch.from_numpy(data)).detach().numpy(), link(data).array, rtol=2e-5, atol=1e-6)


def test_names_and_errors():
    layer = nn.Linear(3, 2)
    with pytest.raises(ValueError, match="'V' does not exist"):
        link_hooks.add_hook(layer, link_hooks.SpectralNormalization(weight_name="V"))
    with pytest.raises(TypeError):
        link_hooks.add_hook(layer, lambda *args: None)
    assert link_hooks.add_hook(layer, link_hooks.SpectralNormalization(use_gamma=True)) is layer
    with pytest.raises(KeyError, match="already exists"):
        link_hooks.add_hook(layer, link_hooks.SpectralNormalization())
    assert sorted(layer.state_dict()) == ["W_u", "bias", "gamma", "weight"]
    with pytest.raises(KeyError, match="does not exist"):
        link_hooks.delete_hook(layer, "other")
    x = torch.randn(4, 3)
    changed = layer(x)
    link_hooks.delete_hook(layer, "SpectralNormalization")
    assert sorted(layer.state_dict()) == ["bias", "weight"]
    assert torch.equal(layer(x), nn.functional.linear(x, layer.weight, layer.bias))
    assert not torch.allclose(changed, layer(x))
    with pytest.raises(NotImplementedError), link_hooks.WeightStandardization():
        pass


def test_a_forward_pass_that_fails_leaves_the_layer_as_it_was():
    layer = link_hooks.add_hook(nn.Linear(3, 2), link_hooks.WeightStandardization())
    with pytest.raises(RuntimeError):
        layer(torch.zeros(4, 5))
    assert isinstance(layer.weight, nn.Parameter) and "weight" not in vars(layer)


def test_a_copy_has_a_hook_of_its_own():
    layer = link_hooks.add_hook(nn.Linear(3, 2), link_hooks.SpectralNormalization())
    other = copy.deepcopy(layer)
    before = layer.W_u.clone()
    other(torch.randn(4, 3))
    assert torch.equal(layer.W_u, before) and not torch.equal(other.W_u, before)
    assert "weight" not in vars(other)


def test_a_discriminator_end_to_end():
    code = check_class(
        """
        class Net(chainer.Chain):
            def __init__(self):
                super().__init__()
                with self.init_scope():
                    self.c0 = L.Convolution2D(3, 4, 3, 1, 1).add_hook(chainer.link_hooks.SpectralNormalization())
                    self.c1 = L.Convolution2D(4, 4, 3, 1, 1)
                    self.l2 = L.Linear(64, 2)
                self.c1.add_hook(chainer.link_hooks.WeightStandardization())
                self.l2.add_hook(chainer.link_hooks.SpectralNormalization(factor=2), name='sn')

            def forward(self, x):
                h = F.leaky_relu(self.c0(x))
                h = F.leaky_relu(self.c1(h))
                return self.l2(h) * 0.1
        """,
        ["f32[2,3,4,4]"],
    )
    assert "compat.SpectralNormalization()" in code


COUNTER = """
class Counter(chainer.LinkHook):
    name = 'Counter'

    def __init__(self):
        self.seen = []

    def added(self, link):
        self.seen.append('added' if link is None else 'added to one')

    def deleted(self, link):
        self.seen.append('deleted')

    def forward_preprocess(self, args):
        self.seen.append(('before', args.forward_name, len(args.args), sorted(args.kwargs),
                          [x.shape for x in args.args]))

    def forward_postprocess(self, args):
        self.seen.append(('after', sorted(args.kwargs), args.out.shape))
"""


def test_hooks_of_the_users_own():
    original, migrated = both(
        COUNTER
        + """
class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.first = L.Linear(3, 4)
            self.rest = chainer.Sequential(L.BatchNormalization(4), F.relu, L.Linear(4, 2))

    def forward(self, x, scale=1, *, shift=0):
        return self.rest(self.first(x)) * scale + shift

def run(x):
    model = Net()
    inside, local, other = Counter(), Counter(), Counter()
    model.first.add_hook(local, name='local')
    with inside:
        model(x, shift=2)
        model(x=x, scale=3)
    model(x)
    assert list(model.first.local_link_hooks) == ['local']
    model.first.delete_hook('local')
    model.first.add_hook(other)
    with inside:  # the layer has one of this name
        model(x, scale=2)
    model(x)
    return inside.seen, local.seen, other.seen
"""
    )
    x = np.zeros((5, 3), "f")
    theirs = original["run"](x)
    assert migrated["run"](torch.from_numpy(x)) == theirs
    assert theirs[0][1] == ("before", "forward", 1, ["shift"], [(5, 3)]) and len(theirs[0]) == 32


def test_blocks_inside_blocks():
    def run(base, layer, x):
        class Hook(base):
            def __init__(self, name):
                self.name, self.seen = name, events

            def forward_preprocess(self, args):
                self.seen.append(self.name + " before")

            def forward_postprocess(self, args):
                self.seen.append(self.name + " after")

        events = []
        with Hook("a"), Hook("b"):
            with pytest.raises(KeyError, match="a already exists"), Hook("a"):
                pass
            layer(x)
        layer(x)
        return events

    ours = run(link_hooks.LinkHook, nn.Linear(3, 2), torch.zeros(1, 3))
    assert ours == run(chainer.LinkHook, L.Linear(3, 2), np.zeros((1, 3), "f")) and len(ours) == 4


@pytest.mark.parametrize(
    "difference, body",
    {
        "looks at the layer": "    def forward_preprocess(self, args):\n        print(args.link)\n",
        "hands it on": "    def forward_preprocess(self, args):\n        print(args)\n",
        "looks where it is added": "    def added(self, link):\n        print(link)\n",
        "a link with __call__": "    pass\n\nclass Net(chainer.Chain):\n    def __call__(self, x):\n        return x\n",
    }.items(),
)
def test_hooks_that_may_notice_a_difference(difference, body):
    source = "import chainer\nclass Hook(chainer.LinkHook):\n" + body
    states = {s.symbol: s.state for s in migrate_source(source).sites}
    assert states["chainer.LinkHook"] == "review", difference
    assert migrate_source(source.split("    ")[0] + "    pass\n").sites[0].state == "exact"


def _events(base):
    def shapes(value):
        if isinstance(value, (list, tuple)):
            return [shapes(item) for item in value]
        return tuple(value.shape) if hasattr(value, "shape") else value

    class Events(base):
        def __init__(self):
            self.seen = []

        def forward_preprocess(self, args):
            self.seen.append(("before", shapes(args.args), sorted(args.kwargs)))

        def forward_postprocess(self, args):
            self.seen.append(("after", shapes(args.out)))

    return Events()


ROWS = [
    name
    for name, row in load_rules().rows.items()
    if name.startswith("chainer.links.") and name.count(".") == 2 and row.examples and row.state == "exact"
]


@pytest.mark.parametrize("name", ROWS)
def test_every_layer_calls_hooks_as_chainer_s_link_does(name):
    """With the layers inside of layers, in their order; and it is a Chain, or a list, exactly if it was one."""
    rules = load_rules()
    for example in rules.rows[name].examples[:2]:
        source = snippets.build(Variant("", example.options.get("setup", ""), example.before), example.given)
        code = snippets.migrate(source, migrate_source, rules, snippets.hints(example.given, example.options)).code
        values = {}
        drawn = given.draw(example.given, name, "float32", values, "")
        seen = []
        for text, base, make in ((source, chainer.LinkHook, np.asarray), (code, compat().LinkHook, torch.from_numpy)):
            namespace = {"__name__": "example"}
            np.random.seed(0)
            exec(compile(text, "<example>", "exec"), namespace)
            hook = _events(base)
            with hook:
                namespace["run"](**{key: _decoded(value, values, make) for key, value in drawn.items()})
            links = {key: value for key, value in namespace.items() if isinstance(value, (chainer.Link, nn.Module))}
            original = base is chainer.LinkHook
            one = chainer.Chain if original else compat().AnyChain
            both = (chainer.Chain, chainer.ChainList) if original else compat().AnyChainOrList
            seen.append((hook.seen, {key: (isinstance(v, one), isinstance(v, both)) for key, v in links.items()}))
        assert seen[0] == seen[1] and seen[0][0]


def _decoded(value, arrays, make):
    if isinstance(value, list):
        return [_decoded(item, arrays, make) for item in value]
    return make(arrays[value["array"]].copy()) if isinstance(value, dict) and "array" in value else value


def compat():
    """The helpers as migrated code imports them."""
    if "chainer_compat" not in sys.modules:
        compat_module.install(str(Path(chainer2torch.__file__).parent / "compat"))
    return sys.modules["chainer_compat"]


def test_timer():
    def run(hook, model, x):
        with hook:
            model(x)
            model(x)
        file = io.StringIO()
        hook.print_report(file=file)
        return hook, file.getvalue()

    ours, text = run(link_hooks.LinkTimerHook(), nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2)), torch.zeros(5, 3))
    theirs, expected = run(CH.TimerHook(), chainer.Sequential(L.Linear(3, 4), L.Linear(4, 2)), np.zeros((5, 3), "f"))
    counts = [{name: record["occurrence"] for name, record in hook.summary().items()} for hook in (ours, theirs)]
    assert counts[0] == counts[1] == {"Linear": 4, "Sequential": 2}
    assert text.splitlines()[0].split() == expected.splitlines()[0].split() and len(text.splitlines()) == 3
    inner = ours.summary()["Linear"]["elapsed_time"]
    assert 0 < inner <= ours.total_time() == ours.summary()["Sequential"]["elapsed_time"]
    for unit in ("sec", "ms", "us", "ns", "auto_foreach"):
        ours.print_report(unit, io.StringIO())


@pytest.mark.parametrize("layer", [name for name in LAYERS if "lazy" not in name and name != "compat linear"])
def test_the_first_gamma_is_the_largest_singular_value(layer):
    make, ours, _ = LAYERS[layer]
    link, module = make(), ours()
    with torch.no_grad():
        module.weight.copy_(torch.tensor(link.W.array))
    link.add_hook(CH.SpectralNormalization(use_gamma=True))
    link_hooks.add_hook(module, link_hooks.SpectralNormalization(use_gamma=True))
    np.testing.assert_allclose(module.gamma.detach(), link.gamma.array, rtol=1e-5)


@pytest.mark.parametrize("hook", ["SpectralNormalization", "WeightStandardization"])
@pytest.mark.parametrize("layer", ["compat linear", "lazy linear"])
def test_a_single_example_gives_a_layer_its_shape(layer, hook):
    module = LAYERS[layer][1]()
    link_hooks.add_hook(module, getattr(link_hooks, hook)())
    assert module(torch.ones(1, 6)).shape == (1, 4) and module.weight.shape == (4, 6)
