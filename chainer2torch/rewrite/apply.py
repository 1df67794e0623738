"""Applies the edits of one file to its LibCST tree, in one pass over the statements that have edits."""
from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import libcst as cst

from chainer2torch.plan.edits import (
    Comment, Remove, RemoveImport, Rename, Replace, ReplaceStatement, Span, StatementEdit, Unmark, Unwrap,
    Wrap,
)
from chainer2torch.rewrite import imports, spans
from chainer2torch.rewrite.names import Names
from chainer2torch.rewrite.template import Operands, Unplaced, instantiate, parse, training, wrap

Edit = Replace | Wrap | StatementEdit


@dataclasses.dataclass
class Applied:
    """The result: the text, and the edits whose place was not found (their sites stay manual)."""

    code: str
    failed: list[Edit]


def apply(text: str, edits: Sequence[Edit], names: Names) -> Applied:
    """Rewrites a source text. Raises ``libcst.ParserSyntaxError`` when it does not parse."""
    module = cst.parse_module(text)
    wanted = {e.span for e in edits if isinstance(e, (Replace, Wrap))}
    for edit in edits:
        operands: Iterable[Any] = ()
        if isinstance(edit, Replace):
            operands = [*edit.operands.values(), *edit.extra, *(o for _, o in edit.extra_keywords)]
        elif isinstance(edit, ReplaceStatement):
            operands = edit.operands.values()
        wanted |= {o.span for o in operands if o.span is not None}
    starts = {e.start for e in edits if isinstance(e, StatementEdit)}
    located = spans.locate(module, wanted, starts)
    transformer = _Apply(edits, located, names)
    transformer.top = {s for s in module.body}
    result = module.visit(transformer)
    found = {*located.expressions.values(), *located.statements.values()}
    failed = transformer.failed + [
        e for e in edits if (e.start if isinstance(e, StatementEdit) else e.span) not in found]
    result = imports.insert(result, names.statements())
    return Applied(result.code, [e for e in failed if not isinstance(e, Comment)])


