"""Applies the edits of one file to its LibCST tree, in one pass over the statements that have edits."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import libcst as cst

from chainer2torch.analysis.source import Source
from chainer2torch.plan.edits import (
    Above,
    AddDecorator,
    AddKeyword,
    AddParameter,
    BaseLast,
    Comment,
    GuardImport,
    IntoFor,
    IntoIf,
    Operand,
    Remove,
    RemoveBase,
    RemoveImport,
    Rename,
    Replace,
    ReplaceImport,
    ReplaceStatement,
    Span,
    StatementEdit,
    Unmark,
    Unwrap,
    Wrap,
)
from chainer2torch.rewrite import import_edits, in_text, spans
from chainer2torch.rewrite.argument_comments import beside_assignments
from chainer2torch.rewrite.kept import Kept, Piece, end_of_code, shorten, with_whole_indents
from chainer2torch.rewrite.format_strings import fitted, is_inside
from chainer2torch.rewrite.in_text import Patches
from chainer2torch.rewrite.loops import into_for
from chainer2torch.rewrite.own_functions import with_own_functions
from chainer2torch.rewrite.printing import Printer, changed, fields, parse_module
from chainer2torch.rewrite.layout import ending_alone, ends_alone, is_expression, joined, realign
from chainer2torch.rewrite.signature_edits import with_keyword, with_last, with_parameter
from chainer2torch.rewrite.suite_lines import (
    apart,
    comments_above,
    has_block,
    is_marker_of,
    keep_comments,
    line_of,
    lower_markers,
    mark_each,
    rebuilt,
    missing_comments,
    pass_line,
    is_idle_branch,
    with_end_of_line,
    without_last_semicolon,
    without_self_assignments,
)
from chainer2torch.rewrite.torch_names import Names
from chainer2torch.rewrite.edit_places import Places
from chainer2torch.rewrite.unwrapping import into_if, unwrapped
from chainer2torch.rewrite.template import Operands, Unplaced, instantiate, parse, statements, training, wrap

_DEFINITIONS = frozenset({cst.ClassDef, cst.FunctionDef})
_LINES = frozenset({cst.SimpleStatementLine, cst.SimpleStatementSuite})
_PARTS = frozenset({cst.Arg, cst.AssignTarget, cst.Element, cst.DictElement, cst.SubscriptElement, cst.Index})
Edit = Replace | Wrap | AddKeyword | StatementEdit
# characters from which on functions and classes are rewritten by themselves: some 3,000 lines, 70 MB
LARGE = 100_000


@dataclasses.dataclass
class Applied:
    """The result: the text, and the edits whose place was not found (their sites stay manual)."""

    code: str
    failed: list[Edit]


def apply(source: Source, edits: Sequence[Edit], names: Names) -> Applied:
    """Rewrites a source text. Raises ``libcst.ParserSyntaxError`` when LibCST does not parse it."""
    made = in_text.patches(source, edits, names)
    end = end_of_code(source)
    places = Places.of(source, made.edits)
    apart = places.apart() if end > LARGE else ()
    kept = shorten(source, end, places.points, places.moved, apart, patches=made)
    try:
        module = lower_markers(parse_module(kept.text))
    except cst.ParserSyntaxError:  # then the whole text: for the right line in the message
        made = Patches(source, edits)
        places = Places.of(source, edits)
        kept = Kept(with_whole_indents(source, end))
        module = lower_markers(parse_module(kept.text))
    rewriter = _Rewriter(made.edits, names, source)
    result = rewriter.run(module, spans.locate(module, source, places.spans, places.starts, kept.counts))
    indent = module.default_indent if set(module.default_indent) <= {" ", "\t"} else "    "  # as in parse_module
    config = cst.PartialParserConfig(default_indent=indent, default_newline=module.default_newline)
    rewritten = {
        number: _apart(piece, rewriter, places.within(piece.start, piece.stop), made, config, end)
        for number, piece in kept.apart.items()
    }
    failed = rewriter.failed + [
        e for e in made.edits if (e.start if isinstance(e, StatementEdit) else e.span) not in rewriter.found
    ]
    result = with_own_functions(result, names)
    printer = Printer()
    names.forget_unsaid(result, [*rewritten.values(), *made.texts], printer)
    way = names.way()
    result = import_edits.insert(result, names.statements(), names.helpers.behind, way)
    result = import_edits.spaced(result) if any(isinstance(e, GuardImport) for e in edits) else result
    code = kept.restore(printer.code(result), rewritten) if result.body or result.header else ""
    if code and source.text[:end].endswith(("\n", "\r")) and not code.endswith(("\n", "\r")):
        code += module.default_newline
    return Applied(code + source.text[end:], [e for e in failed if not isinstance(e, Comment)])


def _apart(
    piece: Piece, rewriter: _Rewriter, places: Places, made: Patches, config: cst.PartialParserConfig, end: int
) -> str:
    """The new text of a function or class of a large file: its tree is gone when the next one comes."""
    source = rewriter.source
    kept = shorten(source, piece.stop, places.points, places.moved, within=piece, patches=made)
    try:
        module = cst.parse_module(kept.text, config)
    except cst.ParserSyntaxError:
        parse_module(source.text[:end])  # for the right line in the message
        raise
    located = spans.locate(module, source, places.spans, places.starts, kept.counts, [piece.node])
    return kept.restore(Printer().code(rewriter.run(module, located)))


class _Rewriter:
    """Rebuilds the nodes on the way to the edits, children first; everything else is kept as it is."""

    def __init__(self, edits: Sequence[Edit], names: Names, source: Source):
        self.names, self.source = names, source
        self.located = spans.Located()
        self.replaces: dict[Span, Replace] = {e.span: e for e in edits if isinstance(e, Replace)}
        self.wraps: dict[Span, Wrap] = {e.span: e for e in edits if isinstance(e, Wrap)}
        self.keywords: dict[Span, AddKeyword] = {e.span: e for e in edits if isinstance(e, AddKeyword)}
        self.statements: dict[int, list[StatementEdit]] = {}
        for edit in edits:
            if isinstance(edit, StatementEdit):
                self.statements.setdefault(edit.start, []).append(edit)
        self.updated: dict[Span, cst.BaseExpression] = {}
        self.failed: list[Edit] = []
        self.placed = False
        self.in_class = False
        self.top: set[cst.CSTNode] = set()
        self.found: set[Span | int] = set()

    def run(self, module: cst.Module, located: spans.Located) -> cst.Module:
        """The module with its edits; ``found`` gets their places."""
        self.located, self.top, self.updated = located, set(module.body), {}
        self.found.update(located.expressions.values(), located.statements.values(), located.small.values())
        result = self.rebuild(module)
        assert isinstance(result, cst.Module)
        return result

    def rebuild(self, node: Any) -> Any:
        """The node that takes the place of ``node``, or a list of nodes when it stands in a sequence."""
        paths = self.located.paths
        changes: dict[str, Any] = {}
        outside = self.in_class
        kind = node.__class__  # these classes have no subclasses, and LibCST's are slow to ask
        if kind in _DEFINITIONS:
            self.in_class = kind is cst.ClassDef
        for name in fields(kind) if kind is not cst.Arg else (*fields(kind), "keyword"):
            value = getattr(node, name)
            if isinstance(value, (tuple, list)):
                if paths.isdisjoint(map(id, value)):
                    continue
                changes[name] = rebuilt(value, paths, self.rebuild)
            elif id(value) in paths:
                new = self.rebuild(value)
                changes[name] = (new[0] if new else None) if isinstance(new, list) else new
        if kind in _DEFINITIONS:
            self.in_class = outside
        if kind in _LINES and has_block(changes.get("body", ())):
            return self._apart(node, changes["body"])
        updated = changed(node, changes) if changes else node
        if changes and kind is cst.FormattedString:
            updated = self._in_braces(node, updated)
        if kind in _PARTS:
            return updated
        if spans.is_expression(kind):
            span = self.located.expressions.get(node)
            return updated if span is None else self._expression(node, updated, span)
        return self._leave(node, updated)

    def _apart(self, node: Any, body: list[Any]) -> Any:
        lines = apart(node, body)
        if isinstance(node, cst.SimpleStatementSuite):
            return cst.IndentedBlock(lines)
        start = self.located.statements.get(node)
        edits = self.statements[start] if start is not None else []
        comments = [edit for edit in edits if isinstance(edit, Comment)]
        return mark_each(lines, comments, edits) if comments else lines

    def _in_braces(self, original: cst.FormattedString, updated: cst.FormattedString) -> cst.FormattedString:
        """An f-string, as it was where what its edits need cannot stand inside of one."""
        result = fitted(updated)
        if result is None:
            spans = {span for node, span in self.located.expressions.items() if is_inside(node, original)}
            for edits in (self.replaces, self.wraps, self.keywords):
                self.failed.extend(edit for span, edit in edits.items() if span in spans)
        return result or original

    def _leave(self, original: cst.CSTNode, updated: Any) -> Any:
        """The statement, or clause of one, that takes the place of another."""
        if original in self.located.small:
            return self._small(updated, self.statements[self.located.small[original]])
        if original in self.located.commented:
            updated = keep_comments(original, updated)
        start = self.located.statements.get(original)
        edits = self.statements[start] if start is not None else []
        if isinstance(original, cst.SimpleStatementLine):
            if not edits and not self.in_class and updated is not original:
                updated = without_self_assignments(original, updated)
            return self._statement(original, updated, edits)
        if edits:
            return self._statement(original, updated, edits)
        if isinstance(original, cst.IndentedBlock) and all(isinstance(s, cst.EmptyLine) for s in updated.body):
            return updated.with_changes(body=[*updated.body, pass_line()])
        if isinstance(original, cst.SimpleStatementSuite) and updated is not original:
            updated = updated if self.in_class else without_self_assignments(original, updated)
            return updated.with_changes(body=without_last_semicolon(updated.body) or [cst.Pass()])
        return [] if is_idle_branch(original, updated) else updated

    def _expression(self, original: cst.BaseExpression, updated: Any, span: Span) -> Any:
        edit, before = self.replaces.get(span), updated
        if edit is not None:
            try:
                updated = instantiate(edit, original, updated, self.located.expressions, self.updated.get, self.names)
            except Unplaced:
                self.failed.append(edit)
            several_lines = "\n" in self.source.text[slice(*span)]
            if several_lines and isinstance(original, cst.Call) and isinstance(updated, cst.Call):
                line, line_start = self.source.line_at(span[0])
                if self.names.helpers.native:
                    behind, behind_start = self.source.line_at(span[1])
                    updated = joined(original, updated, line[: span[0] - line_start], behind[span[1] - behind_start :])
                updated = realign(original, updated, span[0], line, line_start)
        if span in self.keywords and isinstance(updated, cst.Call):
            updated = with_keyword(updated, self.keywords[span].name, training(self.keywords[span].value, self.names))
        if span in self.wraps:
            around = self.wraps[span]
            if around.operands:
                self._first(around.operands.values())
            try:
                updated = wrap(around, updated, self.updated.get, self.names)
            except Unplaced:
                self.failed.append(around)
        if updated is not before and "\n" in self.source.text[slice(*span)] and self._ends_alone(original, span):
            updated = ending_alone(updated)
        self.updated[span] = updated
        return updated

    def _ends_alone(self, original: cst.BaseExpression, span: Span) -> bool:
        if isinstance(original, cst.GeneratorExp):  # its place may have the parentheses of a call
            return ends_alone(original)
        return bool(original.lpar) or is_expression(self.source.text[slice(*span)])

    def _first(self, operands: Iterable[Operand]) -> None:
        """Rebuilds operands that stand behind what needs them."""
        missing = {o.span for o in operands if o.span is not None and o.span not in self.updated}
        for node in [n for n, span in self.located.expressions.items() if span in missing] if missing else ():
            self.rebuild(node)

    def _small(self, node: Any, edits: list[StatementEdit]) -> list[Any]:
        """A statement that shares its line with others, or stands behind a colon."""
        small = [] if any(isinstance(edit, Remove) for edit in edits) else [node]
        for edit in edits:
            if isinstance(edit, RemoveImport):
                small = import_edits.remove_aliases(node, edit.aliases)
            elif isinstance(edit, ReplaceImport):
                small = import_edits.replaced_small(node, edit.aliases, edit.statements)
            elif isinstance(edit, ReplaceStatement):
                lines = [line for line in self._code(edit, edit.template, edit.training) if hasattr(line, "body")]
                small = [
                    part
                    for line in lines
                    for part in (line.body if isinstance(line, cst.SimpleStatementLine) else [line])
                ] or small
        if small and small[-1] is not node and isinstance(small[-1], cst.BaseSmallStatement):
            small[-1] = small[-1].with_changes(semicolon=node.semicolon)
        return small

    def _statement(self, original: Any, node: Any, edits: list[StatementEdit]) -> Any:
        """Markers last, so that they end up above whatever the statement has become."""
        lines = line_of(original, node) if isinstance(node, cst.SimpleStatementLine) else [node]
        comments = [edit for edit in edits if isinstance(edit, Comment)]
        for edit in edits:
            lines = self._one(original, lines, edit)
        lines = mark_each(lines, comments, edits) if comments else lines
        lines = import_edits.with_lines_above(lines, [edit.code for edit in edits if isinstance(edit, Above)])
        if not self.placed and original in self.top and self._removes_import(original, edits):
            self.placed = True
            rest = [line for line in lines if not isinstance(line, cst.EmptyLine)]
            rest[:1] = [line.with_changes(leading_lines=[]) for line in rest[:1]]
            lines = [import_edits.PLACE.with_changes(leading_lines=node.leading_lines), *rest]
        return lines if len(lines) != 1 else lines[0]

    def _removes_import(self, original: Any, edits: list[StatementEdit]) -> bool:
        if isinstance(original, cst.Try):
            return any(isinstance(e, (IntoIf, Remove)) for e in edits)
        small = (
            [self.located.small[s] for s in getattr(original, "body", ()) if s in self.located.small]
            if isinstance(original, cst.SimpleStatementLine)
            else []
        )
        every = [*edits, *(e for s in small for e in self.statements[s])]
        return any(isinstance(e, RemoveImport) and e.is_place for e in every)

    def _one(self, original: Any, lines: list[Any], edit: StatementEdit) -> list[Any]:
        node = lines[0] if lines else None
        if node is None or isinstance(node, cst.EmptyLine) or isinstance(edit, (Above, Comment)):
            return lines
        if isinstance(edit, Remove):
            return comments_above(node)
        if isinstance(edit, Unmark):
            kept = [line for line in node.leading_lines if not is_marker_of(line, edit.symbol)]
            return [node.with_changes(leading_lines=kept), *lines[1:]]
        if isinstance(edit, Rename):
            return [node.with_changes(name=cst.Name(edit.name)), *lines[1:]]
        if isinstance(edit, AddParameter):
            return [with_parameter(node, edit.name, edit.default), *lines[1:]]
        if isinstance(edit, AddDecorator):
            return [self._decorated(node, edit), *lines[1:]]
        if isinstance(edit, RemoveBase):
            bases = [base for i, base in enumerate(node.bases) if i != edit.index]
            return [node.with_changes(bases=bases), *lines[1:]]
        if isinstance(edit, BaseLast):
            return [node.with_changes(bases=with_last(node.bases, edit.index)), *lines[1:]]
        if isinstance(edit, IntoFor):
            return self._into_for(node, edit)
        if isinstance(edit, IntoIf):
            return [into_if(node, statements(f"if {edit.test}:\n    pass\n", None, self.names))]
        if isinstance(edit, Unwrap):
            return self._unwrap(node, edit, original in self.located.elifs)
        alone = isinstance(node, cst.SimpleStatementLine) and len(original.body) == 1
        if isinstance(edit, RemoveImport):
            if alone:
                kept = import_edits.remove_aliases(node.body[0], edit.aliases)
                lines = [node.with_changes(body=kept)] if kept else comments_above(node)
            return lines
        if isinstance(edit, GuardImport):
            return self._guarded(lines, edit)
        if isinstance(edit, ReplaceImport):
            return import_edits.replaced(node, edit.aliases, edit.statements) if alone else lines
        if isinstance(edit, ReplaceStatement):
            return self._replace(node, edit) if alone else lines
        raise TypeError(f"unknown edit {edit}")

    def _decorated(self, node: cst.FunctionDef, edit: AddDecorator) -> cst.FunctionDef:
        (function,) = statements(f"@{edit.code}\ndef f():\n    pass\n", None, self.names)
        return node.with_changes(decorators=[*node.decorators, *function.decorators])

    def _guarded(self, lines: list[Any], edit: GuardImport) -> list[Any]:
        helper = self.names.spell("compat.not_migrated") if edit.stand_ins else ""
        bound = [f"{name} = {helper}('{dotted}')" for name, dotted in edit.stand_ins]
        return [
            import_edits.guarded(line, bound) if isinstance(line, cst.SimpleStatementLine) else line for line in lines
        ]

    def _replace(self, node: Any, edit: ReplaceStatement) -> list[Any]:
        body = self._code(edit, edit.template, edit.training)
        if not body:
            return [node]
        if node.trailing_whitespace.comment is not None:
            body[-1] = with_end_of_line(body[-1], node.trailing_whitespace)
        if isinstance(node.body[0], cst.Expr):
            body = beside_assignments(node.body[0].value, body)
        comments = [*node.leading_lines, *missing_comments([node.with_changes(leading_lines=())], body)]
        return import_edits.above(body, comments)

    def _into_for(self, node: Any, edit: IntoFor) -> list[Any]:
        operands = Operands(edit.operands, self._operand)
        try:
            return into_for(node, edit, lambda text: statements(text, operands, self.names))
        except Unplaced:
            self.failed.append(edit)
            return [node]

    def _unwrap(self, node: Any, edit: Unwrap, elif_: bool) -> list[Any]:
        return unwrapped(node, edit, elif_, lambda text: self._code(edit, text))

    def _code(self, edit: ReplaceStatement | Unwrap, template: str, training_text: str = "") -> list[Any]:
        """The statements of a template, with operands filled in and torch names spelled as in this file."""
        try:
            return statements(template, Operands(edit.operands, self._operand), self.names, training_text)
        except Unplaced:
            self.failed.append(edit)
            return []

    def _operand(self, span: Span) -> cst.BaseExpression | None:
        """The new node of an operand that may come to stand outside of the parentheses it stood in."""
        node = self.updated.get(span)
        return ending_alone(node) if node is not None and "\n" in self.source.text[slice(*span)] else node


__all__ = ["Applied", "apply", "parse", "training"]
