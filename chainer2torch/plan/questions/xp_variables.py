"""The local variables that hold array modules, with all their places."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Collection, Iterator

from chainer2torch.analysis import host_copies
from chainer2torch.analysis.facts import Facts
from chainer2torch.analysis.kinds import Ref
from chainer2torch.analysis.models.xp_modules import CUPY, EITHER, XP
from chainer2torch.analysis.source import nodes_of
from chainer2torch.analysis.values import dataclass
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.cupy_guards import chosen_module
from chainer2torch.plan.questions.xp_attributes import Parameter, of_attribute
from chainer2torch.plan.questions.xp_origins import HOST, Origin, host_of, of_any_array, origin_of
from chainer2torch.plan.questions.xp_moved import only_moved
from chainer2torch.plan.questions.xp_uses import only_asked, used


@dataclass(frozen=True, eq=False)
class Variable:
    """A name that holds array modules, with all its places."""

    stores: tuple[tuple[ast.Assign, Origin], ...]
    loads: tuple[ast.Name, ...]
    needed: tuple[ast.Name, ...]  # the loads whose form names the device
    imports: tuple[ast.Import, ...] = ()  # of CuPy and NumPy, where these give it its value


def is_script(context: Context) -> bool:
    """Whether nothing in the project imports a file: the names in it are its own."""
    own = posixpath.basename(context.module.path).removesuffix(".py")
    return own not in context.analysis.once(_imported_words)


def is_own(context: Context, name: str) -> bool:
    """Whether no other file can read a name: none imports it, or all names, or asks the module for it."""
    own = posixpath.basename(context.module.path).removesuffix(".py")
    read, starred = context.analysis.once(_read_elsewhere)
    return is_script(context) or own != "__init__" and name not in read and own not in starred


def _read_elsewhere(analysis: Facts) -> tuple[frozenset[str], frozenset[str]]:
    """The names that files import from others or ask modules for, and the last words of modules imported with ``*``."""
    read, starred = set[str](), set[str]()
    for module in analysis.project.modules.values():
        bound = set[str]()
        for node in module.source.of(ast.Import, ast.ImportFrom):
            assert isinstance(node, (ast.Import, ast.ImportFrom))
            bound.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
            if isinstance(node, ast.ImportFrom):
                read.update(alias.name for alias in node.names)
                if any(alias.name == "*" for alias in node.names):
                    starred.add((node.module or "").rpartition(".")[2])
        for attribute in module.source.of(ast.Attribute):
            assert isinstance(attribute, ast.Attribute)
            root: ast.expr = attribute
            while isinstance(root, ast.Attribute):
                root = root.value
            if isinstance(root, ast.Name) and root.id in bound:
                read.add(attribute.attr)
    return frozenset(read), frozenset(starred)


def _imported_words(analysis: Facts) -> frozenset[str]:
    """Every part of every module and name that some file of the project imports."""
    return frozenset(
        word
        for module in analysis.project.modules.values()
        for node in module.source.of(ast.Import, ast.ImportFrom)
        for dotted in [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
        for word in dotted.split(".")
    )


def variables_in(
    context: Context, scope: ast.FunctionDef | ast.AsyncFunctionDef | ast.Module, handed: Collection[Parameter]
) -> dict[str, Variable]:
    """The variables of a scope that hold nothing but array modules, where all that is done with them has a form."""
    arguments = [] if isinstance(scope, ast.Module) else nodes_of(scope.args)
    parameters = {a.arg for a in arguments if isinstance(a, ast.arg)}
    found = {}
    for name, nodes in context.ask(_names, context.source.tree).get(scope, {}).items():
        if name not in parameters and (made := _variable(context, nodes, handed)) is not None:
            found[name] = made
    others = _bound_otherwise(scope) if found else ()
    found = {name: made for name, made in found.items() if name not in others}
    return found | (dict(_imported(context, scope, handed)) if isinstance(scope, ast.Module) else {})


def _imported(context: Context, scope: ast.Module, handed: Collection[Parameter]) -> Iterator[tuple[str, Variable]]:
    """``try: import cupy as xp`` / ``except ImportError: import numpy as xp`` at the top of a file."""
    for block in scope.body:
        chosen = chosen_module(context, block) if isinstance(block, ast.Try) else None
        if chosen is None or context.skipped.node(block):
            continue
        cupy, numpy, name = chosen
        loads = context.ask(_names, context.source.tree).get(scope, {}).get(name, [])
        aliases = [a for a in nodes_of(scope) if isinstance(a, ast.alias) and _bound(a) == name]
        needs = [used(context, load, handed) for load in loads]
        if len(aliases) == len(cupy.names) + len(numpy.names) and name not in context.source.assigned:
            if loads and None not in needs and all(context.kind(load) == XP for load in loads):
                needed = tuple(load for load, need in zip(loads, needs) if need)
                yield name, Variable((), tuple(loads), needed, (cupy, numpy))


def _bound(alias: ast.alias) -> str:
    return alias.asname or alias.name.split(".")[0]


def _names(context: Context, tree: ast.Module) -> dict[ast.AST | None, dict[str, list[ast.Name]]]:
    """The names of a file by the scope that they are looked up in."""
    found: dict[ast.AST | None, dict[str, list[ast.Name]]] = {}
    for node in context.source.of(ast.Name):
        found.setdefault(context.scopes.get(node), {}).setdefault(node.id, []).append(node)
    return found


def _bound_otherwise(scope: ast.AST) -> set[str]:
    """The names that something else than an assignment binds in a scope: imports, definitions, handlers, ``global``."""
    found: set[str] = set()
    for node in nodes_of(scope):
        if node is scope:  # its own name is bound outside
            continue
        if isinstance(node, ast.alias):
            found.add(node.asname or node.name.split(".")[0])
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler)):
            found.add(node.name or "")
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            found.update(node.names)
    return found


def _goes_with_its_test(context: Context, load: ast.Name) -> bool:
    """Whether a use is gone with ``if xp is cuda.cupy:``: a copy to the host is made from wherever the tensor is."""
    shapes = context.analysis.once_a_file(host_copies.shapes, context.source)
    for around in context.source.ancestors(load):
        truth = shapes.get(around)
        if isinstance(around, (ast.If, ast.IfExp)) and truth is not None and load in nodes_of(around.test):
            goes = host_copies.copies(around, truth, context.analysis.kind)
            return goes and not host_copies.of_variable(around, context.source)
    return False


def _variable(context: Context, nodes: list[ast.Name], handed: Collection[Parameter]) -> Variable | None:
    stores, loads, needed = [], [], []
    asked = False
    for node in nodes:
        if isinstance(node.ctx, ast.Load):
            kind = context.kind(node)
            is_module = kind in (XP, EITHER) or isinstance(kind, Ref) and kind.name in CUPY
            need = used(context, node, handed) if is_module else None
            if need is None:
                return None
            loads.append(node)
            needed += [node] if need and not _goes_with_its_test(context, node) else []
            continue
        statement = context.source.parents.get(node)
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or statement.targets[0] is not node:
            return None
        value = statement.value
        origin = of_attribute(context, value, handed) or origin_of(context, value) or host_of(context, value)
        if origin is None and (origin := of_any_array(context, statement.value)) is not None:
            asked = True
        if origin is None:
            return None
        stores.append((statement, origin))
    if asked and loads and all(only_moved(context, load) for load in loads):
        stores = [(statement, Origin(o.node, HOST, None, o.told)) for statement, o in stores]  # it moves from there
    elif asked and not all(only_asked(context, load) for load in loads):
        return None  # what it makes has to be an array of the host, where it was found by one
    if all(context.kind(statement.value) == Ref("numpy") for statement, _ in stores):
        return None  # NumPy itself
    return Variable(tuple(stores), tuple(loads), tuple(needed)) if stores else None
