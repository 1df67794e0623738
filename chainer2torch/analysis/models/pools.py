"""Pools of threads and processes: ``pool.map(f, items)`` and ``pool.submit(f, x).result()`` give what ``f`` gives."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from chainer2torch.analysis.kinds import UNKNOWN, Func, Inst, Kind, Lst, Tup
from chainer2torch.analysis.models.iteration import star_mapped
from chainer2torch.analysis.models.link_children import hold

if TYPE_CHECKING:
    from chainer2torch.analysis.interpreter import Interpreter

FUTURE = "concurrent.futures.Future"
POOLS = frozenset(
    {
        "concurrent.futures.ProcessPoolExecutor",
        "concurrent.futures.ThreadPoolExecutor",
        "multiprocessing.Pool",
        "multiprocessing.dummy.Pool",
        "multiprocessing.pool.Pool",
        "multiprocessing.pool.ThreadPool",
    }
)
_MAPS = frozenset({"map", "imap", "imap_unordered"})
_RESULT = "()"  # what the calls give; no attribute has this name


def is_pool(receiver: Inst, name: str) -> bool:
    """Whether a method of an object calls the functions that it is given, and no others."""
    return receiver.cls in POOLS and name in (*_MAPS, "apply", "apply_async", "map_async", "starmap", "submit")


def method(interpreter: Interpreter, receiver: Inst, name: str, args: list[Kind], node: ast.AST | None) -> Kind | None:
    """What a method of a pool, or of a result that is still to come, gives; None: nothing is known of it here."""
    if receiver.cls == FUTURE:
        made = interpreter.objects.get(receiver.site, {})
        interpreter.reads(receiver.site, _RESULT)
        return made.get(_RESULT, UNKNOWN) if name in ("result", "get") else None
    if not is_pool(receiver, name) or not args or not isinstance(args[0], (Func, Inst)):
        return None
    if not isinstance(node, ast.Call) or node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
        return None
    function, given = args[0], args[1:]
    if name in (*_MAPS, "map_async") and given:
        found: Kind = Lst(interpreter.call(function, [interpreter.iterated(kind) for kind in given], {}, None))
    elif name == "starmap":
        return star_mapped(interpreter, args)
    elif name == "submit":
        found = interpreter.call(function, given, {}, None)
    elif len(given) == 1 and isinstance(given[0], Tup):  # apply, apply_async
        found = interpreter.call(function, list(given[0].items), {}, None)
    else:
        return None
    if name not in ("submit", "apply_async", "map_async"):
        return found
    future = Inst(FUTURE, interpreter.site(node))
    hold(interpreter, future, _RESULT, found)
    return future


__all__ = ["FUTURE", "POOLS", "is_pool", "method"]
