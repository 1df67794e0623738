"""Wrong copies of the helpers, each with one change, put in the place of the right one while it runs."""

from __future__ import annotations

import ast
import contextlib
import copy
import dataclasses
import functools
import importlib
import textwrap
import types
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from chainer2torch.verify.rules.row_mutants import NEIGHBOURS, _expression_changes, _guard_changes

_TOOL = Path(__file__).resolve().parents[2]
COMPAT, NATIVE = _TOOL / "compat", _TOOL / "native"
RAN = "a_mutant_ran"  # the builtin whose first byte says so: memory that a process may share with those that it forks
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_ONE_AXIS = ("flatten", "ravel")
_FILLED = ("zeros", "ones")
# keywords that change no value: of zip (a check, as an assertion is one), of warnings (the line that is named)
_NO_VALUES = ("strict", "stacklevel")


@dataclasses.dataclass(frozen=True)
class HelperMutant:
    """One change in one function or method: its module below ``compat`` or ``native``, the path of its name, and its
    number there.
    """

    room: str
    name: str
    number: int
    line: int
    what: str
    package: str = COMPAT.name
    default: bool = False  # whether it is in a default of a parameter

    @property
    def helper(self) -> str:
        """The name at the top of the module."""
        return self.name.split(".")[0]

    @property
    def path(self) -> Path:
        """The file of the helper."""
        return _TOOL / self.package / (self.room.replace(".", "/") + ".py")


def mutants(path: Path) -> Iterator[HelperMutant]:
    """Every mutant of a file of helpers: defaults, numbers, signs, operators, comparisons, conditions, neighbours."""
    package, _, room = path.relative_to(_TOOL).with_suffix("").as_posix().replace("/", ".").partition(".")
    for name, function in functions(_tree(path).body):
        for number, (line, what, _) in enumerate(_changes(function)):
            yield HelperMutant(room, name, number, line, what, package, line < function.body[0].lineno)


