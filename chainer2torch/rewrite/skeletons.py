"""Templates of rules as texts with places for operands and names: LibCST fills one in for all calls that are alike.

A template that is filled in depends on its operands in little: whether one has to be put in parentheses, and whether
one is a literal that a keyword need not say. So it is filled in with stand-ins, by the code that fills in real nodes.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import libcst as cst

from chainer2torch.analysis.values import dataclass
from chainer2torch.plan.edits import Operand, Replace, Span
from chainer2torch.rewrite.printing import code_of
from chainer2torch.rewrite.template import ATOMS, instantiate
from chainer2torch.rewrite.torch_names import Helpers, Names

ATOM, CALL, OTHER = "atom", "call", "other"
"""What an expression is beside others: it needs no parentheses (a call that is one), or it needs some.

For an operation between two the kind is its operator.
"""

_PLACE = re.compile(r"c2t_name(\d+)_|not c2t_other(\d+)_|c2t_operand(\d+)_(?: \S+ c2t_right_)?")


class Stand(NamedTuple):
    """What stands for an operand: its kind, or, where the text itself counts, its text."""

    kind: str = ATOM
    text: str | None = None

    def operand(self, number: int) -> Operand:
        """The operand by which a template is filled in."""
        if self.text is not None:
            return Operand(code=self.text)
        if self.kind == OTHER:
            return Operand(code=f"not c2t_other{number}_")
        right = "" if self.kind in (ATOM, CALL) else f" {self.kind} c2t_right_"
        return Operand(code=f"c2t_operand{number}_{right}")


@dataclass(frozen=True)
class Text:
    """A text in pieces: as it is, a dotted name that is spelled as in the file, or the number of an operand."""

    pieces: tuple[str | int, ...]
    names: frozenset[int]  # which of the pieces are dotted names

    @classmethod
    def of(cls, code: str, dotted: list[str]) -> Text:
        """The text of code with stand-ins."""
        pieces: list[str | int] = []
        names: set[int] = set()
        at = 0
        for found in _PLACE.finditer(code):
            pieces.append(code[at : found.start()])
            if found[1]:
                names.add(len(pieces))
            pieces.append(dotted[int(found[1])] if found[1] else int(found[2] or found[3]))
            at = found.end()
        pieces.append(code[at:])
        return cls(tuple(pieces), frozenset(names))

    @property
    def dotted(self) -> list[str]:
        """The dotted names."""
        return [str(self.pieces[i]) for i in self.names]

    @property
    def operand(self) -> int | None:
        """The number of the operand that it is; None: it is more than that, or something else."""
        return self.pieces[1] if self.pieces[::2] == ("", "") and isinstance(self.pieces[1], int) else None

    def filled(self, names: Names, texts: Sequence[str]) -> str:
        """The text with names spelled as in a file, and with operands in it."""
        return "".join(
            texts[piece] if isinstance(piece, int) else names.spell(piece) if i in self.names else piece
            for i, piece in enumerate(self.pieces)
        )


@dataclass(frozen=True)
class Argument:
    """An argument of a call; ``before`` its value stands its keyword, if it has one."""

    before: str
    value: Text


@dataclass(frozen=True)
class Skeleton:
    """What a template becomes. Of a call also its function and arguments, where these are no ``*`` and ``**``."""

    whole: Text
    kind: str
    builtins: tuple[str, ...]  # functions of Python's own that it calls
    function: Text | None = None
    arguments: tuple[Argument, ...] = ()


class _Places(Names):
    """Names of which each is a place for its spelling."""

    def __init__(self, native: bool):
        super().__init__((), {}, helpers=Helpers(native=frozenset({""} if native else ())))
        self.dotted: list[str] = []
        self.builtins: list[str] = []

    def spell(self, dotted: str) -> str:
        self.dotted.append(dotted)
        return f"c2t_name{len(self.dotted) - 1}_"

    def builtin(self, name: str, span: Span) -> str | None:
        self.builtins.append(name)
        return None


def skeleton(edit: Replace, stands: Mapping[str, Stand], extra: tuple[Stand, ...], native: bool) -> Skeleton | None:
    """The filled template of an edit; ``stands`` for its operands, ``extra`` for what its ``*args`` are.

    Operands are numbered in the order in which they are given. None: only the nodes themselves will do.
    """
    return _skeleton(
        edit.template,
        tuple(stands.items()),
        tuple(edit.drop.items()),
        tuple(edit.constants.items()),
        edit.long,
        edit.training,
        edit.parenthesize,
        extra,
        tuple(name for name, _ in edit.extra_keywords),
        native,
    )


@functools.lru_cache(maxsize=4096)
def _skeleton(
    template: str,
    stands: tuple[tuple[str, Stand], ...],
    drop: tuple[tuple[str, str], ...],
    constants: tuple[tuple[str, str], ...],
    long: frozenset[str],
    training: str,
    parenthesize: bool,
    extra: tuple[Stand, ...],
    keywords: tuple[str, ...],
    native: bool,
) -> Skeleton | None:
    places = _Places(native)
    count = len(stands)
    more = [stand.operand(count + i) for i, stand in enumerate(extra)]
    plain = len(extra) - len(keywords)
    edit = Replace(
        (0, 0),
        template,
        {name: stand.operand(i) for i, (name, stand) in enumerate(stands)},
        dict(drop),
        dict(constants),
        long,
        training,
        parenthesize,
        extra=tuple(more[:plain]),
        extra_keywords=tuple(zip(keywords, more[plain:])),
    )
    # what was there counts in its layout only, and the layout is the usual one
    result = instantiate(edit, cst.Name("c2t"), cst.Name("c2t"), {}, lambda span: None, places)
    code = code_of(result)
    if "\n" in code:
        return None
    whole, kind = Text.of(code, places.dotted), kind_of(result)
    if not isinstance(result, cst.Call) or kind != CALL or any(arg.star for arg in result.args):
        return Skeleton(whole, kind, tuple(places.builtins))
    arguments = [
        Argument(f"{arg.keyword.value}=" if arg.keyword else "", Text.of(code_of(arg.value), places.dotted))
        for arg in result.args
    ]
    function = Text.of(code_of(result.func), places.dotted)
    return Skeleton(whole, kind, tuple(places.builtins), function, tuple(arguments))


def kind_of(node: cst.BaseExpression) -> str:
    """What an expression is beside others."""
    if isinstance(node, cst.Call) and not node.lpar:
        return CALL
    if node.lpar or isinstance(node, ATOMS):
        return ATOM
    return code_of(node.operator).strip() if isinstance(node, cst.BinaryOperation) else OTHER


__all__ = ["ATOM", "CALL", "OTHER", "Skeleton", "Stand", "Text", "skeleton"]
