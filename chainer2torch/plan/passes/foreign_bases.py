"""Classes that are built like chains on a base that nobody sees: one of a package that is not in the project.

Their layers become torch's all the same; the base, if it is Chainer's, does not take them. A person has to see to it.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Class, Inst, Ref, Unknown, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.overridden_methods import is_super

_MESSAGE = (
    "a base that is not in this project, of a class that is built as a chain ({}): if it is one, migrate its package, "
    "too, or write nn.Module"
)
# what a class does that is a Chain, and nothing else
_OF_CHAINS = frozenset({"init_scope", "add_link", "add_param", "add_persistent", "register_persistent"})


def run(context: Context) -> Decisions:
    """Marks the bases of such classes."""
    decisions = Decisions(context)
    if not context.imports_chainer:
        return decisions
    for node in context.source.of(ast.ClassDef):
        assert isinstance(node, ast.ClassDef)
        cls = context.analysis.classes.get(node)
        if cls is None or context.analysis.derives(cls, "chainer.Link"):
            continue
        base = next((base for base in node.bases if _is_foreign(context, base)), None)
        if base is not None and (sign := _built_as_a_chain(context, cls)):
            decisions.mark(base, None, "chainer.Chain", "manual", _MESSAGE.format(sign), "C2T200")
    return decisions


def _is_foreign(context: Context, base: ast.expr) -> bool:
    """Whether a base, or one of its own, is named and may be any class."""
    if not isinstance(base, (ast.Name, ast.Attribute)):
        return False  # `six.with_metaclass(ABCMeta, chainer.Chain)`
    kinds = options(context.analysis.kind(base))
    above = [c for kind in kinds if isinstance(kind, Class) for c in context.analysis.mro(kind.info)]
    return any(map(_may_be_any, kinds)) or any(
        isinstance(one, (ast.Name, ast.Attribute)) and any(map(_may_be_any, options(context.analysis.kind(one))))
        for cls in above
        if isinstance(cls, ClassInfo)
        for one in cls.node.bases
    )


def _may_be_any(kind: object) -> bool:
    if isinstance(kind, Ref):
        return kind.name.partition(".")[0] not in ("torch", "builtins", "chainer")
    return isinstance(kind, Unknown)


def _built_as_a_chain(context: Context, cls: ClassInfo) -> str:
    """What a class does that a chain does alone; empty where it does no such thing."""
    for method in cls.methods.values():
        arguments = method.node.args.args if isinstance(method.node, ast.FunctionDef) else []
        for call in nodes_of(method.node) if arguments else ():
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
                continue
            owner, name = call.func.value, call.func.attr
            if isinstance(owner, ast.Name) and owner.id == arguments[0].arg and name in _OF_CHAINS:
                return f"`{name}`"
            if name == "__init__" and is_super(owner) and any(_is_layer(context, k) for k in call.keywords):
                return "its constructor is handed layers"
    return ""


def _is_layer(context: Context, keyword: ast.keyword) -> bool:
    kinds = options(context.kind(keyword.value)) if keyword.arg is not None else ()
    return any(isinstance(kind, Inst) and context.analysis.is_link(kind) for kind in kinds)
