"""Parameters and options of command lines that may be None: `L.Linear(n_in, n_out)` then waits for its first input.

Kinds do not say it: where a value is sometimes None, they keep what it is otherwise.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import NONE, Class, Func, Inst, Kind, Method, options
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo
from chainer2torch.analysis.source import nodes_of, within
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.local_nones import local_may_be_none

_Parameter = tuple[ast.AST, str]  # the function and the name
_NONE: _Parameter = (ast.Constant(None), "")  # None itself, where a list holds it
_SAME_ELEMENTS = frozenset({"enumerate", "list", "reversed", "sorted", "tuple", "zip"})


def may_be_none(context: Context, node: ast.expr) -> bool:
    """Whether something in the project says that a value may be None: a default, or a call that passes it."""
    if any(k == NONE for k in options(context.kind(node))):
        return True
    if isinstance(node, ast.IfExp):
        sides = (("orelse", node.orelse), ("body", node.body))
        return any(may_be_none(context, side) for name, side in sides if not _excludes(node.test, side, name))
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
        return may_be_none(context, node.values[-1])
    if isinstance(node, ast.Attribute):
        return _is_option_of_none(context.analysis, node)
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
        function = context.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef)
        held = _held(node.value, function) if function is not None else set()
        return not held.isdisjoint({_NONE, *context.analysis.once(parameters_of_none)})
    if not isinstance(node, ast.Name):
        return False
    given = local_may_be_none(context, node, lambda value: may_be_none(context, value))
    if given is not None:
        return given
    function = context.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef)
    if (function, node.id) not in context.analysis.once(parameters_of_none):
        return False
    assert isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
    return not _is_replaced(context, function, node)


def _excludes(test: ast.expr, value: ast.expr, branch: str) -> bool:
    """Whether a value is not None in a branch of ``if value is None``."""
    return (
        isinstance(test, ast.Compare)
        and len(test.ops) == 1
        and isinstance(test.ops[0], ast.Is if branch == "orelse" else ast.IsNot)
        and isinstance(test.comparators[0], ast.Constant)
        and test.comparators[0].value is None
        and isinstance(value, ast.Name)
        and isinstance(test.left, ast.Name)
        and test.left.id == value.id
    )


def _is_replaced(context: Context, function: ast.FunctionDef | ast.AsyncFunctionDef, node: ast.Name) -> bool:
    """Whether a statement before gives a parameter a value in place of None: ``n = m if n is None else n``."""
    for statement in function.body:
        if node in nodes_of(statement):
            return False
        if isinstance(statement, ast.If) and len(statement.body) == 1 and not statement.orelse:
            if not _excludes(statement.test, node, "orelse"):
                continue
            (statement,) = statement.body
        if (
            isinstance(statement, ast.Assign)
            and len(statement.targets) == 1
            and isinstance(statement.targets[0], ast.Name)
            and statement.targets[0].id == node.id
            and not may_be_none(context, statement.value)
        ):
            return not _stored_again(function, statement, node.id)
    return False


def _stored_again(function: ast.AST, statement: ast.Assign, name: str) -> bool:
    stored = [
        n for n in nodes_of(function) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)
    ]
    return stored != statement.targets


def parameters_of_none(analysis: Analysis) -> frozenset[_Parameter]:
    """The parameters with the default None, and those that some call gives None or another such parameter."""
    found = {parameter for info in analysis.functions.values() for parameter in _without_default(info)}
    passed: list[tuple[_Parameter, _Parameter]] = []
    for module in analysis.project.modules.values():
        for call in module.source.of(ast.Call):
            infos = list(called(analysis, call))
            outer = module.source.enclosing(call, ast.FunctionDef, ast.AsyncFunctionDef) if infos else None
            for info in infos:
                for name, value in bound(info, call):
                    if isinstance(value, ast.Constant) and value.value is None:
                        found.add((info.node, name))
                    elif isinstance(value, ast.Attribute) and _is_option_of_none(analysis, value):
                        found.add((info.node, name))
                    elif outer is not None:
                        passed += [(giver, (info.node, name)) for giver in _value(value, outer)]
                        passed += [(giver, (info.node, _elements(name))) for giver in _held(value, outer)]
        for function in module.source.of(ast.FunctionDef):
            passed += _inside(function)
    found.add(_NONE)
    size = -1
    while size < len(found):
        size = len(found)
        found |= {given for giver, given in passed if giver in found}
    return frozenset(found - {_NONE})


def _elements(name: str) -> str:
    """What stands for the elements of a list, beside the name of the list itself."""
    return f"{name}[]"


def _value(node: ast.expr, function: ast.AST) -> set[_Parameter]:
    """The names of a function that may give a value: a name itself, or the elements of a list."""
    if isinstance(node, ast.Name):
        return {(function, node.id)}
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
        return _held(node.value, function)
    return {_NONE} if isinstance(node, ast.Constant) and node.value is None else set()


def _held(node: ast.expr, function: ast.AST) -> set[_Parameter]:
    """The names that may give an element of a list: ``[n_in] + sizes``, ``zip(sizes, sizes[1:])``."""
    if isinstance(node, ast.Name):
        return {(function, _elements(node.id))}
    if isinstance(node, (ast.List, ast.Tuple)):
        own = [_value(n, function) for n in node.elts if not isinstance(n, ast.Starred)]
        own += [_held(n.value, function) for n in node.elts if isinstance(n, ast.Starred)]
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        own = [_held(node.left, function), _held(node.right, function)]
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        own = [_held(node.value, function)]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _SAME_ELEMENTS:
        own = [_held(n, function) for n in node.args]
    else:
        own = []
    return set().union(*own)


def _inside(function: ast.FunctionDef) -> Iterator[tuple[_Parameter, _Parameter]]:
    """What gives what in a function: lists that are assigned, and what walks over them."""
    for node in within(function).of(ast.Assign, ast.For, ast.comprehension):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield from ((giver, (function, _elements(target.id))) for giver in _held(node.value, function))
        else:
            names = [n.id for n in nodes_of(node.target) if isinstance(n, ast.Name)]
            yield from ((giver, (function, name)) for giver in _held(node.iter, function) for name in names)


def _is_option_of_none(analysis: Analysis, node: ast.Attribute) -> bool:
    """``args.jobs`` of an option that may be left out on the command line."""
    return any(
        isinstance(k, Inst) and k.cls == "argparse.Namespace" for k in options(analysis.kind(node.value))
    ) and node.attr in analysis.once(options_of_none)


def options_of_none(analysis: Analysis) -> frozenset[str]:
    """The options of command lines that are None when they are left out, by the name that they are read by."""
    found = set[str]()
    for module in analysis.project.modules.values():
        settled = set[str]()  # what an option before gives a default, whoever shares its destination
        for call in sorted(module.source.of(ast.Call), key=lambda node: (node.lineno, node.col_offset)):
            assert isinstance(call, ast.Call)
            if isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument":
                found.update(name for name in _option_of_none(call) if name not in settled)
                settled.update(_option_with_default(call))
    return frozenset(found)


def _option_of_none(call: ast.Call) -> Iterator[str]:
    keywords = {k.arg: k.value for k in call.keywords}
    flags = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    if None in keywords or not flags or not flags[0].startswith("-"):
        return
    default, required = keywords.get("default"), keywords.get("required")
    if default is None:
        left_out = _constant(keywords.get("action"), "store") in ("store", "append", "store_const")
    else:
        left_out = _constant(default, "") is None
    if left_out and not _constant(required, False):
        yield _destination(keywords, flags)


def _option_with_default(call: ast.Call) -> Iterator[str]:
    keywords = {k.arg: k.value for k in call.keywords}
    flags = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    if flags and "default" in keywords and _constant(keywords["default"], "") is not None:
        yield _destination(keywords, flags)


def _destination(keywords: dict[str | None, ast.expr], flags: list[str]) -> str:
    long = next((f for f in flags if f.startswith("--")), flags[0])
    return str(_constant(keywords.get("dest"), long.lstrip("-").replace("-", "_")))


def _constant(node: ast.expr | None, otherwise: object) -> object:
    return node.value if isinstance(node, ast.Constant) else otherwise


def _without_default(info: FuncInfo) -> Iterator[_Parameter]:
    arguments = info.node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = [
        *zip(reversed(positional), reversed(arguments.defaults)),
        *((a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults) if d is not None),
    ]
    for argument, default in pairs:
        if isinstance(default, ast.Constant) and default.value is None:
            yield info.node, argument.arg


def called(analysis: Analysis, call: ast.Call) -> Iterator[FuncInfo]:
    for kind in options(analysis.kind(call.func)):
        if isinstance(kind, Func):
            yield kind.info
        elif isinstance(kind, Class):
            yield from _constructors(analysis, kind.info)
        elif isinstance(kind, Method) and kind.name == "__init__":
            yield from _constructors(analysis, kind.receiver)


def _constructors(analysis: Analysis, of: ClassInfo | Kind) -> Iterator[FuncInfo]:
    cls = of.cls if isinstance(of, Inst) else of
    if not isinstance(cls, ClassInfo):
        return
    for base in analysis.mro(cls):
        if isinstance(base, ClassInfo) and "__init__" in base.methods:
            yield base.methods["__init__"]
            return


def bound(info: FuncInfo, call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """The arguments of a call of the project's own function, by the names of its parameters."""
    names = [a.arg for a in [*info.node.args.posonlyargs, *info.node.args.args]]
    if info.cls is not None and not info.is_static:
        names = names[1:]
    for name, value in zip(names, call.args):
        if isinstance(value, ast.Starred):
            break
        yield name, value
    for keyword in call.keywords:
        if keyword.arg is not None:
            yield keyword.arg, keyword.value


__all__ = ["bound", "called", "may_be_none", "options_of_none", "parameters_of_none"]
