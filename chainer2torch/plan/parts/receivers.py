"""Methods of Chainer's on values whose kind is not known: never rewritten on a guess, never passed over in silence."""

from __future__ import annotations

import ast

from chainer2torch.analysis.graphs import GraphUse
from chainer2torch.analysis.kinds import UNKNOWN, Func, HostArray, Inst, Kind, Ref, Tensor, options
from chainer2torch.analysis.models.demands import is_of_another_library
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import ReplaceStatement
from chainer2torch.plan.parts.array_attributes import attribute_of_array
from chainer2torch.plan.parts.calls import emit_call
from chainer2torch.plan.parts.other_members import without_rule
from chainer2torch.plan.parts.fed_tensors import is_fed_tensor, means_the_same
from chainer2torch.plan.parts.init_scope import init_scope, is_own_scope
from chainer2torch.plan.parts.unknown_casts import cast_of_unknown
from chainer2torch.plan.parts.serializing import part_of_unknown_kind
from chainer2torch.plan.parts.values import of_unknown
from chainer2torch.plan.questions.fed_parameters import is_fed_parameter
from chainer2torch.plan.questions.graph_use import graph_use
from chainer2torch.plan.questions.seeds import begun_by, seeds
from chainer2torch.plan.questions.own_members import hands_on, is_set_by_project
from chainer2torch.plan.questions.copies_of_links import is_copy_of_link
from chainer2torch.plan.questions.perhaps import may_be_array, may_be_tensor
from chainer2torch.plan.questions.receivers import (
    OTHER_MEANING,
    among_tensors,
    is_asked_like_array,
    is_of_arrays_alone,
    seen_before,
    tested_as_array,
)
from chainer2torch.plan.questions.rows import PARAMETERS
from chainer2torch.plan.questions.values_from_elsewhere import is_from_elsewhere

# Names that only Chainer's objects have, and the migrated ones lack: a value of unknown kind is most likely Chainer's.
DISTINCTIVE = frozenset(
    """
    accumulate_grads add_link add_persistent add_uninitialized_param addgrad addgrads array chx_array cleargrad
    cleargrads clip_grads collect_parameters compute_grads_norm copy_parameters_from copydata copyparams
    count_by_layer_type count_params creator creator_node debug_print disable_update enable_update from_chx grad_var
    has_uninitialized_params init_scope is_initialized local_link_hooks namedlinks namedparams printable_specs
    raw_array register_persistent remove_by_layer_type retain_data set_creator set_creator_node
    start_finetuning to_chx to_cpu to_device to_gpu to_intel64 unchain unchain_backward update_enabled
    update_rule use_cleargrads within_init_scope xp zerograd zerograds
    """.split()
)
# methods of links without arguments that others have as well: only such calls may be a link's
_WALKS = frozenset({"children", "links", "params"})
_OF_ARRAYS = frozenset({"copy", "fill", "get"})  # those of arrays that a tensor lacks
_OF_EITHER = OTHER_MEANING | _OF_ARRAYS | {"flatten", "mean"}  # asked of an array here and of a tensor there
_CALLED_OF_EITHER = frozenset({"astype", "transpose"})  # which have a row of their own
_SWAPPED = 2  # dimensions, which tensors and matrices swap alike
_OF_LISTS = frozenset({"key", "reverse"})  # `names.sort(key=len)` is no array's
_OF_GRAPHS = frozenset({"creator", "creator_node"})
_OPTIONS = frozenset({"include_uninit", "skipself"})
_OF_TORCH = frozenset({"create_graph", "retain_graph"})  # arguments of PyTorch's backward(): it was migrated before
_OF_BACKWARD = frozenset({"retain_grad", "enable_double_backprop", "loss_scale"})
_SETTINGS = {"dilate": "dilation", "pad": "padding"}  # of convolutions: pairs on both sides
_OF_A_LAYER = "It is asked for its `W`, too: a layer, whose setting has this name in PyTorch."
_AT_RUN_TIME = "What it is called on is not known here; the helper looks at run time."
_OTHER_ARGUMENTS = "What it is called on may be a tensor, which has no `dtype` of NumPy's and no `out` here."
_HANDED_ON = "The class finds this by `__getattr__`, in a model perhaps, where it has another name in PyTorch."
_MODULES = frozenset({"np", "numpy", "xp", "cupy", "cp"})  # names of array modules


