"""Lines of a suite: what markers and comments stand above a statement when it changes, is split or goes.

Besides statements there are ``cst.EmptyLine``: comments that belong to no statement any more.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import libcst as cst

from chainer2torch.plan.edits import Comment, ReplaceStatement, StatementEdit
from chainer2torch.rewrite import import_edits, spans
from chainer2torch.rewrite.printing import all_fields, code_of

_OF_CLASSES = frozenset({"compat.is_variable", "isinstance"})


def line_of(original: Any, node: Any) -> list[Any]:
    """A line of small statements, some of which may have gone."""
    if not node.body:
        return comments_above(node)
    if len(node.body) != len(original.body):
        node = node.with_changes(body=without_last_semicolon(node.body))
    return [node]


def without_last_semicolon(body: Sequence[Any]) -> list[Any]:
    """The small statements of a line, of which the last may have gone."""
    return [*body[:-1], *(last.with_changes(semicolon=cst.MaybeSentinel.DEFAULT) for last in body[-1:])]


def has_block(body: Sequence[Any]) -> bool:
    """Whether a statement of a line has become a block, which cannot share its line."""
    return any(isinstance(part, cst.BaseCompoundStatement) for part in body)


def apart(line: Any, body: Sequence[Any]) -> list[Any]:
    """The statements that a line, or what stands behind a colon, has become, each on its own."""
    above = [*getattr(line, "leading_lines", ())]
    if line.trailing_whitespace.comment is not None:
        above.append(cst.EmptyLine(comment=line.trailing_whitespace.comment))
    lines: list[Any] = [
        part
        if isinstance(part, cst.BaseCompoundStatement)
        else cst.SimpleStatementLine([part.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)])
        for part in body
    ]
    return [lines[0].with_changes(leading_lines=[*above, *lines[0].leading_lines]), *lines[1:]]


def without_self_assignments(original: Any, node: Any) -> Any:
    """A line without what has become ``x = x``: of ``x = Variable(x)`` nothing is left to do.

    In the body of a class it would not be nothing: there it makes an attribute.
    """
    if len(original.body) != len(node.body):
        return node
    pairs = zip(original.body, node.body, strict=True)
    return node.with_changes(body=[new for old, new in pairs if new is old or not _assigns_itself(new)])


def _assigns_itself(statement: Any) -> bool:
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
        return False
    target, value = statement.targets[0].target, statement.value
    return isinstance(target, cst.Name) and isinstance(value, cst.Name) and target.value == value.value


def is_idle_branch(original: Any, node: Any) -> bool:
    """Whether an ``if`` of which nothing is left to do asks nothing but what a value is, and no comment explains it.

    ``if not isinstance(x, Variable): x = Variable(x)`` where ``x`` is a tensor for sure.
    """
    if (
        not isinstance(node, cst.If)
        or original.orelse is not None
        or not _is_idle(node.body)
        or _is_idle(original.body)
    ):
        return False
    return _asks_nothing(node.test) and not _has_comment(original)


def _is_idle(block: Any) -> bool:
    lines = block.body if isinstance(block, cst.IndentedBlock) else [block]
    return all(is_pass(line) for line in lines)


def _asks_nothing(test: Any) -> bool:
    """Whether a condition is a name, or ``isinstance`` of one: nobody notices whether it was asked."""
    if isinstance(test, cst.UnaryOperation):
        return isinstance(test.operator, cst.Not) and _asks_nothing(test.expression)
    if isinstance(test, cst.BooleanOperation):
        return _asks_nothing(test.left) and _asks_nothing(test.right)
    if isinstance(test, cst.Call):
        return code_of(test.func) in _OF_CLASSES and bool(test.args) and isinstance(test.args[0].value, cst.Name)
    return isinstance(test, cst.Name)


def comments_above(node: Any) -> list[cst.EmptyLine]:
    """What stays of a statement that is removed."""
    return [line for line in node.leading_lines if line.comment]


def rebuilt(items: Sequence[Any], paths: Collection[int], rebuild: Callable[[Any], Any]) -> list[Any]:
    """The items of a sequence, those on a path to an edit rebuilt: each is one node, several, or none."""
    made: list[Any] = []
    gone: Sequence[cst.EmptyLine] = ()
    leads = False  # whether what stood first has gone: what comes first now has no blank lines above, if that had none
    for item in items:
        new = rebuild(item) if id(item) in paths else item
        lines = new if isinstance(new, list) else [new]
        leads = not made and (leads or not lines and not [*_blanks(getattr(item, "leading_lines", ()))])
        if leads and lines and hasattr(lines[0], "leading_lines"):
            above = lines[0].leading_lines
            lines = [lines[0].with_changes(leading_lines=above[len([*_blanks(above)]) :]), *lines[1:]]
        if gone or not lines or isinstance(lines[0], cst.EmptyLine):
            lines, gone = _with_blanks(lines, gone, item, bool(made))
        made.extend(lines)
    return made


def _with_blanks(
    lines: list[Any], gone: Sequence[cst.EmptyLine], original: Any, behind: bool
) -> tuple[list[Any], Sequence[cst.EmptyLine]]:
    """Lines of a suite behind a statement that has gone: its blank lines are theirs, unless they have as many.

    Gives the lines, and the blanks that are still to come. ``behind``: whether there is a statement above.
    """
    own = [*_blanks(getattr(original, "leading_lines", ()))] if behind else []
    if not lines:
        return [], max(own, gone, key=len)
    first = lines[0]
    if isinstance(first, cst.EmptyLine):  # comments above what has gone
        return [*max(own, gone, key=len), *lines], ()
    if not hasattr(first, "leading_lines"):
        return lines, ()
    missing = gone[len([*_blanks(first.leading_lines)]) :]
    return [first.with_changes(leading_lines=[*missing, *first.leading_lines]), *lines[1:]] if missing else lines, ()


def _blanks(lines: Sequence[cst.EmptyLine]) -> Iterable[cst.EmptyLine]:
    return itertools.takewhile(lambda line: line.comment is None, lines)


def mark_each(lines: list[Any], comments: Sequence[Comment], edits: Sequence[StatementEdit]) -> list[Any]:
    """Markers above the statement; where it has become several, each above the one with the code that it is about."""
    split = [e for e in edits if isinstance(e, ReplaceStatement)]
    parts = _statements(split[0].template) if len(split) == 1 else []
    if len(parts) != len(lines) or len(parts) < 2:
        return _mark(lines, [c.text for c in comments])
    of_line: dict[int, list[str]] = {}
    said: set[str] = set()
    looped = len(parts) < len(split[0].template.splitlines())
    for comment in comments:
        at = _part_with(comment, parts, split[0])
        # of layers that are alike the first says it, and whatever is left as it was
        if not looped or comment.text not in said or _names(lines[at], comment.text.split(": ")[1]):
            of_line.setdefault(at, []).append(comment.text)
        said.add(comment.text)
    for i in sorted(of_line):
        lines[i : i + 1] = _mark(lines[i : i + 1], of_line[i])
    return lines


def _names(line: Any, symbol: str) -> bool:
    """Whether a line still has the last name of a symbol."""
    last = re.escape(symbol.rpartition(".")[2])
    return re.search(rf"\b{last}\b", code_of(line)) is not None


def _statements(template: str) -> list[str]:
    """The texts of the statements of a template: a line that is indented belongs to the one above."""
    found: list[str] = []
    for line in template.splitlines():
        if found and line[:1].isspace():
            found[-1] += "\n" + line
        else:
            found.append(line)
    return found


def _part_with(comment: Comment, parts: Sequence[str], edit: ReplaceStatement) -> int:
    for name, operand in edit.operands.items():
        if operand.span is not None and comment.at is not None and operand.span[0] <= comment.at < operand.span[1]:
            return next((i for i, part in enumerate(parts) if re.search(rf"\b{name}\b", part)), 0)
    return 0


def _mark(lines: list[Any], texts: Sequence[str]) -> list[Any]:
    """Lines with markers right above the first statement, each once; they replace what an earlier version said.

    A marker of the same name with another code asks something else: it stays.
    """
    at = next((i for i, line in enumerate(lines) if not isinstance(line, cst.EmptyLine)), None)
    if at is None:
        return lines
    asked = {": ".join([*text.split(": ")[:2], ""]) for text in texts}
    above = [
        line
        for line in lines[at].leading_lines
        if _text(line) in texts or not any(_text(line).startswith(question) for question in asked)
    ]
    present = {_text(line) for line in above}
    new = [cst.EmptyLine(comment=cst.Comment(text)) for text in dict.fromkeys(texts) if text not in present]
    return [*lines[:at], lines[at].with_changes(leading_lines=[*above, *new]), *lines[at + 1 :]]


def _text(line: cst.EmptyLine) -> str:
    return line.comment.value if line.comment is not None else ""


def is_marker_of(line: cst.EmptyLine, symbol: str) -> bool:
    """Whether a line is a marker about this name."""
    return import_edits.is_marker(line) and line.comment is not None and f": {symbol}: " in line.comment.value


def lower_markers(module: cst.Module) -> cst.Module:
    """A module in which markers above the first statement are that statement's, where LibCST has them in the header."""
    at = len(module.header)
    while at and import_edits.is_marker(module.header[at - 1]):
        at -= 1
    if at == len(module.header) or not module.body:
        return module
    body = import_edits.above(list(module.body), module.header[at:])
    return module.with_changes(header=module.header[:at], body=body)


