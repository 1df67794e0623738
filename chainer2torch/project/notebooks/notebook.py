"""A notebook as one Python text: its code cells in order, with a line between any two of them."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

from chainer2torch.project.files import NOTEBOOK_SUFFIX, FileError, Source
from chainer2torch.project.notebooks import json_places, magics
from chainer2torch.project.notebooks.magics import Magic

CODE, MAGIC = "C2T013", "C2T015"
_NAME = "__c2t_cell__"
# A statement, not a comment: comments may move with what they belong to, statements keep their order.
_BETWEEN = re.compile(rf"^{_NAME}\((\d+)\)[^\r\n]*\n?", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Place:
    """A line of a cell (both from 1; all cells of the notebook are counted), and its line in the file."""

    cell: int
    line: int
    file_line: int


@dataclasses.dataclass(frozen=True)
class Cell:
    """One code cell: its number, source text and the JSON value that holds it."""

    number: int
    source: str
    node: json_places.Node
    magics: tuple[Magic, ...] = ()
    starts_with_magic: bool = False


@dataclasses.dataclass(frozen=True)
class Notebook(Source):
    """A notebook; ``text`` is the Python text of its code cells."""

    json_text: str
    cells: tuple[Cell, ...]
    # for each line of ``text`` the index of its cell and the line there
    lines: tuple[tuple[int, int], ...]

    def place(self, line: int) -> Place:
        """The cell's line from which a line of ``text`` comes."""
        index, number = self.lines[min(max(line, 1), len(self.lines)) - 1] if self.lines else (0, 1)
        return self._place(self.cells[index], number)

    def _place(self, cell: Cell, line: int) -> Place:
        offset, before = cell.node.start, 0
        for element in cell.node.items():  # an element for each line
            offset = element.start
            before += (element.text() or "").count("\n")
            if before >= line:
                break
        return Place(cell.number, line, self.json_text.count("\n", 0, offset) + 1)

    def shown(self, sources: tuple[str, ...] | None = None) -> str:
        """All cells as one text to read, each under a heading ``# %% cell N``."""
        texts = sources or tuple(cell.source for cell in self.cells)
        return "".join(f"# %% cell {cell.number}\n{text.rstrip()}\n\n" for cell, text in zip(self.cells, texts))

    def shown_line(self, place: Place) -> int:
        """The line of :meth:`shown` on which a cell's line stands."""
        line = 1
        for cell in self.cells:
            if cell.number == place.cell:
                break
            line += cell.source.rstrip().count("\n") + 3
        return line + place.line

    def column(self, line: int, column: int) -> int:
        """The column in the cell of a column in ``text``, where a magic may stand behind a longer name."""
        start = 0
        for _ in range(line - 1):
            start = self.text.index("\n", start) + 1
        end = self.text.find("\n", start)
        text = self.text[start : end if end >= 0 else len(self.text)]
        index = self.lines[line - 1][0] if line <= len(self.lines) else 0
        return column - magics.shift(text[: column - 1], self.cells[index].magics)

    def place_problem(self, problem: FileError) -> FileError:
        """A syntax error of ``text`` at the cell in which it is."""
        place = self.place(problem.line or 1)
        return FileError(problem.code, problem.path, problem.message, place.line, place.cell)

    def mentions(self) -> list[tuple[Place, str]]:
        """Magics that name Chainer or CuPy; they are not changed."""
        return [
            (self._place(cell, magic.line), magic.library)
            for cell in self.cells
            for magic in cell.magics
            if magic.library
        ]

    def sources(self, text: str) -> tuple[str, ...]:
        """The cells' sources out of a new text. FileError when it cannot be told which line belongs to which cell."""
        parts = _BETWEEN.split(text)
        numbers = [int(number) for number in parts[1::2]]
        if numbers != list(range(1, len(self.cells))):
            raise FileError("C2T011", "", "the new text cannot be divided into cells; the notebook is left as it is")
        # each but the last ends with the line end that was put before the line between two cells
        texts = [*(part.removesuffix("\n") for part in parts[:-1:2]), parts[-1]]
        return tuple(_restored(cell, part) for cell, part in zip(self.cells, texts))

    def encode(self, text: str) -> bytes:
        """The bytes of the notebook with the cells of a new text; everything else is as it was."""
        result, last = [], 0
        for cell, new in zip(self.cells, self.sources(text)):
            if new != cell.source:
                result += [self.json_text[last : cell.node.start], self._literal(cell, new)]
                last = cell.node.end
        return "".join([*result, self.json_text[last:]]).encode(self.encoding)

    def _literal(self, cell: Cell, source: str) -> str:
        """A cell's source in the JSON style of the notebook: an array of lines or one string, indented as before."""
        if not isinstance(cell.node.value, list):
            return self._string(source)
        spelled = {element.text(): self.json_text[element.start : element.end] for element in cell.node.items()}
        lines = [spelled.get(line) or self._string(line) for line in re.findall(r"[^\n]*\n|[^\n]+", source)]
        if not lines:
            return "[]"
        elements = cell.node.items()
        before = self.json_text[cell.node.start + 1 : elements[0].start]
        after = self.json_text[elements[-1].end : cell.node.end - 1]
        between = (
            self.json_text[elements[0].end : elements[1].start]
            if len(elements) > 1
            else "," + (before if "\n" in before else " ")
        )
        return "[" + before + between.join(lines) + after + "]"

    def _string(self, text: str) -> str:
        return json.dumps(text, ensure_ascii=self.json_text.isascii() and "\\u" in self.json_text)


