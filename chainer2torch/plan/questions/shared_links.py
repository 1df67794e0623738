"""Links and parameters that a model has in several places: an embedding that encoder and decoder register.

Chainer's ``params()`` gives such a parameter once for each place, so an optimizer steps it as often in one update, and
the norm of all gradients counts it as often. The optimizers of ``torch.optim`` know it once.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Inst, Method, Tensor, options
from chainer2torch.analysis.module_index import ClassInfo, ModuleInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.questions.link_parts import objects_in

_ADDS = frozenset({"add_link", "append", "insert", "setattr"})
_PARAMETERS = frozenset({"W", "b", "gamma", "beta"})
_COPIES = frozenset({"copy", "deepcopy", "repeat"})
_PLAIN = frozenset({"chainer.Chain", "chainer.ChainList", "chainer.Link", "chainer.Sequential"})
_HOLDERS = ("chainer.Chain", "chainer.ChainList", "chainer.Sequential")


def shares_parameters(analysis: Analysis, module: ModuleInfo) -> bool:
    """Whether a file makes a model that has some parameter in several places, as far as one can see."""
    return module in analysis.once(_files)


def _files(analysis: Analysis) -> frozenset[ModuleInfo]:
    found = {cls.module for cls in analysis.classes.values() if _has_twice(analysis, cls)}
    for module in analysis.project.modules.values():
        if any(_ties(analysis, node) for node in module.source.of(ast.Assign)):
            found.add(module)
        for call in module.source.of(ast.Call):
            made = analysis.kind(call)
            if isinstance(made, Inst) and made.cls in _HOLDERS and _twice(analysis, made):
                found.add(module)
    return frozenset(found)


def _ties(analysis: Analysis, node: ast.AST) -> bool:
    """``self.out.W = self.embed.W``: one parameter under two names."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, (ast.Name, ast.Attribute)):
        return False
    kind = analysis.kind(node.value)
    tied = isinstance(kind, Tensor) and not kind.array
    return tied and any(
        isinstance(t, ast.Attribute) and t.attr in _PARAMETERS and _is_layer(analysis, t.value) for t in node.targets
    )


def _is_layer(analysis: Analysis, node: ast.expr) -> bool:
    """Whether a value may be a layer of Chainer's: others register a parameter in their ``init_scope`` only."""
    return any(
        isinstance(k, Inst)
        and isinstance(k.cls, str)
        and k.cls not in _PLAIN
        and analysis.derives(k.cls, "chainer.Link")
        for k in options(analysis.kind(node))
    )


def _has_twice(analysis: Analysis, cls: ClassInfo) -> bool:
    return analysis.derives(cls, "chainer.Link") and _twice(analysis, Inst(cls))


def _twice(analysis: Analysis, root: Inst) -> bool:
    """Whether a link is registered in several places of a model, by a name that it had before in one of them."""
    places: dict[int, set[tuple[ast.expr, int]]] = {}
    had: set[int] = set()
    seen: set[tuple[object, int]] = set()
    waiting = [root]
    while waiting:
        holder = waiting.pop()
        if (holder.cls, holder.site) in seen:
            continue
        seen.add((holder.cls, holder.site))
        for value, given in _registered(analysis, holder):
            for link in objects_in(analysis.kind(given)):
                if not analysis.derives(link.cls, "chainer.Link"):
                    continue
                waiting.append(link)
                if link.site and _has_parameters(analysis, link):
                    # what the holder makes itself is another one in each of its objects
                    at = holder.site if given is not value else 0
                    places.setdefault(link.site, set()).add((value, at))
                    if isinstance(given, (ast.Name, ast.Attribute)):
                        had.add(link.site)
    several = {site for site, found in places.items() if len(found) > 1 and site in had}
    return bool(several - analysis.once(_copied))


def _copied(analysis: Analysis) -> frozenset[int]:
    """The links that are copied: what is registered may be a copy."""
    found: set[int] = set()
    for module in analysis.project.modules.values():
        for call in module.source.of(ast.Call):
            function = call.func
            name = getattr(function, "attr", getattr(function, "id", ""))
            if name in _COPIES:
                of = [*call.args[:1], *([function.value] if isinstance(function, ast.Attribute) else [])]
                found |= {link.site for value in of for link in objects_in(analysis.kind(value))}
    return frozenset(found)


def _has_parameters(analysis: Analysis, link: Inst) -> bool:
    """Whether a link has something that it registers, as layers of Chainer's do."""
    return isinstance(link.cls, str) or next(_registered(analysis, link), None) is not None


def _registered(analysis: Analysis, holder: Inst) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What a link registers: the expression, and the one that its maker gave where that is a parameter."""
    maker = analysis.makers.get(holder.site)
    if isinstance(holder.cls, str):
        given = [*maker.args, *(k.value for k in maker.keywords)] if maker is not None else []
        yield from ((value, value) for value in given)
        return
    for cls in analysis.mro(holder.cls):
        if not isinstance(cls, ClassInfo):
            continue
        init = cls.methods.get("__init__")
        names = [a.arg for a in init.node.args.args[1:]] if init is not None else []
        arguments = dict(zip(names, maker.args)) if maker is not None else {}
        arguments |= {k.arg: k.value for k in maker.keywords if k.arg} if maker is not None else {}
        for value in _values(analysis, cls.node):
            known = isinstance(value, ast.Name) and value.id in names
            yield value, arguments.get(value.id, value) if known and isinstance(value, ast.Name) else value


def _values(analysis: Analysis, cls: ast.ClassDef) -> Iterator[ast.expr]:
    """What the methods of a class register."""
    for node in nodes_of(cls):
        if isinstance(node, ast.With) and any(
            isinstance(n, ast.Attribute) and n.attr == "init_scope" for i in node.items for n in nodes_of(i)
        ):
            for inner in (n for statement in node.body for n in nodes_of(statement)):
                if isinstance(inner, ast.Assign) and any(isinstance(t, ast.Attribute) for t in inner.targets):
                    yield inner.value
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in _ADDS and _is_to_link(analysis, node):
                yield from node.args[-1:]
            elif name == "__init__" and _is_chainers(analysis, node.func):
                yield from (*node.args, *(k.value for k in node.keywords))


def _is_to_link(analysis: Analysis, call: ast.Call) -> bool:
    """Whether something is added to a link, and to no list."""
    to = call.func.value if isinstance(call.func, ast.Attribute) else call.args[0] if call.args else call
    return analysis.is_link(analysis.kind(to))


def _is_chainers(analysis: Analysis, function: ast.expr) -> bool:
    """Whether an ``__init__`` is that of Chainer's class, which registers what it gets."""
    kind = analysis.kind(function)
    receivers = options(kind.receiver) if isinstance(kind, Method) else ()
    return any(isinstance(k, Inst) and isinstance(k.cls, str) for k in receivers)


__all__ = ["shares_parameters"]
