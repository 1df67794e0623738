"""Values by which a program takes a gradient with ``chainer.grad``: torch asks that they say so when they are made.

``x = e * real + (1 - e) * fake`` of tensors without a graph (data, or a graph that was cut) has no gradient in torch.
In Chainer every Variable that is computed from one with ``requires_grad`` has. Source: chainer.grad,
torch.autograd.grad.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Tensor
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context

_GRAD = "chainer.grad"
# a Variable that is made says by itself whether a gradient is asked of it (plan/questions/asked_gradients.py)
_MADE = frozenset({"chainer.Variable", "chainer.Parameter", "chainer.variable.Variable", "chainer.variable.Parameter"})
_CUTS = frozenset({"unchain", "unchain_backward"})
_WITHOUT_GRAPH = frozenset({"chainer.no_backprop_mode", "chainer.using_config"})


def run(context: Context) -> Decisions:
    """Lets tensors require their gradient where they are computed, if nothing tells that they do already."""
    decisions = Decisions(context)
    seen: set[ast.AST] = set()
    for call in context.source.of(ast.Call):
        if isinstance(call, ast.Call) and context.reference(call.func) == _GRAD and len(call.args) > 1:
            inputs = call.args[1]
            if not isinstance(inputs, (ast.List, ast.Tuple)):
                continue
            for name in inputs.elts:
                made = _made(context, name, call) if isinstance(name, ast.Name) else None
                if made is not None and made not in seen and _may_lack_graph(context, made, call):
                    seen.add(made)
                    decisions.wrap(made, "value.requires_grad_()")
    return decisions


def _made(context: Context, name: ast.Name, before: ast.AST) -> ast.expr | None:
    """What was computed for a name, last before a place of its function; None: nothing that is a tensor for sure."""
    function = context.source.enclosing(before, ast.FunctionDef) or context.source.tree
    last: ast.Assign | None = None
    for node in nodes_of(function):
        if (
            isinstance(node, ast.Assign)
            and len(node.targets) == 1
            and isinstance(target := node.targets[0], ast.Name)
            and target.id == name.id
            and node.lineno < name.lineno
            and (last is None or node.lineno > last.lineno)
        ):
            last = node
    if last is None or not isinstance(context.analysis.kind(last.value), Tensor):
        return None
    return last.value


def _may_lack_graph(context: Context, value: ast.expr, call: ast.AST) -> bool:
    """Whether a value may have been computed from tensors that need no gradient only."""
    if isinstance(value, (ast.Name, ast.Attribute, ast.Subscript)):
        return False  # another name of what was made elsewhere
    if isinstance(value, ast.Call) and (context.reference(value.func) in _MADE or _calls_link(context, value)):
        return False
    cut = _cut_names(context, call)
    for part in nodes_of(value):
        if isinstance(part, ast.Call) and _calls_link(context, part) and not _is_without_graph(context, part):
            return False
        if isinstance(part, ast.Name) and part.id not in cut and isinstance(part.ctx, ast.Load):
            made = _made(context, part, value)
            if isinstance(made, ast.Call) and _calls_link(context, made) and not _is_without_graph(context, made):
                parent = context.source.parents.get(part)
                if not (isinstance(parent, ast.Attribute) and parent.attr in ("array", "data")):
                    return False
    return True


def _calls_link(context: Context, call: ast.Call) -> bool:
    return context.analysis.is_link(context.analysis.kind(call.func))


def _cut_names(context: Context, call: ast.AST) -> set[str]:
    """The names whose graph the function of a call cuts somewhere."""
    function = context.source.enclosing(call, ast.FunctionDef) or context.source.tree
    return {
        node.func.value.id
        for node in nodes_of(function)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _CUTS
        and isinstance(node.func.value, ast.Name)
    }


def _is_without_graph(context: Context, node: ast.AST) -> bool:
    """Whether something is computed where Chainer keeps no graph."""
    return any(
        isinstance(item.context_expr, ast.Call) and context.reference(item.context_expr.func) in _WITHOUT_GRAPH
        for around in context.source.ancestors(node)
        if isinstance(around, ast.With)
        for item in around.items
    )
