"""Signatures that a program asks links for: ``inspect.signature(link)`` is that of ``link.forward`` now.

The ``__call__`` of a torch module takes anything, so that ``'test' in inspect.signature(block).parameters`` would be
False without a word.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Inst, Ref, Unknown, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.called_methods import keeping_call

_ASKING = frozenset(f"inspect.{name}" for name in ("getargspec", "getcallargs", "getfullargspec", "signature"))
_OF_FUNCTIONS = frozenset({"__code__", "__defaults__", "__kwdefaults__"})
_CALLED = ("__call__", "forward")
_CODE = "C2T200"
_OF_A_LAYER = "torch's layer has other arguments than the link whose signature was asked for"
_UNKNOWN = "of a link this was the signature of its `__call__`, and a module of torch takes anything: ask its `forward`"


def run(context: Context) -> Decisions:
    """Lets a program ask the method that has the signature, or marks where nobody knows what is asked."""
    decisions = Decisions(context)
    if not context.beside_chainer:
        return decisions
    for call in context.source.of(ast.Call):
        function = context.kind(call.func)
        if isinstance(function, Ref) and function.name in _ASKING and call.args:
            _asked(context, decisions, call, function.name)
    for node in context.source.of(ast.Attribute):
        if node.attr in _OF_FUNCTIONS and _is_call_of_a_link(context, node.value):
            _ask_forward(context, decisions, node.value)
    return decisions


def _asked(context: Context, decisions: Decisions, call: ast.Call, function: str) -> None:
    argument = call.args[0]
    if _is_call_of_a_link(context, argument):
        _ask_forward(context, decisions, argument)
        return
    kinds = options(context.kind(argument))
    links = [kind for kind in kinds if isinstance(kind, Inst) and context.analysis.is_link(kind)]
    if links and len(links) == len(kinds) and all(_keeps_call(context, kind) for kind in links):
        return
    if len(links) == len(kinds) and all(_is_own(context, kind) for kind in links):
        decisions.wrap(argument, "value.forward")
    elif links or any(isinstance(kind, Unknown) for kind in kinds):
        if not any(f" {function}: " in line for line in context.comments_above(call)):
            message = _OF_A_LAYER if len(links) == len(kinds) else _UNKNOWN
            decisions.mark(argument, None, function, "review", message, _CODE)


def _is_call_of_a_link(context: Context, node: ast.expr) -> bool:
    """``link.__call__`` of a link of the project."""
    if not isinstance(node, ast.Attribute) or node.attr != "__call__":
        return False
    kinds = options(context.kind(node.value))
    return all(isinstance(k, Inst) and _is_own(context, k) and not _keeps_call(context, k) for k in kinds)


def _keeps_call(context: Context, kind: Inst) -> bool:
    """Whether what a link is called with is still said by its `__call__`."""
    kept = context.analysis.once(keeping_call)
    return isinstance(kind.cls, ClassInfo) and any(cls in kept for cls in context.analysis.mro(kind.cls))


def _is_own(context: Context, kind: Inst) -> bool:
    """Whether a class of the project says what a link is called with."""
    classes = context.analysis.mro(kind.cls) if isinstance(kind.cls, ClassInfo) else []
    own = any(isinstance(cls, ClassInfo) and cls.methods.keys() & set(_CALLED) for cls in classes)
    return own and context.analysis.is_link(kind)


def _ask_forward(context: Context, decisions: Decisions, node: ast.expr) -> None:
    assert isinstance(node, ast.Attribute)
    decisions.replace(node, "receiver.forward", {"receiver": context.operand(node.value)})
