"""Whether a value that names a device is a number: before Chainer 6 nothing else did.

``Evaluator(it, model, device=config.gpu)``: in a program without ``chainer.get_device``, ``to_device`` and names such
as '@numpy', what is not known is a number. Anything else raises where it is compared with 0.
"""

from __future__ import annotations

import ast
import re

from chainer2torch.analysis.facts import Facts
from chainer2torch.analysis.kinds import UNKNOWN, Inst, Scalar, options
from chainer2torch.analysis.source import Source
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.nones import may_be_none
from chainer2torch.plan.questions.paths import is_parameter, is_path, root_name

_OF_DEVICES = re.compile(r"\b(?:chainer|backend)\.get_device\b|\bto_device\b|\bto_chx\b|\bchainerx\b|@numpy|@cupy")
_NAME = re.compile(r"(@|native|cuda|intel64)")
_GET_DEVICE = frozenset({"chainer.get_device", "chainer.backend.get_device"})
_HANDED = re.compile(r"gpu", re.IGNORECASE)


def is_gpu_number(context: Context, node: ast.expr) -> bool:
    """Whether a value of which nothing is known can only be the number of a GPU, or -1.

    Attributes of an object of its own and parameters may hold what has become a torch.device: a parameter does not if
    it is named after GPUs.
    """
    if not is_path(node) or context.kind(node) != UNKNOWN or may_be_none(context, node) or is_called_device(node):
        return False
    root = root_name(node)
    if root in ("self", "cls") or context.analysis.once(_names_devices):
        return False
    return isinstance(node, ast.Subscript) or not is_parameter(context, node) or bool(_HANDED.search(root))


def is_called_device(node: ast.expr) -> bool:
    """``updater.device``, ``self._device_id``: what has become a torch.device, or is None for the CPU."""
    word = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return "device" in word.lower()


def is_number_in_text(context: Context, node: ast.expr) -> bool:
    """``device = chainer.get_device(args.device)``: a text that nobody knows names a GPU by its number.

    A name such as '@numpy' raises where it is read as a number; a file that says one itself may be given it.
    """
    call = context.source.parents.get(node)
    statement = context.source.parents.get(call) if isinstance(call, ast.Call) else None
    return (
        is_path(node)
        and isinstance(node, ast.Attribute)
        and _is_option(context, node)
        and isinstance(statement, ast.Assign)
        and isinstance(statement.targets[0], ast.Name)
        and isinstance(call, ast.Call)
        and context.reference(call.func) in _GET_DEVICE
        and not may_be_none(context, node)
        and not context.analysis.once_a_file(_says_names, context.source)
    )


def _is_option(context: Context, node: ast.Attribute) -> bool:
    """Whether a value is an option of the command line; two options may share it, of a text and of a number."""
    parsed = options(context.kind(node.value))
    texts = all(isinstance(k, Scalar) and k.type == "str" for k in options(context.kind(node)))
    return texts or all(isinstance(k, Inst) and k.cls == "argparse.Namespace" for k in parsed)


def _says_names(source: Source) -> bool:
    """Whether a text of a file is the name of a device."""
    texts = (node.value for node in source.of(ast.Constant) if isinstance(node, ast.Constant))
    return any(isinstance(text, str) and _NAME.match(text) is not None for text in texts)


def _names_devices(analysis: Facts) -> bool:
    """Whether a file of the project has words for devices other than numbers."""
    return any(_OF_DEVICES.search(module.source.text) for module in analysis.project.modules.values())


__all__ = ["is_called_device", "is_gpu_number", "is_number_in_text"]