def keep_comments(original: Any, updated: Any) -> Any:
    """A statement with the comments above it that its new form has no place for."""
    missing = missing_comments([spans.head(original)], [spans.head(updated)])
    return updated.with_changes(leading_lines=[*updated.leading_lines, *missing]) if missing else updated


def missing_comments(before: Iterable[cst.CSTNode], after: Iterable[cst.CSTNode]) -> list[cst.EmptyLine]:
    """The comments of ``before`` that ``after`` has not, each on a line of its own."""
    comments = [c for node in before for c in _comments(node)]
    left = [c.value for node in after for c in _comments(node)] if comments else []
    missing = []
    for comment in comments:
        if comment.value in left:
            left.remove(comment.value)
        else:
            missing.append(cst.EmptyLine(comment=comment))
    return missing


def _comments(node: cst.CSTNode) -> Iterable[cst.Comment]:
    """The comments in a node, in order; few have any, and LibCST gives children by way of copies of each node."""
    return _in_order(node) if _has_comment(node) else ()


def _has_comment(node: cst.CSTNode) -> bool:
    waiting: list[Any] = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, cst.Comment):
            return True
        for name in all_fields(one.__class__):
            value = getattr(one, name)
            if isinstance(value, (tuple, list)):
                waiting += value
            elif isinstance(value, cst.CSTNode):
                waiting.append(value)
    return False


def _in_order(node: cst.CSTNode) -> Iterable[cst.Comment]:
    if isinstance(node, cst.Comment):
        yield node
    for child in node.children:
        yield from _in_order(child)


def pass_line() -> cst.SimpleStatementLine:
    """A line with ``pass``."""
    return cst.SimpleStatementLine([cst.Pass()])


def is_pass(node: Any) -> bool:
    """Whether a line, or what stands behind a colon, is nothing but ``pass``."""
    lines = (cst.SimpleStatementLine, cst.SimpleStatementSuite)
    return isinstance(node, lines) and len(node.body) == 1 and isinstance(node.body[0], cst.Pass)


def with_end_of_line(statement: Any, end: cst.TrailingWhitespace) -> Any:
    """A statement with the comment of another one behind it: of a compound statement, behind its first line."""
    if isinstance(statement, cst.SimpleStatementLine):
        return statement.with_changes(trailing_whitespace=end)
    return statement.with_changes(body=statement.body.with_changes(header=end))
