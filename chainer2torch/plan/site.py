"""What the tool says of one place in a source file. The same objects go from the planner into every report."""

from __future__ import annotations

import ast
import dataclasses
from typing import Protocol

from chainer2torch.analysis.values import dataclass

STATES = ("exact", "close", "review", "manual")


class CellPlace(Protocol):
    """A line of a notebook: its cell, its line there, and its line in the file."""

    @property
    def cell(self) -> int: ...

    @property
    def line(self) -> int: ...

    @property
    def file_line(self) -> int: ...


class _Placed:
    """How a place is written. ``line`` is a line of the text that was analysed: of a notebook, of all its cells."""

    line: int
    cell: CellPlace | None

    @property
    def place(self) -> str:
        """Where it is in its file: the line, or in a notebook ``cell N:line``."""
        return str(self.line) if self.cell is None else f"cell {self.cell.cell}:{self.cell.line}"

    @property
    def own_line(self) -> int:
        """The line in the file, or in the notebook's cell."""
        return self.line if self.cell is None else self.cell.line


@dataclass(frozen=True)
class Site(_Placed):
    """One Chainer reference and its state.

    ``line`` and ``end_line`` count from 1; ``column`` and ``end_column`` count UTF-8 bytes from 1, as Python's ``ast``
    plus one. ``end_column`` is the first column behind the reference. Both ends are None where nobody knows them, and
    for definitions, whose end is far away.
    """

    line: int
    column: int
    symbol: str
    state: str
    code: str
    message: str
    cell: CellPlace | None = None  # set when a notebook's results are reported
    end_line: int | None = None
    end_column: int | None = None
    difference: str = ""  # the declared difference of the native style that is made here (docs/differences.md)

    @classmethod
    def at(cls, node: ast.AST, symbol: str, state: str, code: str, message: str = "") -> Site:
        """The site of a syntax node."""
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1
        end_line, end = (node.end_lineno, node.end_col_offset) if isinstance(node, ast.expr) else (None, None)
        return cls(
            line,
            column,
            symbol,
            state,
            code,
            message,
            end_line=end_line,
            end_column=None if end_line is None or end is None else end + 1,
        )

    def in_cell(self, line: int, column: int, cell: CellPlace) -> Site:
        """The same site of a notebook, placed in its cell; where it ends there is not known."""
        return dataclasses.replace(self, line=line, column=column, cell=cell, end_line=None, end_column=None)

    @property
    def open(self) -> bool:
        """Whether a person has something to do here."""
        return self.state in ("review", "manual")


@dataclass(frozen=True)
class Mention(_Placed):
    """A name of Chainer's in a text, which is listed and never changed: ``where`` is string, docstring or comment."""

    line: int
    column: int
    symbol: str
    where: str
    cell: CellPlace | None = None

    def in_cell(self, line: int, column: int, cell: CellPlace) -> Mention:
        """The same name in a notebook, placed in its cell."""
        return dataclasses.replace(self, line=line, column=column, cell=cell)
