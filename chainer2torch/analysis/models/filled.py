"""Lists and dictionaries that grow in another function than the one that made them.

history = []

def log(trainer):                   # a function inside: it names what the one around it made
    history.append(loss.array)

def record(history, value):         # a function that is handed it
    history.append(value)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from chainer2torch.analysis.interpreter import Interpreter
from chainer2torch.analysis.kinds import BOTTOM, Dct, Kind, Lst, Tup, options
from chainer2torch.analysis.lattice import join, says_more
from chainer2torch.analysis.module_index import FuncInfo

_DEPTH = 3  # of containers in what is handed on
_FILLED = "what is put into the containers of a function"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def put_inside(interpreter: Interpreter, name: str, kind: Kind) -> None:
    """A function inside has put something into a container of the function around it."""
    inner = interpreter.func
    for node in interpreter.module.source.ancestors(inner.node) if inner is not None else ():
        outer = interpreter.functions.get(node) if isinstance(node, _FUNCTIONS) else None
        if outer is not None and (name in outer.stored or name in outer.signature.names):
            _fill(interpreter, outer, name, kind)
            return


def put_into_parameter(interpreter: Interpreter, name: str, kind: Kind) -> None:
    """A function has put something into what it was handed."""
    func = interpreter.func
    if func is not None and name in _parameters(func) and name not in func.stored:
        _fill(interpreter, func, name, kind)


def _parameters(func: FuncInfo) -> list[str]:
    """The names of all parameters, those of ``*args`` and ``**kwargs`` among them."""
    others = [one.arg for one in (func.node.args.vararg, func.node.args.kwarg) if one is not None]
    return [*func.signature.names, *others]


def _fill(interpreter: Interpreter, func: FuncInfo, name: str, kind: Kind) -> None:
    if not isinstance(kind, (Lst, Dct, Tup)) or isinstance(kind, (Lst, Dct)) and kind.element is BOTTOM:
        return
    new = interpreter.grown(func, func.filled.get(name), kind)
    if says_more(new, func.filled.get(name)):
        func.filled[name] = new
        interpreter.changed(func, _FILLED)


def held(interpreter: Interpreter, name: str, kind: Kind) -> Kind:
    """A container of the function that is visited, with what functions inside of it put there."""
    func = interpreter.func
    if func is None or func not in interpreter.nested or not isinstance(kind, (Lst, Dct)):
        return kind
    interpreter.reads(func, _FILLED)
    return join(kind, func.filled.get(name)) if name in func.filled and name in func.stored else kind


def by_callee(
    interpreter: Interpreter, func: FuncInfo, names: Sequence[str], call: ast.Call
) -> Iterator[tuple[ast.expr, Kind]]:
    """The arguments of a call into which the function puts something, and what they are then."""
    interpreter.reads(func, _FILLED)
    if not func.filled or any(isinstance(argument, ast.Starred) for argument in call.args):
        return
    given = [*zip(names, call.args), *((k.arg, k.value) for k in call.keywords)]
    for name, argument in given:
        if name in func.filled:
            yield from _grown(interpreter, argument, func.filled[name], _DEPTH)
    more, named = func.node.args.vararg, func.node.args.kwarg
    held = func.filled.get(more.arg) if more is not None else None
    for place, argument in enumerate(call.args[len(names) :]):
        of_tuple = isinstance(held, Tup) and place < len(held.items)
        inner = held.items[place] if of_tuple else held.element if isinstance(held, Lst) else BOTTOM  # type: ignore[union-attr]
        for one in options(inner):
            yield from _grown(interpreter, argument, one, _DEPTH)
    if named is not None and isinstance(table := func.filled.get(named.arg), Dct):
        known = dict(table.items)
        for keyword in call.keywords:
            if keyword.arg is not None and keyword.arg not in names:
                for one in options(known.get(keyword.arg, table.element)):
                    yield from _grown(interpreter, keyword.value, one, _DEPTH)


def _grown(interpreter: Interpreter, argument: ast.expr, now: Kind, depth: int) -> Iterator[tuple[ast.expr, Kind]]:
    """A container that has grown to this, or what is shown of it there: ``callback({"losses": losses})``."""
    if isinstance(argument, (ast.Name, ast.Attribute)):
        before = interpreter.facts.get(argument)
        if before is not None and any(type(one) is type(now) for one in options(before)):
            yield argument, join(before, now)
    elif isinstance(argument, ast.Dict) and isinstance(now, Dct) and depth:
        held = dict(now.items)
        for key, value in zip(argument.keys, argument.values):
            inner = held.get(key.value, now.element) if isinstance(key, ast.Constant) else now.element
            for one in options(inner):
                yield from _grown(interpreter, value, one, depth - 1)
    elif isinstance(argument, (ast.List, ast.Tuple)) and isinstance(now, Tup) and len(now.items) == len(argument.elts):
        for value, inner in zip(argument.elts, now.items):
            for one in options(inner):
                yield from _grown(interpreter, value, one, depth - 1)
    elif isinstance(argument, (ast.List, ast.Tuple)) and isinstance(now, Lst) and depth:
        for value in argument.elts:
            for one in options(now.element):
                yield from _grown(interpreter, value, one, depth - 1)


__all__ = ["by_callee", "held", "put_inside", "put_into_parameter"]
