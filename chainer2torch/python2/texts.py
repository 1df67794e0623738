"""Bytes that a program of Python 2 could take for a text: files of bytes that it reads, and texts that it encodes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.source import Source
from chainer2torch.python2.certain import FUNCTIONS

_READS = frozenset({"read", "readline", "readlines", "recv"})
# what takes bytes, and gives something else
_TAKE_BYTES = frozenset("BytesIO frombuffer fromstring imdecode loads unpack unpack_from md5 sha1 b64encode".split())
_ENCODE = frozenset({"encoding", "errors"})  # the arguments of a text's own method


def read_as_text(source: Source, call: ast.Call) -> bool:
    """Whether a file of bytes is opened, and what is read of it may be taken for a text; libraries take bytes."""
    mode = call.args[1] if len(call.args) > 1 else next((k.value for k in call.keywords if k.arg == "mode"), None)
    if not (isinstance(mode, ast.Constant) and isinstance(mode.value, str) and {"b", "r"} <= set(mode.value)):
        return False
    parent = source.parents[call]
    if isinstance(parent, (ast.For, ast.comprehension)):
        return True
    if isinstance(parent, ast.Attribute):
        return parent.attr in _READS and _is_a_text(source, parent)
    target: ast.AST | None = None
    if isinstance(parent, ast.withitem):
        target = parent.optional_vars
    elif isinstance(parent, ast.Assign):
        target = parent.targets[0]
    return isinstance(target, ast.Name) and any(_reads(source, name) for name in _uses(source, target))


def _uses(source: Source, target: ast.Name) -> Iterator[ast.Name]:
    """Where a file is used that a name holds: in the body of its ``with``, or until the name gets something else."""
    function = source.enclosing(target, *FUNCTIONS)
    same = [n for n in source.of(ast.Name) if n.id == target.id and source.enclosing(n, *FUNCTIONS) is function]
    around = source.statement(target)
    begin = _place(target)
    end = (around.end_lineno or 0, around.end_col_offset or 0) if isinstance(around, ast.With) else None
    if end is None:
        end = min((_place(n) for n in same if not isinstance(n.ctx, ast.Load) and _place(n) > begin), default=None)
    for name in same:
        if isinstance(name.ctx, ast.Load) and _place(name) > begin and (end is None or _place(name) <= end):
            yield name
    if function is None:  # functions read what stands at the top of their file
        yield from (n for n in source.of(ast.Name) if n.id == target.id and source.enclosing(n, *FUNCTIONS) is not None)


def _place(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _reads(source: Source, file: ast.Name) -> bool:
    around = source.parents[file]
    if isinstance(around, ast.Attribute):
        return around.attr in _READS and _is_a_text(source, around)
    return isinstance(around, (ast.For, ast.comprehension)) and around.iter is file


def _is_a_text(source: Source, method: ast.Attribute) -> bool:
    """Whether what ``f.read()`` gives may be taken for a text; lines are, mostly."""
    call = source.parents[method]
    if method.attr != "read" or not isinstance(call, ast.Call):
        return True
    around = source.parents[call]
    target = around.targets[0] if isinstance(around, ast.Assign) and len(around.targets) == 1 else None
    if not isinstance(target, ast.Name):
        return not _takes_bytes(source, call)
    function = source.enclosing(target, *FUNCTIONS)
    names = source.of(ast.Name) if function is None else (n for n in ast.walk(function) if isinstance(n, ast.Name))
    loads = [n for n in names if n.id == target.id and isinstance(n.ctx, ast.Load)]
    return not loads or not all(_takes_bytes(source, n) for n in loads)


def _takes_bytes(source: Source, node: ast.expr) -> bool:
    around = source.parents[node]
    if isinstance(around, ast.Attribute):
        return around.attr == "decode"
    if not isinstance(around, ast.Call) or node not in around.args:
        return False
    return getattr(around.func, "attr", getattr(around.func, "id", "")) in _TAKE_BYTES


def encoded(source: Source) -> Iterator[ast.Call]:
    """The calls of a method ``encode`` that may be the one of texts, rather than one of the project's own classes."""
    own = any(
        method.name == "encode" and isinstance(source.parents[method], ast.ClassDef)
        for method in source.of(ast.FunctionDef)
    )
    for call in source.of(ast.Call):
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "encode" or len(call.args) > 2:
            continue
        if any(k.arg not in _ENCODE for k in call.keywords):
            continue
        if own and _is_self(call.func.value):
            continue
        yield call


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"
