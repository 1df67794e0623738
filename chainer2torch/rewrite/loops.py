"""A ``while`` loop over the batches of an iterator becomes a ``for`` loop, or two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import libcst as cst

from chainer2torch.plan.edits import IntoFor
from chainer2torch.rewrite import import_edits
from chainer2torch.rewrite.suite_lines import comments_above, is_pass, pass_line


def into_for(node: cst.While, edit: IntoFor, make: Callable[[str], list[Any]]) -> list[Any]:
    """The loops in the place of a ``while``; ``make`` gives the statements of a template."""
    block = node.body
    if not isinstance(block, cst.IndentedBlock):
        return [node]
    body: list[Any] = list(block.body)
    behind: list[Any] = []
    if edit.last_behind:
        body, behind = _taken_apart(body)
    inner_block = block.with_changes(body=body or [pass_line()])
    inner = _loop(edit.inner, inner_block, make)
    if not edit.outer:
        return import_edits.above([inner, *behind], node.leading_lines)
    outer = _loop(edit.outer, cst.IndentedBlock([inner, *behind], indent=block.indent), make)
    return import_edits.above([outer], node.leading_lines)


def _loop(head: str, block: cst.IndentedBlock, make: Callable[[str], list[Any]]) -> Any:
    (loop,) = make(f"{head}:\n    pass\n")
    return loop.with_changes(body=block)


def _taken_apart(body: list[Any]) -> tuple[list[Any], list[Any]]:
    """The statements before the last ``if``, and those in it: or behind it, where it only goes on (``continue``)."""
    at = max(i for i, line in enumerate(body) if isinstance(line, cst.If))
    skips = [i for i, line in enumerate(body) if isinstance(line, cst.If) and _goes_on(line)]
    if skips:
        at = skips[-1]
        return body[:at], [*import_edits.above(body[at + 1 :], body[at].leading_lines)]
    last = body[at]
    inside: list[Any] = list(last.body.body) if isinstance(last.body, cst.IndentedBlock) else []
    if isinstance(last.body, cst.SimpleStatementSuite):
        inside = [cst.SimpleStatementLine(last.body.body, trailing_whitespace=last.body.trailing_whitespace)]
    if len(inside) == 1 and is_pass(inside[0]):
        inside = comments_above(inside[0])
    elif inside and is_pass(inside[-1]) and all(isinstance(line, cst.EmptyLine) for line in inside[:-1]):
        inside = inside[:-1]
    return body[:at], [*import_edits.above([*inside, *body[at + 1 :]], last.leading_lines)]


def _goes_on(line: cst.If) -> bool:
    """``if not it.is_new_epoch: continue``: in the loops that are taken apart, nothing else goes on."""
    inside: Any = line.body.body
    while len(inside) == 1 and isinstance(inside[0], cst.SimpleStatementLine):
        inside = inside[0].body
    return len(inside) == 1 and isinstance(inside[0], cst.Continue)


__all__ = ["into_for"]
