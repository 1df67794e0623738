"""A row that names its proof elsewhere names a test that runs what the row emits, or migrates a program that uses it.

Comments, docstrings and imports prove nothing: the name must stand in the code of the file, or in such a program.
"""

import ast
import functools
import re
from pathlib import Path

import pytest

from chainer2torch.rules.table import Row, load_rules

ROOT = Path(__file__).resolve().parents[2]
RULES = load_rules(strict=False)
ROWS = [row for row in RULES.rows.values() if row.proof]


@functools.cache
def used(file: str) -> frozenset[str]:
    """The names that the code of a test file uses, and the words of its programs."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value = ast.Constant(None)  # a docstring
        elif isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.keyword) and node.arg:
            found.add(node.arg)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("test"):
            found.add(node.name)  # a method that Chainer calls by its name
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.update(re.findall(r"\w+", node.value))
    return frozenset(found)


@functools.cache
def is_run(file: str) -> bool:
    """Whether a file holds tests, or is a program that some test names."""
    if re.search(r"^def test_", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE):
        return True
    stem = Path(file).stem
    return any(re.search(rf"\b{stem}\b", test.read_text(encoding="utf-8")) for test in ROOT.glob("tests/*/test_*.py"))


def emitted(row: Row) -> set[str]:
    """The helpers that a row's templates name, and the row's own name."""
    helpers = {name for text in row.templates for name in re.findall(r"\bcompat\.(\w+)", text)}
    return helpers | {row.name.rsplit(".", 1)[1]}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_proof_is_there(row: Row) -> None:
    assert row.proof is not None
    if row.proof.endswith(".py"):
        assert emitted(row) & used(row.proof), f"{row.proof} uses none of {sorted(emitted(row))}"
        assert is_run(row.proof), f"no test runs {row.proof}"
    else:
        other = RULES.find(row.proof)
        assert other is not None and other.examples, f"no row with examples is called {row.proof}"
        assert row.state != "exact" or other.state == "exact", f"{row.proof} is {other.state} itself"


def test_calls_of_links_are_in_the_examples_of_their_classes() -> None:
    """The proof of `L.X.__call__` is an example of `L.X` that calls the link."""
    missing = []
    for row in ROWS:
        if row.name.startswith("chainer.links.") and row.name.endswith(".__call__"):
            assert row.proof is not None
            other = RULES.find(row.proof)
            assert other is not None
            texts = [str(e.options.get("setup", "")) + "\n" + e.before for e in other.examples]
            bound = [name for text in texts for name in re.findall(r"^(\w+) = ", text, re.MULTILINE)]
            if not any(re.search(rf"\b({'|'.join(bound)})\(", text) for text in texts if bound) and not any(
                re.search(r"\)\(", text) for text in texts
            ):
                missing.append(row.name)
    assert not missing, missing


def test_every_exact_row_has_a_proof() -> None:
    without = [
        row.name
        for row in RULES.rows.values()
        if row.state in ("exact", "close") and not row.examples and not row.proof and not row.alias
    ]
    assert not without, without
