"""``h += x`` where nobody knows what ``h`` is: Chainer binds a Variable anew and changes an array in place."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN, Inst, Kind, Ref, Tensor, options, scalar_type
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
# what a Variable has, and an array has not (or nobody asks it for)
_OF_VARIABLES = frozenset({"array", "backward", "data", "unchain", "unchain_backward"})
# methods of a link that work on arrays of the host, or on what is no value of a network
_OFF_THE_GRAPH = frozenset({"__init__", "__len__", "__repr__", "prepare", "serialize", "to_cpu", "to_gpu"})
_UPDATING = ("chainer.Optimizer", "chainer.UpdateRule")
# functions of Chainer's whose result is new, and is not kept for their gradient
_SUMS = frozenset(
    """
    average bernoulli_nll gaussian_kl_divergence gaussian_nll huber_loss mean mean_absolute_error mean_squared_error
    sigmoid_cross_entropy softmax_cross_entropy sum
    """.split()
)
HELPERS: dict[type, str] = {ast.Add: "iadd", ast.Sub: "isub", ast.Mult: "imul", ast.Div: "itruediv"}


def is_used_as_variable(context: Context, node: ast.AugAssign) -> bool:
    """Whether its function takes the array or the graph of what is not known otherwise: ``h -= 1`` near ``h.data``."""
    function = context.source.enclosing(node, *_FUNCTIONS)
    if (
        function is None
        or not isinstance(node.target, (ast.Name, ast.Attribute))
        or not context.imports_chainer
        or context.migrated
        or not _is_plain(node.target)
    ):
        return False
    name = ast.unparse(node.target)
    return any(
        isinstance(n, ast.Attribute) and n.attr in _OF_VARIABLES and ast.unparse(n.value) == name
        for n in nodes_of(function)
    )


def may_be_in_a_graph(context: Context, node: ast.AugAssign) -> bool:
    """Whether a name that nothing else is known of stands where values of a network stand, and may be held elsewhere.

    That is: in a method of a link, or in a function that works with functions, links and Variables of Chainer's. A sum
    that is read when it is complete is held by nobody else: there, in place or not is the same.
    """
    function = context.source.enclosing(node, *_FUNCTIONS)
    if (
        not isinstance(function, _FUNCTIONS)
        or not isinstance(node.target, ast.Name)
        or context.migrated
        or type(node.op) not in HELPERS
        or context.analysis.kind(node) != UNKNOWN
        or _is_text(node.value)
    ):
        return False
    name = node.target.id
    nodes = nodes_of(function)
    if not _is_value_of_chainer(context, name, nodes):
        scales = isinstance(node.op, (ast.Mult, ast.Div))  # which counters are not
        counts = any(isinstance(n, ast.Subscript) and name in _names_in(n.slice) for n in nodes)
        if (
            counts
            or not (scales or _may_be_added(context.analysis.kind(node.value)))
            or not (_in_a_link(context, function) or _works_with_variables(context, node, nodes))
        ):
            return False
    return not _is_complete_when_read(context, function, name, nodes)


def _is_text(node: ast.expr) -> bool:
    """Whether an expression is a text, or raises: a sum with one, a format of one."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mod)):
        return _is_text(node.left) or isinstance(node.op, ast.Add) and _is_text(node.right)
    return isinstance(node, ast.JoinedStr) or isinstance(node, ast.Constant) and isinstance(node.value, str)


def may_be_array(context: Context, node: ast.AugAssign) -> bool:
    """Whether a name may well stand for an array, which is changed in place: an attribute, a value outside of links."""
    function = context.source.enclosing(node, *_FUNCTIONS)
    if not isinstance(function, _FUNCTIONS):
        return True
    name, nodes = ast.unparse(node.target), nodes_of(function)
    if not _in_a_link(context, function) and not _is_value_of_chainer(context, name, nodes):
        return True
    return any(
        isinstance(n, ast.Assign)
        and isinstance(n.value, ast.Attribute)
        and any(ast.unparse(target) == name for target in n.targets)
        for n in nodes
    )


def _is_value_of_chainer(context: Context, name: str, nodes: list[ast.AST]) -> bool:
    """Whether a function or link of Chainer's takes a name first or gives its value."""
    for n in nodes:
        if (
            isinstance(n, ast.Call)
            and n.args
            and isinstance(n.args[0], ast.Name)
            and n.args[0].id == name
            or isinstance(n, ast.Assign)
            and isinstance(n.value, ast.Call)
            and any(isinstance(target, ast.Name) and target.id == name for target in n.targets)
        ):
            call = n if isinstance(n, ast.Call) else n.value
            if isinstance(call, ast.Call) and _is_of_chainer(context, context.analysis.kind(call.func)):
                return True
    return False


def _works_with_variables(context: Context, node: ast.AugAssign, nodes: list[ast.AST]) -> bool:
    """Whether a function has to do with Variables, and is neither an optimizer nor about to add up arrays."""
    cls = context.enclosing_class(node)
    if (
        cls is not None
        and any(context.analysis.derives(cls, base) for base in _UPDATING)
        or all(isinstance(k, Tensor) and k.array for k in options(context.analysis.kind(node.value)))
    ):
        return False
    kinds = (k for n in nodes if isinstance(n, (ast.Name, ast.Attribute)) for k in options(context.analysis.kind(n)))
    return any(
        isinstance(k, Ref) and k.name.startswith("chainer.functions.") or isinstance(k, Tensor) and not k.array
        for k in kinds
    )


