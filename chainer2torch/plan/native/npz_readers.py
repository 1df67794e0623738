"""``with numpy.load(path) as f: NpzDeserializer(f, strict=False).load(model)``: a file of weights that is read by hand.

It becomes what ``load_npz(path, model, strict=False)`` becomes (weight_files.py), in the place of the block.
"""

from __future__ import annotations

import ast

from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Remove, ReplaceStatement, Unwrap
from chainer2torch.plan.native.concerns import is_native, native_objects
from chainer2torch.plan.native.weight_files import is_native_file
from chainer2torch.plan.questions.npz_blocks import READER, Block, block_of

_LOAD = "obj.load_state_dict(torch.load(file, map_location='cpu'))"
_LOAD_SOME = "obj.load_state_dict(torch.load(file, map_location='cpu'), strict=strict)"
_LOAD_PART = "obj.load_state_dict(native.state_part(file, path))"


def run(context: Context) -> Decisions:
    """The decisions for all blocks of a file that read weights."""
    decisions = Decisions(context)
    if is_native(context) and "NpzDeserializer" in context.source.text:
        for statement in context.source.of(ast.With):
            assert isinstance(statement, ast.With)
            block = block_of(context.analysis, context.module, statement)
            if block is not None and is_native_file(context, native_objects(context), block.obj, block.path):
                _emit(context, decisions, block)
    return decisions


def _emit(context: Context, decisions: Decisions, block: Block) -> None:
    row = context.rules.rows[READER]
    operands = {"obj": context.operand(block.obj), "file": context.operand(block.path)}
    template = _LOAD
    if block.strict is not None:
        template, operands["strict"] = _LOAD_SOME, context.operand(block.strict)
    elif block.part is not None:
        template, operands["path"] = _LOAD_PART, context.operand(block.part)
    decisions.edit(block.statement, Unwrap(context.source.start(block.statement)))
    for made in block.statement.body[:-1]:
        decisions.edit(made, Remove(context.source.start(made)))
    decisions.edit(block.load, ReplaceStatement(context.source.start(block.load), template, operands))
    decisions.use(block.reader.func)
    decisions.mark(block.reader.func, row, row.name, "exact", difference="weight-files")


__all__ = ["run"]