def unknown_receiver(context: Context, decisions: Decisions, node: ast.Attribute) -> None:
    """Marks ``something.unchain_backward()`` when nobody knows what ``something`` is."""
    if seen_before(context, node) or _of_perhaps(context, decisions, node):
        return
    if node.attr == "astype":
        cast_of_unknown(context, decisions, node)
        return
    if node.attr == "backward":
        _backward(context, decisions, node)
        return
    if node.attr in _WALKS or node.attr == "copy" and is_copy_of_link(context, node):
        _walk(context, decisions, node)
        return
    if node.attr == "serialize" and context.imports_chainer and context.analysis.kind(node.value) == UNKNOWN:
        part_of_unknown_kind(context, decisions, node)
        return
    if node.attr in OTHER_MEANING or node.attr in _OF_ARRAYS:
        _method_of_array(context, decisions, node)
        return
    if node.attr == "transpose" and (is_fed_tensor(context, node.value) or is_held_array(context, node.value)):
        _axes_of_array(context, decisions, node)
        return
    if attribute_of_array(context, decisions, node) or _setting_of_layer(context, decisions, node):
        return
    without_rule(context, decisions, node)
    known = not _nobody_knows(context, context.analysis.kind(node.value), node.attr)
    if node.attr not in DISTINCTIVE or known and node.attr != "init_scope":  # nothing but a link has that one
        return
    of_user = node.attr == "creator" and is_set_by_project(context.analysis, node.attr)
    of_user = of_user or node.attr == "init_scope" and is_own_scope(context, decisions, node)
    if isinstance(node.value, ast.Name) and node.value.id in _MODULES or not context.beside_chainer or of_user:
        return
    parent = context.source.parents.get(node)
    called = isinstance(parent, ast.Call) and parent.func is node
    if node.attr == "array" and (called or is_of_another_library(context.analysis, context.source, node.value)):
        return  # a function of that name in some module (Chainer's is an attribute), or another object's
    row = context.rules.rows.get(f"?.{node.attr}")
    if context.analysis.kind(node.value) != UNKNOWN and _is_handed_on(context, node):
        decisions.mark(node, row, f"?.{node.attr}", "review", _HANDED_ON, "C2T390")
    if row is not None and row.set is not None and isinstance(node.ctx, ast.Store):
        looked_up = isinstance(node.value, ast.Attribute) and node.value.attr in PARAMETERS and context.imports_chainer
        if isinstance(parent, ast.Assign) and len(parent.targets) == 1 and not looked_up:
            operands = {"self": context.operand(node.value), "value": context.operand(parent.value)}
            decisions.edit(parent, ReplaceStatement(context.source.start(parent), row.set, operands))
            decisions.mark(node, row, row.name, row.state, row.note)
            return
        if looked_up:  # with the parameter, by its name
            return
    if row is not None and isinstance(node.ctx, ast.Load):
        if row.attribute:
            template = of_unknown(context, node, row.cases[0].torch)
            decisions.replace(node, template, {"self": context.operand(node.value)})
            decisions.mark(node, row, row.name, row.state, row.note)
            return
        if isinstance(parent, ast.Call) and called:
            if row.function is not None:
                init_scope(context, decisions, node, row)
            else:
                emit_call(context, decisions, parent, row, node, receiver=node.value)
            return
    decisions.mark(
        node,
        None,
        f"?.{node.attr}",
        "review",
        f"`{node.attr}` looks like Chainer's, but what it is called on is not known; left as it is",
        "C2T390",
        quiet=isinstance(node.ctx, ast.Load) and is_from_elsewhere(context, node.value),
        # whoever walks over Chainer's graph settles once for the project what takes its place
        shared=f"C2T390 ?.{node.attr}" if node.attr in _OF_GRAPHS else "",
    )


def _setting_of_layer(context: Context, decisions: Decisions, node: ast.Attribute) -> bool:
    """``l.pad`` beside ``l.W`` in a function of which nobody knows what it is given."""
    owner = node.value
    if node.attr not in _SETTINGS or context.choices.style != "native" or not isinstance(node.ctx, ast.Load):
        return False
    if context.kind(owner) != UNKNOWN or not context.imports_chainer or context.is_called(node):
        return False
    function = context.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef)
    if function is None or not any(
        isinstance(n, ast.Attribute) and n.attr == "W" and ast.unparse(n.value) == ast.unparse(owner)
        for n in nodes_of(function)
    ):
        return False
    decisions.replace(node, f"layer.{_SETTINGS[node.attr]}", {"layer": context.operand(owner)})
    decisions.mark(node, None, f"?.{node.attr}", "review", _OF_A_LAYER, "C2T390", quiet=True)
    return True


