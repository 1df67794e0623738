"""``chainer.testing.run_module`` in the native style: the lines that call pytest."""

from __future__ import annotations

import ast

from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import ReplaceStatement
from chainer2torch.plan.parts.calls import emit_call
from chainer2torch.plan.parts.names import emit_value
from chainer2torch.plan.parts.native_devices import alone
from chainer2torch.rules.table import Row

_RUN = "if name == '__main__':\n    pytest.main([file, '-vvs', '-x', '--pdb'])\n"


def run_module(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """``run_module(__name__, __file__)`` at the end of a file: what it does is written there."""
    call = context.source.parents.get(node)
    assert isinstance(node, (ast.Name, ast.Attribute))
    if not isinstance(call, ast.Call) or call.func is not node:
        emit_value(context, decisions, node, row)
        return
    statement = context.source.parents.get(call)
    names = [argument.id for argument in call.args if isinstance(argument, ast.Name)]
    last = isinstance(statement, ast.Expr) and statement in context.source.tree.body and alone(context, statement)
    if last and names == ["__name__", "__file__"] and not call.keywords:
        operands = {"name": context.operand(call.args[0]), "file": context.operand(call.args[1])}
        assert isinstance(statement, ast.Expr)
        decisions.edit(statement, ReplaceStatement(context.source.start(statement), _RUN, operands))
        decisions.use(node)
        decisions.mark(node, row, row.name, row.state)
    else:
        emit_call(context, decisions, call, row, node)
