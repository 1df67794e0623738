"""Blocks that read weights by hand: ``with numpy.load(path) as f: NpzDeserializer(f).load(model)``."""

from __future__ import annotations

import ast
import dataclasses

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Ref
from chainer2torch.analysis.module_index import ModuleInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.rules.signature import BindError

READER = "chainer.serializers.NpzDeserializer"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclasses.dataclass(frozen=True)
class Block:
    """A block: its path, the call that makes the reader, and the statement that loads."""

    statement: ast.With
    path: ast.expr
    reader: ast.Call
    load: ast.Expr
    obj: ast.expr
    strict: ast.expr | None
    part: ast.expr | None  # the argument ``path`` of the reader


def block_of(analysis: Analysis, module: ModuleInfo, statement: ast.With) -> Block | None:
    """The parts of a block that does nothing but read weights; None: it is another one."""
    file, opened = statement.items[0].optional_vars, statement.items[0].context_expr
    if len(statement.items) != 1 or not isinstance(file, ast.Name) or not isinstance(opened, ast.Call):
        return None
    load = statement.body[-1]
    call = load.value if isinstance(load, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "load":
        return None
    reader = _reader(call.func.value, statement.body[:-1])
    if reader is None or len(opened.args) != 1 or opened.keywords or len(call.args) != 1 or call.keywords:
        return None
    if analysis.kind(opened.func) != Ref("numpy.load") or analysis.kind(reader.func) != Ref(READER):
        return None
    try:
        bound = analysis.rules.rows[READER].signature.bind(reader.args, reader.keywords)  # type: ignore[union-attr]
    except BindError:
        return None
    npz = bound.given.get("npz")
    if not isinstance(npz, ast.Name) or npz.id != file.id or not bound.given.keys() <= {"npz", "strict", "path"}:
        return None
    if {"strict", "path"} <= bound.given.keys():
        return None
    assert isinstance(load, ast.Expr)
    if _is_read_behind(module, statement):
        return None
    return Block(statement, opened.args[0], reader, load, call.args[0], *map(bound.given.get, ("strict", "path")))


def _reader(node: ast.expr, before: list[ast.stmt]) -> ast.Call | None:
    """What loads: a call, or a variable that the one statement before gives the value of a call."""
    if isinstance(node, ast.Call):
        return node if not before else None
    made = before[0] if len(before) == 1 else None
    if not isinstance(node, ast.Name) or not isinstance(made, ast.Assign) or len(made.targets) != 1:
        return None
    target = made.targets[0]
    named = isinstance(target, ast.Name) and target.id == node.id
    return made.value if named and isinstance(made.value, ast.Call) else None


def _is_read_behind(module: ModuleInfo, statement: ast.With) -> bool:
    """Whether a variable of the block is used outside of it, in the same function."""
    inside = set(nodes_of(statement))
    bound = {n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    scope = module.source.enclosing(statement, *_FUNCTIONS)
    return any(
        name.id in bound and isinstance(name.ctx, ast.Load) and name not in inside
        for name in module.source.of(ast.Name)
        if isinstance(name, ast.Name) and module.source.enclosing(name, *_FUNCTIONS) is scope
    )


__all__ = ["READER", "Block", "block_of"]
