"""``finalize`` of extensions of the program's own: Chainer calls it without an argument, a manager gives itself.

Chainer calls it also when an exception ends the training, a manager only behind its last iteration: then the loop
stands in a ``try``.

def finalize(self):                              def finalize(self, manager=None):
    super().finalize()                               super().finalize(manager)
    self.file.close()                                self.file.close()
"""

from __future__ import annotations

import ast
import textwrap

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import AddParameter
from chainer2torch.plan.questions.overridden_methods import is_super

_NAME = "finalize"
_MANAGER = "manager"
_BASE = "chainer.training.Extension"
EVALUATOR = "chainer.training.extensions.Evaluator"


def _gets_none(cls: ClassInfo) -> ast.FunctionDef | None:
    """The method of a class that takes nothing but the object."""
    method = cls.methods.get(_NAME)
    if method is None or not isinstance(method.node, ast.FunctionDef):
        return None
    a = method.node.args
    return method.node if len(a.args) == 1 and not (a.posonlyargs or a.vararg or a.kwonlyargs or a.kwarg) else None


def is_unclear(cls: ClassInfo) -> bool:
    """Whether a method of this name can neither be given a manager nor be handed a parameter for it."""
    method = cls.methods.get(_NAME)
    if method is None:
        return False
    node = _gets_none(cls)
    if node is None:
        return len(method.node.args.args) < 2
    names = {n.id for n in nodes_of(node) if isinstance(n, ast.Name)}
    return bool(node.decorator_list) or _MANAGER in names


def emit(context: Context, decisions: Decisions, base: str = _BASE) -> None:
    """The parameter of the methods in this file, and what they hand on to those that they override.

    ``base`` is that of the classes that are looked at.
    """
    for definition in context.source.of(ast.ClassDef):
        cls = context.analysis.classes.get(definition)
        if cls is None or not context.analysis.derives(cls, base):
            continue
        node = _gets_none(cls)
        if node is None:
            continue
        decisions.edit(node, AddParameter(context.source.start(node), _MANAGER, "None"))
        for call in nodes_of(node):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == _NAME:
                if is_super(call.func.value) and not call.args and not call.keywords:
                    operands = {"CALLEE": context.operand(call.func)}
                    decisions.replace(call, f"CALLEE({_MANAGER})", operands)


def in_any_case(context: Context, loop: str) -> str:
    """The statements that train, behind which the extensions are finalized where an exception ends them, too."""
    if not loop.startswith(("for ", "while ")) or not context.analysis.once(_say_what_ends):
        return loop
    return f"try:\n{textwrap.indent(loop, '    ')}finally:\n    MANAGER.finalize()\n"


def _say_what_ends(analysis: Analysis) -> bool:
    """Whether an extension of the project says itself what is done at the end."""
    own = (cls for cls in analysis.classes.values() if _NAME in cls.methods)
    return any(analysis.derives(cls, _BASE) for cls in own)


__all__ = ["EVALUATOR", "emit", "in_any_case", "is_unclear"]
