"""Walks over the layers of a recurrent link: ``for layer in self.rnn``, ``enumerate(self.rnn)``, ``len(self.rnn)``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from chainer2torch.analysis.kinds import Inst, Kind, Ref, options
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context

STACKED = "an NStep layer has torch's stacked parameters (`weight_ih_l0`), not a child link for each layer"
_NAMES = ("enumerate", "iter", "len", "list", "map", "next", "reversed", "sorted", "tuple", "zip")
_WALKING = frozenset(f"builtins.{name}" for name in _NAMES)
_OF_LAYERS = re.compile(r"[wb](\d+|s)")  # `rnn.ws`, `rnn.w0`: the weights of all layers, or of one
_CODE = "C2T200"


def mark(context: Context, decisions: Decisions) -> None:
    """Leaves what goes through the layers of such a link to a person: the module of torch cannot be gone through."""
    if "NStep" in context.source.text:
        for value in _walked(context):
            if any(is_stacked(kind) for kind in options(context.analysis.kind(value))):
                decisions.mark(value, None, "chainer.links.NStep.__iter__", "manual", STACKED, _CODE)

    for node in context.source.of(ast.Attribute) if "NStep" in context.source.text else ():
        if _OF_LAYERS.fullmatch(node.attr) and any(map(is_stacked, options(context.analysis.kind(node.value)))):
            decisions.mark(node, None, "chainer.links.NStep.__getitem__", "manual", STACKED, _CODE)


def is_stacked(kind: Kind) -> bool:
    """Whether a value is an NStep layer of Chainer's."""
    return isinstance(kind, Inst) and isinstance(kind.cls, str) and kind.cls.startswith("chainer.links.NStep")


def _walked(context: Context) -> Iterator[ast.expr]:
    for node in context.source.of(ast.For, ast.comprehension, ast.Starred, ast.Call):
        if isinstance(node, (ast.For, ast.comprehension)):
            yield node.iter
        elif isinstance(node, ast.Starred):
            yield node.value
        elif isinstance(node, ast.Call):
            callee = context.analysis.kind(node.func)
            if isinstance(callee, Ref) and callee.name in _WALKING:
                yield from node.args


__all__ = ["STACKED", "is_stacked", "mark"]
