"""What a program sets on a layer after it was made counts in the output, or the place is marked."""

import numpy as np
import pytest

from tests.support.both_sides import check_class
from tests.support.native_snippets import migrated, run

NET = """
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.layer = LAYER

    def __call__(self, x):
        self.layer.SET
        return F.relu(self.layer(x))
"""
RUN = """

def run(xs):
    net = Net()
    x = chainer.Variable(xs[0].reshape((1, 2, 1, 1)))
    net.cleargrads()
    y = net(x)
    F.sum(y * y).backward()
    return [np.array(y.array), np.array(net.layer.W.grad)]
"""


def program(layer, assignment):
    return NET.replace("LAYER", layer).replace("SET", assignment)


@pytest.mark.parametrize("options", ["nobias=True", "outsize=(2, 2)"])
def test_a_deconvolution_heeds_the_size_that_is_set(options):
    layer = f"L.Deconvolution2D(2, 3, 3, stride=4, pad=1, {options}, initialW=0.2)"
    theirs, ours, code = run(program(layer, "outsize = (4, 3)") + RUN)
    assert "compat.Deconvolution2D(" in code and theirs[0].shape == (1, 3, 4, 3)
    for expected, found in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("layer", "shape", "size"),
    [
        ("L.Deconvolution2D(2, 3, 5, stride=2, pad=2, nobias=True)", (2, 2, 4, 4), (8, 8)),
        ("L.DeconvolutionND(2, 2, 3, 5, stride=2, pad=2)", (2, 2, 4, 4), (8, 7)),
        ("L.Deconvolution1D(2, 3, 5, stride=2, pad=2)", (2, 2, 4), (8,)),
    ],
)
def test_a_deconvolution_of_the_faithful_style_heeds_it_too(layer, shape, size):
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    check_class(program(layer, f"outsize = {size}"), [x])


def test_without_such_an_assignment_the_layer_is_torchs():
    assert (
        "nn.ConvTranspose2d(2, 3, 5, stride=2, padding=2)"
        in migrated(program("L.Deconvolution2D(2, 3, 5, 2, 2)", "name")).code
    )


def test_axes_that_are_set_are_marked():
    code = migrated(program("L.BatchNormalization(3)", "axis = (0, 2)")).code
    assert "TODO(chainer2torch" in code.split("self.layer.axis")[0]
