"""Comments beside the arguments of a call, when the call becomes one assignment for each argument.

``super().__init__(l1=L.Linear(3, 4),  # first`` of version 1 becomes ``self.l1 = nn.Linear(3, 4)  # first``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import libcst as cst


def beside_assignments(call: cst.BaseExpression, body: list[Any]) -> list[Any]:
    """The statements of ``body``, each with the comments of the argument by whose name it assigns an attribute."""
    if not isinstance(call, cst.Call) or not call.args:
        return body
    above = list(_own_lines(call.whitespace_before_args))
    found = [_assignment(body, arg.keyword.value) if arg.keyword is not None else None for arg in call.args]
    places = [at for at in found if at is not None]
    if len(places) < len(found) or places != sorted(places):
        return body  # not one assignment for each, in their order: the comments stay together
    for arg, at in zip(call.args, places, strict=True):
        lines = [cst.EmptyLine(comment=comment) for comment in above]
        end, above = _behind(arg)
        body[at] = body[at].with_changes(leading_lines=[*body[at].leading_lines, *lines])
        if end is not None and body[at].trailing_whitespace.comment is None:
            body[at] = body[at].with_changes(trailing_whitespace=end)
    body[places[-1] + 1 : places[-1] + 1] = [cst.EmptyLine(comment=comment) for comment in above]
    return body


def _assignment(body: list[Any], name: str) -> int | None:
    """Where ``self.name = ...`` stands."""
    for i, line in enumerate(body):
        statement = line.body[0] if isinstance(line, cst.SimpleStatementLine) else None
        if isinstance(statement, cst.Assign):
            target = statement.targets[0].target
            if isinstance(target, cst.Attribute) and target.attr.value == name:
                return i
    return None


def _behind(arg: cst.Arg) -> tuple[cst.TrailingWhitespace | None, list[cst.Comment]]:
    """The comment on the line of an argument, and those on lines of their own that follow."""
    comma = arg.comma.whitespace_after if isinstance(arg.comma, cst.Comma) else None
    spaces = [s for s in (arg.whitespace_after_arg, comma) if isinstance(s, cst.ParenthesizedWhitespace)]
    ends = [s.first_line for s in spaces if s.first_line.comment is not None]
    return (ends[0] if ends else None), [c for s in spaces for c in _own_lines(s)]


def _own_lines(space: cst.BaseParenthesizableWhitespace) -> Iterable[cst.Comment]:
    if isinstance(space, cst.ParenthesizedWhitespace):
        yield from (line.comment for line in space.empty_lines if line.comment is not None)
