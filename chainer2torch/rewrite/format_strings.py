"""What stands inside the braces of an f-string: before Python 3.12 neither its own quotes nor a backslash."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from chainer2torch.rewrite.printing import code_of


def fitted(string: cst.FormattedString) -> cst.FormattedString | None:
    """The f-string, with the texts inside its braces in the other quotes; None where these do not do either."""
    if len(string.quote) == 1:
        result = string.visit(_OtherQuotes(string))
        assert isinstance(result, cst.FormattedString)
        string = result
    forbidden = (string.quote, "\\", "#", *("\n" if len(string.quote) == 1 else ""))
    codes = [code_of(part) for part in _expressions(string.parts)]
    return None if any(word in code for code in codes for word in forbidden) else string


def is_inside(node: cst.CSTNode, string: cst.FormattedString) -> bool:
    """Whether a node is a part of the f-string."""
    stack: list[cst.CSTNode] = [string]
    while stack:
        part = stack.pop()
        if part is node:
            return True
        stack.extend(part.children)
    return False


def _expressions(parts: object) -> Iterator[cst.BaseExpression]:
    for part in parts if isinstance(parts, (tuple, list)) else ():
        if isinstance(part, cst.FormattedStringExpression):
            yield part.expression
            yield from _expressions(part.format_spec)


class _OtherQuotes(cst.CSTTransformer):
    def __init__(self, string: cst.FormattedString) -> None:
        super().__init__()
        self.string, self.quote = string, string.quote
        self.other = "'" if self.quote == '"' else '"'

    def visit_FormattedString(self, node: cst.FormattedString) -> bool:  # noqa: N802
        return node is self.string  # one inside of it has quotes to heed, too

    def leave_SimpleString(  # noqa: N802 - LibCST's name
        self, original_node: cst.SimpleString, updated_node: cst.SimpleString
    ) -> cst.SimpleString:
        text = updated_node.raw_value
        if updated_node.quote != self.quote or self.other in text:
            return updated_node
        return updated_node.with_changes(value=f"{updated_node.prefix}{self.other}{text}{self.other}")
