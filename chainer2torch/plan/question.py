"""What guards may ask about one call: its arguments, their kinds, and what a pass has found out about it."""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable
from typing import Any

from chainer2torch.analysis.values import dataclass
from chainer2torch.analysis.graphs import GraphUse
from chainer2torch.analysis.kinds import UNKNOWN, Const, Kind, Tup, options
from chainer2torch.plan import argument_guards
from chainer2torch.rules.signature import Bound
from chainer2torch.rules.table import Row


class Undecided:
    """The third truth value: the source does not say."""

    def __repr__(self) -> str:
        return "UNDECIDED"


UNDECIDED = Undecided()
ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError):
        pass
    # a constant product such as 5 * 5, which literal_eval refuses
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        a, b = _literal(node.left), _literal(node.right)
        if isinstance(a, (int, float)) and isinstance(b, (int, float)):
            try:
                return ARITHMETIC[type(node.op)](a, b)
            except ArithmeticError:
                return UNDECIDED
    return UNDECIDED


@functools.cache
def parsed(text: str) -> ast.expr:
    """The tree of a guard, a default or a template."""
    return ast.parse(text.strip(), mode="eval").body


@dataclass(frozen=True)
class Question:
    """What guards may ask about one call."""

    row: Row
    bound: Bound
    kind: Callable[[ast.AST], Kind]
    is_instance: Callable[[Kind, str], bool | Undecided]
    input_kind: Kind | None = None  # what reaches a layer, joined over its calls; None: no call was seen
    graph: Callable[[], GraphUse] = GraphUse  # of a backward(): whether another one passes its graph
    unrecorded: Callable[[], bool] = bool  # of a Variable: its function records no graph, since all are volatile
    flags_asked: Callable[[], bool] = lambda: True  # of a Variable: whether a file asks one whether it is volatile
    seeded: Callable[[], bool] = bool  # of a backward(): whether its function has given the result a gradient
    asked: Callable[[], bool] = bool  # of a Variable(): whether the gradient by it may be asked for
    on_device: bool = False  # of an array module: it is a torch.device in the output
    may_be_none: Callable[[ast.expr], bool] = lambda _: False  # whether the project gives None to it somewhere
    is_open_none: Callable[[ast.expr], bool] = lambda _: False  # whether only the callers that are seen give it None
    is_single: Callable[[ast.expr], bool] = lambda _: False  # whether nothing uses a value as a list
    is_gpu_number: Callable[[ast.expr], bool] = lambda _: False  # whether a device is given as a number
    is_steady: Callable[[ast.expr], bool] = lambda _: False  # whether it is a name that keeps its value
    is_path: Callable[[ast.expr], bool] = argument_guards.is_path  # whether it may be written twice
    is_item: Callable[[ast.expr], bool] = lambda _: False  # whether a loop takes it out of a list
    is_made: Callable[[ast.expr], bool] = lambda _: False  # whether a call makes an array that torch can make itself
    is_filled: Callable[[ast.expr], bool] = argument_guards.is_filled  # whether an argument is zeros or ones
    brought_back: Callable[[], bool] = bool  # of a move to the host: whether its array is one that stays a tensor
    walks_freely: Callable[[], bool] = lambda: False  # a loop over this call for which any order will do
    pairs_freely: Callable[[], bool] = lambda: False  # a loop over it and others beside it, of links of one class
    walks_in_order: Callable[[], bool] = lambda: False  # such a loop, also one that counts
    walks_named: Callable[[], bool] = bool  # a loop over it asks each child for its name
    names_paired: Callable[[], bool] = bool  # of a walk: whether its names are compared with those of another walk
    names_keyed: Callable[[], bool] = bool  # of a walk: whether its names only look up parameters of another one
    names_asked: Callable[[], bool] = lambda: True  # whether the project asks links or parameters for their names
    resized: Callable[[], bool] = bool  # of a deconvolution: whether the project sets some layer's ``outsize`` later
    plain_rates: Callable[[], bool] = bool  # whether no optimizer of the project is an Adam, as far as it names any
    defined: Callable[[], bool] = bool  # of a method: whether a class of the program has one of this name
    made_here: Callable[[], bool] = bool  # of a method of a link: whether its receiver is a call that makes one
    plain_sequences: Callable[[], bool] = bool  # of links: whether nothing asks for more than nn.Sequential has
    plain_batch: Callable[[], bool] = bool  # of concat_examples: whether default_collate does the same
    single_examples: Callable[[], bool] = bool  # of a dataset: whether it is only asked for single examples
    is_statement: Callable[[], bool] = bool  # whether the call is a statement: nothing reads its result
    summed: Callable[[], bool] = bool  # of a loss: whether a loop adds it to others, step by step
    fits: Callable[[str], bool] = lambda _: True  # whether the short form of a layer takes the first values given
    may_lack_parameters: Callable[[], bool] = bool  # of a link: whether there may be none to ask for the device

    def literal(self, name: str) -> Any:
        """The value of a parameter when the call or Chainer's default states it, else UNDECIDED."""
        node = self.bound.given.get(name)
        if node is None:
            default = self.row.signature.defaults.get(name) if self.row.signature else None
            if default is None:
                return UNDECIDED
            return _literal(parsed(default))
        value = _literal(node)
        return self._axes(node) if value is UNDECIDED else value

    def _axes(self, node: ast.expr) -> tuple[int, ...] | Undecided:
        """``tuple(range(1, x.ndim))`` of an ``x`` whose rank is known."""
        made = node.args[0] if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords else None
        if not isinstance(made, ast.Call) or not made.args or made.keywords or ast.unparse(made.func) != "range":
            return UNDECIDED
        if ast.unparse(node.func) not in ("tuple", "list"):  # type: ignore[attr-defined]
            return UNDECIDED
        ends = [self._number(end) for end in made.args]
        known = [end for end in ends if end is not None]
        return tuple(range(*known)) if len(known) == len(ends) < 3 else UNDECIDED

    def _number(self, node: ast.expr) -> int | None:
        """A number that is written down, or the rank of an array: ``x.ndim``, ``len(x.shape)``."""
        value = _literal(node)
        if isinstance(value, int):
            return value
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "len" and len(node.args) == 1:
            node = node.args[0]
            asked = "shape"
        else:
            asked = "ndim"
        if not isinstance(node, ast.Attribute) or node.attr != asked:
            return None
        ranks = {getattr(kind, "rank", None) for kind in options(self.kind(node.value))}
        (rank,) = ranks if len(ranks) == 1 else (None,)
        return rank

    def kinds(self, name: str) -> tuple[Kind, ...]:
        """The possible kinds of a parameter's value."""
        node = self.bound.given.get(name)
        if node is not None:
            axes = self._axes(node)
            return (Tup(tuple(map(Const, axes))),) if isinstance(axes, tuple) else options(self.kind(node))
        value = self.literal(name)
        return (
            (Const(value) if not isinstance(value, (tuple, list, dict)) else Tup(()),)
            if value is not UNDECIDED
            else (UNKNOWN,)
        )


__all__ = ["ARITHMETIC", "UNDECIDED", "Question", "Undecided", "parsed"]
