"""``parameterized_class`` makes the tests that Chainer's ``parameterize`` makes, each with its values and outcome."""

import importlib.util
import unittest

import pytest

from chainer2torch.engine import Options, migrate_source
from tests.support import native_programs

HEAD = """
import socket
import unittest
import numpy
from chainer import testing
"""
CASES = """

@testing.parameterize(*testing.product({'dtype': [numpy.float16, numpy.float32], 'n': [1, (2, 3)], 's': ['a', None]}))
class TestProduct(unittest.TestCase):
    scale = 2

    def setUp(self):
        self.x = numpy.ones(3, self.dtype)

    def test_dtype(self):
        self.assertEqual(self.x.dtype, numpy.float32)

    def test_n(self):
        self.seen = (self.n, self.s, self.scale)
        self.assertIn(self.n, (1, (2, 3)))


@testing.parameterize(
    {'a': 1, 'scale': 3},
    {'a': 2, 'scale': [1, 2, 'a text that is far too long for a line with both of these dictionaries in it']},
)
class TestDictionaries(unittest.TestCase):
    def test_a(self):
        if self.a == 2:
            self.skipTest('two')
        self.seen = self.scale


@testing.parameterize(
    {'a': numpy.arange(3, dtype=numpy.int32) % 2, 'b': numpy.pi, 'c': socket.AF_INET},
    {'a': numpy.array([[1, 2]]), 'b': 2.5, 'c': socket.AF_INET6})
class TestMadeByCalls(unittest.TestCase):
    def test_a(self):
        self.seen = (self.a.tolist(), self.b, int(self.c))
        assert self.a.ndim == 1


@testing.parameterize(*testing.product_dict(
    [
        {'n': 1},
        # two of them
        {'n': 2},
    ],
    [{'m': len('text')}],
))
class TestWithComments(unittest.TestCase):
    def test_n(self):
        self.seen = (self.n, self.m)


rows = [{'b': i, 'c': [i]} for i in range(3)]


@testing.parameterize(*rows)
class TestRows(Case):
    def test_b(self):
        self.seen = (self.b, self.c)
        assert self.b < 2
"""
BASE = "\n\nclass Case(unittest.TestCase):\n    def setUp(self):\n        self.one = 1\n"
KEPT = """

class Case(unittest.TestCase):
    def test_base(self):
        self.seen = 'base'


@testing.parameterize({'a': 1}, {'a': 2})
class TestHeirs(Case):
    def test_a(self):
        self.seen = self.a


def twice(x):
    return 2 * x


@testing.parameterize({'f': twice}, {'f': lambda x: x + 1})
class TestFunctions(unittest.TestCase):
    def test_f(self):
        self.seen = self.f(1)
        assert self.f(1) == 2


def made():
    return lambda x: x * 2


@testing.parameterize({'f': made()}, {'f': made()})
class TestMadeFunctions(unittest.TestCase):
    def test_f(self):
        self.seen = self.f(1)


@testing.parameterize({'a': 1}, {'a': 2})
@testing.parameterize({'b': 1}, {'b': 2})
class TestBoth(unittest.TestCase):
    def test_both(self):
        self.seen = (self.a, self.b)
"""


class _Result(unittest.TestResult):
    """What became of each test."""

    def __init__(self):
        super().__init__()
        self.outcomes = []

    def startTest(self, test):
        super().startTest(test)
        self.now = "passed"

    def addFailure(self, test, error):
        self.now = "failed"

    addError = addFailure

    def addSkip(self, test, reason):
        self.now = "skipped"

    def stopTest(self, test):
        super().stopTest(test)
        self.outcomes.append((type(test).__mro__[1].__name__, test._testMethodName, self.now, getattr(test, "seen", 0)))


def _outcomes(text, name, folder, helpers=None, monkeypatch=None):
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(importlib.import_module("sys").modules, name, module)
    if helpers is not None:
        monkeypatch.setitem(importlib.import_module("sys").modules, "chainer_compat", helpers)
    spec.loader.exec_module(module)
    result = _Result()
    unittest.defaultTestLoader.loadTestsFromModule(module).run(result)
    return sorted(map(repr, result.outcomes))


@pytest.mark.parametrize(("cases", "kept"), [(BASE + CASES, False), (KEPT, True)], ids=["plain", "functions"])
def test_the_same_tests_run(cases, kept, tmp_path, monkeypatch):
    source = HEAD + cases
    result = migrate_source(source, options=Options(style="native"))
    expected = _outcomes(source, "theirs", tmp_path, None, monkeypatch)
    found = _outcomes(result.code, "ours", tmp_path, native_programs.helpers(result), monkeypatch)
    assert found == expected and len(found) > 5
    assert ("@compat.parameterize(" in result.code) is kept, result.code
    assert ("@parameterized_class(" in result.code) is not kept
    assert migrate_source(result.code, options=Options(style="native")).code == result.code


def test_the_list_of_cases_stands_beside_the_parenthesis():
    source = HEAD + (
        "\n@testing.parameterize(\n    {'a': 'a text that is too long for a line with the other'},\n"
        "    {'a': 'a text that is too long for a line with the first'})\n"
        "class TestLong(unittest.TestCase):\n    def test_a(self):\n        pass\n"
    )
    result = migrate_source(source, options=Options(style="native"))
    assert "\n@parameterized_class([\n    {'a': 'a text that is too long for a line with the other'},\n" in result.code
    assert "with the first'},\n])\nclass TestLong" in result.code
