"""Which classes of a project fit a parameter of a constructor: those that have every attribute that is asked of it, and
take as many inputs as it is called with.

Nothing is imported or run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import TypeGuard

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.verify.models.own_parameters import of_constructor, parameters

_LINK = "chainer.Link"
_MOST = 3
_FUNCTIONS = re.compile(r"fun(c|ction)?s?$|loss|acc(uracy)?(_|$)|activ|metric")  # what is called, and is no link
# Asked of arrays, lists, tables and any link: they tell nothing of a class.
_COMMON = frozenset(
    "shape ndim dtype size data array grad xp items keys values get append copy params namedparams children links "
    "namedlinks cleargrads zerograds to_cpu to_gpu to_device update name format join split lower upper".split()
)


def fitting(analysis: Analysis, cls: ClassInfo) -> dict[str, list[ClassInfo]]:
    """Links of the project for the parameters of a class's constructor that are asked for attributes of its own, or
    called with several inputs.
    """
    owners = [owner for owner in analysis.mro(cls) if isinstance(owner, ClassInfo)]
    found: dict[str, list[ClassInfo]] = {}
    for name in of_constructor(analysis, cls):
        asked = _asked(owners, name) - _COMMON
        given = 0 if _FUNCTIONS.search(name) else max(_given(owners, name), default=0)
        if asked or given > 1:
            fit = [c for c in analysis.classes.values() if c is not cls and _is_link(analysis, c)]
            fit = [c for c in fit if asked <= _attributes(analysis, c)]
            fit = [c for c in fit if given < 2 or _takes(analysis, c, given)]
            if fit:
                fit.sort(key=lambda c: (c.module is not cls.module, c.module.path, c.node.lineno))
                found[name] = fit[:_MOST]
    return found


def _is_link(analysis: Analysis, cls: ClassInfo) -> bool:
    return analysis.derives(cls, _LINK)


def _asked(owners: Sequence[ClassInfo], name: str) -> set[str]:
    """What a class asks of a parameter of its constructor, there or where it has kept it (``self.net.out_size``)."""
    inits = [owner.methods["__init__"].node for owner in owners if "__init__" in owner.methods][:1]
    found: set[str] = set()
    kept: set[str] = set() if inits else {name}  # Chainer's own links keep each under its name
    for node in (n for init in inits for n in ast.walk(init)):
        if isinstance(node, ast.Attribute) and _is_name(node.value, name):
            found.add(node.attr)
        elif isinstance(node, ast.Assign) and _is_name(node.value, name):
            kept |= {target.attr for target in node.targets if _is_own(target)}
        elif isinstance(node, ast.Call):  # ``super().__init__(net=net)``
            kept |= {k.arg for k in node.keywords if k.arg and _is_name(k.value, name)}
    for node in (n for owner in owners for n in ast.walk(owner.node)):
        if isinstance(node, ast.Attribute) and _is_own(node.value) and node.value.attr in kept:
            found.add(node.attr)
    return found


def _given(owners: Sequence[ClassInfo], name: str) -> set[int]:
    """How many inputs a class gives what it has kept of a parameter: ``self.decoder(x, h)``."""
    inits = [owner.methods["__init__"].node for owner in owners if "__init__" in owner.methods][:1]
    kept = {
        target.attr
        for init in inits
        for node in ast.walk(init)
        if isinstance(node, ast.Assign) and _is_name(node.value, name)
        for target in node.targets
        if _is_own(target)
    }
    return {
        len(node.args)
        for owner in owners
        for node in ast.walk(owner.node)
        if isinstance(node, ast.Call) and _is_own(node.func) and node.func.attr in kept
        if not any(isinstance(arg, ast.Starred) for arg in node.args)
    }


def _takes(analysis: Analysis, cls: ClassInfo, given: int) -> bool:
    """Whether a link is called with so many inputs."""
    for base in analysis.mro(cls):
        if isinstance(base, ClassInfo):
            call = base.methods.get("__call__") or base.methods.get("forward")
            if call is not None:
                needed = [name for name, default in parameters(call) if default is None]
                return len(needed) <= given <= len(parameters(call, every=True))
    return False


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_own(node: ast.expr) -> TypeGuard[ast.Attribute]:
    return isinstance(node, ast.Attribute) and _is_name(node.value, "self")


def _attributes(analysis: Analysis, cls: ClassInfo) -> set[str]:
    return {name for c in analysis.mro(cls) if isinstance(c, ClassInfo) for name in _own_attributes(c)}


def _own_attributes(cls: ClassInfo) -> Iterator[str]:
    """The names of methods, of what the body assigns, of what methods set, and of links that are handed on by name."""
    yield from cls.methods
    for statement in cls.node.body:
        if isinstance(statement, ast.Assign):
            yield from (target.id for target in statement.targets if isinstance(target, ast.Name))
    for node in ast.walk(cls.node):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_own(node):
            yield node.attr
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "__init__":
                yield from (keyword.arg for keyword in node.keywords if keyword.arg)
            elif node.func.attr == "add_link" and node.args and isinstance(node.args[0], ast.Constant):
                yield str(node.args[0].value)
