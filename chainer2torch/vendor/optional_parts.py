"""Parts of helpers that only some projects need: ``# where: add_hook, remove_hook`` behind a statement or a parameter.

Such a part stays where one of these names is said; ``Lazy*`` stands for all names that begin so, ``.lr`` for the
member of an object only: a keyword, a key or another string of the same letters does not count; ``opt.lr`` for that of
what is named as optimizers are, ``set.lr`` for one that is set; ``out=`` for a keyword or a key only; ``own.apply``
for a name that a text of the program says, not a helper; ``helper.Adam`` for a helper that is there; it goes where a
name behind ``!`` is said. The mark stands
in the first row of a block, in the last row of a statement of several rows, or in the row of a parameter: the last
one only, as an argument by position must not become that of another parameter.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from typing import Any, TypeVar

from chainer2torch.analysis.source import nodes_of

MARK = r"  # where: (!?\w*\.?\w+[*=]?(?:, !?\w*\.?\w+[*=]?)*)$"
_MARK = re.compile(MARK)
_WIDTH = 120
_BLOCKS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.If, ast.For, ast.While, ast.With, ast.Try)
_Node = TypeVar("_Node", bound=ast.AST)
_Method = ast.FunctionDef | ast.AsyncFunctionDef


def marked(node: ast.stmt, lines: Sequence[str]) -> Iterator[tuple[ast.stmt | ast.arg, list[str]]]:
    """The parts of a definition that may go, each with the names of which one has to be said."""
    if not any(_MARK.search(row) for row in lines[node.lineno - 1 : node.end_lineno]):
        return
    for part in nodes_of(node):
        if isinstance(part, (ast.stmt, ast.arg)) and part is not node:
            last = isinstance(part, ast.stmt) and not isinstance(part, _BLOCKS)
            found = _MARK.search(lines[(part.end_lineno or part.lineno if last else part.lineno) - 1])
            if found:
                yield part, found[1].split(", ")


def is_said(names: Collection[str], said: Collection[str]) -> bool:
    """Whether one of the names of a mark is among the words that a program says."""
    if any(name[1:] in said for name in names if name.startswith("!")):
        return False
    if all(name.startswith("!") for name in names):
        return True
    beginnings = tuple(name[:-1] for name in names if name.endswith("*"))
    return any(name in said for name in names) or bool(beginnings) and any(w.startswith(beginnings) for w in said)


def rows_of(part: ast.stmt | ast.arg, lines: Sequence[str] | dict[int, str]) -> range:
    """The rows of a part, with its decorators and the comment above; of a method also the blank rows above that."""
    first = min([part.lineno, *(item.lineno for item in getattr(part, "decorator_list", []))]) - 1
    while lines[first - 1].strip().startswith("#"):
        first -= 1
    while isinstance(part, _Method) and not lines[first - 1].strip():
        first -= 1
    return range(first, part.end_lineno or 0)


def cut(node: ast.stmt, parts: Collection[ast.stmt | ast.arg]) -> ast.stmt:
    """A definition without some of its parts. What holds none of them is shared with the whole: nobody changes it."""
    return _without(node, frozenset(parts), sorted(part.lineno for part in parts))


def _without(node: _Node, gone: frozenset[ast.AST], starts: list[int]) -> _Node:
    """``starts``: the rows in which a part that goes begins; what has none of them stays as it is."""
    first = getattr(node, "lineno", None)
    if first is not None and bisect_left(starts, first) == bisect_right(starts, node.end_lineno):  # type: ignore[attr-defined]
        return node
    changes: dict[str, Any] = dict(_fewer_parameters(node, gone)) if isinstance(node, ast.arguments) else {}
    for name, value in ast.iter_fields(node):
        value = changes.get(name, value)
        if isinstance(value, list):
            kept = [_without(n, gone, starts) if isinstance(n, ast.AST) else n for n in value if n not in gone]
            if len(kept) < len(value) or any(one is not other for one, other in zip(kept, value)):
                changes[name] = kept
        elif isinstance(value, ast.AST):
            new = _without(value, gone, starts)
            if new is not value:
                changes[name] = new
    if not changes:
        return node
    if isinstance(node, ast.ClassDef) and not changes.get("body", node.body):
        changes["body"] = [ast.Pass()]
    result = node.__class__()
    vars(result).update({**vars(node), **changes})
    return result


def shorter_headers(node: ast.stmt, lines: dict[int, str], left_out: Collection[int], every: bool = False) -> set[int]:
    """Writes the header of a function that has marked parameters (of ``every`` one) in fewer rows, if it fits.

    Changes ``lines`` (by row, from 0) and gives the rows that go.
    """
    gone: set[int] = set()
    marks = any(_MARK.search(lines[row]) for row in range(node.lineno - 1, node.end_lineno or 0))
    for function in nodes_of(node) if marks or every else ():
        if isinstance(function, _Method):
            end = rows_of(function.body[0], lines).start
            rows = [row for row in range(function.lineno - 1, end) if row not in left_out]
            if len(rows) < 2:
                continue
            texts = [_MARK.sub("", lines[row]) for row in rows]
            changed = every or any(_MARK.search(lines[row]) for row in range(rows[0], rows[-1] + 1))
            if not changed or any("#" in text for text in texts):
                continue
            inner = " ".join(text.strip() for text in texts[1:-1]).rstrip(",")
            header = texts[0].rstrip() + inner + texts[-1].strip()
            between = texts[1][: len(texts[1]) - len(texts[1].lstrip())] + inner
            if len(header) <= _WIDTH:
                lines[rows[0]] = header
                gone.update(rows[1:])
            elif every and len(between) <= _WIDTH:
                lines[rows[1]] = between
                gone.update(rows[2:-1])
    return gone


def _fewer_parameters(node: ast.arguments, gone: frozenset[ast.AST]) -> Iterator[tuple[str, Any]]:
    """The fields that change when parameters go, with their defaults."""
    if gone.isdisjoint([*node.args, *node.kwonlyargs, *filter(None, [node.vararg, node.kwarg])]):
        return
    first = len(node.args) - len(node.defaults)
    yield "defaults", [d for arg, d in zip(node.args[first:], node.defaults) if arg not in gone]
    yield "args", [arg for arg in node.args if arg not in gone]
    yield "vararg", None if node.vararg in gone else node.vararg
    yield "kwarg", None if node.kwarg in gone else node.kwarg
    pairs = [(a, d) for a, d in zip(node.kwonlyargs, node.kw_defaults) if a not in gone]
    yield "kwonlyargs", [a for a, _ in pairs]
    yield "kw_defaults", [d for _, d in pairs]
