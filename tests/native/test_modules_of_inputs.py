"""``get_array_module(inputs)`` of all inputs at once, where a program meant ``*inputs``: the device of the first."""

import numpy as np
import pytest

from tests.support.native_snippets import run

PROGRAM = """
class Affine(chainer.{base}):
    def forward(self, inputs):
        xp = chainer.cuda.get_array_module({handed})
        x, w = inputs
        y = w * x if xp is np else x
        return y + xp.{made},

    def backward(self, a, b):
        return {gradient}

def run(xs):
    x, w = chainer.Variable(xs[0]), chainer.Variable(xs[0] + 1)
    y = {call}
    F.sum(y).backward()
    return y.array, x.grad, w.grad
"""
OLD = {"base": "Function", "gradient": "a[1] * b[0], a[0] * b[0]", "call": "Affine()(x, w)"}
NEW = {"base": "FunctionNode", "gradient": "b[0], b[0]", "call": "Affine().apply((x, w))[0]"}


@pytest.mark.parametrize("kind", [OLD, NEW], ids=["Function", "FunctionNode"])
@pytest.mark.parametrize("handed", ["inputs", "*inputs"])
@pytest.mark.parametrize("made", ["ones_like(x)", "arange(2).astype('f')"])
def test_the_first_input_has_the_device(kind, handed, made):
    theirs, ours, code = run(PROGRAM.format(handed=handed, made=made, **kind))
    for their, our in zip(theirs, ours):
        np.testing.assert_array_equal(np.asarray(our), np.asarray(their))
    assert "inputs[0].device" in code and "array_module" not in code and "device_of" not in code
