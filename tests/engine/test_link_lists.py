"""What lists of links hold: attributes of the links that are taken out of them get torch's names."""

import numpy as np
import pytest

from chainer2torch.engine import migrate_source
from tests.support.both_sides import both

_HEAD = """import chainer
import chainer.functions as F
import chainer.links as L
class Nets(chainer.ChainList):
    def __init__(self, n):
        super().__init__(*[L.EmbedID(3, 4) for _ in range(n)])
    def weight(self, i):
        return self[i].W
class Net(chainer.Chain):
    def __init__(self, other):
        super().__init__()
        with self.init_scope():
            self.convs = chainer.ChainList(L.Convolution2D(3, 4, 3), L.Convolution2D(4, 4, 3))
            self.linears = chainer.ChainList(*[L.Linear(3, 4) for _ in range(3)])
            self.later = chainer.ChainList()
            self.nets = Nets(3)
            self.steps = chainer.Sequential(L.EmbedID(3, 4), F.relu)
            self.mixed = chainer.ChainList(L.Linear(3, 4), L.PReLU())
            self.other = chainer.ChainList(other)
        for _ in range(3):
            self.later.append(L.EmbedID(3, 4))
        self.later.add_link(L.EmbedID(5, 6))
"""


@pytest.mark.parametrize(
    "before, after",
    [
        ("self.convs[-1].W", "self.convs[-1].weight"),
        ("[l.b for l in self.linears]", "[l.bias for l in self.linears]"),
        ("self.later[i].W.shape", "self.later[i].weight.shape"),
        ("self.nets[0].W", "self.nets[0].weight"),
        ("self.steps[0].W.array", "self.steps[0].weight.detach()"),
    ],
)
def test_attribute(before, after):
    result = migrate_source(f"{_HEAD}    def forward(self, x, i):\n        return {before}\n")
    assert result.error is None and f"return {after}\n" in result.code
    assert not [s for s in result.sites if s.state != "exact"]


def test_in_a_method_of_the_list():
    assert "return self[i].weight\n" in migrate_source(_HEAD).code


@pytest.mark.parametrize("expression", ["self.mixed[0].W", "self.other[0].W"])
def test_what_may_be_several_things_is_not_guessed(expression):
    code = migrate_source(f"{_HEAD}    def forward(self, x):\n        return {expression}\n").code
    assert ".weight" not in code.split("def forward")[1]


def test_a_layer_in_a_list_flattens_by_itself_where_links_are_called_that_nobody_knows():
    forward = (
        "    def forward(self, x):\n        x = F.relu(self.convs[0](x))\n"
        "        return self.linears[0](F.reshape(x, (2, 3)))\n"
    )
    unseen = "def outputs(net, x):\n    return [link(x) for link in net.links()]\n"
    assert "compat.Linear(3, 4) for _ in range(3)" in migrate_source(_HEAD + forward + unseen).code
    assert "nn.Linear(3, 4)) for _ in range(3)" in migrate_source(_HEAD + forward).code


def test_a_sequential_that_grows_by_operators():
    original, migrated = both("""
        def run():
            net = chainer.Sequential(L.Linear(4, 4, initialW=0.1), F.relu)
            net += chainer.Sequential(F.tanh, L.Linear(4, 3, initialW=0.2))
            more = net + chainer.Sequential(F.sigmoid)
            x = np.arange(8).reshape(2, 4).astype('f')
            return net(x), more(x), [name for name, _ in more.namedparams()], len(net), len(more)
    """)
    theirs, ours = original["run"](), migrated["run"]()
    for a, b in zip(theirs[:2], ours[:2], strict=True):
        np.testing.assert_allclose(b.detach().numpy(), a.array, rtol=1e-5)
    assert theirs[2:] == ours[2:]
