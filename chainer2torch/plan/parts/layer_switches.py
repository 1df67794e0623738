"""``block.train = False`` on a layer of Chainer's that had such a switch in version 1: the module's own mode."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Inst, options
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import ReplaceStatement

# Up to version 1.24; since version 2 the configuration says the mode, and the attribute means nothing.
_WITH_SWITCH = frozenset({"chainer.links.InceptionBN", "chainer.links.StatefulZoneoutLSTM"})
_CODE = "C2T204"
_UNSURE = "read as version 1 of Chainer, where this sets the mode of the layer; since version 2 it does nothing"


def is_switch(context: Context, decisions: Decisions, node: ast.Attribute) -> bool:
    """Decides on ``layer.train`` if the layer has this switch, whichever it may be; gives whether it does.

    An assignment of its own (``layer.train = value``) and a read become PyTorch's; any other is asked for. Files of
    version 2 and later are not concerned.
    """
    if node.attr != "train" or context.era not in (1, None):
        return False
    kinds = options(context.analysis.kind(node.value))
    found = {k.cls for k in kinds if isinstance(k, Inst) and isinstance(k.cls, str)}
    if not found or len(found) != len(kinds) or not found <= _WITH_SWITCH:
        return False
    parent, layer = context.source.parents.get(node), context.operand(node.value)
    row, state = context.rules.rows[min(found)], "exact" if context.era == 1 else "review"
    if isinstance(node.ctx, ast.Load):
        if isinstance(parent, ast.Call) and parent.func is node:
            return False
        decisions.replace(node, "layer.training", {"layer": layer})
    elif isinstance(parent, ast.Assign) and parent.targets == [node]:
        operands = {"layer": layer, "value": context.operand(parent.value)}
        decisions.edit(parent, ReplaceStatement(context.source.start(parent), "layer.train(value)", operands))
    else:
        state = "manual"
    message = {"review": _UNSURE, "manual": "in version 1 this sets the mode: write `.train(value)`"}.get(state, "")
    decisions.mark(node, row, row.name, state, message, _CODE)
    return True
