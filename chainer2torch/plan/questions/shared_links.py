"""Links and parameters that a model has in several places: an embedding that encoder and decoder register.

Chainer's ``params()`` gives such a parameter once for each place, so an optimizer steps it as often in one update, and
the norm of all gradients counts it as often. The optimizers of ``torch.optim`` know it once: the declared difference
``shared-parameters``, which is said where an optimizer gets its model.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import UNKNOWN, Class, Inst, Method, Tensor, options
from chainer2torch.analysis.module_index import ClassInfo, ModuleInfo
from chainer2torch.analysis.source import nodes_of, within
from chainer2torch.plan.questions.link_parts import objects_in

_ADDS = frozenset({"add_link", "append", "insert", "setattr"})
_PARAMETERS = frozenset({"W", "b", "gamma", "beta"})
_COPIES = frozenset({"copy", "deepcopy", "repeat"})
_PLAIN = frozenset({"chainer.Chain", "chainer.ChainList", "chainer.Link", "chainer.Sequential"})
_HOLDERS = ("chainer.Chain", "chainer.ChainList", "chainer.Sequential")

_Key = tuple[object, int]  # a link: its class, and the place that makes it
_Choices = dict[tuple[object, int, str], tuple[ast.expr, object, int]]  # by attribute of a link: what it holds


class _Entry(NamedTuple):
    """One link that another one registers."""

    holder: Inst
    value: ast.expr
    given: ast.expr  # what the maker of the holder gave, where the value is a parameter
    link: Inst


def shares_parameters(analysis: Analysis, module: ModuleInfo) -> bool:
    """Whether a file makes a model that has some parameter in several places, as far as one can see."""
    return module in analysis.once(_files)


def setups(analysis: Analysis, module: ModuleInfo) -> list[ast.Attribute]:
    """The places of a file where an optimizer gets its model: ``optimizer.setup`` of what is one for sure."""
    return [node for node in _setups(module) if _is_optimizer(analysis, node.value)]


def hides_setups(analysis: Analysis, module: ModuleInfo) -> bool:
    """Whether something that may be an optimizer gets a model in a file: nothing could be said there."""
    return any(not (kinds := options(analysis.kind(node.value))) or UNKNOWN in kinds for node in _setups(module))


def _setups(module: ModuleInfo) -> list[ast.Attribute]:
    found = module.source.of(ast.Attribute) if "setup" in module.source.text else ()
    return [node for node in found if isinstance(node, ast.Attribute) and node.attr == "setup"]


def _is_optimizer(analysis: Analysis, node: ast.expr) -> bool:
    kinds = options(analysis.kind(node))
    return bool(kinds) and all(isinstance(k, Inst) and analysis.derives(k.cls, "chainer.Optimizer") for k in kinds)


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
    places: dict[int, dict[tuple[ast.expr, int], list[_Choices]]] = {}
    had: set[int] = set()
    entries = _entries(analysis, root)
    ways = _ways(analysis, root, entries)
    for entry in entries:
        site = entry.link.site
        if site and _has_parameters(analysis, entry.link):
            # what the holder makes itself is another one in each of its objects
            at = entry.holder.site if entry.given is not entry.value else 0
            places.setdefault(site, {}).setdefault((entry.value, at), []).append(_way_to(analysis, entry, ways)[0])
            if isinstance(entry.given, (ast.Name, ast.Attribute)) and not _of_temporary(analysis, entry.given):
                had.add(site)
    several = {site for site in had if _meet([*places[site].values()])}
    return bool(several - analysis.once(_copied))


def _of_temporary(analysis: Analysis, given: ast.expr) -> bool:
    """Whether a link is taken out of an object that is made there and held nowhere: ``self.mlp = Update(3).mlp``."""
    made = given.value if isinstance(given, ast.Attribute) else None
    return isinstance(made, ast.Call) and all(isinstance(k, Class) for k in options(analysis.kind(made.func)))


def _meet(places: list[list[_Choices]]) -> bool:
    """Whether one model can have a link in two of these places: they are no alternatives of one attribute."""
    pairs = ((a, b) for i, one in enumerate(places) for other in places[:i] for a in one for b in other)
    return any(all(b.get(attribute, held) == held for attribute, held in a.items()) for a, b in pairs)


def _entries(analysis: Analysis, root: Inst) -> list[_Entry]:
    """Everything that a model and the links in it register; each link is asked once."""
    holders, found = {(root.cls, root.site): root}, []
    for holder in (waiting := [root]):
        for value, given in _registered(analysis, holder):
            for link in objects_in(analysis.kind(given)):
                if analysis.derives(link.cls, "chainer.Link"):
                    found.append(_Entry(holder, value, given, link))
                    if (link.cls, link.site) not in holders:
                        holders[link.cls, link.site] = link
                        waiting.append(link)
    return found


def _ways(analysis: Analysis, root: Inst, entries: list[_Entry]) -> dict[_Key, tuple[_Choices, bool]]:
    """What has to be held for a model to have each link, and whether it can have one such link only."""
    found: dict[_Key, tuple[_Choices, bool]] = {(root.cls, root.site): ({}, True)}
    ends = Counter((entry.link.cls, entry.link.site) for entry in entries)
    for entry in entries:
        key = (entry.link.cls, entry.link.site)
        if key not in found:
            found[key] = _way_to(analysis, entry, found) if ends[key] == 1 else ({}, False)
    return found


def _way_to(analysis: Analysis, entry: _Entry, ways: dict[_Key, tuple[_Choices, bool]]) -> tuple[_Choices, bool]:
    choices, alone = ways[entry.holder.cls, entry.holder.site]
    name = _attribute(analysis, entry.value)
    if not alone or not name:
        return choices, False
    held = (entry.value, entry.link.cls, entry.link.site)
    return {**choices, (entry.holder.cls, entry.holder.site, name): held}, True


def _attribute(analysis: Analysis, value: ast.expr) -> str:
    """The attribute that holds one link at a time: ``self.name = link``, ``Chain(name=link)``; "": it is none."""
    module = analysis.module_of(value)
    parent = module.source.parents[value] if module is not None else None
    if isinstance(parent, ast.keyword):
        return parent.arg or ""
    targets = parent.targets if isinstance(parent, ast.Assign) else []
    return targets[0].attr if len(targets) == 1 and isinstance(targets[0], ast.Attribute) else ""


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
        known_values = analysis.once(_values_of_classes)
        if cls not in known_values:
            known_values[cls] = list(_values(analysis, cls.node))
        for value in known_values[cls]:
            known = isinstance(value, ast.Name) and value.id in names
            yield value, arguments.get(value.id, value) if known and isinstance(value, ast.Name) else value


def _values_of_classes(_: Analysis) -> dict[ClassInfo, list[ast.expr]]:
    """What classes register, as far as somebody has asked."""
    return {}


def _values(analysis: Analysis, cls: ast.ClassDef) -> Iterator[ast.expr]:
    """What the methods of a class register."""
    for node in within(cls).of(ast.With, ast.Call):
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


__all__ = ["hides_setups", "setups", "shares_parameters"]
