"""Iterators of which a program asks no more than Python does: then ``iter(DataLoader(...))`` is one, with no helper.

``list(it)``, ``zip(it, names)``, ``next(it)``, ``for batch in it``, ChainerCV's ``apply_to_iterator(f, it)``: without
``repeat`` Chainer's iterator and that of a DataLoader give the same batches once, in whatever turns they are drawn, and
nothing more behind the last.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Ref
from chainer2torch.plan.context import Context
from chainer2torch.plan.native.objects import Use

_BUILTIN = frozenset("enumerate filter iter list map set sorted tuple zip".split())
_WALKERS = frozenset(
    {"builtins.enumerate", "tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.notebook.tqdm", "copy.copy", "copy.deepcopy"}
)
_BAR = "progressbar.ProgressBar"  # what it makes is called with an iterator
_WITH_FUNCTION = frozenset({"filter", "map", "chainercv.utils.apply_to_iterator"})


def is_on_the_way(context: Context, call: ast.Call) -> bool:
    """Whether a call gives what its first argument gives, counted, shown or copied: ``enumerate(it)``, ``tqdm(it)``."""
    maker = call.func.func if isinstance(call.func, ast.Call) else None
    if maker is not None:
        return context.kind(maker) == Ref(_BAR)
    kind = context.kind(call.func)
    return isinstance(kind, Ref) and kind.name in _WALKERS


def is_consumed(use: Use) -> bool:
    """Whether a function of Python's own walks over an iterator: ``list(it)``, ``zip(it, names)``."""
    call = use.parent
    if use.member or not isinstance(call, ast.Call) or not any(value is use.node for value in call.args):
        return False
    kind = use.context.kind(call.func)
    name = kind.name if isinstance(kind, Ref) else ""
    short = name.removeprefix("builtins.")
    if short in _WITH_FUNCTION:
        return call.args[0] is not use.node
    return short in _BUILTIN or name.startswith("itertools.")


def is_walked_where_made(use: Use, maker: ast.Call) -> bool:
    """``list(SerialIterator(data, 4, repeat=False))``: nothing else ever sees the iterator, so a loader will do."""
    return use.node is maker and is_consumed(use) and not _may_be_walked_again(use)


def _may_be_walked_again(use: Use) -> bool:
    """``iter(...)`` gives the iterator itself; what is lazy begins only later, once."""
    call = use.parent
    return isinstance(call, ast.Call) and use.context.kind(call.func) == Ref("builtins.iter")


__all__ = ["is_consumed", "is_on_the_way", "is_walked_where_made"]
