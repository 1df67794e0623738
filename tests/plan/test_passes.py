"""The contract of the passes: listed once, one signature, and no pass knows another one or the ledger."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import chainer2torch
from chainer2torch.plan.context import Context
from chainer2torch.plan.hard_cases import HARD_CASES
from chainer2torch.plan.pipeline import PASSES
from chainer2torch.rules.table import load_rules

PLAN = Path(chainer2torch.__file__).parent / "plan"
PASS_FILES = sorted(path for path in (PLAN / "passes").glob("*.py") if path.stem != "__init__")
BELOW_PASSES = [*PASS_FILES, *sorted((PLAN / "parts").glob("*.py")), *sorted((PLAN / "questions").glob("*.py"))]


def imports_of(path: Path) -> set[str]:
    """The modules that a file imports anywhere, with the names taken from packages."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path.name}: relative import"
            found.add(node.module or "")
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def plan_modules(names: set[str]) -> set[str]:
    return {name.removeprefix("chainer2torch.plan.") for name in names if name.startswith("chainer2torch.plan.")}


def test_every_pass_is_listed_once_under_the_name_of_its_module() -> None:
    """Those of the native style lie in a room of their own, and need not have the names of their modules."""
    names = [step.name for step in PASSES]
    assert len(set(names)) == len(names)
    modules = {step.name: inspect.getmodule(step.run).__name__ for step in PASSES}  # type: ignore[union-attr]
    plain = {name: module for name, module in modules.items() if ".plan.native." not in module}
    assert sorted(plain) == [path.stem for path in PASS_FILES]
    for name, module in plain.items():
        assert module == f"chainer2torch.plan.passes.{name}"
    assert {step.run.__name__ for step in PASSES} == {"run"}


def test_every_pass_takes_the_context_and_gives_decisions() -> None:
    for step in PASSES:
        signature = inspect.signature(step.run)
        assert [p.annotation for p in signature.parameters.values()] == ["Context"], step.name
        assert signature.return_annotation == "Decisions", step.name


def test_policies_name_passes_that_come_before() -> None:
    before: set[str] = set()
    for step in PASSES:
        assert {name for _, name in step.policy.yields_to | step.policy.overrides} <= before, step.name
        assert not step.policy.yields_to & step.policy.overrides, step.name
        before.add(step.name)


@pytest.mark.parametrize("path", BELOW_PASSES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_nothing_in_a_pass_knows_another_pass_or_the_ledger(path: Path) -> None:
    used = plan_modules(imports_of(path))
    forbidden = ("passes", "ledger", "pipeline", "outcome")
    assert not [name for name in used if name.split(".")[0] in forbidden]


@pytest.mark.parametrize("path", sorted((PLAN / "questions").glob("*.py")), ids=lambda path: path.stem)
def test_questions_decide_nothing(path: Path) -> None:
    used = plan_modules(imports_of(path))
    assert not [name for name in used if name.split(".")[0] in ("parts", "collector", "decision", "hard_cases")]


def test_the_context_only_knows_facts() -> None:
    used = plan_modules(imports_of(PLAN / "context.py"))
    assert not [n for n in used if n.split(".")[0] in ("parts", "questions", "collector", "decision", "passes")]
    assert not [name for name in vars(Context) if name in ("edits", "wraps", "sites", "mark", "replace")]


def test_plan_has_no_circle_of_imports() -> None:
    """Lazy imports and those for the type checker count."""
    files = {".".join(path.relative_to(PLAN).with_suffix("").parts): path for path in PLAN.rglob("*.py")}
    files = {name.removesuffix(".__init__"): path for name, path in files.items()}
    graph = {name: plan_modules(imports_of(path)) & files.keys() - {name} for name, path in files.items()}
    while True:
        leaves = {name for name, used in graph.items() if not used}
        if not leaves:
            break
        graph = {name: used - leaves for name, used in graph.items() if name not in leaves}
    assert not graph


def test_every_hard_case_is_named_by_a_row() -> None:
    tables = [load_rules(style=style).rows.values() for style in ("faithful", "native")]
    named = {row.function for rows in tables for row in rows if row.function is not None}
    assert named == set(HARD_CASES)
