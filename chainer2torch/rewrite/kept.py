"""Statements without edits go past LibCST: a short name stands for a run of them, and their text comes back.

Half of a typical file is functions, blocks and statements in which nothing changes. LibCST's parse is the dearest
step of all, so it does not see them; byte for byte they stay what they were.

LibCST's tree takes ten times the memory of ``ast``'s. In a large file functions and classes with edits are left out in
the same way, and rewritten one after the other.
"""

from __future__ import annotations

import ast
import dataclasses
import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence

from chainer2torch.analysis.source import Source
from chainer2torch.analysis.values import dataclass
from chainer2torch.rewrite.in_text import Patches

# a simple statement that is alone and shorter costs less to parse than to replace
_SHORT = 40
# what ends the head of a file, where imports go (see rewrite/imports.py): a class stands for it
_ENDS_HEAD = (
    ast.ClassDef,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.If,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.With,
    ast.AsyncWith,
)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMMENT_LINE = re.compile(r"^([ \t]*)#", re.MULTILINE)
# an indentation with a line break in it, which Python takes for its first part and LibCST does not parse
_BROKEN_INDENT = re.compile(r"^([ \t]*)(?:\\\r?\n[ \t]*)+", re.MULTILINE)
_LINE_END = re.compile(r"[ \t]*(?:#[^\r\n]*)?(?=[\r\n]|\Z)")


@dataclass(frozen=True)
class Kept:
    """A shortened text, and what the names in it stand for."""

    text: str
    name: str = ""
    statements: tuple[str, ...] = ()
    # how many statements of a suite each name stands for
    counts: Mapping[str, int] = dataclasses.field(default_factory=dict)
    # those of the statements that are to be rewritten by themselves, by their number
    apart: Mapping[int, Piece] = dataclasses.field(default_factory=dict)

    def restore(self, code: str, rewritten: Mapping[int, str] | None = None) -> str:
        """Puts the statements back into the rewritten text, some of them as they were rewritten."""
        if not self.statements:
            return code
        name = rf"{self.name}(\d+)_"
        place = re.compile(rf"\bclass {name}: 0|\bdef {name}\(\): 0|\b{name}")
        texts = {**dict(enumerate(self.statements)), **(rewritten or {})}
        return place.sub(lambda match: texts[int(match[match.lastindex or 0])], code)


@dataclass(frozen=True)
class Piece:
    """A function or class by its place, up to the end of its last line."""

    node: ast.stmt
    start: int
    stop: int


def shorten(
    source: Source,
    end: int,
    points: Collection[int],
    moved: Collection[int],
    apart: Collection[ast.stmt] = (),
    within: Piece | None = None,
    patches: Patches | None = None,
) -> Kept:
    """The text up to ``end``, with patches, without the statements in which none of ``points`` (other edits) lies.

    Statements inside those that start at one of ``moved`` stay: they may get another indentation. The statements of
    ``apart`` are left out, too. With ``within`` the text is that of a piece of the source.
    """
    patches = patches or Patches(source, ())
    at, body = (within.start, [within.node]) if within else (0, source.tree.body)
    text = source.text[at:end]
    name = "c2t_kept_"
    while name in text:
        name += "_"
    parts: list[str] = []
    statements: list[str] = []
    counts: dict[str, int] = {}
    pieces: dict[int, Piece] = {}
    walk = _Walk(source, points, moved, apart, indented=within is not None)
    for run in walk.suite(body, end, outermost=True):
        if run.apart is not None:
            pieces[len(statements)] = Piece(run.apart, run.start, run.stop)
        new = f"{name}{len(statements)}_"
        stand_in = new
        if run.ends_head:
            changes = isinstance(run.first, _FUNCTIONS) and patches.inside(run.start, source.span(run.first)[1])
            stand_in = f"def {new}(): 0" if changes else f"class {new}: 0"
        parts += [patches.text(at, run.start), stand_in]
        statements.append(patches.text(run.start, run.stop))
        counts[new] = run.count
        at = run.stop
    return Kept("".join([*parts, patches.text(at, end)]), name, tuple(statements), counts, pieces)


def end_of_code(source: Source) -> int:
    """The offset behind the last line with code: LibCST does not keep all comments that follow it."""
    line = source.tree.body[-1].end_lineno or 0
    while line < len(source.line_starts):
        end = source.line_starts[line]
        if not source.text[:end].rstrip("\r\n").endswith("\\"):
            return end
        line += 1
    return len(source.text)


