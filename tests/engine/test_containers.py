"""What functions put into lists and dictionaries of a module, a class or another file is part of their kind."""

from __future__ import annotations

import textwrap

import pytest

from chainer2torch.engine import migrate_source, migrate_sources

HEAD = "import chainer\nimport chainer.functions as F\nimport chainer.links as L\nimport numpy as np\n"
NET = """
class Net(chainer.Chain):
    def __init__(self, n):
        super().__init__(l=L.Linear(3, n))
    def __call__(self, x):
        return self.l(x)
"""


@pytest.mark.parametrize(
    "put",
    [
        "cache['x'] = h",
        "cache['y'] = h",
        "cache.update(y=h)",
        "cache.update({'y': h})",
        "cache.setdefault('y', h)",
    ],
)
@pytest.mark.parametrize("key", ["x", "y"])
def test_a_dictionary_that_a_function_fills(put: str, key: str) -> None:
    if key == "x" and put != "cache['x'] = h":
        put += "; cache['x'] = h"
    code = migrate_source(
        HEAD
        + textwrap.dedent(f"""
        cache = {{'x': 1}}
        def put(x):
            h = F.relu(x)
            {put}
        def get(y):
            a = cache['{key}']
            a += F.relu(y)
            return a
        """)
    ).code
    assert "a += " not in code  # what may be a Variable is not changed in place


@pytest.mark.parametrize("put", ["items.append(h)", "items.insert(0, h)", "items.extend([h])", "items[0] = h"])
def test_a_list_that_a_function_fills(put: str) -> None:
    code = migrate_source(
        HEAD
        + textwrap.dedent(f"""
        items = [1]
        def put(x):
            h = F.relu(x)
            {put}
        def get(y):
            a = items[0]
            a += F.relu(y)
            return a
        """)
    ).code
    assert "a += " not in code


def test_a_dictionary_of_another_file() -> None:
    results = migrate_sources(
        {
            "state.py": "cache = {'x': 1}\n",
            "put.py": HEAD + "import state\ndef put(x):\n    state.cache['x'] = F.relu(x)\n",
            "get.py": HEAD
            + "from state import cache\ndef get(y):\n    a = cache['x']\n    a += F.relu(y)\n    return a\n",
        }
    )
    assert "a += " not in results["get.py"].code


def test_counters_in_containers_stay_what_they_are() -> None:
    code = migrate_source(
        HEAD
        + textwrap.dedent("""
        counts = {'x': 1}
        def put(x):
            counts['x'] += 1
            counts['y'] = len(F.relu(x))
            n = counts['x']
            n += 1
            return n
        """)
    ).code
    assert "counts['x'] += 1" in code and "n += 1" in code


@pytest.mark.parametrize(
    "register, use, key",
    [
        (
            "def register(name):\n    def deco(f):\n        _MODELS[name] = f\n        return f\n    return deco",
            "('net')",
            "net",
        ),
        ("def register(f):\n    _MODELS[f.__name__] = f\n    return f", "", "Net"),
    ],
)
def test_a_registry_that_a_decorator_fills(register: str, use: str, key: str) -> None:
    head = f"{HEAD}_MODELS = {{}}\n{register}\n"
    code = migrate_source(
        head
        + NET.replace("class Net", f"@register{use}\nclass Net")
        + textwrap.dedent(f"""
        def create(name, *args):
            return _MODELS[name](*args)
        model = create('{key}', 2)
        model.to_cpu()
        y = model(np.ones((4, 3), 'f'))
        other = _MODELS['{key}'](5)
        other.cleargrads()
        """)
    ).code
    assert "model.cpu()" in code and "y = model(torch.as_tensor(np.ones((4, 3), 'f')))" in code
    assert "other.zero_grad()" in code and "class Net(nn.Module)" in code


def test_a_decorator_that_makes_something_else_of_a_class_says_nothing() -> None:
    code = migrate_source(
        HEAD
        + "def wrap(cls):\n    return make(cls)\n"
        + NET.replace("class Net", "@wrap\nclass Net")
        + "model = Net(2)\nmodel.to_cpu()\n"
    ).code
    assert "compat.to_cpu_of(model)" in code


@pytest.mark.parametrize(
    ("made", "text"),
    [
        ("deque()", "torch.stack(tuple(self.parts))"),
        ("collections.deque(maxlen=2)", "torch.stack(tuple(self.parts))"),
        ("[]", "torch.stack(self.parts)"),
    ],
)
def test_what_torch_takes_as_a_list_and_what_it_does_not(made: str, text: str) -> None:
    code = migrate_source(
        HEAD
        + "import collections\nfrom collections import deque\n"
        + textwrap.dedent(f"""
        class Memory(chainer.Chain):
            def __init__(self):
                super().__init__()
                self.parts = {made}
            def write(self, x):
                self.parts.append(F.relu(x))
            def read(self):
                return F.stack(self.parts)
        """)
    ).code
    assert text in code
