"""What IPython understands in a cell and Python does not: magics, shell lines and questions.

Each is replaced by a call of a name that nobody has, so that the rest is Python, and put back afterwards, character for
character: ``!pip list`` is ``__c2t_magic__(0)`` for the time being. What follows a magic that runs a statement of
Python's (``%time model(x)``) stays, behind a semicolon, and so does the body of a cell magic that runs it (``%%time``).
"""

from __future__ import annotations

import ast
import dataclasses
import re

NAME = "__c2t_magic__"
_CALL = re.compile(rf"{NAME}\((\d+)\)(; )?")
_PYTHON_CELLS = frozenset({"time", "timeit", "capture", "prun", "memit", "debug"})
_PYTHON_LINES = re.compile(r"%(?:time|timeit|prun|memit)\b(?:[ \t]+-{1,2}[A-Za-z]\w*(?:[ =]?[\d.]+)?)*[ \t]+")
_ESCAPE = re.compile(r"[ \t]*[%!?,;/]")  # no statement of Python's begins so
_ASSIGNED = re.compile(r"([ \t]*[\w.,*\[\] \t]+=[ \t]*)([%!](?!=).*)", re.DOTALL)
_QUESTION = re.compile(r"[ \t]*[\w.*\[\]()'\"]+\?{1,2}[ \t]*(?:#.*)?$")
_LIBRARY = re.compile(r"(?<![\w/.-])(?:chainer\w*|cupy[\w-]*)")


@dataclasses.dataclass(frozen=True)
class Magic:
    """The text of one magic, and the line of its cell (from 1) on which it stands."""

    text: str
    line: int

    @property
    def library(self) -> str | None:
        """The name of Chainer's or CuPy's that it mentions, such as in ``!pip install chainer``."""
        found = _LIBRARY.search(self.text)
        return found[0] if found else None


@dataclasses.dataclass
class Hidden:
    """A cell as Python: its lines, and for each of them the line of the cell from which it comes."""

    lines: list[str] = dataclasses.field(default_factory=list)
    numbers: list[int] = dataclasses.field(default_factory=list)

    def add(self, text: str, number: int) -> None:
        """Appends a line."""
        self.lines.append(text)
        self.numbers.append(number)


def hide(source: str, magics: list[Magic]) -> Hidden:
    """A cell's source without magics, which are appended to ``magics``. Lines keep their ends."""
    lines = re.findall(r"[^\n]*\n|[^\n]+", source)
    hidden = Hidden()
    first = next((i for i, line in enumerate(lines) if line.strip()), 0)
    if lines and lines[first].startswith("%%"):
        word = re.match(r"%%(\w*)", lines[first])
        if word is None or word[1] not in _PYTHON_CELLS:
            hidden.add(_put(magics, source, 1), 1)
            return hidden
    elif _is_python(source):
        for number, line in enumerate(lines, 1):
            hidden.add(line, number)
        return hidden
    state = _State()
    at = 0
    while at < len(lines):
        line, number = lines[at], at + 1
        at += 1
        if state.inside or not (found := _magic(line)):
            state.feed(line)
            hidden.add(line, number)
            continue
        while line.rstrip("\r\n").endswith("\\") and at < len(lines):
            line += lines[at]
            at += 1
        before, magic, after = found if number == at else (found[0], line[len(found[0]) :].rstrip("\r\n"), "")
        if before.isspace() and not state.begun:  # IPython takes the indentation of a cell's first line away
            before, magic = "", before + magic
        end = line[len(line.rstrip("\r\n")) :]
        hidden.add(before + _put(magics, magic, number) + (f"; {after}" if after else "") + end, number)
    return hidden


def _is_python(source: str) -> bool:
    try:
        ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _put(magics: list[Magic], text: str, line: int) -> str:
    magics.append(Magic(text, line))
    return f"{NAME}({len(magics) - 1})"


def _magic(line: str) -> tuple[str, str, str] | None:
    """What stands before a magic, the magic, and the Python behind it, when the line (where a statement may begin) has
    one."""
    text = line.rstrip("\r\n")
    indent = text[: len(text) - len(text.lstrip())]
    if _ESCAPE.match(text):
        runs = _PYTHON_LINES.match(text, len(indent))
        rest = text[runs.end() :] if runs else ""
        if runs and rest and _is_python(rest):
            return indent, runs[0], rest
        return indent, text[len(indent) :], ""
    if _QUESTION.match(text):
        return indent, text[len(indent) :], ""
    assigned = _ASSIGNED.match(text)
    return (assigned[1], assigned[2], "") if assigned else None


def show(text: str, magics: list[Magic] | tuple[Magic, ...]) -> str:
    """The text with its magics put back. Raises ``ValueError`` when one of them is not there exactly once."""
    found = [int(match[1]) for match in _CALL.finditer(text)]
    if sorted(found) != list(range(len(magics))):
        raise ValueError("a magic has got lost")
    return _CALL.sub(lambda match: magics[int(match[1])].text, text)


def shift(text: str, magics: tuple[Magic, ...]) -> int:
    """How much longer a text is than with its magics put back."""
    return len(text) - len(_CALL.sub(lambda match: magics[int(match[1])].text, text))


_TOKEN = re.compile(r"""'''|\"\"\"|'|"|#[^\n]*|[(\[{]|[)\]}]|\\(?:.|\n)|\n""")


class _State:
    """Whether a line begins inside of brackets, of a string or of a line that goes on: no statement begins there."""

    def __init__(self) -> None:
        self.depth = 0
        self.quote = ""
        self.continued = False
        self.begun = False  # whether there was a line of Python

    @property
    def inside(self) -> bool:
        return self.depth > 0 or bool(self.quote) or self.continued

    def feed(self, line: str) -> None:
        """Reads one line."""
        self.continued = False
        self.begun = self.begun or not line.isspace()
        for match in _TOKEN.finditer(line):
            token = match[0]
            if self.quote:
                if token == self.quote or (token == "\n" and len(self.quote) == 1):
                    self.quote = ""
                elif len(self.quote) == 1 and token == self.quote * 3:
                    self.quote = ""  # the end of one string, then an empty one
            elif token[0] in "'\"":
                self.quote = token
            elif token in "([{":
                self.depth += 1
            elif token in ")]}":
                self.depth = max(self.depth - 1, 0)
            elif token == "\\\n":
                self.continued = True
        if self.quote and len(self.quote) == 1 and line.endswith("\\\n"):
            self.continued = True
