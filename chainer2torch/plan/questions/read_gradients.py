"""Whether a program reads gradients that a step has left behind.

Chainer's ``WeightDecay`` adds to the gradients themselves, where everybody sees it afterwards; ``weight_decay=`` of an
optimizer of PyTorch adds to none. The answer is by places: what stands in front of the step in its function reads
before it, and so do the classes of hooks, rules and functions, which are called by it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.components import components
from chainer2torch.analysis.facts import Facts
from chainer2torch.analysis.kinds import Inst, Kind, Ref, options
from chainer2torch.analysis.module_index import ModuleInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_STEPS = frozenset({"update", "step"})
# by name: what reads the gradients of a model that it is given
_READERS = frozenset({"ParameterStatistics", "grad_norm", "compute_grads_norm"})
# functions that the step calls, or the backward pass
_BEFORE = frozenset({"backward", "backward_cpu", "backward_gpu", "update_core", "update_core_cpu", "update_core_gpu"})


def reads_behind_steps(context: Context) -> bool:
    """Whether a file that meets this one may read a gradient behind a step."""
    analysis = context.analysis
    together = analysis.once(components)[context.module]
    return bool(together & analysis.once(_readers))


def _readers(analysis: Facts) -> frozenset[ModuleInfo]:
    return frozenset(
        module for module in analysis.project.modules.values() if any(True for _ in _reads(analysis, module))
    )


def asks_for_missing(context: Context) -> bool:
    """Whether the file asks behind a step whether a gradient is there: Chainer's step has made zeros of none."""
    return context.ask(_asks_for_missing, context.source.tree)


def _asks_for_missing(context: Context, tree: ast.Module) -> bool:
    source = context.source
    for test in source.of(ast.Compare):
        asked = test.left
        if not (isinstance(asked, ast.Attribute) and asked.attr == "grad" and len(test.ops) == 1):
            continue
        none = test.comparators[0]
        if isinstance(test.ops[0], (ast.Is, ast.IsNot)) and isinstance(none, ast.Constant) and none.value is None:
            around = source.enclosing(asked, *_FUNCTIONS)
            steps = [source.start(call) for call in _steps(context.analysis, around or tree)]
            if steps and min(steps) < source.start(asked):
                return True
    return False


def _reads(analysis: Facts, module: ModuleInfo) -> Iterator[ast.AST]:
    source = module.source
    for node in source.of(ast.Attribute):
        if node.attr in _READERS:
            yield node
        if node.attr != "grad" or not isinstance(node.ctx, ast.Load) or _is_library(analysis, node):
            continue
        around = source.enclosing(node, *_FUNCTIONS)
        if getattr(around, "name", "") in _BEFORE or _is_hook(around):
            continue
        steps = [source.start(call) for call in _steps(analysis, around or source.tree)]
        if not steps or min(steps) < source.start(node):
            yield node


def _is_library(analysis: Facts, node: ast.Attribute) -> bool:
    """``chainer.grad``, and ``x.grad = y.grad``-like lines of what is no parameter for sure."""
    return any(isinstance(kind, Ref) for kind in options(analysis.kind(node.value)))


def _is_hook(function: ast.AST | None) -> bool:
    """``def __call__(self, rule, param)`` and ``def __call__(self, optimizer)`` of a hook."""
    if not isinstance(function, ast.FunctionDef) or function.name != "__call__":
        return False
    names = [argument.arg for argument in function.args.args[1:]]
    return names in (["rule", "param"], ["opt"], ["optimizer"])


def _steps(analysis: Facts, code: ast.AST) -> Iterator[ast.Call]:
    for node in nodes_of(code):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _STEPS:
            if any(_is_optimizer(analysis, kind) for kind in options(analysis.kind(node.func.value))):
                yield node


def _is_optimizer(analysis: Facts, kind: Kind) -> bool:
    return isinstance(kind, Inst) and analysis.derives(kind.cls, "chainer.Optimizer")


__all__ = ["asks_for_missing", "reads_behind_steps"]
