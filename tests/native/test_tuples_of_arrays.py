"""``get_array_module(inputs)``, the tuple not unpacked: NumPy in Chainer, which works on its arrays, not on tensors."""

import sys
import types
from unittest import mock

import chainer
import numpy as np
import pytest
import torch

from chainer2torch.engine import Options, migrate_source
from chainer2torch.vendor import compat_file

SOURCE = """\
import chainer
import numpy
from chainer import cuda


class Affine(chainer.Function):

    def forward(self, inputs):
        xp = cuda.get_array_module(inputs)
        self.retain_inputs((0, 1))
        x, w = inputs
        return xp.tanh(x) * w if xp is numpy else x + w,

    def backward(self, inputs, gy):
        xp = cuda.get_array_module(inputs)
        x, w = inputs
        gx = gy[0] * w * (1 - xp.tanh(x) ** 2)
        return gx, xp.sum(gy[0] * xp.tanh(x), axis=0, keepdims=True)


def compute(x, w):
    return Affine()(x, w)
"""


@pytest.mark.parametrize("style", ["native", "faithful"])
def test_a_tuple_of_arrays_gives_their_module(style):
    x, w = np.array([[0.1, -2.0], [3.0, 0.5]], np.float32), np.array([[2.0, -1.0]], np.float32)
    w = np.broadcast_to(w, x.shape).copy()
    original: dict = {}
    exec(SOURCE.replace("axis=0, keepdims=True", "axis=()"), original)
    before = [chainer.Variable(x), chainer.Variable(w)]
    wanted = original["compute"](*before)
    chainer.functions.sum(wanted * wanted).backward()

    result = migrate_source(SOURCE.replace("axis=0, keepdims=True", "axis=()"), options=Options(style=style))
    compat = types.ModuleType("chainer_compat")
    exec(compile(compat_file.build(result.helpers, style=style), "chainer_compat.py", "exec"), vars(compat))
    migrated: dict = {}
    with mock.patch.dict(sys.modules, chainer_compat=compat):
        exec(result.code, migrated)
    after = [torch.tensor(x, requires_grad=True), torch.tensor(w, requires_grad=True)]
    found = migrated["compute"](*after)
    torch.sum(found * found).backward()
    np.testing.assert_allclose(found.detach().numpy(), wanted.array, rtol=1e-6)
    for there, here in zip(before, after, strict=True):
        np.testing.assert_allclose(here.grad.numpy(), there.grad, rtol=1e-5)
