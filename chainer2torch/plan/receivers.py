"""Methods of Chainer's on values whose kind is not known: never rewritten on a guess, never passed over in silence."""
from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from chainer2torch.analysis.arrays import EITHER, XP
from chainer2torch.analysis.kinds import UNKNOWN, Inst, Kind, options, scalar_type
from chainer2torch.plan.graphs import GraphUse, graph_use

if TYPE_CHECKING:
    from chainer2torch.plan.sites import Plan

# Names that (as far as we know) only Chainer's objects have and that the migrated objects lack: with them a value of
# unknown kind is most likely one of Chainer's.
DISTINCTIVE = frozenset({
    "add_persistent", "addgrad", "addgrads", "array", "cleargrad", "cleargrads", "copydata", "copyparams",
    "count_params", "disable_update", "enable_update", "from_chx", "grad_var", "namedlinks",
    "namedparams", "register_persistent", "to_chx", "to_cpu", "to_device", "to_gpu", "to_intel64",
    "unchain", "unchain_backward", "xp", "zerograd", "zerograds",
})
_MODULES_WITH_ARRAY = frozenset({"np", "numpy", "xp", "cupy", "cp", "array"})


def unknown_receiver(plan: Plan, node: ast.Attribute) -> None:
    """Marks ``something.unchain_backward()`` when nobody knows what ``something`` is."""
    if node.attr == "astype":
        _astype(plan, node)
        return
    if node.attr == "backward":
        _backward(plan, node)
        return
    if node.attr not in DISTINCTIVE or plan.analysis.kind(node.value) != UNKNOWN:
        return
    if isinstance(node.value, ast.Name) and node.value.id in _MODULES_WITH_ARRAY or not plan.imports_chainer:
        return
    parent = plan.source.parents.get(node)
    called = isinstance(parent, ast.Call) and parent.func is node
    if node.attr == "array" and called:
        return  # a function of that name in some module: Chainer's is an attribute
    row = plan.rules.rows.get(f"?.{node.attr}")
    if row is not None and isinstance(node.ctx, ast.Load):
        if row.attribute:
            plan.replace(node, row.cases[0].torch, {"self": plan.operand(node.value)})
            plan.mark(node, row, row.name, row.state, row.note)
            return
        if isinstance(parent, ast.Call) and called:
            plan.call(parent, row, node, receiver=node.value)
            return
    plan.mark(node, None, f"?.{node.attr}", "review",
              f"`{node.attr}` looks like Chainer's, but what it is called on is not known; left as it is", "C2T390")


def _astype(plan: Plan, node: ast.Attribute) -> None:
    """``(x != 0).astype(xp.float32)`` where x may be a tensor: the helper looks at run time.

    Host code has many such calls on values of unknown kind, which are arrays of NumPy and stay as they are.
    """
    call = plan.source.parents.get(node)
    if isinstance(call, ast.Call) and call.func is node and _may_be_array(plan.analysis.kind(node.value)) and \
            plan.imports_chainer and _among_tensors(plan, call):
        plan.call(call, plan.rules.rows["?.astype"], node, receiver=node.value)


def _backward(plan: Plan, node: ast.Attribute) -> None:
    """``loss.backward()`` of an unknown loss is the same in PyTorch unless a later one passes its graph again."""
    call = plan.source.parents.get(node)
    if isinstance(call, ast.Call) and call.func is node and plan.analysis.kind(node.value) == UNKNOWN and \
            plan.imports_chainer and graph_use(plan, call) != GraphUse():
        plan.call(call, plan.rules.rows["?.backward"], node, receiver=node.value)


def _may_be_array(kind: Kind) -> bool:
    """Whether nobody knows the value, or it is taken for a number (``x > 0`` of an unknown x), which has no astype."""
    return all(k == UNKNOWN or scalar_type(k) in ("bool", "int", "float") for k in options(kind))


def _among_tensors(plan: Plan, call: ast.Call) -> bool:
    """Whether a value of unknown kind stands where tensors are likely.

    That is in a method of a link, in a function with an array module, or beside a dtype of torch.
    """
    kinds = (plan.analysis.kind(a) for a in (*call.args, *(k.value for k in call.keywords)))
    if any(isinstance(k, Inst) and k.cls == "torch.dtype" for k in kinds):
        return True
    cls = plan.enclosing_class(call)
    if cls is not None and plan.analysis.derives(cls, "chainer.Link"):
        return True
    function = plan.source.enclosing(call, ast.FunctionDef, ast.AsyncFunctionDef)
    return function is not None and any(
        isinstance(n, ast.Name) and plan.analysis.kind(n) in (XP, EITHER) for n in ast.walk(function))
