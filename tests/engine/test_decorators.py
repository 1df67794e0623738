"""Functions behind decorators of the project: what is known of them stays known, unless a decorator changes it."""

import ast
import textwrap

import numpy as np
import pytest

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kind_specs import describe
from chainer2torch.analysis.module_index import Project
from chainer2torch.analysis.source import Source
from chainer2torch.rules.table import load_rules
from tests.support.both_sides import both

KEEPING = {
    "wrapper": """
def deco(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        log.append('called')
        return f(*args, **kwargs)
    return wrapper
""",
    "result in a name": """
def deco(f):
    def wrapper(*a, **k):
        result = f(*a, **k)
        log.append(result)
        return result
    return functools.update_wrapper(wrapper, f)
""",
    "registered": """
def deco(f):
    log.append(f)
    return f
""",
    "the same parameters": """
def deco(f):
    def wrapper(x):
        if log:
            return f(x)
        log.append(1)
        return f(x)
    return functools.wraps(f)(wrapper)
""",
}
CHANGING = {
    "another result": "def deco(f):\n    def wrapper(*a):\n        return f(*a).array\n    return wrapper\n",
    "other arguments": "def deco(f):\n    def wrapper(x):\n        return f(x.array)\n    return wrapper\n",
    "a second value": "def deco(f):\n    def wrapper(*a):\n        return f(*a), 1\n    return wrapper\n",
    "assigned twice": """
def deco(f):
    def wrapper(*a):
        y = f(*a)
        y = y.array
        return y
    return wrapper
""",
    "an argument bound anew": """
def deco(f):
    def wrapper(x):
        x = x.array
        return f(x)
    return wrapper
""",
    "a generator": "def deco(f):\n    def wrapper(*a):\n        yield f(*a)\n    return wrapper\n",
    "something else": "def deco(f):\n    return Thing(f)\n",
}
_HEAD = "import functools\nimport numpy as np\nimport chainer\nimport chainer.functions as F\nlog = []\n"


def _kinds(decorator, use="deco"):
    text = (
        _HEAD
        + decorator
        + f"""
@{use}
def double(x):
    return F.relu(x) * 2
class Net(chainer.Chain):
    @{use}
    def single(x):
        return F.relu(x)
net = Net()
x = chainer.Variable(np.zeros((2, 3), 'f'))
found = [double(x), net.single()]
"""
    )
    source = Source(text, ast.parse(text))
    analysis = Analysis(Project({"main.py": source}), load_rules()).run()
    calls = next(n.value.elts for n in source.tree.body if isinstance(n, ast.Assign) and n.targets[0].id == "found")
    return [describe(analysis.kind(call)) for call in calls]


@pytest.mark.parametrize("name", KEEPING)
def test_a_decorator_that_hands_everything_on(name):
    assert _kinds(KEEPING[name]) == ["tensor rank 2 dtype float32", "tensor"]


@pytest.mark.parametrize("name", KEEPING)
def test_a_decorator_with_arguments(name):
    made = "def make(label):\n" + textwrap.indent(KEEPING[name].strip("\n"), "    ") + "\n    return deco\n"
    assert _kinds(made, "make('a')") == ["tensor rank 2 dtype float32", "tensor"]


# a wrapper that hands all arguments on gives what it makes of the result
_MADE = {
    "another result": "array",
    "assigned twice": "array",
    "a second value": "(perhaps tensor, 1)",
    "a generator": "list of perhaps tensor",
}


@pytest.mark.parametrize("name", CHANGING)
def test_a_decorator_that_changes_something(name):
    assert _kinds(CHANGING[name]) == [_MADE.get(name, "unknown")] * 2


def test_a_cache():
    assert _kinds("", "functools.lru_cache(maxsize=None)")[0] == "tensor rank 2 dtype float32"


def test_the_same_values_behind_decorators():
    """`y += x` of what a decorated function returns: the value that the decorator kept is not changed."""
    original, migrated = both("""
    import functools
    kept = []
    def keep(f):
        @functools.wraps(f)
        def wrapper(*args, **kwargs):
            result = f(*args, **kwargs)
            kept.append(result)
            return result
        return wrapper
    def as_array(f):
        def wrapper(*args):
            return f(*args).array
        return wrapper
    @keep
    def double(x):
        return F.relu(x) * 2
    class Net(chainer.Chain):
        @as_array
        def scores(self, x):
            return F.softmax(x)
    def run(x):
        y = double(x)
        y += x
        first = y
        y /= F.sum(x)
        s = Net().scores(x)
        held = s
        s += 1
        return y.array, first.array, kept[0].array, held.sum(axis=1), s.argmax(axis=1)
    values = run(chainer.Variable(np.arange(6).reshape(2, 3).astype('f')))
    """)
    for ours, theirs in zip(migrated["values"], original["values"], strict=True):
        np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-6)
