"""The places at which a program calls one of its functions, told by the function's name alone."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import NONE, Func, Inst, options, scalar_type
from chainer2torch.analysis.module_index import ModuleInfo
from chainer2torch.analysis.source import nodes_of

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_CALLED_BY_LIBRARY = frozenset({"forward", "update_core", "evaluate", "initialize", "finalize", "serialize"})
# Chainer calls a method of these names for one of the same name alone: for a chain that of its links
_CALLED_BY_THEIR_LIKE = frozenset({"disable_update", "enable_update"})

Answer = Callable[[ModuleInfo, ast.Call], bool | None]


def follow(
    analysis: Analysis, module: ModuleInfo, node: ast.AST, program: Sequence[ModuleInfo], answer: Answer
) -> bool:
    """Whether something holds wherever the function around a node is called; None: ask that function's callers.

    False where a call may not be seen: the function is handed on, called by the library, or stands in no function.
    """
    return _holds(analysis, module, node, program, answer, frozenset())


def is_idle(analysis: Analysis, module: ModuleInfo, node: ast.AST, program: Iterable[ModuleInfo]) -> bool:
    """Whether a node stands in a function that no file of a program names, and that no library calls."""
    words = analysis.once(_words)
    functions = [outer for outer in module.source.ancestors(node) if isinstance(outer, ast.FunctionDef)]
    idle = [f for f in functions if not f.decorator_list and not _is_of_library(analysis, f.name)]
    files = list(program) if idle else []
    if not analysis.once(_looking_up).isdisjoint(files):
        return False
    return any(not any(function.name in words[file] for file in files) for function in idle)


def _looking_up(analysis: Analysis) -> frozenset[ModuleInfo]:
    return frozenset(module for module in analysis.project.modules.values() if _looks_up(analysis, module))


def _looks_up(analysis: Analysis, module: ModuleInfo) -> bool:
    """Whether a file takes something by a computed name out of a module, or imports one by such a name."""
    if analysis.project.whole.files[module.path].outline.dynamic:
        return True
    imported = {(alias.asname or alias.name).split(".")[0] for alias in module.source.of(ast.alias)}
    for node in module.source.of(ast.Name):
        assert isinstance(node, ast.Name)
        call = module.source.parents.get(node)
        if node.id in ("globals", "eval", "exec") and isinstance(call, ast.Call) and call.func is node:
            return True
        if node.id != "getattr" or not isinstance(call, ast.Call) or call.func is not node or len(call.args) < 2:
            continue
        roots = [part.id for part in nodes_of(call.args[0]) if isinstance(part, ast.Name)]
        if not isinstance(call.args[1], ast.Constant) and imported & {*roots}:
            return True
    return False


def _is_of_library(analysis: Analysis, name: str) -> bool:
    """Whether a method may be called without being named: by a library, or by Python itself."""
    return name in _CALLED_BY_LIBRARY or name.startswith("__") or name in analysis.once(_last_names)


def _last_names(analysis: Analysis) -> frozenset[str]:
    """The last part of each name that has a row."""
    return frozenset(row.rpartition(".")[2] for row in analysis.rules.rows)


def _words(analysis: Analysis) -> dict[ModuleInfo, frozenset[str]]:
    """What each file names: variables and members that it loads, and strings."""
    found: dict[ModuleInfo, frozenset[str]] = {}
    for module in analysis.project.modules.values():
        names = [n.id for n in module.source.of(ast.Name)] + [n.attr for n in module.source.of(ast.Attribute)]
        texts = [n.value for n in module.source.of(ast.Constant) if isinstance(n.value, str)]
        found[module] = frozenset([*names, *texts])
    return found


def _holds(
    analysis: Analysis,
    module: ModuleInfo,
    node: ast.AST,
    program: Sequence[ModuleInfo],
    answer: Answer,
    seen: frozenset[str],
) -> bool:
    function = module.source.enclosing(node, *_FUNCTIONS)
    if not isinstance(function, ast.FunctionDef) or function.decorator_list:
        return False
    if function.name in seen:
        return True  # called by one of its name: what holds where that was called first has been asked
    is_method = isinstance(module.source.parents.get(function), ast.ClassDef)
    calls = _calls(analysis, function.name, program, is_method)
    if not calls:
        return False
    for place, call in calls:
        if any(len(loop.body) > 1 for loop in _loops(place, call)):
            return False
        found = answer(place, call)
        if found is None:
            found = _holds(analysis, place, call, program, answer, seen | {function.name})
        if not found:
            return False
    return True


def _calls(
    analysis: Analysis, name: str, program: Sequence[ModuleInfo], is_method: bool
) -> list[tuple[ModuleInfo, ast.Call]]:
    """All calls of what has this name; none where it is used in another way, or the library may call it, too."""
    if is_method and name not in _CALLED_BY_THEIR_LIKE and _is_of_library(analysis, name):
        return []
    found = []
    for module in program:
        if any(alias.name == name and alias.asname for alias in module.source.of(ast.alias)):
            return []
        if any(c.value == name and not _is_of_parser(module, c) for c in module.source.of(ast.Constant)):
            return []
        named = [*module.source.named.get(name, ())]
        members = [node for node in module.source.of(ast.Attribute) if node.attr == name]
        for node in (*named, *members):
            call = module.source.parents.get(node)
            if isinstance(call, ast.Call) and call.func is node:
                found.append((module, call))
            elif _is_option(analysis, node):
                continue  # ``args.freeze``
            elif is_method or node in named or any(isinstance(kind, Func) for kind in options(analysis.kind(node))):
                return []
    return found


def _is_of_parser(module: ModuleInfo, constant: ast.AST) -> bool:
    """Whether a string says something of an option: ``add_argument('-f', dest='freeze')``."""
    call = module.source.enclosing(constant, ast.Call)
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument"


def _is_option(analysis: Analysis, node: ast.AST) -> bool:
    """Whether a member is what the command line says, or a number: no function."""
    numbers = all(kind == NONE or scalar_type(kind) is not None for kind in options(analysis.kind(node)))
    given = isinstance(node, ast.Attribute) and analysis.kind(node.value)
    return numbers or isinstance(given, Inst) and given.cls == "argparse.Namespace"


def _loops(module: ModuleInfo, node: ast.AST) -> Iterator[ast.For | ast.While]:
    for outer in module.source.ancestors(node):
        if isinstance(outer, (ast.For, ast.While)):
            yield outer


__all__ = ["follow", "is_idle"]
