"""Methods of Chainer's own classes that a program's class writes itself, and batch normalizations of version 1."""

import numpy as np
import torch

from chainer2torch.engine import Options, migrate_source
from tests.support import native_programs

_HEAD = "import chainer\nimport chainer.functions as F\nimport chainer.links as L\nimport numpy as np\n\n\n"


def _marked(source, **options):
    result = migrate_source(_HEAD + source, options=Options(**options))
    return [(site.symbol, site.state) for site in result.sites if site.state in ("manual", "review")], result.code


def test_a_private_method_of_chainers_is_marked_where_nothing_calls_it():
    source = "class Own(L.{}):\n    def {}(self, *args):\n        return 1\n"
    for layer, name in (("Linear", "_initialize_params"), ("NStepLSTM", "_call"), ("BatchNormalization", "_get_gamma")):
        marked, code = _marked(source.format(layer, name), style="faithful")
        assert (f"chainer.links.{layer}.{name}", "review") in marked, code
    assert _marked(source.format("Linear", "_own"), style="faithful")[0] == []
    assert _marked(source.format("Linear", "_initialize_params"), style="native")[0] == []


def test_the_short_linear_calls_the_method_that_makes_its_parameters():
    source = """
        class Quarters(L.Linear):
            def _initialize_params(self, in_size):
                self.W.initialize((self.out_size, in_size))
                self.W.data[...] = 0.25


        def made(x):
            layer = Quarters(None, 2)
            return layer(chainer.Variable(x)), layer.W
    """
    theirs, ours, code = native_programs.both(source)
    x = np.arange(6, dtype="f").reshape(2, 3)
    for want, got in zip(theirs["made"](x), ours["made"](torch.tensor(x)), strict=True):
        np.testing.assert_allclose(got.detach().numpy(), want.array)


def test_a_normalization_of_version_1_that_is_told_nothing_is_asked_about():
    source = """
from chainer.training import extensions


class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__(bn=L.BatchNormalization(3), fc=L.Linear(3, 3))

    def __call__(self, x):
        for link in [self.fc, self.bn]:
            x = link(x)
        return F.dropout(x, train=True)


def evaluate(iterator, model):
    return extensions.Evaluator(iterator, model)
"""
    asked = ("chainer.links.BatchNormalization.__call__", "review")
    assert asked in _marked(source, chainer_version=1)[0]
    assert asked not in _marked(source.replace("Evaluator", "LogReport"), chainer_version=1)[0]


def test_what_asks_for_a_gamma_that_may_be_missing_is_told_of_the_ones():
    source = """
class Net(chainer.Chain):
    def __init__(self, scaled):
        super().__init__()
        with self.init_scope():
            self.bn = L.BatchNormalization(3, use_gamma=scaled)

    def forward(self, x):
        h = self.bn(x)
        return h * self.bn.gamma if self.bn.gamma is not None else h
"""
    assert _marked(source, style="native")[0] == [("chainer.links.BatchNormalization.gamma", "review")]
    assert _marked(source.replace("scaled)\n\n", "True)\n\n"), style="native")[0] == []
    assert _marked(source, style="faithful")[0] == []


def test_a_generator_that_waits_in_a_mode_is_marked():
    source = """
def outputs(model, xs):
    with chainer.using_config('train', False):
        for x in xs:
            yield model(x)
"""
    assert ("chainer.using_config", "review") in _marked(source, style="native")[0]
    listed = source.replace("yield model(x)", "print(model(x))")
    assert ("chainer.using_config", "review") not in _marked(listed, style="native")[0]
