"""The bases of a program's own extensions, iterators, updaters and optimizers that keep Chainer's form.

One whose ``serialize`` says what is saved gets a base that asks it. Where that method looks at what it is given
(``isinstance(serializer, chainer.Serializer)``), the faithful base gives it what it looks for.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import MappingProxyType

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Ref, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.project_rules import has_short_optimizers
from chainer2torch.plan.parts.serializing import loads_test
from chainer2torch.plan.questions import own_rules

# Chainer's base, the faithful one, and the light one of those that serialize; "": the row of the base has it
_BASES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "chainer.training.Extension": ("compat.Extension", "native.SavedExtension"),
        "chainer.dataset.Iterator": ("compat.Iterator", ""),
        "chainer.training.updaters.Updater": ("compat.Updater", ""),
    }
)
_OPTIMIZERS: Mapping[str, str] = MappingProxyType(
    {own_rules.METHOD: "native.GradientMethod", own_rules.ADAM: "native.RuledAdam"}
)
_OLD_RATE = "updates ask it for `alpha_t`; up to version 5 of Chainer they asked for `lr`: rename that if it is meant"
_LOG = "chainer.training.extensions.LogReport"
_ASKED = frozenset({"chainer.Serializer", "chainer.Deserializer", "chainer.AbstractSerializer"})


def emit(context: Context, decisions: Decisions) -> None:
    """The bases of this file's classes that say what is saved of them, and of its optimizers."""
    _emit_optimizers(context, decisions)
    _emit_tests(context, decisions)
    for node in context.source.of(ast.ClassDef):
        info = context.analysis.classes.get(node)
        for base in node.bases if info is not None and _serializes(context, info) else ():
            symbol = context.reference(base)
            if symbol is not None and symbol in _BASES and context.kind(base) == Ref(symbol):
                assert info is not None
                text = _BASES[symbol][0 if _asks(context, info) else 1]
                if text:
                    decisions.replace(base, text, {})
                    decisions.use(base)
                    decisions.mark(base, context.rules.rows[symbol], symbol, "exact")


def _emit_optimizers(context: Context, decisions: Decisions) -> None:
    """Chainer's base is the short one of all optimizers in ``isinstance``; one with rules of its own has another."""
    if not has_short_optimizers(context.analysis, context.module):
        return
    for node in context.source.of(ast.ClassDef):
        info = context.analysis.classes.get(node)
        for base in node.bases:
            symbol = context.reference(base)
            if symbol is not None and symbol in _OPTIMIZERS and context.kind(base) == Ref(symbol):
                old = info is not None and own_rules.updates_itself(context.analysis, info)
                _put(context, decisions, base, symbol, "native.OldGradientMethod" if old else _OPTIMIZERS[symbol])
            if symbol == own_rules.RULE and info is not None and own_rules.has_old_rate(info):
                decisions.replace(base, "native.AdamRule", {})
                decisions.use(base)
                decisions.mark(base, context.rules.rows[symbol], symbol, "review", _OLD_RATE)


def _emit_tests(context: Context, decisions: Decisions) -> None:
    """``isinstance(x, LogReport)`` of one that was made by its own class: that is pytorch-pfn-extras'."""
    if context.analysis.once(_logs_itself):
        return
    for call in context.source.of(ast.Call):
        asks = isinstance(call.func, ast.Name) and call.func.id == "isinstance" and len(call.args) == 2
        if asks and context.reference(call.args[1]) == _LOG and context.kind(call.args[1]) == Ref(_LOG):
            _put(context, decisions, call.args[1], _LOG, "pytorch_pfn_extras.training.extensions.LogReport")


def _logs_itself(analysis: Analysis) -> bool:
    """Whether a project has a class of its own on Chainer's log."""
    return any(analysis.derives(cls, _LOG) for cls in analysis.classes.values())


def _put(context: Context, decisions: Decisions, node: ast.expr, symbol: str, text: str) -> None:
    decisions.replace(node, text, {})
    decisions.use(node)
    decisions.mark(node, context.rules.rows[symbol], symbol, "exact")


def _serializes(context: Context, cls: ClassInfo) -> bool:
    """Whether a class, or one that derives from it, has a method ``serialize``."""
    return any("serialize" in c.methods for c in (cls, *context.analysis.heirs(cls)))


def _asks(context: Context, cls: ClassInfo) -> bool:
    """Whether a method ``serialize`` asks what kind of serializer it is given."""
    analysis = context.analysis
    return any(
        isinstance(kind, Ref) and kind.name in _ASKED
        for other in (cls, *analysis.heirs(cls))
        if "serialize" in other.methods
        for node in nodes_of(other.methods["serialize"].node)
        if isinstance(node, (ast.Name, ast.Attribute)) and not _asks_itself(context, node)
        for kind in options(analysis.kind(node))
    )


def _asks_itself(context: Context, node: ast.AST) -> bool:
    """Whether the test becomes a question to the serializer, be it in another file."""
    module = context.analysis.module_of(node)
    return module is not None and loads_test(module.source, node) is not None


__all__ = ["emit"]
