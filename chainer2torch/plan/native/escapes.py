"""Optimizers that go where nobody sees them: into a list, to code that is chosen at run time.

    options.update({'optimizer': optimizers})
    updater = load_class(config)(**options)

One of torch.optim may go there where no file asks a value that is not known for what only Chainer's optimizers have.
What is asked for all the same raises: torch's have no ``update`` and no ``target``. But a setting that is *set*
(``value.lr = 0.1``) would change nothing, so no value that is not known may get one.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN, Func, Ref, options
from chainer2torch.analysis.module_index import ModuleInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.native.objects import Objects, Use

_METHODS = frozenset(
    {
        "setup", "target", "add_hook", "remove_hook", "call_hooks", "new_epoch", "use_cleargrads", "zero_grads",
        "accumulate_grads", "clip_grads", "hyperparam", "reallocate_cleared_grads", "create_update_rule",
    }
)  # fmt: skip
_SETTINGS = frozenset({"lr", "alpha", "beta1", "beta2", "eps", "momentum", "rho", "eta", "weight_decay_rate"})
_COUNTERS = frozenset({"t", "epoch", "update", "serialize"})
_MEMBERS = _METHODS | _SETTINGS | _COUNTERS
_BY_NAME = frozenset({"getattr", "setattr", "hasattr"})
_CONTAINERS = frozenset(
    f"builtins.{name}" for name in ("dict", "list", "tuple", "set", "zip", "enumerate", "len", "print")
)
_OF_LAYERS = frozenset(
    {"W", "b", "gamma", "beta", "avg_mean", "avg_var", "weight", "bias", "running_mean", "running_var"}
)
_OPTIMIZER = "opt"  # what stands in the names of optimizers


def may_escape(objects: Objects, use: Use) -> bool:
    """Whether an optimizer may go on from a place behind which it is not followed."""
    return not use.member and not _goes_to_library(use) and not objects.once(asks_unknown)


def _goes_to_library(use: Use) -> bool:
    """Whether a function or class of a library gets an optimizer: it may want Chainer's, or copy it.

    Also by the name of what the optimizer is put into.
    """
    context, statement = use.context, use.context.source.statement(use.node)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    names = {target.id: context.scope(target, target.id) for target in targets if isinstance(target, ast.Name)}
    loads = [
        node
        for node in context.source.of(ast.Name)
        if node.id in names and isinstance(node.ctx, ast.Load) and context.scope(node, node.id) is names[node.id]
    ]
    return any(_is_given_to_library(use, node) for node in (use.node, *loads))


def _is_given_to_library(use: Use, node: ast.expr) -> bool:
    inner: ast.AST = node
    for outer in use.context.source.ancestors(node):
        if isinstance(outer, (ast.stmt, ast.Attribute, ast.Subscript)):
            return False
        if isinstance(outer, ast.Call) and inner is not outer.func:
            kinds = options(use.context.kind(outer.func))
            return any(isinstance(k, Ref) and k.name not in _CONTAINERS for k in kinds)
        inner = outer
    return False


def asks_unknown(objects: Objects) -> bool:
    """Whether a file asks a value that is not known for what Chainer's optimizers have."""
    return any(_asks(objects, module) for module in objects.analysis.project.modules.values())


def _asks(objects: Objects, module: ModuleInfo) -> bool:
    kind = objects.analysis.kind
    for node in module.source.of(ast.Attribute):
        assert isinstance(node, ast.Attribute)
        if node.attr in _MEMBERS and kind(node.value) == UNKNOWN and _is_asked(module, node):
            if not any(isinstance(k, Func) for k in options(kind(node))):
                return True
    return any(
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id in _BY_NAME
        and bool(call.args)
        and kind(call.args[0]) == UNKNOWN
        and (call.func.id != "getattr" or len(call.args) != 2)  # that raises
        and not _names_something_else(call)
        for call in module.source.of(ast.Call)
    )


def _is_asked(module: ModuleInfo, node: ast.Attribute) -> bool:
    """Whether a member of an unknown value may be one of an optimizer's."""
    named = _OPTIMIZER in ast.unparse(node.value).lower().replace("option", "")
    if node.attr in _METHODS or named:
        return True
    if node.attr == "update":  # of a dictionary, a hash, a bar of progress: each gets something
        call = module.source.parents.get(node)
        return isinstance(call, ast.Call) and call.func is node and not call.args and not call.keywords
    return node.attr in _SETTINGS and not isinstance(node.ctx, ast.Load) and not _has_more(module, node)


def _has_more(module: ModuleInfo, node: ast.Attribute) -> bool:
    """Whether a statement beside it reads a member of the same variable that no optimizer has: ``layer.gamma``."""
    source = module.source
    suite = source.parents.get(source.statement(node))
    if not isinstance(node.value, ast.Name) or not isinstance(suite, (ast.FunctionDef, ast.Module)):
        return False
    reads = [
        read
        for read in source.of(ast.Attribute)
        if isinstance(read, ast.Attribute)
        and isinstance(read.ctx, ast.Load)
        and isinstance(read.value, ast.Name)
        and read.value.id == node.value.id
        and source.parents.get(source.statement(read)) is suite
    ]
    stores = (name for name in source.named.get(node.value.id, ()))
    bound = any(not isinstance(name.ctx, ast.Load) and name in nodes_of(suite) for name in stores)
    return not bound and any(read.attr in _OF_LAYERS for read in reads)


def _names_something_else(call: ast.Call) -> bool:
    name = call.args[1] if len(call.args) > 1 else None
    return isinstance(name, ast.Constant) and name.value not in _MEMBERS


__all__ = ["asks_unknown", "may_escape"]
