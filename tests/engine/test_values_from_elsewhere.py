"""A value that stands in a class, a module, a dictionary or a default, and one that comes from elsewhere: both run.

Each program makes a Variable of a dtype that two ways lead to. What is decided by one of them alone would be wrong for
the other, without a word.
"""

import pytest

from chainer2torch.engine import migrate_source, migrate_sources
from chainer2torch.rules.table import load_rules
from tests.support.printed import printed_by_both

_HEAD = """
import argparse
import collections
import dataclasses
import functools
import typing

import numpy as np
import chainer

f64 = dict(dtype=np.float64)


def ones(dtype):
    return chainer.Variable(np.ones((2, 3), dtype)).dtype


"""
_VALUE = "    def value(self):\n        return chainer.Variable(np.ones((2, 3), self.dtype)).dtype\n\n"
_FIELD = "    dtype: type = np.float32\n\n"
_ATTRIBUTE = "    dtype = np.float32\n\n"
_PROGRAMS = {
    "setattr in the constructor": f"""
class A:
{_ATTRIBUTE}    def __init__(self, **options):
        for key, value in options.items():
            setattr(self, key, value)

{_VALUE}
print(A(**f64).value(), A().value())
""",
    "setattr outside": f"""
class A:
{_ATTRIBUTE}{_VALUE}
a = A()
setattr(a, 'dtype', np.float64)
print(a.value(), A().value())
""",
    "names in a loop": f"""
class A:
{_ATTRIBUTE}{_VALUE}
a = A()
for key, value in f64.items():
    setattr(a, key, value)
print(a.value())
""",
    "the dictionary of an object": f"""
class A:
{_ATTRIBUTE}    def __init__(self, **options):
        self.__dict__.update(options)

{_VALUE}
class B:
{_ATTRIBUTE}    def __init__(self, options):
        self.__dict__ = options

{_VALUE}
class C:
{_ATTRIBUTE}    def __init__(self, name, value):
        vars(self)[name] = value

{_VALUE}
print(A(**f64).value(), B(f64).value(), C('dtype', np.float64).value())
""",
    "a dataclass": f"""
@dataclasses.dataclass
class A:
{_FIELD}{_VALUE}
@dataclasses.dataclass
class B(A):
    n: int = 3


print(A(np.float64).value(), A().value(), B(**f64).value(), dataclasses.replace(A(), dtype=np.float64).value())
""",
    "a named tuple": f"""
class A(typing.NamedTuple):
{_FIELD}{_VALUE}
print(A(np.float64).value(), A().value(), A()._replace(dtype=np.float64).value())
""",
    "a class below has another value": f"""
class A:
{_ATTRIBUTE}{_VALUE}
class B(A):
    dtype = np.float64


class C(A):
    def __init__(self, dtype):
        self.dtype = dtype


print(A().value(), B().value(), C(np.float64).value())
""",
    "a class below has another method": """
class A:
    def dtype(self):
        return np.float32

    @property
    def kind(self):
        return np.float32

    def value(self):
        return ones(self.dtype()), chainer.Variable(np.ones(2, self.kind)).dtype


class B(A):
    def dtype(self):
        return np.float64

    @property
    def kind(self):
        return np.float64


print(A().value(), B().value())
""",
    "a method is replaced": """
class A:
    def dtype(self):
        return np.float32

    def value(self):
        return chainer.Variable(np.ones((2, 3), self.dtype())).dtype


class B(A):
    dtype = staticmethod(lambda: np.float64)


a = A()
a.dtype = lambda: np.float64
print(a.value(), A().value(), B().value())
""",
    "the class of an object": """
class A:
    def __init__(self, dtype=np.float32):
        self.dtype = dtype

    def again(self, dtype):
        return self.__class__(dtype=dtype), type(self)(dtype)

    def value(self):
        return chainer.Variable(np.ones((2, 3), self.dtype)).dtype


print([a.value() for a in A().again(np.float64)], A().value())
""",
    "a class that type makes": f"""
class A:
{_ATTRIBUTE}{_VALUE}
print(type('B', (A,), {{'dtype': np.float64}})().value(), A().value())
""",
    "a variable of the function around": """
def run():
    dtype = np.float32

    def use(value):
        nonlocal dtype
        dtype = value

    before = chainer.Variable(np.ones((2, 3), dtype)).dtype
    use(np.float64)
    return before, chainer.Variable(np.ones((2, 3), dtype)).dtype


print(run())
""",
    "the names of a module": """
A = np.float32
B = np.float32


def run():
    return chainer.Variable(np.ones(2, A)).dtype, chainer.Variable(np.ones(2, B)).dtype


globals()['A'] = np.float64
globals().update(B=np.float64)
print(run())
""",
    "one dictionary under two names": """
def change(table):
    table['dtype'] = np.float64


def change_any(table, key):
    table[key] = np.float64


def run():
    one, two, three = {'dtype': np.float32}, {'dtype': np.float32}, {'dtype': np.float32}
    other = one
    other['dtype'] = np.float64
    change(two)
    change_any(three, 'dtype')
    return [chainer.Variable(np.ones(2, table['dtype'])).dtype for table in (one, two, three)], chainer.Variable(
        np.ones(2, one['dtype'])
    ).dtype, chainer.Variable(np.ones(2, two['dtype'])).dtype, chainer.Variable(np.ones(2, three['dtype'])).dtype


print(run())
""",
    "a dictionary in a dictionary": """
TABLE = {'net': {'dtype': np.float32}, 'other': {'dtype': np.float32}}
TABLE['net']['dtype'] = np.float64
TABLE['other'].update(f64)


def run():
    first = chainer.Variable(np.ones(2, TABLE['net']['dtype'])).dtype
    return first, chainer.Variable(np.ones(2, TABLE['other']['dtype'])).dtype


print(run())
""",
    "what a dictionary makes": """
TABLE = collections.defaultdict(lambda: np.float32)
TABLE['a'] = np.float64


def run(key):
    return chainer.Variable(np.ones(2, TABLE[key])).dtype


print(run('a'), run('b'))
""",
    "a default of getattr": """
class A:
    pass


def run(owner):
    return chainer.Variable(np.ones(2, getattr(owner, 'dtype', np.float32))).dtype


a = A()
a.dtype = np.float64
print(run(a), run(A()))
""",
    "behind and": """
def run(x):
    dtype = np.float32
    if x and (dtype := np.float64):
        pass
    return chainer.Variable(np.ones(2, dtype)).dtype


print(run(0), run(1))
""",
}


