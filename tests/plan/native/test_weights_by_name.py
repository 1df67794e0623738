"""The weights of layers that nobody knows: the name of the layer, and what the project calls so, tell what they are."""

from __future__ import annotations

import pytest

from chainer2torch.engine import migrate_source
from chainer2torch.plan.options import Options

HEAD = """
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np


class Scale(chainer.Link):
    def __init__(self, n):
        super().__init__()
        with self.init_scope():
            self.W = chainer.Parameter(1.0, (n,))


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.head = L.Linear(3, 2)
            self.scale = Scale(2)
            self.both = CHOSEN

    def __call__(self, x):
        return self.scale(self.head(x))


def load(net, blobs):
"""


def _code(line: str, chosen: str = "None") -> str:
    text = HEAD.replace("CHOSEN", chosen) + f"    {line}\n"
    return migrate_source(text, options=Options(style="native")).code


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        ("net.conv1", "net.conv1.weight.detach()"),  # what convolutions are called
        ("net.block.fc6", "net.block.fc6.weight.detach()"),
        ("net.head", "net.head.weight.detach()"),  # a layer of the project
        ("net.scale", "net.scale.W.detach()"),  # its own link
        ("net.bn2", "net.bn2.W.detach()"),  # no normalization of Chainer's has one
        ("net.other", "compat.link_attribute(net.other, 'W').detach()"),
        ("net[0]", "compat.link_attribute(net[0], 'W').detach()"),
    ],
)
def test_what_a_layer_is_called_tells_what_its_weights_are(layer: str, expected: str) -> None:
    assert f"    {expected}[...] = torch.as_tensor(blobs)\n" in _code(f"{layer}.W.data[...] = blobs")


def test_a_normalization_is_told_by_its_name_too() -> None:
    own = "\n\nclass Norm(chainer.Link):\n    def __init__(self):\n        self.gamma = None\n"
    for layer, expected in (("net.bn2", "net.bn2.weight"), ("net.other", "compat.link_attribute(net.other, 'gamma')")):
        text = HEAD.replace("CHOSEN", "None") + f"    {layer}.gamma.data[...] = blobs\n" + own
        assert (
            f"    {expected}.data[...] = torch.as_tensor(blobs)\n"
            in migrate_source(text, options=Options(style="native")).code
        )


def test_two_things_of_one_name_do_not_tell() -> None:
    code = _code("net.both.W.data[...] = blobs", "L.Linear(2, 2) if CHOSEN else Scale(2)")
    assert "compat.link_attribute(net.both, 'W').detach()" in code


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("np.copyto(net.conv1.W.data, blobs['a'])", "net.conv1.weight.detach().copy_(torch.as_tensor(blobs['a']))"),
        (
            "np.copyto(net.conv1.W.data, blobs['a'][:, ::-1])",
            "net.conv1.weight.detach().copy_(torch.as_tensor(blobs['a'][:, ::-1].copy()))",
        ),
        ("np.copyto(Net().head.W.data, net.head.W.data)", None),
        ("np.copyto(net.data, blobs['a'])", "compat.copyto(net.data, blobs['a'])"),
        ("np.copyto(blobs['a'], blobs['b'])", "np.copyto(blobs['a'], blobs['b'])"),
    ],
)
def test_values_are_copied_into_a_parameter(line: str, expected: str | None) -> None:
    code = _code(line)
    assert (
        expected is None
        and ".copy_(" in code
        and "compat.copyto" not in code
        or expected is not None
        and expected in code
    )
