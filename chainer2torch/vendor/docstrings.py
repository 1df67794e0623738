"""Docstrings of helpers: in the native style a project gets the summary, the tool's own sources keep the rest."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator


_WIDTH = 120


def docstrings(nodes: Iterable[ast.AST]) -> Iterator[ast.Constant]:
    """The docstrings of the functions and classes among these nodes."""
    for owner in nodes:
        if isinstance(owner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            first = owner.body[0] if owner.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                if isinstance(first.value.value, str):
                    yield first.value


def of_methods(node: ast.AST) -> Iterator[ast.Constant]:
    """The docstrings of the methods of a class that has one itself: it says what these have the names of."""
    if isinstance(node, ast.ClassDef) and ast.get_docstring(node, clean=False):
        methods = (child for child in node.body if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)))
        yield from docstrings(method for method in methods if len(method.body) > 1)


def shorten(docstring: ast.Constant, lines: dict[int, str]) -> set[int]:
    """Cuts a docstring behind its summary, which ends at the first blank row.

    Changes the last row that stays in ``lines`` (by row, from 0) and gives the rows that go.
    """
    start, end = docstring.lineno - 1, (docstring.end_lineno or 0) - 1
    blank = next((row for row in range(start, end) if not lines[row].strip()), None)
    if blank is None:
        return set()
    quotes = lines[end].rstrip()[-3:]
    if blank == start + 1 and len(lines[start] + quotes) <= _WIDTH:
        lines[start] += quotes
        return set(range(blank, end + 1))
    # a longer summary has the quotes on a row of their own
    lines[end] = lines[end][: len(lines[end]) - len(lines[end].lstrip())] + quotes
    return set(range(blank, end))