@pytest.mark.parametrize("style", ["native", "faithful"])
@pytest.mark.parametrize("name", _PROGRAMS)
def test_both_values_count(name, style):
    program = _HEAD + _PROGRAMS[name]
    assert "float64" in printed_by_both(program, style)


@pytest.mark.parametrize("style", ["native", "faithful"])
def test_cases_of_a_test_have_values_of_their_own(style):
    source = """
import unittest
import numpy as np
import chainer
from chainer import testing


@testing.parameterize(*testing.product({'dtype': [np.float32, np.float64], 'n': [2]}))
class TestOnes(unittest.TestCase):
    dtype = np.float32

    def test_ones(self):
        x = chainer.Variable(np.ones(self.n, self.dtype))
        assert x.dtype == self.dtype
"""
    result = migrate_source(source, rules=load_rules(style=style, lazy=True))
    assert "torch.float32" not in result.code


def test_a_value_of_another_module():
    files = {
        "config.py": "import numpy as np\nDTYPE = np.float32\nOTHER = np.float32\n",
        "main.py": _HEAD
        + """
import config


def run():
    return chainer.Variable(np.ones(2, config.DTYPE)).dtype, chainer.Variable(np.ones(2, config.OTHER)).dtype


config.DTYPE = np.float64
setattr(config, 'OTHER', np.float64)
print(run())
""",
    }
    found = migrate_sources(files)
    assert "torch.float32" not in found["main.py"].code
