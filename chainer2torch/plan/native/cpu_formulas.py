"""Functions of the program's own with kernels for a GPU beside a formula for the CPU: the formula does for both.

Chainer calls ``forward_gpu`` with arrays of a GPU and ``forward_cpu`` with others, and both compute the same. A formula
of tensors runs on any device; so where the method for the GPU is CUDA code as text, it goes, and the other stays.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Ref, options
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Remove
from chainer2torch.plan.parts.kernels import kernel

_BASES = frozenset({"chainer.Function", "chainer.FunctionNode"})
_STEPS = ("forward", "backward")
_KERNELS = "C2T330"
_DONE = "The method for a GPU is CUDA code as text: the formula beside it, for the CPU, runs on tensors of any device."


def run(context: Context) -> Decisions:
    """Takes methods for a GPU out of the classes of a file."""
    decisions = Decisions(context)
    if "_gpu" not in context.source.text or context.analysis.once(_are_called):
        return decisions
    for node in context.source.of(ast.ClassDef):
        methods = {m.name: m for m in node.body if isinstance(m, ast.FunctionDef)}
        if not _is_a_function(context, node) or any(m.decorator_list for m in methods.values()):
            continue
        for_gpu = [methods[f"{step}_gpu"] for step in _STEPS if f"{step}_gpu" in methods]
        beside = all(m.name.replace("_gpu", "_cpu") in methods for m in for_gpu)
        forward = "forward" in methods or "forward_gpu" in methods  # what one step keeps the other reads
        if beside and forward and any(_has_kernels(context, m) for m in for_gpu):
            for method in for_gpu:
                _take_out(context, decisions, method)
    return decisions


def _is_a_function(context: Context, node: ast.ClassDef) -> bool:
    kinds = [kind for base in node.bases for kind in options(context.kind(base))]
    return bool(kinds) and all(isinstance(kind, Ref) and kind.name in _BASES for kind in kinds)


def _are_called(analysis: Analysis) -> bool:
    """Whether the project itself asks for such a method, or gives one another name."""
    names = {f"{step}_gpu" for step in _STEPS}
    return any(
        isinstance(node, ast.Attribute) and node.attr in names or isinstance(node, ast.Name) and node.id in names
        for module in analysis.project.modules.values()
        if "_gpu" in module.source.text
        for node in module.source.of(ast.Attribute, ast.Name)
    )


def _has_kernels(context: Context, method: ast.FunctionDef) -> bool:
    """Whether a method has code for a GPU as text that is not read as a formula."""
    for node in nodes_of(method):
        name = context.reference(node) if isinstance(node, (ast.Name, ast.Attribute)) else None
        row = context.rules.rows.get(name) if name is not None else None
        if row is None or row.code != _KERNELS or row.state != "manual":
            continue
        if row.function != "kernel":
            return True
        tried = Decisions(context)
        kernel(context, tried, node, row)
        if tried.state(node) == "manual":
            return True
    return False


def _take_out(context: Context, decisions: Decisions, method: ast.FunctionDef) -> None:
    decisions.edit(method, Remove(context.source.start(method)))
    decisions.remove(*method.body)
    for node in nodes_of(method):
        name = context.reference(node) if isinstance(node, (ast.Name, ast.Attribute)) else None
        row = context.rules.rows.get(name) if name is not None else None
        if row is not None and name is not None and row.state == "manual":
            decisions.mark(node, row, name, "review", _DONE, quiet=True)
