"""Where ``with using_config('train', False):`` may be ``model.eval()`` above the block and ``model.train()`` behind it.

That needs to know in which mode the models are before: train mode, as Chainer begins, unless the code runs inside of
another such block. Who may run it is asked by names, over all files that can meet in one run: a name too many keeps
the helper, which asks every module.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator

from chainer2torch.analysis.components import components
from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import UNKNOWN, Func, Ref, options
from chainer2torch.analysis.module_index import ModuleInfo
from chainer2torch.analysis.source import Source, nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.native.train_flags import train_flags
from chainer2torch.plan.questions.config_names import entry_name

_DEFS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LEAVING = (ast.Return, ast.Yield, ast.YieldFrom)
_CALLED_BY_TRAINERS = ("chainer.training.Extension", "chainer.training.Updater", "chainer.training.StandardUpdater")
_EVALUATOR = "chainer.training.extensions.Evaluator"
_EXTENDS = "extend"  # what a trainer is extended with runs between the steps of the training


@dataclasses.dataclass(frozen=True)
class _Use:
    """A place that names a function: in which function, and whether that may run it in another mode."""

    name: str
    inside: str | None
    doubtful: bool


def begins_in_training(context: Context, statement: ast.stmt) -> bool:
    """Whether the models are in train mode wherever a statement is reached, and what it raises ends the program."""
    analysis = context.analysis
    together = analysis.once(components)[context.module]
    flags = analysis.once(train_flags)
    if together & (flags.switched | flags.settled) or _is_doubtful(analysis, context.source, statement):
        return False
    function = context.source.enclosing(statement, *_DEFS)
    if function is None:
        return context.source.enclosing(statement, ast.Lambda) is None
    assert isinstance(function, _DEFS)
    if _doubted(analysis, context.module, function) or function.name in analysis.once(_in_doubt):
        return False
    info = analysis.functions.get(function)
    for_others = info is not None and info.cls is not None and analysis.derives(info.cls, "chainer.Link")
    return not for_others or function.name in analysis.once(_named)  # nobody here calls `predict`: others will


def _named(analysis: Analysis) -> frozenset[str]:
    """The members that the program names."""
    modules = analysis.project.modules.values()
    return frozenset(node.attr for module in modules for node in module.source.of(ast.Attribute))


def ends_at_its_end(block: ast.With) -> bool:
    """Whether a block is left at its end only: its last statement may be a ``return``."""
    *body, last = block.body
    if isinstance(last, ast.Return):
        last = ast.Pass()
    return not any(_leaves(statement, in_loop=False) for statement in [*body, last])


def _leaves(node: ast.AST, in_loop: bool) -> bool:
    if isinstance(node, _LEAVING) or isinstance(node, (ast.Break, ast.Continue)) and not in_loop:
        return True
    if isinstance(node, (*_DEFS, ast.Lambda, ast.ClassDef)):
        return False
    loop = isinstance(node, (ast.For, ast.AsyncFor, ast.While))
    orelse = node.orelse if isinstance(node, (ast.For, ast.AsyncFor, ast.While)) else []
    return any(_leaves(child, in_loop or loop and child not in orelse) for child in ast.iter_child_nodes(node))


def _in_doubt(analysis: Analysis) -> frozenset[str]:
    """The names of the functions that something may run in test mode, itself or through others."""
    uses = [use for module in analysis.project.modules.values() for use in _uses(analysis, module)]
    found = {use.name for use in uses if use.doubtful}
    found |= {
        node.name
        for module in analysis.project.modules.values()
        for node in module.source.of(*_DEFS)
        if isinstance(node, _DEFS) and _doubted(analysis, module, node)
    }
    while True:
        more = {use.name for use in uses if use.inside in found} - found
        if not more:
            return frozenset(found)
        found |= more


def _doubted(analysis: Analysis, module: ModuleInfo, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function is called where no name of it stands: ``model(x)``, ``dataset[i]``, ``Solver()``.

    An evaluator's ``evaluate`` is called in test mode.
    """
    name = function.name
    if name == "evaluate" and function in analysis.functions:
        owner = analysis.functions[function].cls
        return owner is not None and analysis.derives(owner, _EVALUATOR)
    if not (name.startswith("__") and name.endswith("__") or name in ("forward", "get_example")):
        return False
    cls = analysis.functions[function].cls if function in analysis.functions else None
    extends = cls is not None and any(analysis.derives(cls, base) for base in _CALLED_BY_TRAINERS)
    return not (extends and name == "__call__")


def _uses(analysis: Analysis, module: ModuleInfo) -> Iterator[_Use]:
    source = module.source
    defined = analysis.once(_defined)
    for node in source.of(ast.Name, ast.Attribute):
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        if name not in defined or not isinstance(node, (ast.Name, ast.Attribute)) or not isinstance(node.ctx, ast.Load):
            continue
        if not any(k == UNKNOWN or isinstance(k, Func) for k in options(analysis.kind(node))):
            continue  # `chainer.config.train` is no function `train`
        function = source.enclosing(node, *_DEFS)
        inside = function.name if isinstance(function, _DEFS) else None
        doubtful = _is_doubtful(analysis, source, node) or not _is_called(source, node, function)
        yield _Use(name, inside, doubtful)


def _defined(analysis: Analysis) -> frozenset[str]:
    modules = analysis.project.modules.values()
    return frozenset(n.name for m in modules for n in m.source.of(*_DEFS) if isinstance(n, _DEFS))


def _is_called(source: Source, node: ast.expr, function: ast.AST | None) -> bool:
    """Whether a function is called there, and at once; an extension is given away, and runs in train mode."""
    parent = source.parents.get(node)
    if isinstance(parent, ast.Attribute):
        return True  # `function.attribute`: the name is not the function that runs
    if isinstance(parent, ast.Call) and parent.func is node:
        return not any(isinstance(a, ast.Lambda) for a in source.ancestors(node))
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute) and parent.func.attr == _EXTENDS:
        return True
    if isinstance(parent, ast.Return) and isinstance(function, _DEFS) and isinstance(node, ast.Name):
        made = [n for n in nodes_of(function) if isinstance(n, _DEFS) and n.name == node.id]
        return bool(made) and all(_is_extension(n) for n in made)
    return isinstance(parent, _DEFS)  # a decorator


def _is_extension(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function is made for a trainer: it has such a decorator, or takes the trainer."""
    decorated = any("make_extension" in ast.unparse(d) for d in function.decorator_list)
    return decorated or [a.arg for a in function.args.args] == ["trainer"]


def _is_doubtful(analysis: Analysis, source: Source, node: ast.AST) -> bool:
    """Whether a node stands in a block with a mode of its own, or where an exception is caught."""
    child = node
    for ancestor in source.ancestors(node):
        if isinstance(ancestor, ast.Try) and ancestor.handlers and child in ancestor.body:
            return True
        if (
            isinstance(ancestor, ast.With)
            and child in ancestor.body
            and any(_sets_mode(analysis, source, i) for i in ancestor.items)
        ):
            return True
        if isinstance(ancestor, _DEFS):
            return False
        child = ancestor
    return False


def _sets_mode(analysis: Analysis, source: Source, item: ast.withitem) -> bool:
    call = item.context_expr
    if not isinstance(call, ast.Call):
        return False
    if Ref("chainer.using_config") not in options(analysis.kind(call.func)):
        return not any(isinstance(k, Ref) for k in options(analysis.kind(call.func))) and "config" in ast.unparse(call)
    name = next(iter(call.args), None)
    return entry_name(analysis, source, name) in (None, "train")


__all__ = ["begins_in_training", "ends_at_its_end"]
