"""Whitespace between arguments: they stay under each other when the name before them changes its length."""

from __future__ import annotations

import ast
from typing import Any

import libcst as cst

from chainer2torch.rewrite.printing import code_of

_COMMA = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
_WIDTH = 76  # of PEP 8's 79 columns: a call that moves to another statement may stand some columns further right


def realign(original: cst.Call, updated: cst.Call, start: int, line: str, line_start: int) -> cst.Call:
    """Shifts the continuation lines of a call that were aligned with its opening parenthesis.

    ``start`` is the offset of the call, ``line`` the source line it stands on, ``line_start`` that line's offset.
    """
    inner = holding_all(original, updated)
    before, after = code_of(original.func), code_of(updated.func)
    if inner is not None:
        after = f"{after}({code_of(inner.func)}"
    if "\n" in before or "\n" in after or not original.args:
        return updated
    shift = len(after) - len(before)
    column = start - line_start + len(before) + 1
    indent = len(line) - len(line.lstrip())
    if not shift or not isinstance(original.whitespace_before_args, cst.SimpleWhitespace):
        return updated
    args = [arg.visit(_Shift(column, indent, shift)) for arg in (inner or updated).args]
    return updated.with_changes(args=args) if inner is None else around(updated, inner.with_changes(args=args))


def holding_all(original: cst.Call, updated: cst.Call) -> cst.Call | None:
    """``dict(a=x, b=y)`` of ``nn.ModuleDict(dict(a=x, b=y))``, which has all the arguments of ``Chain(a=x, b=y)``."""
    inner = updated.args[0].value if len(updated.args) == 1 else None
    if not isinstance(inner, cst.Call) or not inner.args or len(inner.args) != len(original.args):
        return None
    words = [[None if arg.keyword is None else arg.keyword.value for arg in call.args] for call in (inner, original)]
    return inner if words[0] == words[1] and None not in words[0] else None


def around(call: cst.Call, inner: cst.Call) -> cst.Call:
    """A call of one argument, with another one."""
    return call.with_changes(args=[call.args[0].with_changes(value=inner)])


def _hugged(original: cst.Call, updated: cst.Call) -> cst.Call:
    """Puts the bracket of a list of several lines beside the parenthesis, where it is all that the call gets now."""
    value = updated.args[0].value if len(updated.args) == 1 and updated.args[0].keyword is None else None
    space = updated.whitespace_before_args
    if (
        not isinstance(value, cst.List)
        or not isinstance(value.lbracket.whitespace_after, cst.ParenthesizedWhitespace)
        or not isinstance(space, cst.ParenthesizedWhitespace)
        or space.first_line.comment is not None
        or space.empty_lines
        or any(argument.value is value for argument in original.args)
    ):
        return updated
    plain = cst.SimpleWhitespace("")
    only = updated.args[0].with_changes(comma=cst.MaybeSentinel.DEFAULT, whitespace_after_arg=plain)
    return updated.with_changes(args=[only], whitespace_before_args=plain)


def joined(original: cst.Call, updated: cst.Call, before: str, behind: str) -> cst.Call:
    """Puts a call that has fewer arguments than the original on one line, where that was broken and it fits now.

    ``before`` and ``behind`` is what stands on the call's first and last line beside it.
    """
    updated = _hugged(original, updated)
    if holding_all(original, updated) or len(updated.args) >= len(original.args) or "\n" not in code_of(updated):
        return updated
    last = len(updated.args) - 1
    args = [
        arg.with_changes(
            comma=cst.MaybeSentinel.DEFAULT if i == last else _COMMA, whitespace_after_arg=cst.SimpleWhitespace("")
        )
        for i, arg in enumerate(updated.args)
    ]
    line = updated.with_changes(args=args, whitespace_before_args=cst.SimpleWhitespace(""))
    text = code_of(line)
    if "#" in code_of(updated) or "\n" in text or len(before + text + behind) > _WIDTH:
        return updated
    return line


class _Shift(cst.CSTTransformer):
    def __init__(self, column: int, indent: int, shift: int):
        super().__init__()
        self.column, self.indent, self.shift = column, indent, shift

    def leave_ParenthesizedWhitespace(
        self, original_node: cst.ParenthesizedWhitespace, updated_node: cst.ParenthesizedWhitespace
    ) -> cst.ParenthesizedWhitespace:
        spaces = updated_node.last_line.value
        width = len(spaces) + (self.indent if updated_node.indent else 0)
        if width < self.column or spaces.strip(" "):
            return updated_node
        kept = max(len(spaces) + self.shift, 0)
        return updated_node.with_changes(last_line=cst.SimpleWhitespace(" " * kept))


def ends_alone(node: cst.BaseExpression) -> bool:
    """Whether the line breaks of an expression are all inside of brackets of its own, so that it may stand anywhere."""
    return is_expression(code_of(node).lstrip())


def is_expression(text: str) -> bool:
    """Whether a text is an expression as it stands."""
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        return False
    return True


def ending_alone(node: cst.BaseExpression) -> cst.BaseExpression:
    """The expression, in parentheses where it has line breaks that need some around them."""
    if node.lpar or ends_alone(node):
        return node
    return node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def closing_comma(own: Any, closing: Any) -> Any:
    """The comma behind what has become the last item: as the last one had it, with the comment of this item."""
    if isinstance(own, cst.Comma) and isinstance(closing, cst.Comma) and own is not closing:
        ours, theirs = own.whitespace_after, closing.whitespace_after
        if isinstance(ours, cst.ParenthesizedWhitespace) and isinstance(theirs, cst.ParenthesizedWhitespace):
            return closing.with_changes(whitespace_after=theirs.with_changes(first_line=ours.first_line))
    return closing
