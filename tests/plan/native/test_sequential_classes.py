"""Questions for Chainer's Sequential in the native style, and links that are repeated."""

import pytest

from tests.support.native_programs import migrated

NET = """
class Own(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.body = chainer.Sequential(L.Linear(3, 3), F.relu)
            self.more = chainer.ChainList(L.Linear(3, 3))

def is_list(link):
    return isinstance(link, chainer.ChainList)
"""


@pytest.mark.parametrize(
    ("more", "classes"),
    [
        ("", "(nn.Sequential, nn.ModuleList)"),
        ("other = chainer.Sequential()", "(compat.Sequential, nn.Sequential, nn.ModuleList)"),
        ("Own().body.append(F.tanh)", "(compat.Sequential, nn.ModuleList)"),
    ],
)
def test_a_sequential_is_a_list_of_links(more, classes):
    code = migrated(NET + more + "\n").code
    assert f"return isinstance(link, {classes})" in code, code


def test_a_chain_or_a_list_is_one_question():
    code = migrated(NET.replace("chainer.ChainList)", "(chainer.Chain, chainer.ChainList))")).code
    assert "return isinstance(link, compat.AnyChainOrList)" in code, code


@pytest.mark.parametrize(("more", "plain"), [("", True), ("Stack(Own(), 2).layers.append(Own())", False)])
def test_copies_of_a_link_are_an_nn_sequential(more, plain):
    code = migrated(
        NET
        + """
class Stack(chainer.Chain):
    def __init__(self, layer, n):
        super().__init__()
        with self.init_scope():
            self.layers = layer.repeat(n, mode='copy')

Stack(Own(), 3)
"""
        + more
    ).code
    assert ("self.layers = nn.Sequential(*(copy.deepcopy(layer) for _ in range(n)))" in code) is plain
    assert ("import copy\n" in code) is plain and ("compat.repeat_link(layer, n, mode='copy')" in code) is not plain
