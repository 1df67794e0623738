"""What ``serialize`` methods of users do: they tell saving from loading, and hand on the serializer to models."""

from __future__ import annotations

import ast

from chainer2torch.analysis.source import Source
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand
from chainer2torch.plan.parts.names import emit_value
from chainer2torch.rules.table import Row


def serializer_test(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """The class as what ``isinstance`` asks for; any other use of it is a serializer of one's own, for a person."""
    assert isinstance(node, ast.expr)
    whole: ast.AST = node
    test = context.source.parents.get(whole)
    if isinstance(test, ast.Tuple):
        whole, test = test, context.source.parents.get(test)
    asks = (
        isinstance(test, ast.Call)
        and isinstance(test.func, ast.Name)
        and test.func.id == "isinstance"
        and test.args[1:] == [whole]
    )
    if asks:
        emit_value(context, decisions, node, row)
    else:
        decisions.mark(node, row, row.name, "manual", "only isinstance() of it has a counterpart")


def asked_serializer(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """The class in ``isinstance(serializer, chainer.Serializer)``: a serializer says itself whether it loads."""
    test = loads_test(context.source, node)
    if test is None:
        serializer_test(context, decisions, node, row)
        return
    loads, whole = row.name == "chainer.Deserializer", context.source.parents[test]
    operands = {"serializer": context.operand(test.args[0])}
    if isinstance(whole, ast.UnaryOp) and isinstance(whole.op, ast.Not):
        decisions.replace(whole, "not serializer.loads" if loads else "serializer.loads", operands)
    else:
        decisions.replace(test, "serializer.loads" if loads else "not serializer.loads", operands)
    decisions.use(node)
    decisions.mark(node, row, row.name, "exact")


def loads_test(source: Source, node: ast.AST) -> ast.Call | None:
    """The call ``isinstance(serializer, <node>)`` in a method ``serialize``, of what that method is given."""
    call, method = source.parents.get(node), source.enclosing(node, ast.FunctionDef)
    if not isinstance(call, ast.Call) or not isinstance(method, ast.FunctionDef) or method.name != "serialize":
        return None
    names = [argument.arg for argument in method.args.args][1:]
    given = call.args[0] if len(call.args) == 2 and call.args[1] is node else None
    asks = isinstance(call.func, ast.Name) and call.func.id == "isinstance"
    return call if asks and isinstance(given, ast.Name) and [given.id] == names else None


def link_serialize(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """``model.serialize(serializer["model"])``, and ``super().serialize(serializer)`` in a link's own method."""
    call, method = context.source.parents.get(node), context.source.enclosing(node, ast.FunctionDef)
    assert isinstance(node, ast.Attribute)
    if not (
        isinstance(call, ast.Call)
        and call.func is node
        and len(call.args) == 1
        and not call.keywords
        and not isinstance(call.args[0], ast.Starred)
    ):
        decisions.mark(node, row, row.name, "manual", "used in another form than `link.serialize(serializer)`")
        return
    operands = {"serializer": context.operand(call.args[0])}
    of_base = (
        isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name) and node.value.func.id == "super"
    )
    if of_base and isinstance(method, ast.FunctionDef) and method.args.args:
        operands["link"] = Operand(code=method.args.args[0].arg)
        decisions.replace(call, "compat.serialize_link(link, serializer)", operands)
    else:
        operands["link"] = context.operand(node.value)
        decisions.replace(call, "compat.serialize_part(serializer, link)", operands)
    decisions.mark(node, row, row.name, "exact")


def part_serialize(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """``optimizer.serialize(serializer["optimizer"])``: PyTorch's optimizers and loaders have a state_dict, or none."""
    call = context.source.parents.get(node)
    assert isinstance(node, ast.Attribute)
    of_base = isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "super"
    whole = isinstance(call, ast.Call) and call.func is node and len(call.args) == 1 and not call.keywords
    if whole and not of_base:
        assert isinstance(call, ast.Call)
        operands = {"serializer": context.operand(call.args[0]), "part": context.operand(node.value)}
        decisions.replace(call, "compat.serialize_part(serializer, part)", operands)
    decisions.mark(node, row, row.name, row.state)


def part_of_unknown_kind(context: Context, decisions: Decisions, node: ast.Attribute) -> None:
    """``self.ema.serialize(serializer['ema'])`` in a ``serialize`` of the user's: of a module if that is one."""
    call, method = context.source.parents.get(node), context.source.enclosing(node, ast.FunctionDef)
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
        decisions.replace(
            call,
            "compat.serialize_part(serializer, part)",
            {"serializer": context.operand(call.args[0]), "part": context.operand(node.value)},
        )
        decisions.mark(
            node,
            None,
            "?.serialize",
            "exact",
            "What it is called on is not known here; the helper looks at run time.",
            "C2T390",
        )
