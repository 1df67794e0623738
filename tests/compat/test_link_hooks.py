"""Hooks of links against Chainer's, over several training steps and in test mode."""
import copy
import io

import chainer
import numpy as np
import pytest
import torch
import torch.nn as nn
from chainer import link_hooks as CH
from chainer import links as L

from chainer2torch.compat import convolution_links, link_hooks, linear
from tests.support.both_sides import both, check_class
from tests.support.links import check_link

LAYERS = {
    "linear": (lambda: L.Linear(6, 4), lambda: nn.Linear(6, 4), "f32[5,6]"),
    "compat linear": (lambda: L.Linear(None, 4), lambda: linear.Linear(None, 4), "f32[5,6]"),
    "lazy linear": (lambda: L.Linear(None, 4), lambda: nn.LazyLinear(4), "f32[5,6]"),
    "convolution": (lambda: L.Convolution2D(3, 4, 3), lambda: nn.Conv2d(3, 4, 3), "f32[2,3,5,5]"),
    "transposed": (lambda: L.Deconvolution2D(3, 4, 3), lambda: nn.ConvTranspose2d(3, 4, 3), "f32[2,3,5,5]"),
    "compat transposed": (lambda: L.DeconvolutionND(1, 3, 4, 3),
                          lambda: convolution_links.DeconvolutionND(1, 3, 4, 3), "f32[2,3,5]"),
    "embedding": (lambda: L.EmbedID(7, 4), lambda: nn.Embedding(7, 4), "i32[5]<7"),
}
HOOKS = [("SpectralNormalization", {}), ("SpectralNormalization", {"n_power_iteration": 3, "eps": 0.1}),
         ("SpectralNormalization", {"use_gamma": True}), ("SpectralNormalization", {"factor": 0.3}),
         ("WeightStandardization", {}), ("WeightStandardization", {"eps": 0.5})]


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
        "convolution without input size": (lambda: L.Convolution2D(None, 4, 3),
                                           lambda: convolution_links.Convolution2D(None, 4, 3), (2, 3, 5, 5)),
    }[layer]
    link = make_link().add_hook(getattr(CH, hook)(**options))
    module = link_hooks.add_hook(make_module(), getattr(link_hooks, hook)(**options))
    data = np.random.RandomState(0).randn(*x).astype("f")
    link(data)
    module(torch.from_numpy(data))
    from chainer2torch.compat.serializers import load_npz
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
    code = check_class("""
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
        """, ["f32[2,3,4,4]"])
    assert "compat.SpectralNormalization()" in code


def test_hooks_of_the_users_own():
    original, migrated = both("""
        class Counter(chainer.LinkHook):
            name = 'Counter'

            def __init__(self):
                self.seen = []

            def added(self, link):
                self.seen.append('added' if link is None else 'added to one')

            def deleted(self, link):
                self.seen.append('deleted')

            def forward_preprocess(self, args):
                self.seen.append(('before', args.forward_name, len(args.args), args.args[0].shape))

            def forward_postprocess(self, args):
                self.seen.append(('after', args.out.shape))

        def run(x):
            model = chainer.Sequential(L.Linear(3, 4), F.relu, L.Linear(4, 2))
            inside, local = Counter(), Counter()
            model[0].add_hook(local, name='local')
            with inside:
                model(x)
            model(x)
            model[0].delete_hook('local')
            model(x)
            return inside.seen, local.seen
        """, left=["chainer.LinkHook"])
    x = np.zeros((5, 3), "f")
    assert migrated["run"](torch.from_numpy(x)) == original["run"](x)


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
