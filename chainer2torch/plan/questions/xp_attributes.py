"""The attributes of a project's own classes that hold array modules: ``self.xp = model.xp``.

They become ``self.device`` where every place that reads or sets them has a form (xp_handed.py decides that, with the
parameters). Here is which places belong together: those of one name, on classes that are bases of each other.
A property that gives array modules is such an attribute, too: its ``return`` statements set it (xp_properties.py).
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import NONE, UNKNOWN, Class, Inst, options
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo, ModuleInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.xp_origins import Origin
from chainer2torch.plan.questions.xp_properties import begins_with_none, defined_names, is_module, properties

_BY_TEXT = frozenset({"getattr", "setattr", "hasattr", "delattr"})
_WITH_THEIR_OWN = ("chainer.Link", "chainer.Variable", "chainer.backend.Device", "chainer.Distribution")
Parameter = tuple[FuncInfo | ClassInfo, str]
"""A parameter of a function of the project, or an attribute of a class, which stands for its bases and derived ones."""
_Places = tuple[tuple[ModuleInfo, ast.Attribute], ...]


def places(analysis: Analysis) -> Mapping[ast.Attribute, tuple[Parameter, ...]]:
    """Every place that may read or set such an attribute, with those that it may be. Ask it with ``analysis.once``."""
    found: dict[ast.Attribute, tuple[Parameter, ...]] = {}
    for owner, nodes in analysis.once(by_owner).items():
        for _, node in nodes:
            found[node] = (*found.get(node, ()), owner)
    return found


def new_name(analysis: Analysis, owner: Parameter) -> str:
    """``device``, unless something else in the project is an attribute of this name, or a base may have it."""
    cls, name = owner
    assert isinstance(cls, ClassInfo)
    free = _is_all_visible(analysis, cls) and cls not in analysis.once(_with_devices)
    return "device" if free else f"{name}_device"


def of_attribute(context: Context, node: ast.AST, handed: Collection[Parameter]) -> Origin | None:
    """The device that is read from an attribute; None: the attribute stays an array module, or is none."""
    if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Load):
        return None
    owners = context.analysis.once(places).get(node, ())
    if not owners or not all(owner in handed for owner in owners):
        return None
    if UNKNOWN in options(context.kind(node.value)):
        return Origin(node, "native.device_of(x)", node.value, ((node, f"?.{node.attr}"),))
    return Origin(node, f"x.{new_name(context.analysis, owners[0])}", node.value)


def by_owner(analysis: Analysis) -> Mapping[Parameter, _Places]:
    """The places of each attribute. Ask it with ``analysis.once``."""
    names = {
        node.attr
        for module in analysis.project.modules.values()
        for node in module.source.of(ast.Attribute)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_module(analysis.kind(node))
    }
    given = analysis.once(getters)
    names |= {name for _, name in given}
    if not names:
        return {}
    spoiled = set(_said(analysis, names)) | {
        n
        for cls in analysis.classes.values()
        for n in defined_names(cls)
        if n in names and cls.methods.get(n) not in given.get((_representative(analysis, cls), n), ())
        if begins_with_none(cls, n) is None
    }
    found: dict[Parameter, list[tuple[ModuleInfo, ast.Attribute]]] = {owner: [] for owner in given}
    wrong: set[Parameter] = set()
    unknown: list[tuple[ModuleInfo, ast.Attribute]] = []
    for module in analysis.project.modules.values():
        for node in module.source.of(ast.Attribute):
            if not isinstance(node, ast.Attribute) or node.attr not in names or node.attr in spoiled:
                continue
            if any(
                isinstance(k, Class) and not _is_variable(k.info, node.attr) for k in options(analysis.kind(node.value))
            ):
                spoiled.add(node.attr)  # the property itself: `Model.xp.fget(model)`
            classes, others = _receivers(analysis, node)
            if others and not classes and node.attr == "xp" and isinstance(node.ctx, ast.Load):
                unknown.append((module, node))  # a link, or an object of these classes: `device_of` takes both
            elif others:
                spoiled.add(node.attr)
            owners = {(_representative(analysis, cls), node.attr) for cls in classes}
            if len(owners) > 1 or classes and any(_has_its_own(analysis, cls) for cls in classes):
                wrong |= owners
            for owner in owners:
                found.setdefault(owner, []).append((module, node))
    if unknown and any(name == "xp" and new_name(analysis, (cls, name)) != "device" for cls, name in found):
        spoiled.add("xp")
    return {
        owner: (*nodes, *(unknown if owner[1] == "xp" else ()))
        for owner, nodes in found.items()
        if owner[1] not in spoiled
        and owner not in wrong
        and any(isinstance(n.ctx, ast.Store) for _, n in nodes) is not (owner in given)
    }


def getters(analysis: Analysis) -> Mapping[Parameter, tuple[FuncInfo, ...]]:
    """The properties that give array modules, by the attribute that each stands for. Ask it with ``analysis.once``."""
    found: dict[Parameter, tuple[FuncInfo, ...]] = {}
    for cls, info in properties(analysis):
        owner = (_representative(analysis, cls), info.name)
        found[owner] = (*found.get(owner, ()), info)
    return {
        (cls, name): infos
        for (cls, name), infos in found.items()
        if isinstance(cls, ClassInfo)
        and _is_all_visible(analysis, cls)
        and any(is_module(info.returns) for info in infos)
    }


def given_by(context: Context, statement: ast.Return) -> Parameter | None:
    """The attribute for which a statement is what a property of it gives."""
    return context.analysis.once(_returns).get(statement)


def _returns(analysis: Analysis) -> Mapping[ast.Return, Parameter]:
    return {
        node: owner
        for owner, infos in analysis.once(getters).items()
        for info in infos
        for node in nodes_of(info.node)
        if isinstance(node, ast.Return)
    }


def _receivers(analysis: Analysis, node: ast.Attribute) -> tuple[list[ClassInfo], bool]:
    """The project's own classes that an attribute is read from, and whether it may be an object that nobody knows."""
    kinds = [k for k in options(analysis.kind(node.value)) if k != NONE]
    own = [k.cls for k in kinds if isinstance(k, Inst) and isinstance(k.cls, ClassInfo)]
    own += [k.info for k in kinds if isinstance(k, Class) and _is_variable(k.info, node.attr)]
    own = [cls for cls in own if isinstance(node.ctx, ast.Store) or not _has_its_own(analysis, cls)]
    return own, UNKNOWN in kinds or bool(own) and len(own) < len(kinds)


