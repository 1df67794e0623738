"""Tables of the native style: which cases come first, and what they inherit from the rows below them."""

import ast
from pathlib import Path

import pytest

from chainer2torch.engine import migrate_source
from chainer2torch.rules.table import Rules, RulesError, load_rules
from chainer2torch.vendor import compat_file

BASE = """
module = "chainer.functions"

[relu]
signature = "(x, slope=0)"
cases = [{ when = "slope == 0", torch = "compat.relu(x)" }]
torch = "compat.relu(x, slope)"
value = "compat.relu"
returns = "like x"
state = "exact"
[[relu.example]]
given = { x = "f32[3]" }
before = "F.relu(x)"
after = "compat.relu(x)"
"""
NATIVE = """
module = "chainer.functions"

[relu]
cases = [
    { when = "slope == 0 and rank(x) == 2", torch = "torch.relu(x)" },
    { when = "slope == 1", torch = "x", difference = "noise" },
]
"""


def rules(folder: Path, native: str, style: str = "native", lazy: bool = False) -> Rules:
    (folder / "native").mkdir()
    (folder / "functions.toml").write_text(BASE, encoding="utf-8")
    (folder / "native" / "functions.toml").write_text(native, encoding="utf-8")
    return load_rules([folder], style=style, lazy=lazy)


def migrated(table: Rules, call: str) -> tuple[str, str, str]:
    source = f"import chainer.functions as F\ndef f(x):\n    y = F.relu(x)\n    return {call}\n"
    result = migrate_source(source, rules=table, hints={"f.x": "tensor rank 2"})
    assert result.error is None
    site = result.sites[-1]
    return result.code.splitlines()[-1].removeprefix("    return "), site.state, site.difference


@pytest.mark.parametrize("lazy", [False, True])
def test_native_cases_come_first(tmp_path: Path, lazy: bool) -> None:
    table = rules(tmp_path, NATIVE, lazy=lazy)
    assert migrated(table, "F.relu(x)") == ("torch.relu(x)", "exact", "")


def test_an_undecided_native_case_does_not_hold(tmp_path: Path) -> None:
    table = rules(tmp_path, NATIVE)
    source = "import chainer.functions as F\ndef f(x):\n    return F.relu(x)\n"
    assert "compat.relu(x)" in migrate_source(source, rules=table).code


def test_a_declared_difference_is_close_and_named(tmp_path: Path) -> None:
    assert migrated(rules(tmp_path, NATIVE), "F.relu(x, 1)") == ("x", "close", "noise")


def test_the_cases_below_come_after_it(tmp_path: Path) -> None:
    assert migrated(rules(tmp_path, NATIVE), "F.relu(x, 2)") == ("compat.relu(x, 2)", "exact", "")


def test_the_faithful_style_has_none_of_it(tmp_path: Path) -> None:
    assert migrated(rules(tmp_path, NATIVE, "faithful"), "F.relu(x)") == ("compat.relu(x)", "exact", "")


def test_what_it_inherits(tmp_path: Path) -> None:
    row = rules(tmp_path, NATIVE).rows["chainer.functions.relu"]
    assert (row.returns, row.value, row.state) == ("like x", "compat.relu", "exact")
    assert [case.native for case in row.cases] == [True, True, False, False]
    assert [example.after for example in row.examples] == [None], "that text is the faithful style's"


@pytest.mark.parametrize(
    ("native", "problem"),
    [
        (NATIVE.replace("[relu]", "[rely]"), "the native style changes a row that there is, and there is none"),
        (NATIVE.replace("difference", "diference"), "unknown key `diference`"),
        (NATIVE.replace("torch.relu(x)", "torch.relu(z)"), "uses `z`"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, native: str, problem: str) -> None:
    with pytest.raises(RulesError, match=problem):
        rules(tmp_path, native)


def test_helpers_of_both_styles_in_one_module(tmp_path: Path) -> None:
    """``native.hinge`` and ``compat.hinge`` are different helpers: the second gets another name in the native style."""
    native = NATIVE.replace("torch.relu(x)", "native.hinge(x, x)")
    base = rules(tmp_path, native)
    source = "import chainer.functions as F\ndef f(x):\n    return F.relu(x), F.hinge(x, x, reduce='no')\n"
    result = migrate_source(source, rules=base, hints={"f.x": "tensor rank 2"})
    assert "return compat.hinge(x, x), compat.faithful_hinge(x, x, reduce='no')" in result.code
    text = compat_file.build(result.helpers, style="native")
    names = [node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    assert {"hinge", "faithful_hinge"} <= set(names) and len(names) == len(set(names))
    assert compat_file.names_used(result.code, "native") == {"hinge", "faithful_hinge"}