def with_whole_indents(source: Source, end: int) -> str:
    """The text up to ``end``, with no line break between a statement and its indentation."""
    starts = {source.start(node) for node in source.nodes if isinstance(node, ast.stmt)}
    return _BROKEN_INDENT.sub(lambda found: found[1] if found.end() in starts else found[0], source.text[:end])


@dataclasses.dataclass(slots=True)
class _Run:
    """Statements that follow each other in a suite, by their offsets."""

    first: ast.stmt
    start: int
    stop: int
    count: int
    ends_head: bool
    short: bool
    apart: ast.stmt | None = None


class _Walk:
    """Finds the outermost statements that can be left out."""

    def __init__(
        self,
        source: Source,
        points: Collection[int],
        moved: Collection[int],
        apart: Collection[ast.stmt],
        indented: bool,
    ):
        self.source = source
        self.points, self.moved, self.apart = sorted(points), frozenset(moved), frozenset(apart)
        self.indented = indented  # LibCST takes the file's indentation from the first block: that one stays

    def suite(self, body: Sequence[ast.stmt], limit: int, outermost: bool = False) -> Iterator[_Run]:
        """The runs of statements to leave out, in a suite that ends at the offset ``limit`` and below it."""
        starts = [self._start(node) for node in body]
        run: _Run | None = None
        for node, start, following in zip(body, starts, [*starts[1:], limit]):
            stop = self.source.span(node)[1]
            if self._stays(node, start, stop, following):
                if run is not None and not run.short:
                    yield run
                run = None
                line_end = self._line_end(node, start, stop, following) if node in self.apart else None
                if line_end is not None:
                    yield _Run(node, start, line_end, 1, True, False, node)
                else:
                    yield from self._inside(node, following)
                continue
            ends_head = outermost and isinstance(node, _ENDS_HEAD)
            if run is None:
                run = _Run(node, start, stop, 1, ends_head, stop - start <= _SHORT and not _is_compound(node))
            else:
                run.stop, run.count, run.short = stop, run.count + 1, False
                run.ends_head = run.ends_head or ends_head
        if run is not None and not run.short:
            yield run

    def _inside(self, node: ast.stmt, limit: int) -> Iterator[_Run]:
        suites = [getattr(node, "body", [])]
        suites += [clause.body for clause in (*getattr(node, "handlers", ()), *getattr(node, "cases", ()))]
        suites += [getattr(node, "orelse", []), getattr(node, "finalbody", [])]
        suites = [suite for suite in suites if suite]
        self.indented = self.indented or any(self._begins_line(self._start(suite[0])) for suite in suites)
        if self.source.start(node) in self.moved:
            return
        for suite, behind in zip(suites, [*suites[1:], None]):
            end = limit if behind is None else self._start(behind[0])
            if isinstance(suite[0], ast.If) and self.source.text.startswith("elif", self.source.start(suite[0])):
                yield from self._inside(suite[0], end)
            else:
                yield from self.suite(suite, end)

    def _stays(self, node: ast.stmt, start: int, stop: int, following: int) -> bool:
        at = bisect_left(self.points, start)
        if at < len(self.points) and self.points[at] < stop:
            return True
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            return True
        return self._line_end(node, start, stop, following) is None

    def _line_end(self, node: ast.stmt, start: int, stop: int, following: int) -> int | None:
        """Where the last line of a statement ends; None when no name can stand for it."""
        compound = _is_compound(node)
        if node is self.source.tree.body[0] or compound and not self.indented:
            return None
        line_end = _LINE_END.match(self.source.text, stop)
        if line_end is None or not self._begins_line(start):
            return None
        # a comment that is indented further belongs to the block above it
        if compound and any(
            len(found[1].expandtabs()) > self._indent(start)
            for found in _COMMENT_LINE.finditer(self.source.text, line_end.end(), following)
        ):
            return None
        return line_end.end()

    def _start(self, node: ast.stmt) -> int:
        decorators = getattr(node, "decorator_list", None)
        if not decorators:
            return self.source.start(node)
        return self.source.text.rindex("@", 0, self.source.start(decorators[0]))

    def _indent(self, start: int) -> int:
        line = self.source.line_at(start)
        return len(line[0][: start - line[1]].expandtabs())

    def _begins_line(self, start: int) -> bool:
        line = self.source.line_at(start)
        return not line[0][: start - line[1]].strip(" \t")


def _is_compound(node: ast.stmt) -> bool:
    return hasattr(node, "body") or isinstance(node, ast.Match)
