"""Settings of a layer that nobody knows: what is asked for its `W` has PyTorch's names for the others, too."""

import numpy as np

from tests.support.native_snippets import migrated, run

PROGRAM = """
import chainer.links as L


def back(x, layer):
    return F.convolution_2d(x, layer.W, None, layer.stride, layer.pad, dilate=layer.dilate)


def width(page):
    return page.pad


def run(xs, functions=(back,)):
    layer = L.Convolution2D(2, 2, 3, stride=2, pad=1, dilate=2, initialW=np.arange(36, dtype='f').reshape(2, 2, 3, 3))
    x = F.reshape(F.concat([x for x in xs] * 9, axis=1), (1, 2, 6, 6))
    return [function(x, layer) for function in functions][0].array
"""


def test_pad_and_dilate_of_what_has_weights() -> None:
    theirs, ours, code = run(PROGRAM)
    assert "padding=layer.padding, dilation=layer.dilation" in code and "# TODO" not in code, code
    assert "return page.pad\n" in code, "nothing says that it is a layer"
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def test_what_is_set_or_called_stays() -> None:
    code = migrated("def f(layer):\n    layer.pad(1)\n    layer.dilate = 2\n    return layer.W\n").code
    assert "layer.pad(1)" in code and "layer.dilate = 2" in code
