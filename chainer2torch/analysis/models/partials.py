"""``functools.partial``: what it makes of a function, and what a call of that gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from chainer2torch.analysis.kinds import UNKNOWN, Dct, Func, Kind, Lst, Partial, Ref, Tup, options
from chainer2torch.analysis.models.array_kinds import entering

if TYPE_CHECKING:
    from chainer2torch.analysis.interpreter import Interpreter

PARTIAL = "functools.partial"
_FUNCTIONS = "chainer.functions."
_MOST = 8  # bound arguments: `f = partial(f, x)` in a loop has no end


def made(args: Sequence[Kind], keywords: Mapping[str, Kind]) -> Partial | None:
    """The kind of ``partial(f, *args, **keywords)``; None where ``f`` is no function that is known."""
    function = args[0] if args else UNKNOWN
    bound: tuple[Kind, ...] = tuple(args[1:])
    named = dict(keywords)
    if isinstance(function, Partial):
        bound, named = (*function.args, *bound), {**dict(function.keywords), **named}
        function = function.function
    known = isinstance(function, Func) or isinstance(function, Ref) and function.name.startswith(_FUNCTIONS)
    held = (*bound, *named.values())
    if not known or len(held) > _MOST or any(_is_nested(kind) for kind in held):
        return None
    assert isinstance(function, (Func, Ref))
    return Partial(function, bound, tuple(named.items()))


def _is_nested(kind: Kind) -> bool:
    """Whether a value may hold a partial itself, or tuples in tuples; a tuple or a list of arrays does not."""
    items = kind.items if isinstance(kind, Tup) else options(kind.element) if isinstance(kind, Lst) else ()
    return any(isinstance(item, (Partial, Lst, Dct, Tup)) for item in items) or isinstance(kind, (Partial, Dct))


def called(
    interpreter: Interpreter, partial: Partial, args: Sequence[Kind], keywords: Mapping[str, Kind], rest: Kind | None
) -> Kind:
    """What a call of a partial gives."""
    given = [*partial.args, *args]
    named = {**dict(partial.keywords), **keywords}
    if isinstance(partial.function, Func):
        return interpreter.call(partial.function, given, named, None, rest)
    row = interpreter.rules.rows.get(partial.function.name)
    if row is None or row.signature is None or rest is not None:
        return UNKNOWN
    return interpreter.row_result(row, list(map(entering, given)), {k: entering(v) for k, v in named.items()}, None)