def _is_variable(cls: ClassInfo, name: str) -> bool:
    """Whether a class itself holds something under a name: ``Config.xp = numpy``, ``xp = None`` in its body."""
    return name not in defined_names(cls) or begins_with_none(cls, name) is not None


def variables(analysis: Analysis, owner: Parameter) -> Iterator[tuple[ModuleInfo, ast.Name]]:
    """The names in ``xp = None`` of the bodies of the classes that share an attribute."""
    cls, name = owner
    for other in _family(analysis, cls) if isinstance(cls, ClassInfo) else ():
        if (node := begins_with_none(other, name)) is not None:
            yield other.module, node


def _has_its_own(analysis: Analysis, cls: ClassInfo) -> bool:
    return any(analysis.derives(cls, name) for name in _WITH_THEIR_OWN)


def _representative(analysis: Analysis, cls: ClassInfo) -> ClassInfo:
    """One class for all that are bases of each other."""
    return next(iter(_family(analysis, cls)))


def _family(analysis: Analysis, cls: ClassInfo) -> tuple[ClassInfo, ...]:
    return analysis.once(_families)[cls]


def _is_all_visible(analysis: Analysis, cls: ClassInfo) -> bool:
    """Whether the project has every base of the classes that share one with a class."""
    bases = (base for other in _family(analysis, cls) for base in analysis.mro(other))
    return all(isinstance(base, ClassInfo) or base == "builtins.object" for base in bases)


def _families(analysis: Analysis) -> Mapping[ClassInfo, tuple[ClassInfo, ...]]:
    """For each class all that share a base or a derived class with it, in the order of the files."""
    group = {cls: cls for cls in analysis.classes.values()}
    for cls in analysis.classes.values():
        for base in analysis.mro(cls):
            if isinstance(base, ClassInfo) and base in group and group[base] is not group[cls]:
                old, new = group[cls], group[base]
                group = {member: new if rep is old else rep for member, rep in group.items()}
    together: dict[ClassInfo, list[ClassInfo]] = {}
    for member, rep in group.items():
        together.setdefault(rep, []).append(member)
    return {member: tuple(together[rep]) for member, rep in group.items()}


def _said(analysis: Analysis, names: Collection[str]) -> Iterator[str]:
    """The names that ``getattr(x, 'xp')`` and the like ask for."""
    for module in analysis.project.modules.values():
        for call in module.source.of(ast.Call):
            assert isinstance(call, ast.Call)
            if isinstance(call.func, ast.Name) and call.func.id in _BY_TEXT:
                yield from (str(a.value) for a in call.args if isinstance(a, ast.Constant) and a.value in names)


def _with_devices(analysis: Analysis) -> frozenset[ClassInfo]:
    """The classes (one for all that are bases of each other) that have another ``device``."""
    nodes = (n for module in analysis.project.modules.values() for n in module.source.of(ast.Attribute))
    receivers = [
        kind
        for node in nodes
        if isinstance(node, ast.Attribute) and node.attr == "device"
        for kind in options(analysis.kind(node.value))
        if kind != UNKNOWN or isinstance(node.ctx, ast.Store)
    ]
    if UNKNOWN in receivers:
        return frozenset(_representative(analysis, cls) for cls in analysis.classes.values())
    classes = [kind.cls for kind in receivers if isinstance(kind, Inst) and isinstance(kind.cls, ClassInfo)]
    classes += [cls for cls in analysis.classes.values() if "device" in defined_names(cls)]
    return frozenset(_representative(analysis, cls) for cls in classes)
