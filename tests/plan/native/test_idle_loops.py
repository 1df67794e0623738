"""An optimizer of layers that may be none takes them as a group; PyTorch refuses an empty list of parameters."""

import pytest

from tests.support.native_programs import migrated

TEXT = """
import chainer
import chainer.links as L


class Net(chainer.ChainList):
    def __init__(self, n, sizes=(3, 3)):
        {body}


def main(n):
    net = Net({given})
    opt = chainer.optimizers.Adam()
    opt.setup(net)
    return opt
"""
LOOP = "super().__init__()\n        for {names} in {items}:\n            self.append(L.Linear(3, 3))"
LIST = "super().__init__(*[L.Linear(3, 3) for {names} in {items}])"
GROWN = """layers = []
        for {names} in {items}:
            layers.append(L.Linear(3, 3))
        super().__init__(*layers)"""


@pytest.mark.parametrize("form", [LOOP, LIST, GROWN])
@pytest.mark.parametrize(
    ("names", "items", "given", "may_be_none"),
    [
        ("i", "range(n)", "n", False),
        ("i", "range(2)", "n", False),
        ("i", "range(n)", "3", False),
        ("i", "range(n)", "0", True),
        ("i", "range(n)", "n=0", True),
        ("i", "range(0)", "n", True),
        ("i", "range(n - 1)", "n", True),
        ("i", "range(1, n // 2)", "n", True),
        ("i", "sizes", "n", False),
        ("i", "sizes[1:]", "n", True),
        ("i, s", "enumerate(sizes)", "n", False),
        ("i, s", "enumerate(sizes[1:])", "n", True),
        ("a, b", "zip(sizes, sizes[1:])", "n", True),
    ],
)
def test_what_may_be_none(form, names, items, given, may_be_none):
    code = migrated(TEXT.format(body=form.format(names=names, items=items), given=given), "").code
    assert ("[{'params': net.parameters()}]" in code) is may_be_none, code


def test_one_layer_that_is_there_is_enough():
    body = LOOP.format(names="i", items="range(n - 1)") + "\n        self.append(L.Linear(3, 3))"
    assert "[{'params'" not in migrated(TEXT.format(body=body, given="n"), "").code


def test_a_default_of_zero_is_given():
    text = TEXT.replace("n, sizes", "n=0, sizes").format(body=LIST.format(names="i", items="range(n)"), given="")
    assert "[{'params'" in migrated(text, "").code
