"""What ``serialize`` methods of users do: they tell saving from loading, and hand on the serializer to models."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from chainer2torch.plan.edits import Operand
from chainer2torch.rules.table import Row

if TYPE_CHECKING:
    from chainer2torch.plan.sites import Plan


def serializer_test(plan: Plan, node: ast.AST, row: Row) -> None:
    """The class as what ``isinstance`` asks for; any other use of it is a serializer of one's own, for a person."""
    assert isinstance(node, ast.expr)
    whole: ast.AST = node
    test = plan.source.parents.get(whole)
    if isinstance(test, ast.Tuple):
        whole, test = test, plan.source.parents.get(test)
    asks = (
        isinstance(test, ast.Call)
        and isinstance(test.func, ast.Name)
        and test.func.id == "isinstance"
        and test.args[1:] == [whole]
    )
    if asks:
        plan.value(node, row)
    else:
        plan.mark(node, row, row.name, "manual", "only isinstance() of it has a counterpart")


def link_serialize(plan: Plan, node: ast.AST, row: Row) -> None:
    """``model.serialize(serializer["model"])``, and ``super().serialize(serializer)`` in a link's own method."""
    call, method = plan.source.parents.get(node), plan.source.enclosing(node, ast.FunctionDef)
    assert isinstance(node, ast.Attribute)
    if not (
        isinstance(call, ast.Call)
        and call.func is node
        and len(call.args) == 1
        and not call.keywords
        and not isinstance(call.args[0], ast.Starred)
    ):
        plan.mark(node, row, row.name, "manual", "used in another form than `link.serialize(serializer)`")
        return
    operands = {"serializer": plan.operand(call.args[0])}
    of_base = (
        isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name) and node.value.func.id == "super"
    )
    if of_base and isinstance(method, ast.FunctionDef) and method.args.args:
        operands["link"] = Operand(code=method.args.args[0].arg)
        plan.replace(call, "compat.serialize_link(link, serializer)", operands)
    else:
        operands["link"] = plan.operand(node.value)
        plan.replace(call, "compat.serialize_part(serializer, link)", operands)
    plan.mark(node, row, row.name, "exact")


def part_of_unknown_kind(plan: Plan, node: ast.Attribute) -> None:
    """``self.ema.serialize(serializer['ema'])`` in a ``serialize`` of the user's: of a module if that is one."""
    call, method = plan.source.parents.get(node), plan.source.enclosing(node, ast.FunctionDef)
    if not (
        isinstance(call, ast.Call)
        and call.func is node
        and len(call.args) == 1
        and not call.keywords
        and isinstance(method, ast.FunctionDef)
        and method.name == "serialize"
        and len(method.args.args) == 2
    ):
        return
    given = call.args[0].value if isinstance(call.args[0], ast.Subscript) else call.args[0]
    if (
        isinstance(given, ast.Name)
        and given.id == method.args.args[1].arg
        and isinstance(node.value, (ast.Name, ast.Attribute, ast.Subscript))
    ):
        plan.replace(
            call,
            "compat.serialize_part(serializer, part)",
            {"serializer": plan.operand(call.args[0]), "part": plan.operand(node.value)},
        )
        plan.mark(
            node,
            None,
            "?.serialize",
            "exact",
            "What it is called on is not known here; the helper looks at run time.",
            "C2T390",
        )


__all__ = ["link_serialize", "part_of_unknown_kind", "serializer_test"]
