"""Which members the project's own classes give to objects that are known by Chainer's class alone."""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Inst, Kind
from chainer2torch.analysis.module_index import ClassInfo


def has_own_member(analysis: Analysis, cls: str | ClassInfo, name: str) -> bool:
    """Whether an object of a class may have a member from the project: ``trainer.updater.sample()``.

    A class of the project that derives from it defines the member, or a class above it sets attributes whose names are
    made at run time.
    """
    if cls in analysis.once(_definers).get(name, ()):
        return True
    return any(c in analysis.once(_open_classes) for c in analysis.mro(cls) if isinstance(c, ClassInfo))


def is_set_by_project(analysis: Analysis, name: str) -> bool:
    """Whether some class of the project has an attribute or a method of this name."""
    return any(name in cls.attrs or name in cls.methods for cls in analysis.classes.values())


def hands_on(analysis: Analysis, kind: Kind, name: str) -> bool:
    """Whether an object is of a class that finds members by `__getattr__`, and has none of this name itself: a wrapper
    around a model, say.
    """
    if not isinstance(kind, Inst) or not isinstance(kind.cls, ClassInfo):
        return False
    above = [cls for cls in analysis.mro(kind.cls) if cls not in ("object", "builtins.object")]
    own = [cls for cls in above if isinstance(cls, ClassInfo)]
    if len(own) != len(above) or any(name in cls.methods or name in cls.attrs for cls in own):
        return False
    return any("__getattr__" in cls.methods for cls in own)


def _definers(analysis: Analysis) -> dict[str, set[str | ClassInfo]]:
    """For each name that a class of the project defines: the classes of which its objects are."""
    found: dict[str, set[str | ClassInfo]] = {}
    for cls in analysis.classes.values():
        above = [analysis.rules.canonical(c) if isinstance(c, str) else c for c in analysis.mro(cls)]
        for name in (*cls.methods, *cls.attrs):
            found.setdefault(name, set()).update(above)
    return found


def _open_classes(analysis: Analysis) -> frozenset[ClassInfo]:
    """The classes whose methods give ``self`` attributes with names that only the running program knows."""
    setting: set[ast.AST] = set()  # the nodes around such a call
    for module in analysis.project.modules.values():
        for call in module.source.of(ast.Call):
            if _is_setter(call.func) and _sets_any(call):
                setting.update(module.source.ancestors(call))
    return frozenset(
        cls for cls in analysis.classes.values() if any(method.node in setting for method in cls.methods.values())
    )


def _is_setter(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and function.attr == "update" or isinstance(function, ast.Name)


def _sets_any(node: ast.AST) -> bool:
    """``setattr(self, key, value)``, ``self.__dict__.update(...)`` or ``vars(self).update(...)``."""
    match node:
        case ast.Call(func=ast.Name("setattr"), args=[ast.Name("self"), name, _]):
            return not isinstance(name, ast.Constant)
        case ast.Call(func=ast.Attribute(ast.Attribute(ast.Name("self"), "__dict__"), "update")):
            return True
        case ast.Call(func=ast.Attribute(ast.Call(func=ast.Name("vars"), args=[ast.Name("self")]), "update")):
            return True
    return False
