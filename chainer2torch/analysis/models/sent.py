"""Values that reach another place without a call or an assignment that names it: sent to generators, raised, returned.

``got = yield x`` and ``generator.send(v)``; ``raise Stop(v)`` and ``except Stop as e: e.args[0]``; what ``return`` in
a generator gives to ``yield from`` and to ``StopIteration.value``. Which generator it is, or who catches it, is not
followed: whatever is sent may come wherever something is waited for.
"""

from __future__ import annotations

import ast
import builtins

from chainer2torch.analysis.facts import Facts
from chainer2torch.analysis.interpreter import Interpreter
from chainer2torch.analysis.kinds import UNKNOWN, Class, Inst, Kind, Lst, Ref, Tup, options
from chainer2torch.analysis.lattice import join_all, unsure
from chainer2torch.analysis.models import possible
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo
from chainer2torch.analysis.source import within

_SENT, _OF_GENERATORS = "sent to generators", "returned by generators"
_ARGS, _ERRORS = "args", "errors"
_ANY = "builtins.BaseException"
_OF_STOP = "builtins.StopIteration"


def to_generator(interpreter: Interpreter, kind: Kind) -> None:
    """``generator.send(v)``"""
    _put(interpreter, _SENT, kind)


def waited_for(interpreter: Interpreter, node: ast.Yield | ast.YieldFrom) -> Kind:
    """What a ``yield`` gives to the generator that goes on behind it; of ``yield from`` what the other one returns."""
    return possible.put_there(interpreter, UNKNOWN, _SENT if isinstance(node, ast.Yield) else _OF_GENERATORS)


def from_generator(interpreter: Interpreter, kind: Kind) -> None:
    """``return v`` in a generator."""
    _put(interpreter, _OF_GENERATORS, kind)
    _put(interpreter, "value", kind)


def raised(interpreter: Interpreter, error: ast.expr | None) -> None:
    """``raise Stop(v)``: what is caught has it among its ``args``."""
    if not isinstance(error, ast.Call) or any(isinstance(a, ast.Starred) for a in error.args):
        return
    given = tuple(interpreter.facts.get(a, UNKNOWN) for a in error.args)
    if not given:
        return
    callee = interpreter.facts.get(error.func, UNKNOWN)
    if isinstance(callee, Ref) and callee.name == _OF_STOP:
        _put(interpreter, "value", given[0])
    _put(interpreter, _ARGS, Tup(given))


def constructed(interpreter: Interpreter, cls: ClassInfo, args: list[Kind], rest: Kind | None = None) -> None:
    """``Stop(v)``: an error has its arguments in ``args``, and writes them; ``rest``: what more of them may follow."""
    given = Tup(tuple(args)) if rest is None else Lst(join_all([*args, rest]))
    if is_error(interpreter, cls) and unsure(given) is not UNKNOWN:
        interpreter.set_attribute(cls, _ARGS, given)
        for name in _caught_by(interpreter, cls):
            possible.put(interpreter, f"{_ERRORS} {name}", Inst(cls))


def hands_on(constructor: FuncInfo) -> bool:
    """Whether an own constructor calls that of its base, which sets ``args`` anew."""
    return any(
        isinstance(call.func, ast.Attribute) and call.func.attr == "__init__"
        for call in within(constructor.node).of(ast.Call)
    )


def is_error(facts: Facts, cls: ClassInfo) -> bool:
    """Whether a class of the project is one of errors."""
    bases = [base for base in facts.mro(cls) if isinstance(base, str)]
    return any(base.endswith(("Error", "Exception", "StopIteration")) for base in bases)


def _put(interpreter: Interpreter, name: str, kind: Kind) -> None:
    """Notes what may come there, if it is or holds anything that matters: most messages do not."""
    if unsure(kind) is not UNKNOWN:
        possible.put(interpreter, name, unsure(kind))


def caught(interpreter: Interpreter, classes: Kind) -> Kind:
    """What ``except classes as e`` binds: an object of a class of the project, or one that nobody knows.

    Of the latter it may be an error of the project that holds a tensor.
    """
    kinds = [k for one in options(classes) for k in (one.items if isinstance(one, Tup) else (one,))]
    own = [Inst(k.info) for k in kinds if isinstance(k, Class)]
    if own and len(own) == len(kinds):
        return join_all([*own])
    names = [one.name for one in kinds if isinstance(one, Ref)]
    return unsure(*(possible.put_there(interpreter, UNKNOWN, f"{_ERRORS} {name}") for name in names or [_ANY]))


def _caught_by(interpreter: Interpreter, cls: ClassInfo) -> list[str]:
    """The names of the classes outside of the project by which an error is caught: also those of Python's bases."""
    names = [base for base in interpreter.mro(cls) if isinstance(base, str)]
    of_python = [getattr(builtins, name.removeprefix("builtins."), None) for name in names]
    above = [base for one in of_python if isinstance(one, type) for base in one.__mro__]
    return list(dict.fromkeys([*names, _ANY, *(f"builtins.{base.__name__}" for base in above)]))


def of_object(interpreter: Interpreter, receiver: Kind, name: str) -> Kind:
    """What an object has under a name of which its class says nothing: ``e.args`` of what was caught, a dictionary."""
    if name == "__dict__":
        return possible.table_of(interpreter, receiver)
    cls = receiver.cls if isinstance(receiver, Inst) else None
    if name not in (_ARGS, "value") or not isinstance(cls, ClassInfo):
        return UNKNOWN
    return possible.put_there(interpreter, UNKNOWN, name) if is_error(interpreter, cls) else UNKNOWN


__all__ = [
    "caught",
    "constructed",
    "from_generator",
    "hands_on",
    "is_error",
    "of_object",
    "raised",
    "to_generator",
    "waited_for",
]
