"""A small rule table for the engine's own tests, and a ``migrate`` that checks what must hold for every input."""

import ast
import textwrap

import pytest

from chainer2torch.engine import migrate_sources
from chainer2torch.rules.table import load_rules

TABLE = """
module = "chainer.functions"

[relu]
signature = "(x)"
torch = "torch.nn.functional.relu(x)"
value = "torch.nn.functional.relu"
returns = "like x"
state = "exact"
[[relu.example]]
before = "F.relu(x)"

[tanh]
signature = "(x)"
torch = "torch.tanh(x)"
value = "torch.tanh"
returns = "like x"
state = "exact"
[[tanh.example]]
before = "F.tanh(x)"

[leaky_relu]
signature = "(x, slope=0.2)"
torch = "torch.nn.functional.leaky_relu(x, negative_slope=slope)"
value = "compat.leaky_relu"
returns = "like x"
state = "exact"
[[leaky_relu.example]]
before = "F.leaky_relu(x)"

[dropout]
signature = "(x, ratio=0.5)"
torch = "torch.nn.functional.dropout(x, p=ratio, training=TRAINING)"
drop = { p = "0.5" }
returns = "like x"
state = "exact"
[[dropout.example]]
before = "F.dropout(x)"

[scale]
signature = "(x, decay=0.9)"
torch = "compat.scale(x, CONST(1 - decay))"
state = "exact"
[[scale.example]]
before = "F.scale(x)"

[pick]
signature = "(x, t)"
torch = "compat.pick(x, LONG(t))"
state = "exact"
[[pick.example]]
before = "F.pick(x, t)"

[labels]
signature = "(x)"
torch = "compat.labels(x)"
returns = "tensor rank 1 dtype int64"
state = "exact"
[[labels.example]]
before = "F.labels(x)"

[stack]
signature = "(*xs)"
torch = "compat.stack(*xs)"
state = "exact"
[[stack.example]]
before = "F.stack(x, y)"

[configured]
signature = "(x, **options)"
torch = "compat.configured(x, **options)"
state = "exact"
[[configured.example]]
before = "F.configured(x, a=1)"

[divide]
signature = "(x, y)"
torch = "x / y"
returns = "like x"
state = "exact"
[[divide.example]]
before = "F.divide(x, y)"

[centre]
signature = "(x)"
torch = "x.mean()"
returns = "tensor"
state = "exact"
[[centre.example]]
before = "F.centre(x)"

[swapped]
signature = "(a, b, c=None)"
torch = "compat.swapped(b, a, third=c)"
drop = { third = "None" }
state = "exact"
[[swapped.example]]
before = "F.swapped(a, b)"

[ranked]
signature = "(x, axis=None)"
cases = [
    { when = "axis is None", torch = "compat.all_of(x)" },
    { when = "axis == 1 and rank(x) == 2", torch = "compat.rows(x)" },
]
torch = "compat.general(x, axis)"
fallback = "compat.undecided(x, axis)"
state = "exact"
[[ranked.example]]
before = "F.ranked(x)"

[narrow]
signature = "(x, axis)"
cases = [{ when = "axis == 1", torch = "compat.narrow(x)" }]
state = "exact"
[[narrow.example]]
before = "F.narrow(x, 1)"

[blocked]
signature = "(x)"
state = "manual"
note = "PyTorch has no such function."
next = "write it by hand"

[checked]
signature = "(x)"
torch = "compat.checked(x)"
state = "review"
note = "The default differs."
"""


@pytest.fixture(scope="session")
def rules(tmp_path_factory):
    """The shipped rules with the table above in their place."""
    folder = tmp_path_factory.mktemp("rules")
    (folder / "table.toml").write_text(TABLE)
    loaded = load_rules([folder], strict=False)
    assert loaded.rows["chainer.functions.narrow"].cases, "the table of the tests must be well formed"
    return loaded


@pytest.fixture(scope="session")
def project(rules):
    """Migrates several files and checks what must always hold."""

    def run(sources, **options):
        sources = {path: textwrap.dedent(text) for path, text in sources.items()}
        results = migrate_sources(sources, rules=options.pop("rules", rules), **options)
        assert results.keys() == sources.keys()
        for path, result in results.items():
            assert result.error is None, f"{path}: {result.error}"
            ast.parse(result.code)
            spots = [(s.line, s.column, s.symbol) for s in result.sites]
            assert len(spots) == len(set(spots)), "a reference has one state"
            for site in result.sites:
                assert site.state in ("exact", "close", "review", "manual")
                assert site.state == "exact" or site.message, "whoever has to look is told at what"
        again = migrate_sources({path: r.code for path, r in results.items()}, rules=rules)
        for path, result in results.items():
            assert again[path].code == result.code, "a second run changes nothing"
        return results

    return run


@pytest.fixture(scope="session")
def migrate(project):
    """Migrates one file."""

    def run(text, **options):
        return project({"module.py": text}, **options)["module.py"]

    return run


@pytest.fixture(scope="session")
def body(migrate):
    """Migrates statements below the usual imports, and gives what stands below the imports afterwards."""

    def run(text):
        head = "import chainer\nimport chainer.functions as F\nimport chainer.links as L\nimport numpy as np\n"
        head += "\nMARK = 0\n"
        code = migrate(head + textwrap.dedent(text)).code
        return code.partition("MARK = 0\n")[2]

    return run