def _walk(context: Context, decisions: Decisions, node: ast.Attribute) -> None:
    """``x.params()``, ``x.copy(mode='init')``: of a link if x is one."""
    call = context.source.parents.get(node)
    if (
        isinstance(call, ast.Call)
        and call.func is node
        and context.imports_chainer
        and context.analysis.kind(node.value) == UNKNOWN
        and (
            node.attr == "copy"
            or {k.arg for k in call.keywords} <= _OPTIONS
            and all(isinstance(a, ast.Constant) and isinstance(a.value, bool) for a in call.args)
        )
    ):
        emit_call(context, decisions, call, context.rules.rows[f"?.{node.attr}"], node, receiver=node.value)


def _method_of_array(context: Context, decisions: Decisions, node: ast.Attribute) -> None:
    """``z.std()`` where z may be a tensor, whose ``std`` divides by another number: decided at run time."""
    call = context.source.parents.get(node)
    fed = node.attr in _OF_ARRAYS and is_fed_parameter(context, node.value)  # also where a file is NumPy's alone
    if not (isinstance(call, ast.Call) and call.func is node and (fed or context.imports_chainer)):
        return
    if means_the_same(call, node.attr):
        return
    if _OF_LISTS & {k.arg for k in call.keywords} or _is_host(context, node.value):
        return
    held = is_held_array(context, node.value) or node.attr == "get" and _was_held(context, node.value)
    if context.analysis.kind(node.value) == UNKNOWN and (
        held
        or tested_as_array(context, node.value)
        or fed
        or is_of_arrays_alone(call, node.attr)
        or (node.attr in OTHER_MEANING or is_asked_like_array(context, node))
        and among_tensors(context, call)
    ):
        if context.choices.style == "native" and node.attr == "get" and not (call.args or call.keywords):
            # CuPy's, which no other array has; a dict's takes a key
            decisions.replace(call, "value.cpu().numpy()", {"value": context.operand(node.value)})
            decisions.mark(node, None, f"?.{node.attr}", "exact", "", "C2T390")
            return
        _with_methods(context, decisions, node)


def method_of_several(context: Context, decisions: Decisions, node: ast.Attribute) -> bool:
    """``x.copy()`` where x is an array of NumPy or a tensor, or may be: NumPy's meaning, decided at run time.

    A Variable has none of these methods, so that a tensor stands for what was an array of CuPy or NumPy.
    """
    call = context.source.parents.get(node)
    kinds = options(context.analysis.kind(node.value))
    if (
        node.attr not in _OF_EITHER
        or not (isinstance(call, ast.Call) and call.func is node)
        or means_the_same(call, node.attr)
        or not all(k == UNKNOWN or isinstance(k, (Tensor, HostArray)) for k in kinds)
        or not any(isinstance(k, Tensor) for k in kinds)
        or (_OF_LISTS | ({"dtype", "out"} if node.attr == "mean" else set())) & {k.arg for k in call.keywords}
    ):
        return False
    _with_methods(context, decisions, node)
    return True


def _of_perhaps(context: Context, decisions: Decisions, node: ast.Attribute) -> bool:
    """A member of a value that may be a tensor, where no more is known: ``model.kept.mean()``."""
    call = context.source.parents.get(node)
    if not may_be_tensor(context, node.value):
        return False
    if not (isinstance(call, ast.Call) and call.func is node):
        return attribute_of_array(context, decisions, node)
    if node.attr in _CALLED_OF_EITHER:
        if node.attr == "transpose" and len(call.args) == _SWAPPED:
            return False
        emit_call(context, decisions, call, context.rules.rows[f"?.{node.attr}"], node, receiver=node.value)
        return True
    named = {k.arg for k in call.keywords}
    if node.attr not in _OF_EITHER or node.attr == "get" or means_the_same(call, node.attr) or _OF_LISTS & named:
        return False
    if node.attr == "dot" and not may_be_array(context, node.value):
        return False
    if {"dtype", "out"} & named:
        decisions.mark(node, None, f"?.{node.attr}", "review", _OTHER_ARGUMENTS, "C2T390")
    else:
        _with_methods(context, decisions, node)
    return True


def _axes_of_array(context: Context, decisions: Decisions, node: ast.Attribute) -> None:
    """``x.transpose(0, 3, 1, 2)`` where some caller hands a tensor, which takes two dimensions to swap."""
    call = context.source.parents.get(node)
    if isinstance(call, ast.Call) and call.func is node and len(call.args) != _SWAPPED:
        emit_call(context, decisions, call, context.rules.rows["?.transpose"], node, receiver=node.value)


def _with_methods(context: Context, decisions: Decisions, node: ast.Attribute) -> None:
    room = "native" if context.choices.style == "native" else "compat"
    decisions.wrap(node.value, f"{room}.numpy_methods(value)")
    decisions.mark(node, None, f"?.{node.attr}", "exact", _AT_RUN_TIME, "C2T390")


