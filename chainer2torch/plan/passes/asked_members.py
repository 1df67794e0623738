"""``hasattr(model, 'xp')`` and ``getattr(y, 'array', y)``: members of Chainer's objects that the migrated ones lack.

Where it is known what is asked, the answer of Chainer is written down: ``True``, or what the attribute becomes. The
rest is for a person: a test that is silently false takes another way, and nothing raises.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Const, Inst, Kind, Ref, Tensor, Unknown, options
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.assigned_values import reaching
from chainer2torch.plan.parts.receivers import DISTINCTIVE
from chainer2torch.plan.questions.asked_names import BY_OTHER_NAMES, is_of_older
from chainer2torch.plan.questions.rows import row_of_kind
from chainer2torch.rules.row import Row

_ASKING = {"builtins.hasattr": (2,), "builtins.getattr": (2, 3), "builtins.setattr": (3,), "builtins.delattr": (2,)}
_OF_LAYERS = "chainer.links."  # an attribute of theirs may be missing, such as the bias of a layer without one
_MAKING = ("chainer.functions.", "chainer.Variable", "chainer.Parameter")
_OF_ARRAYS = "a Variable has it and an array has not in Chainer, and both are tensors by now; ask for what is meant"
_CODE = "C2T390"
_LACKS = "what takes its place has no member of this name; write `x.{name}` instead, and migrate again"
_MAY_LACK = "an object of Chainer's had it and lacks it by now: the answer may be another one; write `x.{name}` instead"


def run(context: Context) -> Decisions:
    """Decides the calls that ask for a member of Chainer's by its name."""
    decisions = Decisions(context)
    for call in context.source.of(ast.Call):
        callee = context.analysis.kind(call.func)
        function = callee.name if isinstance(callee, Ref) else ""
        counts = _ASKING.get(function, ())
        if len(call.args) not in counts or call.keywords or any(isinstance(a, ast.Starred) for a in call.args):
            continue
        for option in options(context.analysis.kind(call.args[1])):
            name = option.value if isinstance(option, Const) else None
            if isinstance(name, str) and name.isidentifier() and not name.startswith("__"):
                if name not in BY_OTHER_NAMES and _decide(context, decisions, call, function, name):
                    break
    return decisions


def _decide(context: Context, decisions: Decisions, call: ast.Call, function: str, name: str) -> bool:
    """Whether a call asks for such a member, about which it decides then."""
    kinds = options(context.analysis.kind(call.args[0]))
    if function == "builtins.hasattr" and name == "data" and any(isinstance(kind, Tensor) for kind in kinds):
        return True  # arrays have one as well, and so have tensors
    rows = [_row(context, kind, name) for kind in kinds]
    if not any(row is not None and _changes(row, name) for row in rows):
        asked = any(isinstance(kind, Unknown) for kind in kinds) and name in DISTINCTIVE and context.beside_chainer
        # an earlier run knew more of the value, and said so here
        told = any(f".{name}: " in line and " ?." not in line for line in context.comments_above(call))
        if asked and not told and not _is_module(context, call.args[0]):
            decisions.mark(call.func, None, f"?.{name}", "review", _MAY_LACK.format(name=name), _CODE)
        return asked
    certain = all(row is not None for row in rows) and isinstance(call.args[1], ast.Constant)
    absent_at_times = function == "builtins.hasattr" or len(call.args) == 3
    if absent_at_times and any(isinstance(kind, Tensor) for kind in kinds) and not _is_variable(context, call.args[0]):
        owner = next(row.name for row in rows if row is not None)
        decisions.mark(call.func, None, owner, "review", _OF_ARRAYS, _CODE)
        return True
    first = rows[0]
    if certain and first is not None and function == "builtins.hasattr":
        decisions.replace(call, "True", {})
        decisions.mark(call.func, context.rules.python[function], function, "exact")
    elif certain and first is not None and function == "builtins.getattr" and _reads_as_one(rows):
        decisions.replace(call, first.cases[0].torch, {"self": context.operand(call.args[0])})
        decisions.mark(call.func, first, first.name, first.state)
    else:
        owner = next(row.name for row in rows if row is not None)
        decisions.mark(call.func, None, owner, "review", _LACKS.format(name=name), _CODE)
    return True


def _is_variable(context: Context, node: ast.expr) -> bool:
    """Whether a value is a Variable for sure: what a function is handed may have been an array in Chainer."""
    if isinstance(node, ast.BinOp):
        return _is_variable(context, node.left) or _is_variable(context, node.right)
    if isinstance(node, ast.Name):
        values = reaching(context, node) if _is_assigned_only(context, node) else []
        return bool(values) and all(not isinstance(v, ast.Name) and _is_variable(context, v) for v in values)
    if not isinstance(node, ast.Call):
        return False
    return all(
        isinstance(callee, Ref) and callee.name.startswith(_MAKING) or context.analysis.is_link(callee)
        for callee in options(context.analysis.kind(node.func))
    )


def _is_assigned_only(context: Context, name: ast.Name) -> bool:
    """Whether a name has its values from assignments alone: it is no parameter, and no target of a loop."""
    scope = context.source.enclosing(name, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda) or context.source.tree
    return all(
        not (isinstance(node, ast.arg) and node.arg == name.id)
        and not (isinstance(node, ast.Name) and node.id == name.id and not isinstance(node.ctx, ast.Load))
        or isinstance(context.source.parents.get(node), ast.Assign)
        for node in nodes_of(scope)
    )


def _row(context: Context, kind: Kind, name: str) -> Row | None:
    """The row of a member that an object of Chainer's has whatever it is; those of an older version it has no more."""
    if isinstance(kind, Tensor):
        row = None if kind.array else context.rules.member("chainer.Variable", name)
    else:
        row = row_of_kind(context, kind, name) if isinstance(kind, Inst) else None
    return None if row is None or is_of_older(row) or row.name.startswith(_OF_LAYERS) else row


def _changes(row: Row, name: str) -> bool:
    return not all(case.torch == f"self.{name}" or case.torch.startswith(f"self.{name}(") for case in row.cases)


def _reads_as_one(rows: list[Row | None]) -> bool:
    """Whether an attribute becomes the same expression for all that it may be asked of."""
    forms = {row.cases[0].torch if len(row.cases) == 1 else "" for row in rows if row is not None}
    return all(row is not None and row.attribute for row in rows) and len(forms) == 1 and "" not in forms


def _is_module(context: Context, node: ast.expr) -> bool:
    """``getattr(np, 'array')``."""
    return context.reference(node) is not None or isinstance(context.analysis.kind(node), Ref)


__all__ = ["run"]
