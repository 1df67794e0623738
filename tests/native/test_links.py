"""Walks over modules beside Chainer's over the same links: paths, order, names."""

import random

import chainer
import chainer.links as L
import numpy as np
import pytest
from torch import nn

from chainer2torch.compat.links import link_names, link_slots, link_tree
from chainer2torch.native import links
from chainer2torch.engine import Options, migrate_source
from chainer2torch.native.lists import ChainList, FunctionModule
from tests.support.native_programs import HEAD, both


class Theirs(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.z = L.Convolution2D(1, 2, 3)
            self.a = L.BatchNormalization(3)
            self.parts = chainer.ChainList(L.Linear(2, 3), L.Linear(3, 4, nobias=True), L.EmbedID(2, 3))
            self.M = L.LayerNormalization(5)
            self.scale = chainer.Parameter(1.0, (3,))
            self.again = self.z


class Ours(nn.Module):
    def __init__(self):
        super().__init__()
        self.z = nn.Conv2d(1, 2, 3)
        self.a = nn.BatchNorm2d(3)
        self.parts = nn.ModuleList([nn.Linear(2, 3), nn.Linear(3, 4, bias=False), nn.Embedding(2, 3)])
        self.M = nn.LayerNorm(5)
        self.scale = nn.Parameter(self.z.weight.new_ones(3))
        self.again = self.z
        self.nothing = None


def relu(x):
    return x


PAIRS = (
    (lambda: relu, lambda: FunctionModule(relu)),
    (lambda: relu, nn.ReLU),
    (lambda: relu, lambda: nn.Softmax(dim=1)),
    (lambda: L.Linear(2, 3), lambda: nn.Linear(2, 3)),
    (lambda: L.PReLU((4,)), lambda: nn.PReLU(4)),
    (Theirs, Ours),
    (lambda: chainer.ChainList(L.Linear(5, 1)), lambda: ChainList(nn.Linear(5, 1))),
)


def nets(seed):
    """A Sequential of some layers in a Chain, on both sides."""
    chosen = random.Random(seed).choices(PAIRS, k=7)
    theirs = chainer.Sequential(*(make() for make, _ in chosen))
    ours = nn.Sequential(*(make() for _, make in chosen))
    return chainer.Chain(b=theirs, a=Theirs()), nn.ModuleDict({"b": ours, "a": Ours()})


@pytest.mark.parametrize("seed", range(8))
def test_walks(seed):
    theirs, ours = nets(seed)
    if seed == 0:
        assert len(list(ours.named_parameters())) > 20
    found = list(links.namedparams(ours))
    assert [(path, param.shape) for path, param in theirs.namedparams()] == [(p, tuple(x.shape)) for p, x in found]
    assert [param for _, param in found] == list(links.params(ours))
    assert [param.name for param in theirs.params()] == [links.parameter_name(ours, p) for p in links.params(ours)]
    assert [path for path, _ in theirs.namedlinks()] == [path for path, _ in links.namedlinks(ours)]
    assert len(list(theirs.links(skipself=True))) == len(list(links.links(ours, skipself=True)))
    assert [c.name for c in theirs.children()] == ["a", "b"]
    assert list(links.children(ours)) == [ours["a"], ours["b"]]


def test_a_parameter_of_another_module():
    with pytest.raises(StopIteration):
        links.parameter_name(nn.Linear(2, 3), nn.Linear(2, 3).weight)
    assert np.array_equal([p for p, _ in links.namedparams(Ours())][:3], ["/scale", "/M/beta", "/M/gamma"])


@pytest.mark.parametrize(
    "module",
    [
        Ours(),
        nn.Sequential(nn.ReLU(), nn.Linear(2, 3), nn.Tanh(), nn.Conv2d(1, 2, 3), FunctionModule(relu), nn.PReLU()),
        nn.Sequential(nn.Sequential(nn.ReLU()), nn.ModuleList(), nn.LazyLinear(3), nn.BatchNorm1d(2, affine=False)),
        nn.Sequential(nn.Flatten(), nn.Dropout(), nn.MaxPool2d(2)),
        nn.ModuleList([nn.ReLU(), nn.Linear(2, 3)]),
    ],
)
def test_children_are_those_of_the_long_helper(module):
    """Helpers that are shared with the faithful style take the short one in the native style."""
    expected = link_slots.link_children(module)
    assert [(name, id(child)) for name, child in links.link_children(module)] == [(n, id(c)) for n, c in expected]


def test_a_copy_has_no_name_as_the_long_helper_has_it():
    """``link.name`` of what nobody holds is None; its children learn theirs from the copy."""

    def told(copied):
        before = [list(vars(module)["_chainer_link_names"].values()) for module in copied.modules()]
        link_names.name_children(copied)
        names = [link_names.link_name(child) for child in copied.children()]
        return before, link_names.link_name(copied), names

    def named():
        net, holder = Ours(), nn.Module()
        holder.net = net
        for module in (holder, net, net.parts):
            link_names.name_children(module)
        return net

    assert told(links.shared_copy(named())) == told(link_tree.copy_link(named()))
    assert told(links.shared_copy(named()))[1] is None
    with pytest.raises(AttributeError, match="name is not known"):
        link_names.link_name(nn.Linear(2, 3))


NAMED = """
class Inner(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.b = L.Linear(3, 4)
            self.a = L.BatchNormalization(4)
            self.c = L.Linear(None, 2, nobias=True)
            self.parts = chainer.ChainList(L.Linear(2, 2), L.Convolution2D(1, 2, 3))

    def forward(self, x):
        return self.c(self.a(self.b(x)))


def copied(src, dst):
    assert isinstance(src, chainer.Chain) and isinstance(dst, chainer.Chain)
    seen = []
    for child in src.children():
        if child.name == 'c':
            continue
        other = dst[child.name]
        seen.append((child.name, type(child) == type(other)))
        for a, b in zip(child.namedparams(), other.namedparams()):
            seen.append(a[0] == b[0])
    return seen


def run():
    net, other = Inner(), Inner()
    found = [copied(net, other)]
    for layer in net.parts.children():
        found.append(layer.name)
    found.append([layer.name for layer in net.children() if layer.name.startswith('p')])
    found.append([p.size for p in net.params(include_uninit=False)])
    found.append(sum(p.size for p in net.params(False)))
    found.append([(path, p.shape) for path, p in net.namedparams(include_uninit=False)])
    return found
"""


def test_names_of_children_and_parameters_with_a_shape():
    theirs, ours, code = both(NAMED)
    assert ours["run"]() == theirs["run"]()
    assert "in sorted(src.named_children()):" in code and "faithful_" not in code and "compat.link_name" not in code


@pytest.mark.parametrize(
    "added",
    [
        "for child in net.children():\n    other.add_link('other_' + child.name, child)",
        "for child in net.children():\n    setattr(other, 'other_' + child.name, child)",
        "for child in net.parts.children():\n    other.append(child)",
    ],
)
def test_a_child_that_gets_another_holder_is_asked_for_its_last_name(added):
    rows = added.replace("\n", "\n    ")
    holder = "chainer.ChainList(L.Linear(1, 1))" if "append" in added else "chainer.Chain()"
    walk = added.partition("in ")[2].partition(":")[0]
    text = f"{NAMED}\ndef last():\n    net, other = Inner(), {holder}\n    {rows}\n"
    text += f"    return [child.name for child in {walk}]\n"
    result = migrate_source(HEAD + text, options=Options(style="native"))
    assert "child_name" not in result.code.partition("def last")[2], "it may have several: the long helper looks"
