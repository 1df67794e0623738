"""`xp = numpy` in one scope or class, and `xp = cuda.cupy` in another: two variables of one name."""

import numpy as np

from tests.support.native_snippets import run

PROGRAM = """
from chainer import cuda
xp = np

def made(values):
    return chainer.Variable(xp.array([values]).astype(xp.float32))

class Host:
    def __init__(self):
        self.xp = np

    def make(self, values):
        row = self.xp.array([values]).astype(self.xp.float32)
        return chainer.Variable(row), np.ones(3, 'f') + self.xp.arange(3)

class Device:
    def __init__(self):
        self.xp = cuda.cupy

    def make(self, values):
        return self.xp.array(values)

def on_device(gpu, values):
    if gpu >= 0:
        xp = cuda.cupy
        return Device().make(xp.array(values))
    return made(values)

def run(xs):
    variable, array = Host().make([1, 2, 3])
    return on_device(-1, [4, 5]).array, variable.array, array
"""


def test_each_is_for_itself():
    theirs, ours, code = run(PROGRAM)
    for one, other in zip(theirs, ours, strict=True):
        assert np.array_equal(np.asarray(one), np.asarray(other))
        assert str(np.asarray(one).dtype) == str(np.asarray(other).dtype)
    assert "array_module('cpu')" not in code, code
    assert isinstance(ours[2], np.ndarray)


def test_what_a_base_reads_as_numpy_stays_numpy():
    heir = PROGRAM.replace("class Device:", "class Device(Host):")
    theirs, ours, code = run(heir)
    assert np.array_equal(theirs[2], ours[2]) and "array_module('cpu')" not in code, code
