"""What a decorator of the project's gets: ``result = function(*args)`` in its wrapper is what the decorated ones give.

Callers are taken to call the decorated function itself where its wrapper hands everything on (analysis/decorators.py),
so nothing reaches the parameters of the wrapper, nor those of the function through it.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.decorators import decorated_by
from chainer2torch.analysis.interpreter import Interpreter
from chainer2torch.analysis.kinds import Class, Func, Inst, Kind, options
from chainer2torch.analysis.lattice import unsure

_DECORATED = "functions that it decorates"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def note(interpreter: Interpreter, decorator: Kind, made: Kind) -> None:
    """Notes a function that a decorator is called with."""
    for by in options(decorator):
        for one in options(made):
            if isinstance(by, Func) and isinstance(one, Func) and one.info not in by.info.decorates:
                by.info.decorates[one.info] = None
                interpreter.changed(by.info, _DECORATED)


def held(interpreter: Interpreter, decorator: Kind, made: Kind) -> Kind | None:
    """The object that ``@Memo`` puts in the place of a function, of a class with ``__call__``; None: it puts none."""
    if not isinstance(decorator, Class) or not isinstance(made, Func) or interpreter.is_link(Inst(decorator.info)):
        return None
    own = interpreter.class_attribute(decorator.info, "__call__", None)
    return interpreter.call(decorator, [made], {}, None) if isinstance(own, Func) else None


def called(interpreter: Interpreter, node: ast.Call, found: Kind) -> Kind:
    """What ``function(*args)`` may give in what a decorator makes, where nothing is sure of it."""
    inner = interpreter.func
    if inner is None or not isinstance(node.func, ast.Name):
        return found
    for around in interpreter.module.source.ancestors(inner.node):
        outer = interpreter.functions.get(around) if isinstance(around, _FUNCTIONS) else None
        if outer is not None and decorated_by(outer) == node.func.id:
            interpreter.reads(outer, _DECORATED)
            for one in outer.decorates:
                interpreter.reads(one, "return")
            return unsure(found, *(one.returns for one in outer.decorates))
    return found


__all__ = ["called", "held", "note"]
