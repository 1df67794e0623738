"""Finds the LibCST nodes that a plan names by their offsets.

The trees of LibCST and of ``ast`` have the same statements in the same order, so they are walked side by side: only the
statements that hold an edit are looked at, and positions inside one come from LibCST's own code generation, which
starts at the offset that ``ast`` gives for the statement.
"""

from __future__ import annotations

import ast
import functools
from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

import libcst as cst
from libcst._nodes.internal import CodegenState

from chainer2torch.analysis.source import Source
from chainer2torch.plan.edits import Span

# `ast` counts the parentheses of these as part of the node, LibCST as something around it.
_WITH_PARENTHESES = frozenset({cst.Tuple, cst.GeneratorExp})
_EMPTY = cst.IndentedBlock(())


class Located:
    """The nodes that were asked for."""

    def __init__(self) -> None:
        self.expressions: dict[cst.CSTNode, Span] = {}
        # lines and compound statements by where they start; statements that share a line or stand behind a colon
        self.statements: dict[cst.CSTNode, int] = {}
        self.small: dict[cst.CSTNode, int] = {}
        self.elifs: set[cst.CSTNode] = set()
        # statements with expressions that were asked for and with comments inside
        self.commented: set[cst.CSTNode] = set()
        # these nodes and everything that holds one of them, by their ids: where a rewriting pass has to go
        self.paths: set[int] = set()


class _Mark(AbstractContextManager[None]):
    __slots__ = ("state", "node", "start")

    def __init__(self, state: _Recorder, node: cst.CSTNode):
        self.state, self.node, self.start = state, node, 0

    def __enter__(self) -> None:
        self.start = self.state.offset

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.state.found(self.node, self.start)


@functools.cache
def is_expression(node_type: type[cst.CSTNode]) -> bool:
    """Whether nodes of a type are expressions."""
    return issubclass(node_type, cst.BaseExpression)


class _Recorder(CodegenState):
    """A code generator that counts characters instead of keeping them."""

    def __init__(self, module: cst.Module, spans: Collection[Span], located: Located):
        super().__init__(module.default_indent, module.default_newline)
        self.offset = 0
        self.spans = spans
        self.located = located
        self.any = False
        self._bare: dict[cst.CSTNode, int] = {}
        self._stack: list[cst.CSTNode] = []

    def run(self, node: cst.CSTNode, offset: int) -> bool:
        """Generates a node that starts at an offset; whether something that was asked for is inside."""
        self.offset, self.any, self._stack = offset, False, []
        node._codegen(self)
        return self.any

    def add_token(self, value: str) -> None:
        self.offset += len(value)

    def add_indent_tokens(self) -> None:
        self.offset += self.indent

    @property
    def indent(self) -> int:
        """The width of the indentation, in characters."""
        return sum(map(len, self.indent_tokens))

    def pop_trailing_newline(self) -> None:
        pass

    def before_codegen(self, node: cst.CSTNode) -> None:
        self._stack.append(node)

    def after_codegen(self, node: cst.CSTNode) -> None:
        self._stack.pop()

    def record_syntactic_position(self, node: cst.CSTNode, **_: Any) -> _Mark:  # type: ignore[override]
        return _Mark(self, node)

    def found(self, node: Any, start: int) -> None:
        if not is_expression(node.__class__):
            return
        end = self.offset
        if type(node) in _WITH_PARENTHESES:
            if node.lpar:
                start, end = start - self.width(node.lpar[-1]), end + self.width(node.rpar[0])
            elif isinstance(node, cst.GeneratorExp):
                self._bare[node] = start
        elif isinstance(node, cst.Call) and len(node.args) == 1 and node.args[0].value in self._bare:
            # `f(x for x in y)`: for `ast` the parentheses of the call are those of the generator
            generator = node.args[0].value
            opening = self._bare[generator] - self.width(node.whitespace_before_args) - 1
            self._record(generator, (opening, end), [*self._stack, node.args[0], generator])
        self._record(node, (start, end), self._stack)

    def width(self, node: cst.CSTNode) -> int:
        """The number of characters of a piece of whitespace or punctuation."""
        before = self.offset
        node._codegen(self)
        width, self.offset = self.offset - before, before
        return width

    def _record(self, node: cst.CSTNode, span: Span, stack: list[cst.CSTNode]) -> None:
        if span in self.spans:
            self.located.expressions[node] = span
            self.located.paths.update(map(id, stack))
            self.any = True


