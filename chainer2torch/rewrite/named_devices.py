"""The device of a number gets a name where it would stand in a long line, or more than once.

``f(x, device=torch.device('cuda', args.gpu) if args.gpu >= 0 else torch.device('cpu'))`` is what a rule writes for
``device=args.gpu``. A person writes ``device = ...`` above. No source has such an expression, so each is one of ours.
"""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterator, Sequence

from chainer2torch.analysis.parsing import parse
from chainer2torch.analysis.source import Source, nodes_of

_SIGN = "else torch.device('cpu')"
_LONG = 100  # characters of a line
_NAMES = ("device", "torch_device")
_Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef
_SCOPES = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclasses.dataclass(frozen=True)
class _Device:
    """One such expression: where it stands, and the statement in whose line a name can be given."""

    node: ast.IfExp
    number: str
    scope: _Scope
    statement: ast.stmt
    holder: ast.Lambda | None  # whose last parameter has it as its default: the name can be read without one


def with_named_devices(code: str) -> str:
    """The text with these expressions named, as far as nothing between could change what they are."""
    if _SIGN not in code:
        return code
    source = Source(code, parse(code))
    found = [device for node in source.of(ast.IfExp) if (device := _device(source, node)) is not None]
    edits: list[tuple[int, int, str]] = []
    given: dict[tuple[_Scope, str], str] = {}  # by scope and name: the number whose device it is
    for group in _groups(source, found):
        scope, number = group[0].scope, group[0].number
        several = any(other.scope is scope and other.number != number for other in found)
        name = next(
            (name for name in _free_names(group, several) if given.get((scope, name), number) == number),
            None,
        )
        if name is None or not _is_worth_it(source, group) or not _is_settled(source, group):
            continue
        given[scope, name] = number
        place, indent = _place(source, group[0].statement)
        newline = "\r\n" if "\r\n" in code else "\n"
        edits.append((place, place, f"{indent}{name} = {_text(source, group[0].node)}{newline}"))
        edits += [_use(source, device, name) for device in group]
    for start, stop, new in sorted(edits, reverse=True):
        code = code[:start] + new + code[stop:]
    return code


def _device(source: Source, node: ast.IfExp) -> _Device | None:
    test = node.test
    if not isinstance(test, ast.Compare):
        return None
    number = ast.unparse(test.left)
    path = test.left.args[0] if isinstance(test.left, ast.Call) and test.left.args else test.left
    expected = f"torch.device('cuda', {number}) if {number} >= 0 {_SIGN}"
    if ast.unparse(node) != expected or not _is_path(path):
        return None
    holder = _holder(source, node)
    scope = source.enclosing(holder or node, *_SCOPES, ast.Lambda, ast.ClassDef)
    statement = source.statement(node)
    if not isinstance(scope, _SCOPES) or isinstance(statement, (*_SCOPES, ast.ClassDef, ast.While)):
        return None
    if isinstance(statement, ast.Assign) and statement.value is node or _is_guarded(source, node, statement):
        return None  # it has a name; or it is not always asked: ``None if gpu is None else <node>``
    if source.line_statement(node) is not statement or source.text.startswith("elif", source.start(statement)):
        return None
    return _Device(node, ast.unparse(path), scope, statement, holder)


def _is_guarded(source: Source, node: ast.expr, statement: ast.stmt) -> bool:
    inner: ast.AST = node
    for outer in source.ancestors(node):
        if outer is statement:
            return False
        if isinstance(outer, ast.BoolOp) or isinstance(outer, ast.IfExp) and inner is not outer.test:
            return True
        inner = outer
    return False


def _holder(source: Source, node: ast.expr) -> ast.Lambda | None:
    """The function of ``lambda x, t, *, device=<node>: ...``."""
    arguments = source.parents[node]
    function = source.parents[arguments]
    held = isinstance(arguments, ast.arguments) and arguments.kw_defaults == [node] and isinstance(function, ast.Lambda)
    return function if held and isinstance(function, ast.Lambda) else None


def _use(source: Source, device: _Device, name: str) -> tuple[int, int, str]:
    """The edit of one place."""
    start, end = source.span(device.node)
    if device.holder is not None:
        a = device.holder.args
        last = a.vararg or (a.args[-1] if a.args else None)
        if last is not None and a.kwonlyargs[0].arg == name and a.kwarg is None:
            return source.span(last)[1], end, ""
    return start, end, name


def _groups(source: Source, found: Sequence[_Device]) -> Iterator[list[_Device]]:
    """Those that one name can stand for: of one scope, and in the block of the first, behind it."""
    left = sorted(found, key=lambda device: (device.node.lineno, device.node.col_offset))
    while left:
        first = left[0]
        block = source.block(first.statement)
        group = [
            other
            for other in left
            if other.scope is first.scope
            and ast.dump(other.node) == ast.dump(first.node)
            and any(other.statement is inside or inside in source.ancestors(other.statement) for inside in block)
        ]
        yield group
        left = [other for other in left if other not in group]


def _free_names(group: Sequence[_Device], several: bool) -> Iterator[str]:
    """Names that mean nothing in their scope, nor in the functions in it but for the parameters that they replace.

    Of ``several`` devices in a scope that of ``gpu1`` is ``device1``.
    """
    scope = group[0].scope
    inner = [device.holder.body for device in group if device.holder is not None]
    own = {node for body in inner for node in nodes_of(body)}
    used = {node.id for node in nodes_of(scope) if isinstance(node, ast.Name) and node not in own}
    if not isinstance(scope, ast.Module):
        a = scope.args
        used |= {arg.arg for arg in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg) if arg is not None}
    used |= {name for node in nodes_of(scope) if isinstance(node, (ast.Global, ast.Nonlocal)) for name in node.names}
    digits = re.search(r"\d+$", group[0].number)
    numbered = (f"device{digits[0]}",) if several and digits is not None else ()
    return (name for name in (*numbered, *_NAMES) if name not in used)


def _is_worth_it(source: Source, group: Sequence[_Device]) -> bool:
    return len(group) > 1 or len(_row(source, group[0].node.lineno - 1).rstrip()) > _LONG


def _is_settled(source: Source, group: Sequence[_Device]) -> bool:
    """Whether the number is what it was at the first place: nothing gives it another value from there on."""
    first = group[0]
    root = first.number.split(".")[0]
    loops = [node for node in source.ancestors(first.statement) if isinstance(node, (ast.For, ast.AsyncFor, ast.While))]
    begin = min([first.statement.lineno, *(loop.lineno for loop in loops if first.scope in source.ancestors(loop))])
    return not any(
        isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del))
        and node.lineno >= begin
        and (isinstance(node, ast.Name) and node.id == root or ast.unparse(node) == first.number)
        for node in nodes_of(first.scope)
        if isinstance(node, (ast.Name, ast.Attribute))
    )


def _is_path(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _place(source: Source, statement: ast.stmt) -> tuple[int, str]:
    """Where a line above a statement begins, above its markers, and the indentation there."""
    number = statement.lineno - 1
    start = source.line_starts[number]
    indent = source.text[start : source.start(statement)]
    while number and _row(source, number - 1).lstrip().startswith("# TODO(chainer2torch"):
        number -= 1
    return source.line_starts[number], indent


def _row(source: Source, number: int) -> str:
    """A row, from 0. (``str.splitlines`` knows more ends of lines than Python does.)"""
    return source.text[slice(*[*source.line_starts, len(source.text)][number : number + 2])]


def _text(source: Source, node: ast.expr) -> str:
    return " ".join(source.text[slice(*source.span(node))].split())


__all__ = ["with_named_devices"]
