"""`layer.W.array = values` before the first input of a layer whose size nobody said: the values stay."""

import numpy as np
import pytest

from tests.support.native_snippets import run

PROGRAM = """
import chainer.links as L
class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = {layer}
    def forward(self, x):
        return self.l(x)

def run(xs):
    net = Net()
    net.l.W.array = np.full({shape}, 0.5, 'f')
    {more}
    y = net(chainer.Variable({x}))
    return y.array, net.l.W.array
"""
_LAYERS = {
    "L.Linear(None, 3{})": ("(3, 2)", "xs[0]"),
    "L.Convolution2D(None, 3, 1{})": ("(3, 2, 1, 1)", "xs[0].reshape(1, 2, 1, 1)"),
}
_BIAS = "net.l.b.array = np.arange(3).astype('f')"


@pytest.mark.parametrize("layer", _LAYERS)
@pytest.mark.parametrize(("rest", "more"), [(", nobias=True", ""), ("", _BIAS)])
def test_the_first_input_keeps_them(layer, rest, more):
    shape, x = _LAYERS[layer]
    theirs, ours, code = run(PROGRAM.format(layer=layer.format(rest), shape=shape, x=x, more=more))
    for one, other in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(np.asarray(one), other.detach().numpy(), rtol=1e-6)
    assert "compat.set_array(net.l.weight" in code


@pytest.mark.parametrize("layer", _LAYERS)
def test_some_of_them_alone_are_not_lost_in_silence(layer):
    shape, x = _LAYERS[layer]
    with pytest.raises((AttributeError, AssertionError)):
        run(PROGRAM.format(layer=layer.format(""), shape=shape, x=x, more=""))
