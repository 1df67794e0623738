"""``y.backward()`` of a value without a graph: Chainer changes nothing, PyTorch raises.

Such a value was computed where nothing is recorded (``no_backprop_mode()``), or of arrays alone.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import HostArray, Kind, Ref, Tensor, options, scalar_type
from chainer2torch.analysis.source import within
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.assigned_values import reaching
from chainer2torch.plan.questions.asked_gradients import asks_gradient

_MESSAGE = (
    "what this is computed from is in no graph: Chainer's backward() gives only this value a gradient, PyTorch's raises"
)
_SWITCHES = frozenset({"chainer.no_backprop_mode", "chainer.force_backprop_mode", "chainer.using_config"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_DEPTH = 5


def run(context: Context) -> Decisions:
    """Marks such calls, as far as the function around them shows."""
    decisions = Decisions(context)
    if not context.imports_chainer or context.migrated:
        return decisions
    for call in context.source.of(ast.Call):
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "backward":
            continue
        value = call.func.value
        kinds = options(context.kind(value))
        if all(isinstance(kind, Tensor) and not kind.array for kind in kinds) and _lacks_graph(context, value, call):
            decisions.refine(call.func, context.rules.rows.get("chainer.Variable.backward"), "review", _MESSAGE)
    return decisions


def _lacks_graph(context: Context, value: ast.expr, call: ast.Call) -> bool:
    """Whether all that may have given a name its value was computed without a graph; a leaf of its own has one."""
    made = _made(context, value) if isinstance(value, ast.Name) else [value]
    return bool(made) and all(
        _is_unrecorded(context, one, call) or _is_computed(one) and _is_of_arrays(context, one, 0) for one in made
    )


def _made(context: Context, name: ast.Name) -> list[ast.expr]:
    """What a name may have been given; nothing where something is added to it."""
    scope = context.source.enclosing(name, ast.FunctionDef, ast.AsyncFunctionDef) or context.source.tree
    added = [node.target for node in within(scope).of(ast.AugAssign)]
    if any(isinstance(target, ast.Name) and target.id == name.id for target in added):
        return []
    return reaching(context, name)


def _is_computed(value: ast.expr) -> bool:
    """Whether it is made of other Variables: a new one is a leaf, which PyTorch may ask for its gradient."""
    return isinstance(value, (ast.BinOp, ast.UnaryOp, ast.Call))


def _is_unrecorded(context: Context, value: ast.expr, call: ast.Call) -> bool:
    """Whether a value is computed where nothing is recorded: what a variable says counts where no test asks it."""
    for around in context.source.ancestors(value):
        if isinstance(around, _FUNCTIONS):
            return False
        for item in reversed(around.items) if isinstance(around, ast.With) else ():
            switch = _switch(context, item.context_expr)
            if switch is not None:
                return switch if isinstance(switch, bool) else not _is_tested(context, call)
    return False


def _switch(context: Context, manager: ast.expr) -> bool | ast.expr | None:
    """Whether a context manager turns recording off; what it depends on; None: it says nothing of that."""
    callee = context.kind(manager.func) if isinstance(manager, ast.Call) else None
    if not isinstance(manager, ast.Call) or not isinstance(callee, Ref) or callee.name not in _SWITCHES:
        return None
    if not callee.name.endswith("using_config"):
        return callee.name.endswith("no_backprop_mode")
    if len(manager.args) < 2 or not isinstance(manager.args[0], ast.Constant):
        return None
    if manager.args[0].value != "enable_backprop":
        return None
    return not manager.args[1].value if isinstance(manager.args[1], ast.Constant) else manager.args[1]


def _is_tested(context: Context, call: ast.Call) -> bool:
    """Whether a test stands around a ``backward()``, as ``if train: loss.backward()``: it may ask for the switch."""
    return any(isinstance(around, (ast.If, ast.IfExp)) for around in context.source.ancestors(call))


def _is_of_arrays(context: Context, value: ast.expr, depth: int) -> bool:
    """Whether a value is computed of arrays and numbers by functions of Chainer's, so that it has no graph."""
    kinds = options(context.kind(value))
    if all(_is_plain(kind) for kind in kinds):
        return True
    if depth > _DEPTH:
        return False
    if isinstance(value, ast.Name):
        made = _made(context, value)
        return bool(made) and all(_is_of_arrays(context, one, depth + 1) for one in made)
    if isinstance(value, ast.BinOp):
        return all(_is_of_arrays(context, side, depth + 1) for side in (value.left, value.right))
    if isinstance(value, ast.UnaryOp):
        return _is_of_arrays(context, value.operand, depth + 1)
    if not isinstance(value, ast.Call):
        return False
    callee = context.kind(value.func)
    if not isinstance(callee, Ref) or any(isinstance(argument, ast.Starred) for argument in value.args):
        return False
    if callee.name == "chainer.Variable":
        refuses = any(
            k.arg == "requires_grad" and isinstance(k.value, ast.Constant) and k.value.value is False
            for k in value.keywords
        )
        return refuses or context.choices.style == "native" and not asks_gradient(context, value)
    given = [*value.args, *(keyword.value for keyword in value.keywords)]
    return callee.name.startswith("chainer.functions.") and all(_is_of_arrays(context, a, depth + 1) for a in given)


def _is_plain(kind: Kind) -> bool:
    return isinstance(kind, HostArray) or isinstance(kind, Tensor) and kind.array or scalar_type(kind) is not None