class _Locator:
    """Walks both trees."""

    def __init__(
        self,
        module: cst.Module,
        source: Source,
        spans: Collection[Span],
        starts: Collection[int],
        counts: Mapping[str, int],
    ):
        self.source, self.counts = source, counts
        self.starts = frozenset(starts)
        self.located = Located()
        self.recorder = _Recorder(module, frozenset(spans), self.located)
        self.in_spans = sorted({start for start, _ in spans})
        self.points = sorted({*self.in_spans, *starts})

    def block(self, body: Sequence[cst.CSTNode], tree: Sequence[ast.stmt]) -> bool:
        """The statements of a suite; whether one of them holds something that was asked for."""
        found, at = False, 0
        for node in body:
            width = self._width(node)
            here = tree[at : at + width]
            at += width
            decorators = getattr(here[0], "decorator_list", ())
            if not _within(self.points, self.source.start((decorators or here)[0]), self.source.span(here[-1])[1]):
                continue
            if self.simple(node, here) if isinstance(node, cst.SimpleStatementLine) else self.compound(node, here[0]):
                self.located.paths.add(id(node))
                found = True
        return found

    def _width(self, node: Any) -> int:
        """The number of statements that a node is in ``ast``: a name may stand for several."""
        if isinstance(node, cst.SimpleStatementLine):
            if len(node.body) == 1 and isinstance(node.body[0], cst.Expr) and isinstance(node.body[0].value, cst.Name):
                return self.counts.get(node.body[0].value.value, 1)
            return len(node.body)
        return self.counts.get(node.name.value, 1) if isinstance(node, (cst.ClassDef, cst.FunctionDef)) else 1

    def simple(self, node: Any, tree: Sequence[ast.stmt]) -> bool:
        """The statements on one line."""
        found = False
        start = self.source.start(tree[0])
        if start in self.starts and isinstance(node, cst.SimpleStatementLine):
            self.located.statements[node] = start
            found = True
        for small, statement in zip(node.body, tree):
            start, end = self.source.span(statement)
            if start in self.starts and (len(tree) > 1 or isinstance(node, cst.SimpleStatementSuite)):
                self.located.small[small] = start
                self.located.paths.add(id(small))
                found = True
            if _within(self.in_spans, start, end) and self.recorder.run(small, start):
                found = True
                if "#" in self.source.text[start:end]:
                    self.located.commented.add(node)
        return found

    def compound(self, node: Any, tree: Any, elif_: bool = False) -> bool:
        """A compound statement: its head, then its suites."""
        start = self.source.start(tree)
        found = start in self.starts
        if found:
            self.located.statements[node] = start
        for decorator, expression in zip(getattr(node, "decorators", ()), getattr(tree, "decorator_list", ())):
            if self.expression(decorator.decorator, expression):
                self.located.paths.add(id(decorator))
                found = True
        if isinstance(node, cst.Match):
            return self._match(node, tree) or found
        if not isinstance(node, (cst.Try, cst.TryStar)):
            found |= self._head(node, start + (2 if elif_ else 0), self.source.start(tree.body[0]))
        found |= self.suite(node, node.body, tree.body)
        for handler, subtree in zip(getattr(node, "handlers", ()), getattr(tree, "handlers", ())):
            begin, first = self.source.start(subtree), self.source.start(subtree.body[0])
            if self._head(handler, begin, first) | self.suite(handler, handler.body, subtree.body):
                self.located.paths.add(id(handler))
                found = True
        orelse = getattr(node, "orelse", None)
        if isinstance(orelse, cst.If):
            self.located.elifs.add(orelse)
            if self.compound(orelse, tree.orelse[0], elif_=True):
                self.located.paths.add(id(orelse))
                found = True
        elif orelse is not None:
            found |= self.suite(orelse, orelse.body, tree.orelse)
        if getattr(node, "finalbody", None) is not None:
            found |= self.suite(node.finalbody, node.finalbody.body, tree.finalbody)
        return found

    def _match(self, node: cst.Match, tree: ast.Match) -> bool:
        found = self.expression(node.subject, tree.subject)
        self.recorder.increase_indent(self.recorder.default_indent if node.indent is None else node.indent)
        for case, subtree in zip(node.cases, tree.cases):
            inside = subtree.guard is not None and case.guard is not None and self.expression(case.guard, subtree.guard)
            if self.suite(case, case.body, subtree.body) or inside:
                self.located.paths.add(id(case))
                found = True
        self.recorder.decrease_indent()
        return found

    def _head(self, node: Any, start: int, end: int) -> bool:
        """What stands before the colon of a compound statement."""
        if not _within(self.in_spans, start, end):
            return False
        if not self.recorder.run(head(node), start - self.recorder.indent):
            return False
        if "#" in self.source.text[start:end]:
            self.located.commented.add(node)
        return True

    def suite(self, owner: cst.CSTNode, node: cst.BaseSuite, tree: Sequence[ast.stmt]) -> bool:
        """The body of a compound statement: on lines of its own, or behind the colon."""
        if isinstance(node, cst.IndentedBlock):
            self.recorder.increase_indent(self.recorder.default_indent if node.indent is None else node.indent)
            found = self.block(node.body, tree)
            self.recorder.decrease_indent()
        else:
            found = self.simple(node, tree)
        if found:
            self.located.paths.update((id(owner), id(node)))
        return found

    def expression(self, node: cst.BaseExpression, tree: ast.expr) -> bool:
        """An expression whose place is known from its own counterpart."""
        start, end = self.source.span(tree)
        if not _within(self.in_spans, start, end):
            return False
        opening = node.lpar[:-1] if type(node) in _WITH_PARENTHESES else node.lpar
        return self.recorder.run(node, start - sum(map(self.recorder.width, opening)))


def head(node: Any) -> Any:
    """A compound statement (or clause of one) without its suites and what stands above it; other nodes as they are."""
    if not hasattr(node, "body") or isinstance(node, (cst.SimpleStatementLine, cst.SimpleStatementSuite)):
        return node
    changes: dict[str, Any] = {"body": _EMPTY, "leading_lines": ()}
    if hasattr(node, "orelse"):
        changes["orelse"] = None
    if hasattr(node, "decorators"):
        changes.update(decorators=(), lines_after_decorators=())
    return node.with_changes(**changes)


def _within(points: list[int], start: int, end: int) -> bool:
    at = bisect_left(points, start)
    return at < len(points) and points[at] < end


def locate(
    module: cst.Module,
    source: Source,
    spans: Collection[Span],
    starts: Collection[int],
    counts: Mapping[str, int],
    body: Sequence[ast.stmt] | None = None,
) -> Located:
    """The expression nodes with these spans and the statement nodes with these starts.

    ``body`` are the statements of which the module consists, when it is not the whole source.
    ``counts`` says of names that are statements of their own for how many statements of the source they stand.
    """
    locator = _Locator(module, source, spans, starts, counts)
    if locator.block(module.body, source.tree.body if body is None else body):
        locator.located.paths.add(id(module))
    return locator.located
