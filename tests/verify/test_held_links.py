"""Layers that a model holds where nobody registers them (in a list, in an object) start with the same values, too."""

import pytest

from tests.support import model_batch

PROGRAM = """
import chainer
import chainer.functions as F
import chainer.links as L


class Bank:
    def __init__(self, *layers):
        self.layers = list(layers)


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.out = L.Linear(None, 2)
        {made}

    def __call__(self, x):
        return self.out(F.concat([F.relu(conv(x)) for conv in {layers}], axis=1))
"""
FORMS = {
    "a list": ("self.convs = [L.Convolution2D(1, 2, k, pad=k // 2) for k in (1, 3)]", "self.convs"),
    "a dictionary": (
        "self.convs = {'a': L.Convolution2D(1, 2, 1), 'b': L.Convolution2D(1, 2, 3, pad=1)}",
        "self.convs.values()",
    ),
    "an attribute": ("self.conv = L.Convolution2D(1, 2, 1)", "[self.conv]"),
    "an attribute without a size": ("self.conv = L.Convolution2D(None, 2, 3, pad=1)", "[self.conv]"),
    "an object of the program": (
        "self.bank = Bank(L.Convolution2D(1, 2, 1), L.Convolution2D(1, 2, 3, pad=1))",
        "self.bank.layers",
    ),
    "a list in a list": (
        "self.convs = [[L.Convolution2D(1, 2, 1)], [L.Convolution2D(1, 2, 1)]]",
        "sum(self.convs, [])",
    ),
    "a link that holds more": (
        "self.conv = chainer.Sequential(L.Convolution2D(1, 2, 1)); self.conv.more = [L.Convolution2D(1, 2, 3, pad=1)]",
        "[self.conv, *self.conv.more]",
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_they_start_with_the_same_values(tmp_path, form):
    made, layers = FORMS[form]
    text = PROGRAM.format(made=made, layers=layers)
    code = model_batch.migrated(tmp_path, text)
    variants = {"right": code, "wrong": code.replace("relu", "tanh")}
    found = model_batch.verify(tmp_path, text, variants, {None: ("Net", [], {"x": "f32[4,1,5,5]"})})
    assert found["right"][0] == "passed" and found["wrong"][0] == "failed", found


def test_what_the_port_holds_elsewhere_is_not_verified(tmp_path):
    """Its values are random on each side: that they differ says nothing of the port."""
    text = PROGRAM.format(made="self.convs = [L.Convolution2D(1, 2, 1)]", layers="self.convs")
    code = model_batch.migrated(tmp_path, text)
    variants = {"elsewhere": code.replace("self.convs", "self._layers")}
    found = model_batch.verify(tmp_path, text, variants, {None: ("Net", [], {"x": "f32[4,1,5,5]"})})
    assert found["elsewhere"][0] == "not verified" and "convs/0 unregistered" in found["elsewhere"][1], found
