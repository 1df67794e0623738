"""Names that a class body binds and torch.nn.Module has for itself: they are renamed there, as they are elsewhere."""

import numpy as np
import pytest

from tests.support.native_snippets import migrated, run

HEAD = """
import chainer.links as L
"""
PROGRAM = """
class Net(chainer.Chain):
    train = True
    to, (half, double) = 2, (3, 4)
    float = to + 0.5
    if float > 1:
        cuda = [half]

    def cpu(self, times=half):
        return times * self.half + self.cuda[0]
    type = cpu
    compile = [float, to][0]

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(2, 2, initialW=1)

    def __call__(self, x):
        return self.l(x) * (2 if self.train else 3) * self.float


class Heir(Net):
    train: bool = False


def run(xs):
    net, heir = Net(), Heir()
    found = [net(xs[0]), heir(xs[0]), net.cpu(), net.type(2), net.compile, Net.double, Heir.train]
    Net.to = 7
    net.train = False
    setattr(heir, 'train', True)
    found += [Net.to, heir.to, net(xs[0]), heir(xs[0]), getattr(heir, 'half'), hasattr(Net, 'double'), heir.train]
    return [value.array if isinstance(value, chainer.Variable) else value for value in found]
"""


def test_the_attributes_of_the_body_have_the_names_that_the_methods_read():
    theirs, ours, code = run(HEAD + PROGRAM)
    assert len(ours) == len(theirs)
    for one, other in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(np.asarray(one, "d"), np.asarray(other, "d"))
    assert "train_ = True" in code and "train_: bool = False" in code and "Net.to_ = 7" in code


@pytest.mark.parametrize(
    "use",
    [
        "def ask(thing):\n    return getattr(thing, 'half')",
        "def ask():\n    net = Net()\n    for name in ('half', 'double'):\n        setattr(net, name, 1)",
    ],
)
def test_a_name_in_a_text_is_marked_where_no_more_is_known(use):
    result = migrated(HEAD + PROGRAM + use + "\n")
    assert any(site.state == "review" and site.code == "C2T202" for site in result.sites), result.code


LOADED = """
import importlib.util
from chainer import serializers

def load(path, weights):
    spec = importlib.util.spec_from_file_location('nets', path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    net = module.net
    serializers.load_npz(weights, net)
    net.train = False
    net.to_cpu()
    return net

def other(net, settings):
    net.train = False
    settings.train = False
    settings.type = 3
    return net(3)
"""


def test_an_unknown_object_that_is_used_as_a_link_keeps_torchs_methods():
    result = migrated(LOADED)
    assert result.code.count("net.train_ = False") == 1 and "settings.train = False" in result.code
    marked = [site for site in result.sites if site.code == "C2T202"]
    assert [site.symbol for site in marked] == ["?.train"] and marked[0].state == "review"