class _Apply(cst.CSTTransformer):
    def __init__(self, edits: Sequence[Edit], located: spans.Located, names: Names):
        super().__init__()
        self.located, self.names = located, names
        self.replaces: dict[Span, Replace] = {e.span: e for e in edits if isinstance(e, Replace)}
        self.wraps: dict[Span, Wrap] = {e.span: e for e in edits if isinstance(e, Wrap)}
        self.statements: dict[int, list[StatementEdit]] = {}
        for edit in edits:
            if isinstance(edit, StatementEdit):
                self.statements.setdefault(edit.start, []).append(edit)
        self.updated: dict[Span, cst.BaseExpression] = {}
        self.failed: list[Edit] = []
        self.placed = False
        self.top: set[cst.CSTNode] = set()

    def on_visit(self, node: cst.CSTNode) -> bool:
        return node in self.located.paths

    def on_leave(self, original: cst.CSTNode, updated: Any) -> Any:  # type: ignore[override]
        span = self.located.expressions.get(original)
        if span is not None:
            assert isinstance(original, cst.BaseExpression)
            edit = self.replaces.get(span)
            if edit is not None:
                try:
                    updated = instantiate(
                        edit, original, updated, self.located.expressions, self.updated.get, self.names)
                except Unplaced:
                    self.failed.append(edit)
            if span in self.wraps:
                updated = wrap(self.wraps[span].template, updated, self.names)
            self.updated[span] = updated
            return updated
        start = self.located.statements.get(original)
        if start is not None:
            return self._statement(original, updated, self.statements[start])
        if isinstance(original, (cst.IndentedBlock, cst.SimpleStatementSuite)) and not updated.body:
            return cst.IndentedBlock([_pass()])
        return updated

    def _statement(self, original: cst.CSTNode, node: Any, edits: list[StatementEdit]) -> Any:
        """Comments last, so that they end up above whatever the statement has become."""
        lines: list[Any] = [node]
        for edit in sorted(edits, key=lambda e: isinstance(e, Comment)):
            try:
                lines = self._one(lines, edit)
            except Unplaced:
                self.failed.append(edit)
        if not self.placed and original in self.top and any(isinstance(e, RemoveImport) for e in edits):
            self.placed = True
            lines = [imports.PLACE.with_changes(leading_lines=node.leading_lines), *lines]
            if len(lines) > 1:
                lines[1] = lines[1].with_changes(leading_lines=[])
        return cst.FlattenSentinel(lines) if len(lines) != 1 else lines[0]

    def _one(self, lines: list[Any], edit: StatementEdit) -> list[Any]:
        node = lines[0] if lines else None
        if isinstance(edit, Comment):
            return self._comment(lines, edit.text)
        if node is None:
            return lines
        if isinstance(edit, Remove):
            return []
        if isinstance(edit, Unmark):
            kept = [line for line in node.leading_lines if not _marks(line, edit.symbol)]
            return [node.with_changes(leading_lines=kept), *lines[1:]]
        if isinstance(edit, Rename):
            return [node.with_changes(name=cst.Name(edit.name)), *lines[1:]]
        if isinstance(edit, Unwrap):
            return self._unwrap(node, edit)
        if isinstance(edit, ReplaceStatement):
            return self._replace(node, edit)
        if isinstance(edit, RemoveImport):
            return imports.remove_aliases(node, edit.aliases)
        raise TypeError(f"unknown edit {edit}")

    @staticmethod
    def _comment(lines: list[Any], text: str) -> list[Any]:
        if not lines:
            return lines
        first = lines[0]
        if any(line.comment and line.comment.value == text for line in first.leading_lines):
            return lines
        marker = cst.EmptyLine(comment=cst.Comment(text))
        return [first.with_changes(leading_lines=[*first.leading_lines, marker]), *lines[1:]]

    def _unwrap(self, node: Any, edit: Unwrap) -> list[Any]:
        if edit.branch == "orelse":
            orelse = node.orelse
            if orelse is None:
                return []
            if isinstance(orelse, cst.If):
                return [orelse.with_changes(leading_lines=[*node.leading_lines, *orelse.leading_lines])]
            block = orelse.body
        else:
            block = node.body
        if isinstance(block, cst.IndentedBlock):
            body = list(block.body)
        else:
            body = [cst.SimpleStatementLine(block.body, trailing_whitespace=block.trailing_whitespace)]
        if len(body) == 1 and _is_pass(body[0]):
            body = []
        if edit.append:
            body += self._code(edit.append, {}, "")
        if not body:
            return []
        first = body[0]
        head = [*node.leading_lines, *first.leading_lines]
        if isinstance(block, cst.IndentedBlock) and block.header.comment is not None:
            head.append(cst.EmptyLine(comment=block.header.comment))
        footer = list(block.footer) if isinstance(block, cst.IndentedBlock) else []
        body[0] = first.with_changes(leading_lines=head)
        if footer and any(line.comment for line in footer):
            body[-1] = _with_footer(body[-1], footer)
        return body

    def _replace(self, node: Any, edit: ReplaceStatement) -> list[Any]:
        if not isinstance(node, cst.SimpleStatementLine) or len(node.body) != 1:
            raise Unplaced("several statements on a line")
        body = self._code(edit.template, edit.operands, edit.training)
        if body:
            body[0] = body[0].with_changes(leading_lines=node.leading_lines)
            if node.trailing_whitespace.comment is not None:
                body[-1] = body[-1].with_changes(trailing_whitespace=node.trailing_whitespace)
            return body
        return []

    def _code(self, text: str, operands: Any, training_text: str) -> list[Any]:
        """The statements of a template, with operands filled in and torch names spelled as in this file."""
        from chainer2torch.rewrite.template import _Instantiate
        module = cst.parse_module(text)
        edit = Replace((0, 0), "", operands, training=training_text)
        fill = _Instantiate(edit, Operands(operands, self.updated.get), self.names)
        return [statement.visit(fill) for statement in module.body]


def _marks(line: cst.EmptyLine, symbol: str) -> bool:
    return line.comment is not None and line.comment.value.startswith("# TODO(chainer2torch ") and \
        f": {symbol}: " in line.comment.value


def _pass() -> cst.SimpleStatementLine:
    return cst.SimpleStatementLine([cst.Pass()])


def _is_pass(node: Any) -> bool:
    return isinstance(node, cst.SimpleStatementLine) and len(node.body) == 1 and isinstance(node.body[0], cst.Pass)


def _with_footer(node: Any, footer: list[cst.EmptyLine]) -> Any:
    # comments at the end of an unwrapped block stay behind its last statement, when that can hold them
    body = getattr(node, "body", None)
    if isinstance(body, cst.IndentedBlock):
        return node.with_changes(body=body.with_changes(footer=[*body.footer, *footer]))
    return node


__all__ = ["Applied", "apply", "parse", "training"]