def _may_be_added(kind: Kind) -> bool:
    """Whether a value may be a tensor: what counts and names things is none."""
    return any(k == UNKNOWN or isinstance(k, Tensor) for k in options(kind))


def _names_in(tree: ast.AST) -> set[str]:
    return {n.id for n in nodes_of(tree) if isinstance(n, ast.Name)}


def _is_of_chainer(context: Context, callee: Kind) -> bool:
    return all(
        isinstance(k, Ref)
        and k.name.startswith("chainer.functions.")
        or isinstance(k, Inst)
        and context.analysis.is_link(k)
        for k in options(callee)
    )


def _in_a_link(context: Context, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    cls = context.enclosing_class(function)
    return (
        cls is not None
        and function.name not in _OFF_THE_GRAPH
        and context.analysis.derives(cls, "chainer.Link")
        and not any("static" in ast.unparse(d) or "class" in ast.unparse(d) for d in function.decorator_list)
    )


def _is_complete_when_read(context: Context, function: ast.AST, name: str, nodes: list[ast.AST]) -> bool:
    """Whether all that a name is bound to is new, and nobody reads it before the last change."""
    if any(a.arg == name for a in nodes if isinstance(a, ast.arg)):
        return False
    changes = [
        n for n in nodes if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name) and n.target.id == name
    ]
    bound = {change.target for change in changes}
    for n in nodes:
        if (
            isinstance(n, ast.Assign)
            and len(n.targets) == 1
            and isinstance(target := n.targets[0], ast.Name)
            and target.id == name
            and _is_new(context, n.value)
        ):
            bound.add(target)
    end = max(context.source.span(_outermost_loop(context, change, function))[1] for change in changes)
    return all(
        n in bound if isinstance(n.ctx, ast.Store) else context.source.start(n) > end
        for n in nodes
        if isinstance(n, ast.Name) and n.id == name
    )


def may_stay_in_place(context: Context, node: ast.AugAssign) -> bool:
    """Whether ``loss += x`` changes a sum that nobody else holds and no backward pass needs: then in place is as good.

    All that the name is bound to is the result of an operator or of a function that keeps no output, and it is read
    when the last part has been added.
    """
    function = context.source.enclosing(node, *_FUNCTIONS)
    if not isinstance(function, _FUNCTIONS) or not isinstance(node.target, ast.Name):
        return False
    name, end = node.target.id, 0
    names = [n for n in nodes_of(function) if isinstance(n, ast.Name) and n.id == name]
    if any(a.arg == name for a in nodes_of(function.args) if isinstance(a, ast.arg)):
        return False
    bindings: list[ast.AST] = []
    for found in names:
        parent = context.source.parents.get(found)
        if isinstance(found.ctx, ast.Load):
            continue
        if isinstance(parent, ast.AugAssign) and isinstance(parent.op, (ast.Add, ast.Sub)):
            continue
        if not (isinstance(parent, ast.Assign) and parent.targets == [found] and _is_sum(context, parent.value)):
            return False
        bindings.append(parent)
    for found in names:
        parent = context.source.parents.get(found)
        if isinstance(parent, ast.AugAssign) and parent.target is found:
            end = max(end, context.source.span(_repeated(context, parent, bindings, function))[1])
    return bool(bindings) and all(
        context.source.start(n) > end for n in names if isinstance(n.ctx, ast.Load) and not _is_own_target(context, n)
    )


def _is_own_target(context: Context, name: ast.Name) -> bool:
    parent = context.source.parents.get(name)
    return isinstance(parent, ast.AugAssign) and parent.target is name


def _repeated(context: Context, change: ast.AST, bindings: list[ast.AST], function: ast.AST) -> ast.AST:
    """The outermost loop in which a change is made again to the same value: the name is not bound anew in its body."""
    found = change
    for ancestor in context.source.ancestors(change):
        if ancestor is function:
            break
        if isinstance(ancestor, _LOOPS) and not any(statement in ancestor.body for statement in bindings):
            found = ancestor
        elif isinstance(ancestor, _LOOPS):
            break
    return found


def _is_sum(context: Context, value: ast.expr) -> bool:
    """Whether an expression makes a new value that PyTorch keeps nowhere: a number, a sum, a loss."""
    kind = context.analysis.kind(value.func) if isinstance(value, ast.Call) else None
    return (
        isinstance(value, (ast.BinOp, ast.Constant))
        or isinstance(kind, Ref)
        and kind.name.startswith("chainer.functions.")
        and kind.name.rpartition(".")[2] in _SUMS
    )


def _outermost_loop(context: Context, node: ast.AST, function: ast.AST) -> ast.AST:
    found = node
    for ancestor in context.source.ancestors(node):
        if ancestor is function:
            break
        if isinstance(ancestor, _LOOPS):
            found = ancestor
    return found


def _is_new(context: Context, value: ast.expr) -> bool:
    """Whether an expression makes its value: a number, the result of an operator."""
    return isinstance(value, (ast.BinOp, ast.Constant)) or scalar_type(context.analysis.kind(value)) in ("int", "float")


def _is_plain(target: ast.expr) -> bool:
    return isinstance(target, ast.Name) or isinstance(target, ast.Attribute) and _is_plain(target.value)
