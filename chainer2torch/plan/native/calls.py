"""Small things that several native forms need: reading calls by Chainer's signatures."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from chainer2torch.analysis.kinds import Ref
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand, Remove
from chainer2torch.rules.signature import BindError, Bound


def bound_call(context: Context, call: ast.Call, symbol: str) -> Bound | None:
    """The arguments of a call by the names of Chainer's parameters; None when it does not fit or hides some."""
    row = context.rules.rows.get(symbol)
    if row is None or row.signature is None:
        return None
    try:
        bound = row.signature.bind(call.args, call.keywords)
    except BindError:
        return None
    return None if bound.starred else bound


def operands_of(context: Context, bound: Bound) -> dict[str, Operand]:
    """The arguments as operands of a template."""
    return {name: context.operand(node) for name, node in bound.given.items()}


def handed_on(
    context: Context, args: Iterable[ast.expr], keywords: Iterable[ast.keyword]
) -> tuple[list[str], dict[str, Operand]]:
    """The arguments of a call as they stand, as parts of a template with its operands."""
    texts: list[str] = []
    operands: dict[str, Operand] = {}
    for i, argument in enumerate(args):
        starred = isinstance(argument, ast.Starred)
        texts.append(f"*arg{i}" if starred else f"arg{i}")
        operands[f"arg{i}"] = context.operand(argument.value if isinstance(argument, ast.Starred) else argument)
    for i, keyword in enumerate(keywords):
        texts.append(f"{keyword.arg}=value{i}" if keyword.arg else f"**value{i}")
        operands[f"value{i}"] = context.operand(keyword.value)
    return texts, operands


_EXTEND = frozenset({"name", "trigger", "priority", "call_before_training"})


def bound_extend(call: ast.Call) -> dict[str, ast.expr] | None:
    """The arguments of ``trainer.extend``; None where they are not those of both."""
    names = ("extension", "name", "trigger", "priority")
    if len(call.args) > len(names) or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    bound = dict(zip(names, call.args))
    for keyword in call.keywords:
        if keyword.arg is None or keyword.arg not in _EXTEND | {"extension"}:
            return None
        bound[keyword.arg] = keyword.value
    return bound if "extension" in bound else None


def clear(context: Context, decisions: Decisions, statement: ast.stmt) -> None:
    """Removes a statement with all that is in it."""
    decisions.edit(statement, Remove(context.source.start(statement)))
    decisions.remove(statement)


def is_dict(context: Context, node: ast.AST) -> bool:
    """Whether an expression is ``dict(gen=a, dis=b)``, which says the same as a display."""
    return (
        isinstance(node, ast.Call)
        and context.kind(node.func) == Ref("builtins.dict")
        and not node.args
        and all(k.arg is not None for k in node.keywords)
    )


__all__ = ["is_dict", "bound_call", "bound_extend", "clear", "handed_on", "operands_of"]
