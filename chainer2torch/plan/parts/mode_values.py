"""Functions that depend on the mode, passed on as values: ``self.layers = [self.fc, F.dropout]``."""

from __future__ import annotations

import ast

from chainer2torch.analysis.facts import Facts
from chainer2torch.analysis.kinds import Ref, options
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand
from chainer2torch.plan.native.train_flags import are_compared, asks, is_value, module_flag, train_flags
from chainer2torch.rules.table import Row

_DROPOUT = "chainer.functions.dropout"
_OF_CHAINER = ("ratio", "mask", "return_mask")


def emit_in_mode(context: Context, decisions: Decisions, node: ast.expr, row: Row) -> bool:
    """In a method of a module the function is bound to the mode of the module; gives whether it was.

    The object keeps the module, and asks it when it is called: so it is right after ``eval()``, and when the module is
    copied together with it.
    """
    analysis, source = context.analysis, context.source
    if context.choices.style != "native" or not asks(analysis, row.name) or not is_value(analysis, source, node):
        return False
    old = context.rules.old.get(row.name)
    if old is not None and context.version <= old.until or analysis.once(train_flags).in_switched(source):
        return False
    place = module_flag(analysis, source, node)
    if not isinstance(place, str) or analysis.once(are_compared):
        return False
    function = row.value or ""
    if row.name == _DROPOUT and not analysis.once(_says_ratio):
        function = "torch.nn.functional.dropout"
    module = {"module": Operand(code=place.rpartition(".")[0])}
    decisions.replace(node, f"native.in_mode_of(module, {function})", module)
    decisions.use(node)
    decisions.mark(node, row, row.name, row.state, row.note)
    return True


def _says_ratio(analysis: Facts) -> bool:
    """Whether something that may be such a value is called, or bound, with a keyword that torch's dropout has not."""
    return any(
        keyword.arg in _OF_CHAINER
        for module in analysis.project.modules.values()
        for call in module.source.of(ast.Call)
        if call.keywords and Ref(_DROPOUT) not in options(analysis.kind(call.func))
        for keyword in call.keywords
    )
