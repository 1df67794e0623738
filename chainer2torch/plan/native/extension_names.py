"""Names of evaluators: Chainer calls the second one that has none `validation_1`, and the manager `None_1`.

trainer.extend(Evaluator(seen, model))           trainer.extend(Evaluator(seen, model), name='validation')
trainer.extend(Evaluator(unseen, model))         trainer.extend(Evaluator(unseen, model), name='validation')

The names stand in front of the keys in the log.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.kinds import Const, Inst, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import AddKeyword
from chainer2torch.plan.native.calls import bound_extend
from chainer2torch.plan.native.objects import Objects, Use
from chainer2torch.plan.native.programs import EVALUATOR, TRAINER

_DEFAULT = "validation"


def emit(objects: Objects, context: Context, decisions: Decisions) -> None:
    """The names in the calls of this file, for Trainers that have more than one evaluator of a name."""
    for call, name in objects.once(_named).items():
        if call in context.source.parents:
            decisions.edit(call, AddKeyword(context.source.span(call), "name", repr(name)))


def _named(objects: Objects) -> dict[ast.Call, str]:
    """The calls of ``extend`` that need a name, for all files."""
    found: dict[ast.Call, str] = {}
    for uses in objects.uses.values():
        if not objects.analysis.derives(uses[0].inst.cls, TRAINER):
            continue
        by_name: dict[str, list[Use]] = {}
        for use in uses:
            for name in _unnamed(objects, use):
                by_name.setdefault(name, []).append(use)
        for name, extended in by_name.items():
            calls = {use.call: use for use in extended if use.call is not None}
            if len(calls) > 1 or any(map(_is_repeated, calls.values())):
                found |= dict.fromkeys(calls, name)
    return found


def _unnamed(objects: Objects, use: Use) -> Iterator[str]:
    """The name that Chainer would give an evaluator for which the program has none."""
    bound = bound_extend(use.call) if use.member == "extend" and use.call is not None else None
    if bound is None or "name" in bound:
        return
    kinds = options(use.context.kind(bound["extension"]))
    names = {_default_name(objects, kind) for kind in kinds}
    if len(names) == 1:
        yield from (name for name in names if name)


def _default_name(objects: Objects, kind: object) -> str:
    """The ``default_name`` of an evaluator; "" where it has a name of its own, or is none."""
    if not isinstance(kind, Inst) or not objects.analysis.derives(kind.cls, EVALUATOR):
        return ""
    if any(
        use.member == "name" and not isinstance(getattr(use.parent, "ctx", None), ast.Load)
        for use in objects.uses_of(kind)
    ):
        return ""
    for owner in objects.analysis.mro(kind.cls):
        if isinstance(owner, ClassInfo):
            if "name" in owner.attrs or "name" in owner.methods or "default_name" in owner.methods:
                return ""
            own = owner.attrs.get("default_name")
            if own is not None:
                return own.value if isinstance(own, Const) and isinstance(own.value, str) else ""
    return _DEFAULT


def _is_repeated(use: Use) -> bool:
    """Whether a statement may run more than once for one Trainer."""
    return use.context.source.enclosing(use.node, ast.For, ast.While) is not None


__all__ = ["emit"]
