"""Where numbers come from: which integers are integers whoever calls the function, and what a name was last given."""

from __future__ import annotations

import ast

from chainer2torch.analysis.source import Source

_INTEGERS = frozenset({"len", "int", "ord"})
_MEMBERS = frozenset({"shape", "size", "ndim"})
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def certain(node: ast.AST, source: Source, asked: frozenset[str] = frozenset()) -> bool:
    """Whether an expression is an integer in Python 2, whoever calls the function in which it stands.

    Parameters are not, nor attributes, nor what other functions return: somebody else may give floating numbers there.
    """
    if isinstance(node, ast.Constant):
        return type(node.value) is int
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        whole = isinstance(node.right, ast.Constant) and type(node.right.value) is int  # no minus: that is a UnaryOp
        return whole and certain(node.left, source, asked)
    if isinstance(node, (ast.BinOp, ast.UnaryOp)):
        parts = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.operand,)
        return all(certain(part, source, asked) for part in parts)
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in _INTEGERS
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
    if isinstance(node, ast.Attribute):
        return node.attr in _MEMBERS
    return isinstance(node, ast.Name) and _name(node, source, asked)


def _name(name: ast.Name, source: Source, asked: frozenset[str]) -> bool:
    """Whether everything that is assigned to a name in its function, or in its module, is certain."""
    if name.id in asked:
        return True  # what the others say decides
    function = source.enclosing(name, *FUNCTIONS)
    if isinstance(function, FUNCTIONS) and any(
        isinstance(node, ast.arg) and node.arg == name.id for node in ast.walk(function.args)
    ):
        return False
    stores = [
        other
        for other in source.of(ast.Name)
        if other.id == name.id
        and not isinstance(other.ctx, ast.Load)
        and source.enclosing(other, *FUNCTIONS) is function
    ]
    return bool(stores) and all(_stored(store, source, asked | {name.id}) for store in stores)


def _stored(store: ast.Name, source: Source, asked: frozenset[str]) -> bool:
    parent = source.parents[store]
    if isinstance(parent, ast.Assign):
        return certain(parent.value, source, asked)
    if isinstance(parent, ast.AugAssign):
        return certain(parent.value, source, asked)
    if isinstance(parent, ast.Tuple) and isinstance(assign := source.parents[parent], ast.Assign):
        return isinstance(assign.value, ast.Attribute) and assign.value.attr == "shape"
    if isinstance(parent, (ast.For, ast.comprehension)):
        made = parent.iter
        return isinstance(made, ast.Call) and isinstance(made.func, ast.Name) and made.func.id == "range"
    return False


def stored_before(place: ast.expr, source: Source) -> ast.expr | None:
    """What ``d['x']`` or ``self.x`` was given by the statement just before: nobody comes between the two."""
    around = source.statement(place)
    parent = source.parents[around]
    for block in (getattr(parent, field, None) for field in ("body", "orelse", "finalbody")):
        if isinstance(block, list) and around in block[1:]:
            before = block[block.index(around) - 1]
            if isinstance(before, ast.Assign) and [ast.unparse(t) for t in before.targets] == [ast.unparse(place)]:
                return before.value
    return None


def value_before(name: ast.Name, source: Source) -> ast.expr | None:
    """What a name was given by the last statement before, where nothing else can have given it another value since."""
    node: ast.AST = source.statement(name)
    while not isinstance(node, (*FUNCTIONS, ast.Module)):
        parent = source.parents[node]
        for block in (getattr(parent, field, None) for field in ("body", "orelse", "finalbody")):
            if isinstance(block, list) and node in block:
                for before in reversed(block[: block.index(node)]):
                    if _gives(before, name.id):
                        value = before.value if isinstance(before, ast.Assign) else None
                        return value if isinstance(before, ast.Assign) and _is_name(before.targets, name.id) else None
        if isinstance(parent, (ast.For, ast.While, ast.Try, ast.With)) and _gives(parent, name.id):
            return None
        node = parent
    return None


def _gives(statement: ast.AST, name: str) -> bool:
    return any(
        isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)
        for node in ast.walk(statement)
    )


def _is_name(targets: list[ast.expr], name: str) -> bool:
    return len(targets) == 1 and isinstance(targets[0], ast.Name) and targets[0].id == name
