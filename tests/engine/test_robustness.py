"""Broken and odd sources: never a crash, never an invalid output, nothing changes without Chainer, twice is once."""

import dataclasses
import io
import random
import tokenize
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chainer2torch.engine import migrate_source
from chainer2torch.rules.table import load_rules
from tests.support import mutations
from tests.support.mutations import complaint, complaints

RULES = load_rules()
ROOT = Path(__file__).parent.parent.parent
SOURCES = sorted(
    str(path.relative_to(ROOT))
    for folder in ("fixtures", "tests/programs/wild")
    for path in (ROOT / folder).rglob("*.py")
)
_SETTINGS = settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
STATEMENTS = [
    "import chainer",
    "import chainer.functions as F",
    "from chainer import *",
    "x = F.relu(F.dropout(x))",
    "def f(x, *, y=F.relu): return y(x)",
    "class A(chainer.Chain): pass",
    "with chainer.no_backprop_mode(): x()",
    "def g(): yield F.sum(x)",
    "with chainer.using_config('train', False): g()",
    "z = lambda F: F.relu(x)",
    "F = chainer",
    "try:\n    import chainer.links as L\nexcept ImportError:\n    L = None",
    "a = L.Linear(3)(x); b = a.data[::-1]",
    "if True:\n\tx = chainer.Variable(x)",
    "print(f'{F.relu(x)!r:>{w}}')",
    "x: F.relu = [F.max(i) for i in x if F.min(i)]",
    "async def h():\n    async with F.relu(x) as y: await y",
    "while (n := F.sum(x)): x.data -= n",
    "match = F.relu; match(x)",
    "global chainer",
    "pass",
    "\f",
    "# F.relu(x)",
    "'''F.relu'''",
    "del F",
    "x = yield",
    "assert F.relu(x), F.tanh(x)",
    "x.grad *= F.sum(x).data",
    "return x",
    "optimizer = chainer.optimizers.Adam(); optimizer.update(f, x)",
    "chainer.config.train = F.relu(x)",
]


@st.composite
def mutated(draw):
    """A source of this project with a few lines or names deleted, doubled or exchanged."""
    text = (ROOT / draw(st.sampled_from(SOURCES))).read_text()
    for _ in range(draw(st.integers(1, 3))):
        text = _lines(draw, text) if draw(st.booleans()) else _names(draw, text)
    return text


def _lines(draw, text):
    lines = text.splitlines(True)
    if not lines:
        return text
    first, second = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
    change = draw(st.sampled_from(["delete", "double", "exchange"]))
    if change == "delete":
        del lines[first]
    elif change == "double":
        lines.insert(first, lines[second])
    else:
        lines[first], lines[second] = lines[second], lines[first]
    return "".join(lines)


def _names(draw, text):
    try:
        names = [t for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type == tokenize.NAME]
    except (tokenize.TokenError, SyntaxError):
        return text
    if not names:
        return text
    first, second = draw(st.sampled_from(names)), draw(st.sampled_from(names))
    lines = text.splitlines(True)
    row, start, end = first.start[0] - 1, first.start[1], first.end[1]
    new = draw(st.sampled_from(["", second.string, f"{first.string} {second.string}"]))
    lines[row] = lines[row][:start] + new + lines[row][end:]
    return "".join(lines)


def _check(text):
    assert complaint(text, RULES) is None


@pytest.mark.parametrize(
    "wrong, text, damage",
    [
        ("crash", "import chainer\n", lambda result: 1 / 0),
        ("not Python was changed", "import chainer\nx = (\n", lambda result: dataclasses.replace(result, code="")),
        ("no error for", "import chainer\nx = (\n", lambda result: dataclasses.replace(result, error=None)),
        ("changed without Chainer", "x = 1\n", lambda result: dataclasses.replace(result, code="x = 2\n")),
        ("not Python", "import chainer\n", lambda result: dataclasses.replace(result, code="x = (")),
        ("does not compile", "import chainer\n", lambda result: dataclasses.replace(result, code="return")),
        ("second run", "import chainer\n", lambda result: dataclasses.replace(result, code=result.code + "\nx = 1")),
    ],
)
def test_the_checks_can_fail(monkeypatch, wrong, text, damage):
    monkeypatch.setattr(mutations, "migrate_source", lambda *args, **keys: damage(migrate_source(*args, **keys)))
    assert wrong in complaint(text, RULES)


def test_damaged_programs_of_a_tree():
    """The same as benchmarks/robustness.py, which runs a thousand of them."""
    draw = random.Random(7)
    texts = [(ROOT / path).read_text() for path in SOURCES]
    tree = {f"m{number}.py": mutations.mutated(draw, draw.choice(texts)) for number in range(25)}
    assert complaints(tree, RULES) == {}
    seasoned = [
        mutations.seasoned(draw, text)
        for text in (
            "def f(a):\n    return [a.b for b in a if b]\n",
            "class A(B):\n    x: int = y\n    def z(self): pass\n",
        )
    ]
    assert [complaint(text, RULES) for text in seasoned] == [None, None]


@_SETTINGS
@given(mutated())
def test_mutated_programs(text):
    _check(text)


@_SETTINGS
@given(st.lists(st.sampled_from(STATEMENTS), max_size=12))
def test_statements_in_any_order(lines):
    _check("\n".join(lines) + "\n")


def test_a_form_feed_in_the_indentation():
    _check("import chainer.functions as F\nclass A:\n\f pass\ny = F.relu(x)\n")


@_SETTINGS
@given(st.text(max_size=60))
def test_any_text_beside_chainer(text):
    _check(f"import chainer.functions as F\n{text}\ny = F.relu(x)\n")


def test_a_link_that_stays_and_the_new_names_of_its_members():
    """What the first run has made of a member of a link that is left is no member without a rule in the second."""
    _check(
        "import chainer\nimport chainer.links as L\nclass A(chainer.Chain):\n    def __init__(self):\n"
        "        super().__init__()\n        with self.init_scope():\n"
        "            self.conv = L.Convolution1D(3, 4, ksize=2, nothing=1)\n"
        "    def g(self):\n        return self.conv.W.dtype\n"
    )


def test_only_links_are_called_by_their_forward():
    text = (
        "import chainer\nimport chainer.functions as F\nclass A(chainer.Chain):\n    def __init__(self, f):\n"
        "        super().__init__()\n        self.f = f\n    def __call__(self, x):\n        f = self.f\n"
        "        return f.__call__(x) + F.__call__(x)\n    def g(self, x):\n        return self.__call__(x)\n"
    )
    _check(text)
    code = migrate_source(text).code
    assert "f.__call__(x) + F.__call__(x)" in code and "return self.forward(x)" in code