def _restored(cell: Cell, part: str) -> str:
    numbers = re.findall(rf"{magics.NAME}\((\d+)\)", part)
    if cell.starts_with_magic and numbers:  # a cell magic has to stay the first line
        lines = re.findall(r"[^\n]*\n|[^\n]+", part)
        at = next(i for i, line in enumerate(lines) if magics.NAME in line)
        above = [line for line in lines[:at] if line.strip()]
        part = "".join([lines[at], *above, *lines[at + 1 :]]) if above else part
    try:
        text = magics.show(part, cell.magics)
    except ValueError:
        raise FileError(
            "C2T011", "", f"a magic of cell {cell.number} has got lost in the new text; the notebook is left as it is"
        ) from None
    return text


def plain(raw: bytes) -> bytes:
    """The bytes of a notebook with each string on lines of its own: enough to see what it imports."""
    return raw.replace(b"\\n", b"\n").replace(b'"', b"\n")


def read(raw: bytes, path: str | Path) -> Notebook:
    """Reads a notebook of format 3 or 4. FileError when it is none."""
    try:
        encoding = "utf-8-sig" if raw.startswith(b"\xef\xbb\xbf") else "utf-8"
        text = raw.decode(encoding)
        root = json_places.parse(text)
    except UnicodeDecodeError as error:
        raise FileError(
            "C2T003",
            path,
            f"a notebook is UTF-8, and this one is not (byte 0x{raw[error.start]:02x})",
            raw.count(b"\n", 0, error.start) + 1,
        ) from None
    except json.JSONDecodeError as error:
        raise FileError(
            CODE,
            path,
            f"is not a notebook: invalid JSON ({error.msg}, column {error.colno}); open and "
            "save it in Jupyter, or correct that line",
            error.lineno,
        ) from None
    except RecursionError:
        raise FileError(CODE, path, "is not a notebook: its JSON is nested too deeply") from None
    if "__c2t_" in text:
        raise FileError(CODE, path, "has names that begin with `__c2t_`, which are needed here; rename them")
    cells = _code_cells(root, path)
    parts: list[str] = []
    lines: list[tuple[int, int]] = []
    done: list[Cell] = []
    for index, (number, node, source) in enumerate(cells):
        found: list[Magic] = []
        hidden = magics.hide(source, found)
        done.append(Cell(number, source, node, tuple(found), source.lstrip().startswith("%%")))
        parts += hidden.lines
        lines += [(index, line) for line in hidden.numbers]
        if index < len(cells) - 1:
            parts.append(f"\n{_NAME}({index + 1})\n")
            end = source.count("\n") + 1
            lines += [(index, end)] * (1 if hidden.lines and not hidden.lines[-1].endswith("\n") else 2)
    return Notebook(raw, "".join(parts), encoding, text, tuple(done), tuple(lines))


def _code_cells(root: json_places.Node, path: str | Path) -> list[tuple[int, json_places.Node, str]]:
    sheets = root.get("worksheets")  # format 3
    found = root.get("cells") if sheets is None else None
    if sheets is None and (found is None or not isinstance(found.value, list)):
        raise FileError(CODE, path, "is not a notebook: it has no list of cells")
    if not _speaks_python(root):
        return []
    cells = (
        found.items()
        if found is not None
        else [cell for sheet in (sheets.items() if sheets else []) for cell in (sheet.get("cells") or sheet).items()]
    )
    result = []
    for number, cell in enumerate(cells, 1):
        kind = cell.get("cell_type")
        node = cell.get("source") or cell.get("input")
        if kind is None or kind.text() != "code" or node is None:
            continue
        lines = [element.text() for element in node.items()] if isinstance(node.value, list) else [node.text()]
        if any(line is None for line in lines):
            raise FileError(CODE, path, f"is not a notebook: the source of cell {number} is not text")
        result.append((number, node, "".join(line for line in lines if line is not None)))
    return result


def _speaks_python(root: json_places.Node) -> bool:
    metadata = root.get("metadata")
    for outer, inner in (("kernelspec", "language"), ("language_info", "name")):
        table = metadata.get(outer) if metadata is not None else None
        name = table.get(inner) if table is not None else None
        if name is not None and name.text():
            return "python" in (name.text() or "").lower()
    return True


def is_notebook(path: str | Path) -> bool:
    """Whether a file is a notebook, by its ending."""
    return str(path).endswith(NOTEBOOK_SUFFIX)


__all__ = ["MAGIC", "Cell", "Notebook", "Place", "is_notebook", "plain", "read"]
