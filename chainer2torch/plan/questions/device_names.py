"""Whether a value that names a device is a number: before Chainer 6 nothing else did.

``Evaluator(it, model, device=config.gpu)``: in a program without ``chainer.get_device``, ``to_device`` and names such
as '@numpy', what is not known is a number. Anything else raises where it is compared with 0.
"""

from __future__ import annotations

import ast
import re

from chainer2torch.analysis.facts import Facts
from chainer2torch.analysis.kinds import UNKNOWN
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.nones import may_be_none
from chainer2torch.plan.questions.paths import FUNCTIONS, is_path, root_name

_OF_DEVICES = re.compile(r"\b(?:chainer|backend)\.get_device\b|\bto_device\b|\bto_chx\b|\bchainerx\b|@numpy|@cupy")
_HANDED = re.compile(r"gpu", re.IGNORECASE)


def is_gpu_number(context: Context, node: ast.expr) -> bool:
    """Whether a value of which nothing is known can only be the number of a GPU, or -1.

    Attributes of an object of its own and parameters may hold what has become a torch.device: a parameter does not if
    it is named after GPUs.
    """
    if not is_path(node) or context.kind(node) != UNKNOWN or may_be_none(context, node):
        return False
    root = root_name(node)
    if root in ("self", "cls") or context.analysis.once(_names_devices):
        return False
    return isinstance(node, ast.Subscript) or not _is_parameter(context, node) or bool(_HANDED.search(root))


def _is_parameter(context: Context, node: ast.expr) -> bool:
    scope = context.scopes.get(node) if isinstance(node, ast.Name) else None
    if not isinstance(node, ast.Name) or not isinstance(scope, FUNCTIONS):
        return False
    a = scope.args
    return node.id in {arg.arg for arg in (*a.posonlyargs, *a.args, *a.kwonlyargs)}


def _names_devices(analysis: Facts) -> bool:
    """Whether a file of the project has words for devices other than numbers."""
    return any(_OF_DEVICES.search(module.source.text) for module in analysis.project.modules.values())


__all__ = ["is_gpu_number"]
