"""Compound statements that become others: a block whose condition is decided, an import that asks for a device."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import libcst as cst

from chainer2torch.plan.edits import Unwrap
from chainer2torch.rewrite import import_edits
from chainer2torch.rewrite.suite_lines import comments_above, is_pass, missing_comments


def unwrapped(node: Any, edit: Unwrap, elif_: bool, code: Callable[[str], list[Any]]) -> list[Any]:
    """What stands in the place of a compound statement; ``code`` makes the statements of a template."""
    if edit.before:
        rest = dataclasses.replace(edit, before="")
        lines = unwrapped(node.with_changes(leading_lines=[]), rest, elif_, code)
        return import_edits.above([*code(edit.before), *lines], node.leading_lines)
    above = list(node.leading_lines)
    if edit.at_last:
        inner = [_without_item(node.with_changes(leading_lines=[]), edit.item)] if edit.branch == "item" else None
        guarded = node.body if inner is None else cst.IndentedBlock(inner)
        return [cst.Try(guarded, finalbody=cst.Finally(cst.IndentedBlock(code(edit.append))), leading_lines=above)]
    if edit.branch == "item":
        return [_without_item(node, edit.item), *code(edit.append)]
    if edit.branch == "whole":
        return [node, *code(edit.append)]
    if edit.branch == "orelse":
        orelse = node.orelse
        if orelse is None:
            return [] if elif_ else comments_above(node)
        if elif_ or isinstance(orelse, cst.If):
            return [orelse.with_changes(leading_lines=[*above, *orelse.leading_lines])]
        block = orelse.body
        above += orelse.leading_lines
    elif elif_:
        return [cst.Else(node.body, leading_lines=above)]
    else:
        block = node.body
    trailing: list[Any] = []
    blank: list[Any] = []
    if isinstance(block, cst.IndentedBlock):
        body: list[Any] = list(block.body)
        if block.header.comment is not None:
            above.append(cst.EmptyLine(comment=block.header.comment))
        trailing = [line for line in block.footer if line.comment]
        behind_last = itertools.takewhile(lambda line: not line.comment, reversed(block.footer))
        blank = [cst.EmptyLine(indent=False) for _ in behind_last]  # with blanks in it, so it was the block's
    else:
        body = [cst.SimpleStatementLine(block.body, trailing_whitespace=block.trailing_whitespace)]
    if len(body) == 1 and is_pass(body[0]):
        body = comments_above(body[0])
    behind = code(edit.append) if edit.append else []
    return import_edits.above([*body, *import_edits.above(behind, trailing), *blank], above)


def _without_item(node: cst.With, index: int) -> cst.With:
    items = [item for i, item in enumerate(node.items) if i != index]
    items[-1] = items[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
    return node.with_changes(items=items)


def into_if(node: cst.Try, new: list[Any]) -> cst.If:
    """``if`` with the body of a ``try``, and its only handler as ``else``; ``new`` is the ``if`` without a body.

    Where nothing is left of the body, the handler is the body of ``if not``.
    """
    handler = node.handlers[0]
    if isinstance(node.body, cst.IndentedBlock) and all(map(is_pass, node.body.body)):
        test = cst.UnaryOperation(cst.Not(), new[0].test)
        above = [*node.leading_lines, *missing_comments([node.body], [])]
        alone: cst.If = new[0].with_changes(test=test, body=handler.body, leading_lines=above)
        return alone
    orelse = cst.Else(handler.body, leading_lines=handler.leading_lines)
    made: cst.If = new[0].with_changes(body=node.body, orelse=orelse, leading_lines=node.leading_lines)
    return made
