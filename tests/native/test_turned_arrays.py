"""`x.transpose((0, 2, 1))` of what nobody knows is NumPy's or raises: what it gives is cast as an array of NumPy."""

import numpy as np
import pytest
import torch

from tests.support.native_snippets import run

PROGRAM = """
import chainer.links as L

def frames(data):
    for images in eval('data'):
        turned = images.transpose((0, 2, 1)).astype(np.float32)
        again = images.transpose(2, 1, 0).astype('f')
        other = images.transpose((0, 2, 1)).astype(F.relu(turned).dtype)
        yield F.sum(F.relu(turned)) + F.sum(F.relu(again)) + F.sum(F.relu(other)), turned.dtype == np.float32

def run(xs):
    return [(y.array, same) for y, same in frames([np.arange(12.).reshape(1, 3, 4), np.ones((1, 2, 2))])]
"""


def test_arrays_that_are_turned():
    theirs, ours, code = run(PROGRAM)
    for (one, same), (other, also) in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(one, other.detach().numpy(), rtol=1e-6)
        assert same and also
    assert "images.transpose((0, 2, 1)).astype(np.float32)" in code, code
    assert "images.transpose(2, 1, 0).astype('f')" in code, code


@pytest.mark.parametrize("words", [((0, 2, 1),), (2, 1, 0)])
def test_tensors_refuse(words):
    with pytest.raises(TypeError):
        torch.ones(1, 2, 3).transpose(*words)
