"""Methods of Chainer's on values whose kind is not known: never rewritten on a guess, never passed over in silence."""
from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from chainer2torch.analysis.kinds import UNKNOWN

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