def functions(body: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str, _Function]]:
    """The functions of a module and the methods of its classes, with the paths of their names."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from functions(node.body, f"{prefix}{node.name}.")


@functools.cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _changes(function: _Function) -> list[tuple[int, str, Callable[[], None]]]:
    """What can be changed in a function. Annotations, decorators, docstrings and the texts of errors stay."""
    found: list[tuple[int, str, Callable[[], None]]] = []
    for node in _code(function):
        if (
            isinstance(node, (ast.Compare, ast.BoolOp))
            or isinstance(node, ast.UnaryOp)
            and isinstance(node.op, ast.Not)
        ):
            changes = _guard_changes(node)
        elif isinstance(node, ast.Call):
            changes = _neighbour(node)
        else:
            changes = _expression_changes(node)
        found += [(getattr(node, "lineno", function.lineno), what, change) for what, change in changes]
    return found


def _is_condition(node: ast.AST) -> bool:
    negation = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    return negation or isinstance(node, (ast.Compare, ast.BoolOp))


def _neighbour(node: ast.Call) -> Iterator[tuple[str, Callable[[], None]]]:
    if isinstance(node.func, ast.Attribute) and node.func.attr in NEIGHBOURS:
        if node.func.attr in _ONE_AXIS and not (node.args or node.keywords):
            return  # x.flatten() and x.ravel() hold the same numbers
        if node.func.attr in _FILLED and node.args and _has_no_elements(node.args[0]):
            return
        other = NEIGHBOURS[node.func.attr]
        yield f"{node.func.attr} -> {other}", functools.partial(setattr, node.func, "attr", other)


def _code(function: _Function) -> Iterator[ast.AST]:
    """The nodes that compute something."""
    unread = {id(size) for node in ast.walk(function) if (size := _unread_size(node)) is not None}
    pending: list[ast.AST] = [*function.args.defaults, *(d for d in function.args.kw_defaults if d is not None)]
    pending += function.body
    while pending:
        node = pending.pop(0)
        if isinstance(node, ast.keyword) and node.arg in _NO_VALUES:
            continue
        if isinstance(node, (ast.Raise, ast.Assert, ast.JoinedStr)) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        ):
            continue
        if id(node) in unread:
            continue
        yield node
        for field, value in ast.iter_fields(node):
            if field not in ("annotation", "returns", "decorator_list"):
                pending += [
                    item for item in (value if isinstance(value, list) else [value]) if isinstance(item, ast.AST)
                ]


def _has_no_elements(shape: ast.expr) -> bool:
    """Whether a shape has a zero in it."""
    sizes = shape.elts if isinstance(shape, (ast.Tuple, ast.List)) else [shape]
    return any(isinstance(size, ast.Constant) and size.value == 0 for size in sizes)


def _unread_size(node: ast.AST) -> ast.expr | None:
    """The size in ``np.empty(0, dtype).dtype``: of such an array only the dtype is read."""
    value = node.value if isinstance(node, ast.Attribute) and node.attr == "dtype" else None
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr == "empty":
            return value.args[0] if value.args else None
        if value.func.attr not in ("numpy", "from_numpy"):
            return None
        value = value.args[0] if value.args else value.func.value
    return None


def wrong_text(mutant: HelperMutant) -> str:
    """The text of the helper's file with the mutant in it, which sets ``RAN``; the function's own comments are gone."""
    text = mutant.path.read_text(encoding="utf-8")
    node = dict(functions(copy.deepcopy(_tree(mutant.path)).body))[mutant.name]
    _changes(node)[mutant.number][2]()
    _tell(node)
    lines = text.splitlines()
    assert node.end_lineno is not None
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    indented = textwrap.indent(ast.unparse(ast.fix_missing_locations(node)), " " * node.col_offset)
    return "\n".join([*lines[: first - 1], indented, *lines[node.end_lineno :], ""])


@contextlib.contextmanager
def applied(mutant: HelperMutant, told: bool = False) -> Iterator[None]:
    """Runs a block with the mutant in place: the function stays the same object, so whoever holds it runs the change.

    With ``told``, calling it sets the first byte of the builtin named ``RAN``, where there is one. Raises LookupError
    where the function is not reachable by its name (something decorated).
    """
    module = importlib.import_module(f"chainer2torch.{mutant.package}.{mutant.room}")
    tree = copy.deepcopy(_tree(mutant.path))
    node = dict(functions(tree.body))[mutant.name]
    defaults = len(node.args.defaults) + len(node.args.kw_defaults)
    _changes(node)[mutant.number][2]()
    if told:
        _tell(node)
    target = _function(module, mutant.name)
    code = _find(compile(ast.fix_missing_locations(tree), str(mutant.path), "exec"), mutant.name.split("."))
    before = target.__code__, target.__defaults__, target.__kwdefaults__
    if code is None or len(code.co_freevars) != len(before[0].co_freevars):
        raise LookupError(mutant.name)
    try:
        target.__code__ = code
        if defaults:
            names = vars(module)
            target.__defaults__ = tuple(_value(d, names) for d in node.args.defaults) or None
            target.__kwdefaults__ = {
                a.arg: _value(d, names) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults) if d is not None
            } or None
        yield
    finally:
        target.__code__, target.__defaults__, target.__kwdefaults__ = before


def _tell(node: _Function) -> None:
    """Lets a function say that it runs, behind its docstring."""
    told = ast.parse(f"getattr(__import__('builtins'), {RAN!r}, [0])[0] = 1").body[0]
    node.body.insert(1 if ast.get_docstring(node) is not None else 0, told)


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    return eval(compile(ast.Expression(node), "<default>", "eval"), dict(names))  # our own source


def _function(module: types.ModuleType, name: str) -> types.FunctionType:
    value: Any = module
    for part in name.split("."):
        value = vars(value).get(part)
        value = getattr(value, "fget", None) or getattr(value, "__func__", None) or value
        if value is None:
            raise LookupError(name)
    while hasattr(value, "__wrapped__"):
        value = value.__wrapped__
    if not isinstance(value, types.FunctionType):
        raise LookupError(name)
    return value


def _find(code: types.CodeType, path: list[str]) -> types.CodeType | None:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType) and constant.co_name == path[0]:
            found = constant if len(path) == 1 else _find(constant, path[1:])
            if found is not None:
                return found
    return None


def users() -> dict[str, set[str]]:
    """For each helper, the helpers that use it, itself included, through any number of others."""
    uses: dict[str, set[str]] = {}
    for path in sorted([*COMPAT.rglob("*.py"), *NATIVE.rglob("*.py")]):
        for node in _tree(path).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                inside = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
                uses[node.name] = uses.get(node.name, set()) | inside
    found: dict[str, set[str]] = {}
    for name in uses:
        reached, pending = {name}, [name]
        while pending:
            one = pending.pop()
            new = {other for other, names in uses.items() if one in names and other not in reached}
            reached |= new
            pending += new
        found[name] = reached
    return found
