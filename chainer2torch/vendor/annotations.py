"""Annotations of helpers: the tool's own sources have them, a project in the native style gets the code alone.

The programs around the helpers have none. Without them a header fits in one row more often, and the names that only
annotations need are not imported. Fields of named tuples and data classes stay: there an annotation makes the field.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from typing import Any, TypeVar

from chainer2torch.analysis.source import nodes_of

_MAKE_FIELDS = {"NamedTuple", "TypedDict", "Protocol", "dataclass"}
_FOR_TOOLS = re.compile(r"  # (?:type: ignore|noqa)\b.*$")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LEAVES = (ast.Name, ast.Constant, ast.expr_context, ast.operator)
_Node = TypeVar("_Node", bound=ast.AST)
_Place = tuple[int, int]  # row and column, from 0; columns in UTF-8 bytes


def bare_statement(node: ast.stmt) -> ast.stmt:
    """A definition without its annotations. What has none is shared with the whole: nobody changes it."""
    result: ast.stmt = _plain(node)
    return result


def bare(node: _Node) -> _Node:
    """The same of its parts."""
    if isinstance(node, ast.ClassDef) and makes_fields(node):
        return node
    changes: dict[str, Any] = {}
    for name, value in ast.iter_fields(node):
        if name == "bases":
            new = [item.value if isinstance(item, ast.Subscript) else item for item in value]
        elif name in ("annotation", "returns") and isinstance(node, (ast.arg, *_FUNCTIONS)):
            new = None
        elif isinstance(value, list):
            new = [_plain(item) for item in value if not _is_declaration(item)]
        else:
            new = _plain(value)
        if isinstance(new, list) and len(new) == len(value) and all(a is b for a, b in zip(new, value)):
            continue
        if new is not value:
            changes[name] = new
    if not changes:
        return node
    result = node.__class__()
    vars(result).update({**vars(node), **changes})
    return result


def unannotate(node: ast.stmt, lines: dict[int, str]) -> set[int]:
    """Takes the annotations of a definition out of its ``lines`` (by row, from 0) and gives the rows that go."""
    gone: set[int] = set()
    for row in range(node.lineno - 1, node.end_lineno or 0):
        lines[row] = _FOR_TOOLS.sub("", lines[row])
    for start, end, text in sorted(_spans(node, lines), reverse=True):
        before, after = lines[start[0]].encode()[: start[1]], lines[end[0]].encode()[end[1] :]
        lines[start[0]] = (before + text.encode() + after).decode()
        gone.update(range(start[0] + 1, end[0] + 1))
        if not lines[start[0]].partition("#")[0].strip():
            gone.add(start[0])
    return gone


def makes_fields(node: ast.ClassDef) -> bool:
    """Whether the annotations in a class are its fields."""
    said = [part for root in (*node.bases, *node.decorator_list) for part in nodes_of(root)]
    return any(
        (part.id if isinstance(part, ast.Name) else part.attr if isinstance(part, ast.Attribute) else "")
        in _MAKE_FIELDS
        for part in said
    )


def _plain(value: Any) -> Any:
    if isinstance(value, ast.AnnAssign) and value.value is not None:
        return ast.copy_location(ast.Assign([value.target], bare(value.value)), value)
    if isinstance(value, _FUNCTIONS):
        return _bare_function(value)
    return bare(value) if isinstance(value, ast.AST) and not isinstance(value, _LEAVES) else value


@functools.lru_cache(maxsize=4096)  # the methods of a class stay the same when others of them go
def _bare_function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
    return bare(node)


def _is_declaration(node: object) -> bool:
    return isinstance(node, ast.AnnAssign) and node.value is None


def _spans(node: ast.AST, lines: dict[int, str]) -> Iterator[tuple[_Place, _Place, str]]:
    """The places in a definition that another text takes, with this text."""
    if isinstance(node, ast.ClassDef) and makes_fields(node):
        return
    if isinstance(node, ast.AnnAssign):
        end = _end(node) if node.value is None else _start(node.value)
        yield (_start(node), end, "") if node.value is None else (_end(node.target), end, " = ")
    elif isinstance(node, ast.ClassDef):
        for base in node.bases:  # Dataset[Any]
            if isinstance(base, ast.Subscript):
                yield _end(base.value), _end(base), ""
    elif isinstance(node, _FUNCTIONS):
        yield from _of_parameters(node.args)
        if node.returns is not None:
            row, column = _start(node.returns)
            before = lines[row].encode()[:column]
            yield (row, len(before[: before.rindex(b"->")].rstrip())), _end(node.returns), ""
    for child in ast.iter_child_nodes(node):
        yield from _spans(child, lines)


def _of_parameters(node: ast.arguments) -> Iterator[tuple[_Place, _Place, str]]:
    places = [*node.posonlyargs, *node.args]
    defaults = [*[None] * (len(places) - len(node.defaults)), *node.defaults, *node.kw_defaults]
    pairs = [*zip([*places, *node.kwonlyargs], defaults), (node.vararg, None), (node.kwarg, None)]
    for arg, default in pairs:
        if arg is not None and arg.annotation is not None:
            row, column = _start(arg)
            name = row, column + len(arg.arg.encode())
            yield (name, _end(arg), "") if default is None else (name, _start(default), "=")


def _start(node: ast.stmt | ast.expr | ast.arg) -> _Place:
    return node.lineno - 1, node.col_offset


def _end(node: ast.stmt | ast.expr | ast.arg) -> _Place:
    return (node.end_lineno or 0) - 1, node.end_col_offset or 0
