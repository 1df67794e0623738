"""What ``with report_scope(observation):`` puts into a dictionary: what models report inside, or just these numbers."""

from __future__ import annotations

import ast

from chainer2torch.analysis.interpreter import Interpreter
from chainer2torch.analysis.kind_specs import REPORTED
from chainer2torch.analysis.kinds import BOTTOM, Dct, HostArray, Inst, Kind, Method, Ref, options, scalar_type
from chainer2torch.analysis.lattice import join

_REPORT = "report"
_REPORTER = "chainer.Reporter"


def said_inside(block: ast.With | ast.AsyncWith) -> list[ast.expr] | None:
    """The tables that calls named ``report`` are given, where the block does nothing else; None: it does more.

    What stands in such a call is a name, a part of one or a table of these: nothing runs there that could report.
    """
    said = []
    for statement in block.body:
        call = statement.value if isinstance(statement, ast.Expr) else None
        if not isinstance(call, ast.Call) or not call.args or isinstance(call.args[0], ast.Starred):
            return None
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        parts = [*call.args, *(keyword.value for keyword in call.keywords)]
        if name != _REPORT or any(isinstance(inner, ast.Call) for part in parts for inner in ast.walk(part)):
            return None
        said.append(call.args[0])
    return said


def scopes(node: ast.With | ast.AsyncWith) -> list[ast.Call]:
    """The calls among the managers of a block that are given one name or attribute, as ``report_scope(d)`` is."""
    calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
    return [call for call in calls if len(call.args) == 1 and isinstance(call.args[0], (ast.Name, ast.Attribute))]


def is_scope(interpreter: Interpreter, call: ast.Call) -> bool:
    """Whether a call is ``chainer.report_scope(d)`` or ``reporter.scope(d)``."""
    callee = interpreter.facts.get(call.func)
    return callee == Ref("chainer.report_scope") or _of_reporter(interpreter, callee, "scope")


def put_by_block(interpreter: Interpreter, node: ast.With | ast.AsyncWith) -> None:
    """Fills the dictionaries of a block that was gone through and that only reports: with the numbers that it says."""
    said = said_inside(node)
    if said is None:
        return
    for call in scopes(node):
        container = interpreter.facts.get(call.args[0])
        if is_scope(interpreter, call) and isinstance(container, Dct):
            kind = _said(interpreter, node, said)
            interpreter.container_grown(call.args[0], Dct(join(container.element, kind)))


def _said(interpreter: Interpreter, node: ast.With | ast.AsyncWith, said: list[ast.expr]) -> Kind:
    """The numbers of the tables: whatever a model may report, where one may hold more than numbers of the host."""
    kind: Kind = BOTTOM
    for statement, table in zip(node.body, said):
        assert isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
        callee = interpreter.facts.get(statement.value.func)
        given = interpreter.facts.get(table)
        reports = callee == Ref("chainer.report") or _of_reporter(interpreter, callee, _REPORT)
        if not reports or not isinstance(given, Dct) or not all(map(_is_of_host, options(given.element))):
            return REPORTED
        kind = join(kind, given.element)
    return kind


def _is_of_host(kind: Kind) -> bool:
    return kind is BOTTOM or isinstance(kind, HostArray) or scalar_type(kind) in ("int", "float", "bool")


def _of_reporter(interpreter: Interpreter, callee: Kind | None, name: str) -> bool:
    return (
        isinstance(callee, Method)
        and callee.name == name
        and isinstance(callee.receiver, Inst)
        and interpreter.derives(callee.receiver.cls, _REPORTER)
    )


__all__ = ["is_scope", "put_by_block", "said_inside", "scopes"]
