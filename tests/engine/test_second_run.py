"""A second run over files of which something is left: what is known through leftovers is decided once."""
import pytest

from chainer2torch.engine import migrate_source

MODULE_OF_A_LEFTOVER = '''
import numpy
import chainer
from chainer import cuda


class Softmax(chainer.Function):
    def kind(self, x):
        if cuda.cudnn_enabled:
            cudnn = cuda.cudnn
            handle = cudnn.get_handle()
            return 'd' if x.dtype == 'd' else 'f'

    def forward(self, inputs):
        return self.kind(inputs[0]),
'''

CLASS_ON_A_FUNCTION = '''
import numpy as np
from chainer import cuda
from chainer.functions.connection import linear


class LinearFunction(linear.LinearFunction):
    def forward(self, inputs):
        x, V, g = inputs
        xp = cuda.get_array_module(V)
        self.norm = xp.sqrt(xp.sum(V ** 2, axis=1)).reshape((-1, 1))
        self.W = g * V / self.norm
        return x.dot(self.W.T).astype(x.dtype, copy=False),

    def backward(self, inputs, grad_outputs):
        x, V, g = inputs
        xp = cuda.get_array_module(x)
        gy = grad_outputs[0]
        gx = gy.dot(self.W).astype(x.dtype, copy=False)
        gW = gy.T.dot(x).astype(V.dtype, copy=False)
        gg = xp.sum(gW * V, axis=1, keepdims=True).astype(g.dtype, copy=False)
        gV = g * (gW - gg * V) / self.norm
        gV = gV.astype(V.dtype, copy=False)
        return gx, gV, gg
'''


@pytest.mark.parametrize("text", [MODULE_OF_A_LEFTOVER, CLASS_ON_A_FUNCTION])
def test_what_is_left_changes_nothing_in_a_second_run(text):
    first = migrate_source(text)
    assert any(site.state == "manual" for site in first.sites)
    assert migrate_source(first.code).code == first.code


def test_a_backward_of_version_1_on_a_function_of_chainers_gets_arrays():
    """A FunctionNode's gets indexes and Variables, which have no ``astype``; the class is left, its arrays are not."""
    code = migrate_source(CLASS_ON_A_FUNCTION).code
    assert ".astype(" not in code.replace("compat.astype(", "") and ".dot(" not in code
