"""``super().__init__(l1=L.Linear(...))`` of version 1: whose constructor that is, and which links get a line each."""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Class, Ref, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.overridden_methods import is_super

_WITHOUT_CONSTRUCTOR = frozenset({"abc.ABC", "builtins.object"})


def next_constructor(context: Context, cls: ClassInfo) -> str | ClassInfo | None:
    """The class whose constructor ``super().__init__()`` calls; None: not always the same."""
    mixed = cls in context.analysis.mixed
    users = (
        [
            user
            for user in context.analysis.classes.values()
            if context.analysis.derives(user, "chainer.Link")
            and user not in context.analysis.mixed
            and cls in context.analysis.mro(user)
        ]
        if mixed
        else [cls]
    )
    found = set()
    for user in users:
        order = context.analysis.mro(user)
        found.add(
            next(
                (
                    k
                    for k in order[order.index(cls) + 1 :]
                    if k not in _WITHOUT_CONSTRUCTOR and (isinstance(k, str) or "__init__" in k.methods)
                ),
                None,
            )
        )
    return found.pop() if len(found) == 1 else None


def is_given_links(context: Context, cls: ClassInfo) -> bool:
    """Whether a class takes its links from its callers: it has no constructor, and some call passes keywords."""
    return cls in context.analysis.once(_called_with_keywords)


def _called_with_keywords(analysis: Analysis) -> frozenset[ClassInfo]:
    """Classes without a constructor, up to the Chain that they derive from, that some call gives keywords."""
    found = set()
    for module in analysis.project.modules.values():
        for call in module.source.of(ast.Call):
            if not call.keywords:
                continue
            for kind in options(analysis.kind(call.func)):
                order = analysis.mro(kind.info) if isinstance(kind, Class) else []
                own = [k for k in order if isinstance(k, ClassInfo)]
                if "chainer.Chain" in order and not any("__init__" in k.methods for k in own):
                    found.update(own)
    return frozenset(found)


def takes_no_more(node: ast.Call, explicit: bool, is_chain: bool) -> bool:
    """Whether a constructor gets nothing but keywords; ``explicit``: `chainer.Chain.__init__(self, ...)`."""
    # `*args` that are handed on: a Chain takes none
    passed_on = not explicit and is_chain and all(isinstance(a, ast.Starred) for a in node.args)
    return len(node.args) == explicit or passed_on


def called_from(context: Context, cls: ClassInfo, receiver: ast.expr) -> ClassInfo:
    """The class behind which a call of ``super()`` in ``cls`` looks: ``super(Base, self)`` leaves out what Base has."""
    if is_super(receiver) and isinstance(receiver, ast.Call) and receiver.args:
        named = context.kind(receiver.args[0])
        if isinstance(named, Class) and named.info in context.analysis.mro(cls):
            return named.info
    return cls


def constructor_called(context: Context, cls: ClassInfo, function: ast.Attribute) -> str | ClassInfo | None:
    """The class whose constructor a call in ``cls`` reaches.

    The one that is named, ``chainer.Chain.__init__(self)``, whatever stands between, or the next behind ``super()``.
    """
    if is_super(function.value):
        return next_constructor(context, called_from(context, cls, function.value))
    named = context.kind(function.value)
    if isinstance(named, Class):
        return named.info if "__init__" in named.info.methods else next_constructor(context, named.info)
    reference = context.reference(function)
    return reference.removesuffix(".__init__") if reference is not None else None


def constructor_left_out(context: Context, cls: ClassInfo, function: ast.Attribute) -> str | None:
    """The link of Chainer's that ``cls`` derives from and whose constructor a call in ``cls`` goes past.

    ``super(L.Linear, self).__init__()`` and ``chainer.Link.__init__(self)`` in a class on L.Linear.
    """
    order = context.analysis.mro(cls)
    above = next((k for k in order if isinstance(k, str) and k.startswith("chainer.links.")), None)
    if above is None:
        return None
    receiver = function.value
    if not is_super(receiver):
        return above if context.reference(function) in ("chainer.Link.__init__", "chainer.Chain.__init__") else None
    named = context.kind(receiver.args[0]) if isinstance(receiver, ast.Call) and receiver.args else None
    return above if isinstance(named, Ref) and named.name == above else None


def is_assigned_by_constructor(context: Context, call: ast.Call) -> bool:
    """Whether a call makes a link that the constructor of a Chain is given by keyword, and that a line assigns then."""
    keyword = context.source.parents.get(call)
    node = context.source.parents.get(keyword) if isinstance(keyword, ast.keyword) and keyword.arg else None
    cls = context.enclosing_class(call)
    if (
        cls is None
        or not isinstance(node, ast.Call)
        or not isinstance(node.func, ast.Attribute)
        or node.func.attr != "__init__"
        or not isinstance(context.source.parents.get(node), ast.Expr)
        or any(k.arg is None for k in node.keywords)
    ):
        return False
    explicit = not is_super(node.func.value)
    init = cls.methods.get("__init__")
    return (
        init is not None
        and context.source.enclosing(node, ast.FunctionDef) is init.node
        and constructor_called(context, cls, node.func) == "chainer.Chain"
        and takes_no_more(node, explicit, True)
    )
