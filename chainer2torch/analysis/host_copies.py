"""Conditions that ask for a GPU before an array is copied to the host: without a GPU it is there anyway.

``if args.gpu >= 0: y = cuda.to_cpu(y)`` leaves an array of NumPy in both cases. A tensor is none in either, so the copy
has to be made in both.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from chainer2torch.analysis.kinds import Inst, Kind, Method, Ref
from chainer2torch.analysis.source import Source, nodes_of

KindOf = Callable[[ast.AST], Kind]
# names for what a GPU is asked by: `args.gpu`, `use_cuda`, `device_id`, `xp`
_GPU_WORDS = ("gpu", "cuda", "cupy", "device")
_HOSTS = frozenset({"", "-1", "cpu", "native", "@native", "@numpy"})
_COPIES = frozenset({"to_cpu", "asnumpy"})
# `gpu >= 0`, and `gpu < 0` for none
_BOUNDS = {True: {(ast.GtE, 0), (ast.Gt, -1)}, False: {(ast.Lt, 0), (ast.LtE, -1)}}
_MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.LtE: ast.GtE,
    ast.Lt: ast.Gt,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
}


def shapes(source: Source) -> dict[ast.AST, bool]:
    """The values that conditions of a file may be taken to have as they guard copies to the host and nothing else."""
    if not any(name in source.text for name in _COPIES):
        return {}
    found = ((node, _shape(node, source)) for node in source.of(ast.If, ast.IfExp))
    return {node: truth for node, truth in found if truth is not None}


def _shape(node: ast.If | ast.IfExp, source: Source) -> bool | None:
    parent = source.parents.get(node)
    if isinstance(node, ast.If) and isinstance(parent, ast.If) and parent.orelse == [node]:
        return None  # after `elif` it is one of several cases
    for truth in (True, False):
        if _asks_for_gpu(node.test, truth) and _is_guard(node, truth):
            return truth
    return None


def copies(node: ast.If | ast.IfExp, truth: bool, kind: KindOf) -> bool:
    """Whether a condition of this shape guards copies by Chainer or CuPy, as far as kinds are known by now."""
    if isinstance(node, ast.IfExp):
        values = [node.body if truth else node.orelse]
    else:
        values = [s.value for s in (node.body if truth else node.orelse) if isinstance(s, ast.Assign)]
    return all(isinstance(value, ast.Call) and _is_copy(kind(value.func)) for value in values)


def of_variable(node: ast.If | ast.IfExp, source: Source) -> bool:
    """Whether a Variable is copied here: ``if gpu >= 0: y = to_cpu(y)``, and the next to read `y` says `y.data`.

    Chainer refuses to copy one, so on a GPU such a program ends here; without a GPU it goes on with the Variable.
    """
    if isinstance(node, ast.IfExp):
        return False
    copied = {pair[0] for pair in map(_assigned, node.body + node.orelse) if pair is not None}
    scope: ast.AST = node
    while scope in source.parents and not isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
        scope = source.parents[scope]
    end = node.end_lineno or node.lineno
    later = [n for n in nodes_of(scope) if isinstance(n, ast.Name) and n.id in copied and n.lineno > end]
    following: dict[str, ast.Name] = {}
    for name in sorted(later, key=source.start):
        following.setdefault(name.id, name)
    return any(
        isinstance(member := source.parents.get(name), ast.Attribute) and member.attr in ("data", "array")
        for name in following.values()
    )


def _is_guard(node: ast.If | ast.IfExp, truth: bool) -> bool:
    if isinstance(node, ast.IfExp):
        copied, plain = (node.body, node.orelse) if truth else (node.orelse, node.body)
        inside = _copied(copied)
        return inside is not None and _same(inside, plain)
    copying, others = (node.body, node.orelse) if truth else (node.orelse, node.body)
    beside = dict(pair for pair in map(_assigned, others) if pair is not None)
    if len(beside) != len(others) or not copying:
        return False
    for statement in copying:
        pair = _assigned(statement)
        inside = None if pair is None else _copied(pair[1])
        if pair is None or inside is None or not _same(inside, beside.pop(pair[0], ast.Name(pair[0]))):
            return False
    return not beside


def _is_copy(kind: Kind) -> bool:
    if isinstance(kind, Method):
        return kind.name in _COPIES and isinstance(kind.receiver, Inst) and str(kind.receiver.cls).startswith("xp.")
    name = kind.name if isinstance(kind, Ref) else ""
    return name.rpartition(".")[2] in _COPIES and name.split(".")[0] in ("chainer", "cupy", "xp")


def _assigned(statement: ast.stmt) -> tuple[str, ast.expr] | None:
    if (
        isinstance(statement, ast.Assign)
        and len(statement.targets) == 1
        and isinstance(target := statement.targets[0], ast.Name)
    ):
        return target.id, statement.value
    return None


def _copied(value: ast.expr) -> ast.expr | None:
    """The array that is copied; None: the value is no call that looks like a copy."""
    if not isinstance(value, ast.Call) or len(value.args) != 1 or value.keywords:
        return None
    called = value.func
    name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
    return value.args[0] if name in _COPIES else None


def _same(one: ast.expr, other: ast.expr) -> bool:
    return _is_plain(one) and ast.unparse(one) == ast.unparse(other)


def _is_plain(node: ast.AST) -> bool:
    """Whether an expression only reads names, attributes and items."""
    return all(
        isinstance(part, (ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.expr_context))
        for part in nodes_of(node)
    )


def _asks_for_gpu(test: ast.expr, truth: bool) -> bool:
    """Whether a condition has this value on a GPU and the other without: each part of it asks for that only."""
    if isinstance(test, ast.BoolOp):
        return isinstance(test.op, ast.And) is truth and all(_asks_for_gpu(part, truth) for part in test.values)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _asks_for_gpu(test.operand, not truth)
    if not isinstance(test, ast.Compare):
        return truth and _is_plain(test) and _names_gpu(test)
    if len(test.ops) != 1 or not _is_operand(test.left) or not _is_operand(test.comparators[0]):
        return False
    left, op, right = test.left, type(test.ops[0]), test.comparators[0]
    if (op, _number(right)) in _BOUNDS[truth]:
        return _names_gpu(left)
    if (_MIRRORED.get(op), _number(left)) in _BOUNDS[truth]:
        return _names_gpu(right)
    if op in ((ast.IsNot, ast.NotEq) if truth else (ast.Is, ast.Eq)):  # `gpu is not None`, `xp is not np`
        return (_names_gpu(left) or _is_module(left)) and not _names_gpu(right) and not _names_one(right)
    if op in ((ast.Is, ast.Eq) if truth else (ast.IsNot, ast.NotEq)):  # `xp is cuda.cupy`
        return _is_module(left) and _names_gpu(right)
    return False


def _is_operand(node: ast.expr) -> bool:
    return _is_plain(node) or _number(node) is not None


def _number(node: ast.expr) -> int | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        return -node.operand.value if isinstance(node.operand.value, int) else None
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else None


def _names_one(node: ast.expr) -> bool:
    """Whether a constant stands for one GPU: ``gpu != 1`` and ``device != 'cuda:0'`` say nothing of the host."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value not in _HOSTS
    number = _number(node)
    return number is not None and number >= 0


def _is_module(node: ast.expr) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name == "xp"


def _names_gpu(node: ast.expr) -> bool:
    """Whether the last name or key of an expression is a word for a GPU."""
    if isinstance(node, ast.Subscript):
        word = node.slice.value if isinstance(node.slice, ast.Constant) else ""
    else:
        word = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return isinstance(word, str) and any(part in word.lower() for part in _GPU_WORDS)
