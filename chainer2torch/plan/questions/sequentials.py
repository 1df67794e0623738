"""Which calls of `chainer.Sequential` can make an nn.Sequential (native style), and what its functions become."""

from __future__ import annotations

import ast
from types import MappingProxyType

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Func, Inst, Kind, Ref, Tup, options
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.asked_classes import is_asked

SEQUENTIAL = "chainer.Sequential"
MODULES = MappingProxyType(
    {
        "chainer.functions.relu": "torch.nn.ReLU()",
        "chainer.functions.tanh": "torch.nn.Tanh()",
        "chainer.functions.sigmoid": "torch.nn.Sigmoid()",
        "chainer.functions.elu": "torch.nn.ELU()",
        "chainer.functions.softplus": "torch.nn.Softplus()",
        "chainer.functions.leaky_relu": "torch.nn.LeakyReLU(0.2)",
        "chainer.functions.softmax": "torch.nn.Softmax(dim=1)",
        "chainer.functions.log_softmax": "torch.nn.LogSoftmax(dim=1)",
        "chainer.functions.dropout": "torch.nn.Dropout()",
        "chainer.functions.identity": "torch.nn.Identity()",
    }
)
# what nn.Sequential does not have, or does for modules only
_OF_CHAINER = frozenset(
    (
        *("append", "clear", "copy", "count", "count_by_layer_type", "extend", "flatten"),
        *("index", "insert", "pop", "remove", "remove_by_layer_type", "repeat", "reverse"),
    )
)


def is_plain_sequential(context: Context, call: ast.AST) -> bool:
    """Whether a call makes an nn.Sequential: its layers are given one by one, and nothing asks for Chainer's class."""
    return (
        context.choices.style == "native"
        and isinstance(call, ast.Call)
        and context.reference(call.func) == SEQUENTIAL
        and _is_plain(context.analysis, call)
        and not context.analysis.once(asks_for_more)
    )


def sequential_classes(context: Context) -> tuple[str, ...]:
    """The classes that the project's calls of `chainer.Sequential` make."""
    analysis = context.analysis
    if context.choices.style != "native" or analysis.once(asks_for_more):
        return ("compat.Sequential",)
    plain = analysis.once(_all_are_plain)
    return ("torch.nn.Sequential",) if plain else ("torch.nn.Sequential", "compat.Sequential")


def _all_are_plain(analysis: Analysis) -> bool:
    """Whether each place that names `chainer.Sequential` is a call that makes an nn.Sequential."""
    for module in analysis.project.modules.values():
        for node in module.source.of(ast.Name, ast.Attribute):
            if analysis.kind(node) == Ref(SEQUENTIAL) and not is_asked(analysis, module, node):
                call = module.source.parents.get(node)
                if not isinstance(call, ast.Call) or call.func is not node or not _is_plain(analysis, call):
                    return False
    return True


def _is_plain(analysis: Analysis, call: ast.Call) -> bool:
    plain = not call.keywords and bool(call.args) and not any(isinstance(a, ast.Starred) for a in call.args)
    return plain and not any(_takes_or_gives_several(analysis, layer) for layer in call.args)


def _takes_or_gives_several(analysis: Analysis, layer: ast.expr) -> bool:
    """Whether a layer is known to take several values, or to give them: nn.Sequential hands on one."""
    for kind in options(analysis.kind(layer)):
        function = kind.info if isinstance(kind, Func) else _forward_of(analysis, kind)
        if function is not None and (_takes_several(function, kind) or isinstance(function.returns, Tup)):
            return True
    return False


def _forward_of(analysis: Analysis, kind: Kind) -> FuncInfo | None:
    owners = analysis.mro(kind.cls) if isinstance(kind, Inst) else []
    methods = (owner.methods for owner in owners if isinstance(owner, ClassInfo))
    return next((found[name] for found in methods for name in ("__call__", "forward") if name in found), None)


def _takes_several(function: FuncInfo, kind: Kind) -> bool:
    a = function.node.args
    bound = isinstance(kind, Inst) or isinstance(kind, Func) and kind.receiver is not None
    positional = [*a.posonlyargs, *a.args][bound:]
    return len(positional) - len(a.defaults) > 1


def outermost(context: Context, call: ast.Call) -> ast.Call:
    """The outermost nn.Sequential in which a layer is made; the layer itself if in none."""
    parent = context.source.parents.get(call)
    while isinstance(parent, ast.Call) and call in parent.args and is_plain_sequential(context, parent):
        call, parent = parent, context.source.parents.get(parent)
    return call


def in_sequential(context: Context, call: ast.Call) -> bool:
    """Whether a layer is made in an nn.Sequential."""
    return outermost(context, call) is not call


def follows_linear(context: Context, call: ast.Call) -> bool:
    """Whether a layer stands in a Sequential behind an L.Linear, with nothing but elementwise functions between."""
    parent = context.source.parents.get(call)
    if not isinstance(parent, ast.Call) or not is_plain_sequential(context, parent) or call not in parent.args:
        return False
    for layer in reversed(parent.args[: parent.args.index(call)]):
        if context.reference(layer) in MODULES:
            continue
        return isinstance(layer, ast.Call) and context.reference(layer.func) == "chainer.links.Linear"
    return False


def is_made_here(context: Context, call: ast.Call) -> bool:
    """Whether the link of ``L.Linear(3, 3).repeat(4)`` is made by a call that can be made again for each copy."""
    made = call.func.value if isinstance(call.func, ast.Attribute) else None
    return (
        isinstance(made, ast.Call)
        and (context.reference(made.func) or "").startswith("chainer.links.")
        and not any(isinstance(n, (ast.NamedExpr, ast.Await, ast.Yield)) for n in nodes_of(made))
        and all(_is_pure(context, part) for part in [*made.args, *(k.value for k in made.keywords)])
        and not context.analysis.once(asks_for_more)
    )


def _is_pure(context: Context, node: ast.expr) -> bool:
    """Whether an argument is the same each time: nothing is called but initializers of Chainer's."""
    calls = [part for part in nodes_of(node) if isinstance(part, ast.Call)]
    return all((context.reference(c.func) or "").startswith("chainer.initializers.") for c in calls)


def asks_for_more(analysis: Analysis) -> bool:
    """Whether the project calls a method that nn.Sequential does not have, or has otherwise, of some Sequential."""
    return any(
        node.attr in _OF_CHAINER
        and any(isinstance(k, Inst) and k.cls == SEQUENTIAL for k in options(analysis.kind(node.value)))
        for module in analysis.project.modules.values()
        for node in module.source.of(ast.Attribute)
    )