def call_of_several(context: Context, decisions: Decisions, node: ast.Attribute, kinds: list[Kind]) -> bool:
    """``x.astype(dtype)``, ``x.transpose(2, 0, 1)`` of an array of NumPy for one caller, and a tensor for another."""
    call = context.source.parents.get(node)
    if (
        node.attr not in _CALLED_OF_EITHER
        or not (isinstance(call, ast.Call) and call.func is node)
        or not all(isinstance(k, (HostArray, Tensor)) for k in kinds)
    ):
        return False
    emit_call(context, decisions, call, context.rules.rows[f"?.{node.attr}"], node, receiver=node.value)
    return True


def is_held_array(context: Context, node: ast.expr) -> bool:
    """Whether a value of unknown kind may be what a Variable holds: ``x.array``, or a function that returns that."""
    if isinstance(node, ast.Attribute):
        return node.attr in ("array", "data", "grad")
    if isinstance(node, ast.IfExp):
        return is_held_array(context, node.body) or is_held_array(context, node.orelse)
    callee = context.analysis.kind(node.func) if isinstance(node, ast.Call) else None
    return isinstance(callee, Func) and any(
        isinstance(n, ast.Return)
        and isinstance(n.value, (ast.Attribute, ast.IfExp))
        and is_held_array(context, n.value)
        for n in nodes_of(callee.info.node)
    )


def _was_held(context: Context, node: ast.expr) -> bool:
    """Whether a name of a function was given nothing but what Variables hold: ``q = model(s).data``."""
    scope = context.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef)
    if not isinstance(node, ast.Name) or scope is None:
        return False
    stores = [n for n in nodes_of(scope) if isinstance(n, ast.Name) and n.id == node.id and not _is_read(n)]
    assigned = [context.source.parents.get(store) for store in stores]
    return bool(stores) and all(
        isinstance(parent, ast.Assign)
        and isinstance(parent.value, ast.Attribute)
        and is_held_array(context, parent.value)
        for parent in assigned
    )


def _is_read(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Load)


def _is_host(context: Context, node: ast.expr) -> bool:
    """Whether a value of unknown kind is the result of a call of NumPy's."""
    kind = context.analysis.kind(node.func) if isinstance(node, ast.Call) else None
    return isinstance(kind, Ref) and kind.name.startswith("numpy.")


def _is_handed_on(context: Context, node: ast.Attribute) -> bool:
    """Whether what is asked hands on what it lacks itself."""
    return all(hands_on(context.analysis, kind, node.attr) for kind in options(context.analysis.kind(node.value)))


def _nobody_knows(context: Context, kind: Kind, name: str) -> bool:
    """Whether a value with one of these attributes may be Chainer's for all that is known.

    That is a value of unknown kind; an object of a library on Chainer, whose members no table lists; an array, which
    has none of them: ``array - x`` was taken for an array and is a Variable if x is one; and a method of an object,
    which has none either: a class below has a property of that name.
    """
    return all(
        k == UNKNOWN
        or hands_on(context.analysis, k, name)
        or isinstance(k, HostArray)
        or isinstance(k, Tensor)
        and k.array
        or isinstance(k, Func)
        and isinstance(k.receiver, Inst)
        or isinstance(k, Inst)
        and isinstance(k.cls, str)
        and context.rules.library(k.cls) is not None
        for k in options(kind)
    )


def _backward(context: Context, decisions: Decisions, node: ast.Attribute) -> None:
    """``loss.backward()`` of an unknown loss is the same in PyTorch unless a later one passes its graph again, or it
    gets options that only Chainer's has.
    """
    call = context.source.parents.get(node)
    if not isinstance(call, ast.Call) or _OF_TORCH & {k.arg for k in call.keywords}:
        return
    if call.func is not node or context.analysis.kind(node.value) != UNKNOWN or not context.imports_chainer:
        return
    if seeds(context, call) or graph_use(context, call) != GraphUse() or _OF_BACKWARD & {k.arg for k in call.keywords}:
        emit_call(context, decisions, call, context.rules.rows["?.backward"], node, receiver=node.value)
    for statement in begun_by(context, call):
        target = statement.targets[0]
        if not isinstance(target, ast.Attribute) or context.analysis.kind(target.value) != UNKNOWN:
            continue
        operands = {"y": context.operand(target.value), "value": context.operand(statement.value)}
        start = context.source.start(statement)
        decisions.edit(statement, ReplaceStatement(start, "compat.set_grad(y, value)", operands))
        row = context.rules.rows["chainer.Variable.grad"]
        decisions.mark(target, row, row.name, row.state)
