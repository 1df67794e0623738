"""An array of NumPy for one caller and a tensor for another: methods that tensors have otherwise, or not at all."""

import numpy as np
import pytest

from chainer2torch.engine import migrate_sources
from tests.support.native_snippets import RULES, migrated, run

# of an array with three axes; what is printed of it tells its values, their order and their shape
MEMBERS = {
    "nonzero": "a.nonzero()[1]",
    "take": "a.take([1, 0], axis=2)",
    "take of all": "a.take([4, 0])",
    "flatten": "(a.flatten(), a.flatten().shape)",
    "flatten copies": "put(a, a.flatten())",
    "transpose": "a.transpose(2, 0, 1)",
    "transpose by a tuple": "a.transpose((2, 0, 1))",
    "transpose in reverse": "a.transpose()",
    "repeat": "a.repeat(2, axis=1)",
    "std": "a.std(axis=0)",
    "size": "a.size",
    "copy": "a.copy()",
    "max": "a.max(axis=1)",
}
PROGRAM = """
from chainer import cuda

def put(a, flat):
    flat[0] = 7
    return a, flat

def load(rows, xp=np):
    a = xp.asarray(rows, dtype=xp.float32)
    return MEMBER

def run(xs):
    gpu = -1
    xp = np if gpu < 0 else cuda.cupy
    rows = [[[1.0, 0.0, 3.0]], [[0.0, 5.0, 7.0]]]
    F.relu(chainer.Variable(xp.zeros(3, 'f')))
    return load(rows, xp=xp), load(rows)
"""


def _flat(values):
    if isinstance(values, tuple):
        return [part for value in values for part in _flat(value)]
    return [np.asarray(values)]


@pytest.mark.parametrize("member", MEMBERS)
def test_methods_of_what_may_be_either(member: str) -> None:
    theirs, ours, code = run(PROGRAM.replace("MEMBER", MEMBERS[member]))
    for one, other in zip(_flat(theirs), _flat(ours), strict=True):
        assert one.shape == other.shape, code
        np.testing.assert_allclose(one, other, rtol=1e-6)
    assert "TODO" not in code, code


def test_what_means_the_same_has_no_helper() -> None:
    code = migrated(
        PROGRAM.replace("MEMBER", "a.reshape(2, -1), a.swapaxes(0, 1), a.diagonal(0, 1, 2), a.ravel()")
    ).code
    assert "a.reshape(2, -1), a.swapaxes(0, 1), a.diagonal(0, 1, 2), a.ravel()" in code, code


TESTED = """
from chainer import cuda

def measured(value):
    if isinstance(value, CLASSES) and value.size > 1:
        return value.max(axis=0), value.astype('d'), str(value.size), value.std(), value.copy()
    return 0, value.dtype.kind if isinstance(value, CLASSES) else None

def measure(values, functions):
    found = []
    for function in functions:
        for value in values:
            found.append(measured(function(value)))
    return found

def run(xs):
    model = chainer.links.Linear(2, 3)
    functions = [lambda x: x, lambda x: x.sum(), lambda x: [x]]
    return [str(row[-1]) if len(row) < 5 else row for row in measure([xs[0], np.ones((3, 2), 'f')], functions)]
"""


@pytest.mark.parametrize("classes", ["np.ndarray", "chainer.get_array_types()"])
def test_what_a_test_says_is_an_array_may_be_a_tensor(classes: str) -> None:
    """The test lets tensors in, where it let NumPy's arrays in: what it guards is asked as these are."""
    theirs, ours, code = run(TESTED.replace("CLASSES", classes))
    for one, other in zip(theirs, ours, strict=True):
        if isinstance(one, tuple):
            for a, b in zip(one, other, strict=True):
                assert (a == b) if isinstance(a, str) else np.allclose(a, b), code
                assert isinstance(a, str) or str(a.dtype) == str(b.dtype).removeprefix("torch."), code


def test_a_file_without_chainer_that_is_handed_an_array_module() -> None:
    loads = """import numpy as np


def load(rows, xp=np):
    return xp.asarray(rows, dtype=xp.float32).transpose(2, 0, 1)
"""
    script = """import chainer
import numpy as np
from chainer import cuda
from loads import load


def main(gpu, rows):
    xp = np if gpu < 0 else cuda.cupy
    x = xp.zeros((1, 3, 1, 1), 'f')
    x[0] = load(rows, xp=xp)
    print(load(rows))
    return chainer.functions.relu(chainer.Variable(x))
"""
    code = migrate_sources({"loads.py": loads, "main.py": script}, rules=RULES)["loads.py"].code
    assert "compat.transposed(xp.asarray(rows, dtype=xp.float32), 2, 0, 1)" in code and "TODO" not in code, code


CLASS_OF_MODULE = """
def of(x):
    xp = chainer.backend.get_array_module(x)
    return isinstance(x, xp.ndarray), isinstance(x, (list, xp.ndarray))

def check(y, xp):
    return isinstance(y, xp.ndarray)

def run(xs):
    y = F.relu(chainer.Variable(xs[0])).array
    held = {'host': np.ones(2), 'device': y}
    if len(xs) > 9:
        check(y, chainer.backends.cuda.cupy)
    found = [of(held['host']), of(held['device']), of([1])]
    for x in held.values():
        found.append(check(x, chainer.backend.get_array_module(x)))
    return found + [check([1], chainer.backend.get_array_module(y))]
"""


def test_the_class_of_an_array_module_that_may_be_numpy_is_asked_at_run_time() -> None:
    """It was torch.Tensor: NumPy's own arrays are none, so the answer was another one, silently."""
    theirs, ours, code = run(CLASS_OF_MODULE)
    assert theirs == ours and theirs[0] == (True, True) and theirs[2] == (False, True)
    assert "xp.ndarray" in code and "torch.Tensor" not in code, code


ASSERTED = """
import unittest

class Checks(unittest.TestCase):
    def check(self, x, pairs):
        xp = chainer.backend.get_array_module(x)
        made = pairs['made']
        self.assertIsInstance(made, xp.ndarray)
        self.assertNotIsInstance([1], xp.ndarray)
        return True

def run(xs):
    y = F.relu(chainer.Variable(xs[0])).array
    values = {'host': np.ones(2), 'device': y}
    return [Checks().check(x, {'made': x}) for x in values.values()]
"""


def test_an_assertion_of_that_class_takes_the_array_as_it_is() -> None:
    """It was ``torch.as_tensor(made)``, which is no array where the module is NumPy."""
    theirs, ours, code = run(ASSERTED)
    assert theirs == ours == [True, True]
    assert "self.assertIsInstance(made, xp.ndarray)" in code, code
