"""``getattr(models, args.arch)``: one of the models of a module, and nobody knows which."""

from __future__ import annotations

import ast

from chainer2torch.analysis.interpreter import Interpreter
from chainer2torch.analysis.kinds import BOTTOM, Class, Func, Inst, Kind, Mod, options
from chainer2torch.analysis.lattice import join_all

_MOST = 8


def one_of(interpreter: Interpreter, module: Mod) -> Kind | None:
    """The models of a module that has nothing but them: classes of links, and functions that make links.

    A package has what it imports, too. None: something else may be meant.
    """
    interpreter.ensure_bound(module.info)
    found: list[Kind] = []
    for name, kind in list(module.info.env.items()):
        interpreter.reads(module.info, name)
        for option in options(kind):
            if name.startswith("_") or not isinstance(option, (Class, Func)) or not _is_own(module, option):
                continue
            if not _makes_links(interpreter, option):
                return None
            found.append(option)
    return join_all(found) if 0 < len(found) <= _MOST else None


def _is_own(module: Mod, kind: Class | Func) -> bool:
    return module.info.path.endswith("__init__.py") or kind.info.module is module.info


def _makes_links(interpreter: Interpreter, kind: Class | Func) -> bool:
    if isinstance(kind, Class):
        return interpreter.derives(kind.info, "chainer.Link")
    interpreter.reads(kind.info, "return")
    returned = kind.info.returns
    if returned is None or returned is BOTTOM:  # it has not been visited to its end
        return not kind.info.is_generator and any(r.value is not None for r in kind.info.inside.of(ast.Return))
    return all(isinstance(k, Inst) and interpreter.is_link(k) for k in options(returned))


__all__ = ["one_of"]
