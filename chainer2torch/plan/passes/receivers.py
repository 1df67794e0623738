"""Methods of Chainer's on values whose kind is not known: never rewritten on a guess, never passed over in silence."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from chainer2torch.analysis.models.xp_modules import EITHER, XP
from chainer2torch.analysis.kinds import UNKNOWN, HostArray, Inst, Kind, Ref, Tensor, options, scalar_type
from chainer2torch.plan.edits import Wrap
from chainer2torch.plan.passes.graphs import GraphUse, graph_use
from chainer2torch.plan.passes.other_members import without_rule
from chainer2torch.plan.passes.serializing import part_of_unknown_kind
from chainer2torch.plan.stages import marked_before

if TYPE_CHECKING:
    from chainer2torch.plan.sites import Plan

# Names that (as far as we know) only Chainer's objects have and that the migrated objects lack: with them a value of
# unknown kind is most likely one of Chainer's.
DISTINCTIVE = frozenset(
    {
        "add_persistent",
        "addgrad",
        "addgrads",
        "array",
        "cleargrad",
        "cleargrads",
        "copydata",
        "copyparams",
        "count_params",
        "disable_update",
        "enable_update",
        "from_chx",
        "grad_var",
        "namedlinks",
        "namedparams",
        "register_persistent",
        "to_chx",
        "to_cpu",
        "to_device",
        "to_gpu",
        "to_intel64",
        "unchain",
        "unchain_backward",
        "xp",
        "zerograd",
        "zerograds",
    }
)
# methods of links without arguments that other objects have as well: only such calls may be a link's
_WALKS = frozenset({"children", "links", "params"})
# methods of arrays that a tensor has, too, with another meaning and without an error
_OTHER_MEANING = frozenset({"max", "min", "nonzero", "repeat", "sort", "std", "var"})
_OF_ARRAYS = frozenset({"copy", "fill", "get"})  # those of arrays that a tensor lacks
_OF_LISTS = frozenset({"key", "reverse"})  # `names.sort(key=len)` is no array's
_OPTIONS = frozenset({"include_uninit", "skipself"})
_COPY_MODES = frozenset({"copy", "init", "share"})
_OF_TORCH = frozenset({"create_graph", "retain_graph"})  # arguments of PyTorch's backward(): it was migrated before
_AT_RUN_TIME = "What it is called on is not known here; the helper looks at run time."
_OF_PARTS = frozenset({"W", "array", "data", "grad"})  # attributes that are arrays or parameters
_MODULES = frozenset({"np", "numpy", "xp", "cupy", "cp"})


def unknown_receiver(plan: Plan, node: ast.Attribute) -> None:
    """Marks ``something.unchain_backward()`` when nobody knows what ``something`` is."""
    if seen_before(plan, node):
        return
    if node.attr == "astype":
        _astype(plan, node)
        return
    if node.attr == "backward":
        _backward(plan, node)
        return
    if node.attr in _WALKS or node.attr == "copy" and _is_copy_of_link(plan, node):
        _walk(plan, node)
        return
    if node.attr == "serialize" and plan.imports_chainer and plan.analysis.kind(node.value) == UNKNOWN:
        part_of_unknown_kind(plan, node)
        return
    if node.attr in _OTHER_MEANING | _OF_ARRAYS:
        _method_of_array(plan, node)
        return
    if attribute_of_array(plan, node):
        return
    without_rule(plan, node)
    if node.attr not in DISTINCTIVE or not _nobody_knows(plan, plan.analysis.kind(node.value)):
        return
    if isinstance(node.value, ast.Name) and node.value.id in _MODULES or not plan.imports_chainer:
        return
    parent = plan.source.parents.get(node)
    called = isinstance(parent, ast.Call) and parent.func is node
    if node.attr == "array" and called:
        return  # a function of that name in some module: Chainer's is an attribute
    row = plan.rules.rows.get(f"?.{node.attr}")
    if row is not None and isinstance(node.ctx, ast.Load):
        if row.attribute:
            plan.replace(node, row.cases[0].torch, {"self": plan.operand(node.value)})
            plan.mark(node, row, row.name, row.state, row.note)
            return
        if isinstance(parent, ast.Call) and called:
            plan.call(parent, row, node, receiver=node.value)
            return
    plan.mark(
        node,
        None,
        f"?.{node.attr}",
        "review",
        f"`{node.attr}` looks like Chainer's, but what it is called on is not known; left as it is",
        "C2T390",
    )


def _walk(plan: Plan, node: ast.Attribute) -> None:
    """``x.params()``, ``x.copy(mode='init')``: of a link if x is one."""
    call = plan.source.parents.get(node)
    if (
        isinstance(call, ast.Call)
        and call.func is node
        and plan.imports_chainer
        and plan.analysis.kind(node.value) == UNKNOWN
        and (
            node.attr == "copy"
            or {k.arg for k in call.keywords} <= _OPTIONS
            and all(isinstance(a, ast.Constant) and isinstance(a.value, bool) for a in call.args)
        )
    ):
        plan.call(call, plan.rules.rows[f"?.{node.attr}"], node, receiver=node.value)


def _is_copy_of_link(plan: Plan, node: ast.Attribute) -> bool:
    """``x.copy('init')``: no array, dict or list takes this."""
    call = plan.source.parents.get(node)
    given = [*call.args, *(k.value for k in call.keywords)] if isinstance(call, ast.Call) else []
    return len(given) == 1 and isinstance(given[0], ast.Constant) and given[0].value in _COPY_MODES


def seen_before(plan: Plan, node: ast.Attribute) -> bool:
    """Whether an earlier run decided on this receiver, which saw more of what it is, and left no marker here."""
    return plan.migrated and not marked_before(plan, node)


def _method_of_array(plan: Plan, node: ast.Attribute) -> None:
    """``z.std()`` where z may be a tensor, whose ``std`` divides by another number: decided at run time."""
    call = plan.source.parents.get(node)
    if not (isinstance(call, ast.Call) and call.func is node and plan.imports_chainer):
        return
    if node.attr in ("max", "min") and not (call.args or call.keywords):
        return  # the same in both
    if _OF_LISTS & {k.arg for k in call.keywords} or _is_host(plan, node.value):
        return
    held = isinstance(node.value, ast.Attribute) and node.value.attr in ("array", "data", "grad")
    if plan.analysis.kind(node.value) == UNKNOWN and (
        held or node.attr in _OTHER_MEANING and among_tensors(plan, call)
    ):
        plan.wraps[node.value] = Wrap(plan.source.span(node.value), "compat.numpy_methods(value)")
        plan.mark(node, None, f"?.{node.attr}", "exact", _AT_RUN_TIME, "C2T390")


def _is_host(plan: Plan, node: ast.expr) -> bool:
    """Whether a value of unknown kind is the result of a call of NumPy's."""
    kind = plan.analysis.kind(node.func) if isinstance(node, ast.Call) else None
    return isinstance(kind, Ref) and kind.name.startswith("numpy.")


def attribute_of_array(plan: Plan, node: ast.Attribute) -> bool:
    """``z.dtype == np.float32`` and ``z.size > 0`` are false for every tensor: asked through a helper."""
    parent = plan.source.parents.get(node)
    if (
        node.attr not in ("dtype", "size")
        or not isinstance(node.ctx, ast.Load)
        or not plan.imports_chainer
        or plan.migrated
        or not _may_be_tensor(plan, node.value)
    ):
        return False
    if isinstance(node.value, ast.Name) and node.value.id in _MODULES:
        return False
    if (
        node.attr == "size"
        and isinstance(node.value, ast.Attribute)
        and node.value.attr in _OF_PARTS
        and not (isinstance(parent, ast.Call) and parent.func is node)
    ):
        plan.replace(node, "compat.size_of(x)", {"x": plan.operand(node.value)})  # of an array or a parameter
        plan.mark(node, None, "?.size", "exact", _AT_RUN_TIME, "C2T390")
        return True
    compared = (
        isinstance(parent, (ast.Compare, ast.Attribute))
        or isinstance(parent, (ast.Tuple, ast.List))
        and isinstance(plan.source.parents.get(parent), ast.Compare)
    )
    if node.attr == "dtype" and compared and (plan.holds_tensors or plan.analysis.kind(node.value) != UNKNOWN):
        plan.replace(node, "compat.dtype_of(x)", {"x": plan.operand(node.value)})
    elif (
        node.attr == "size"
        and not isinstance(parent, (ast.Call, ast.Attribute, ast.Subscript))
        and among_tensors(plan, node)
    ):
        plan.replace(node, "compat.size_of(x)", {"x": plan.operand(node.value)})
    else:
        return False
    plan.mark(node, None, f"?.{node.attr}", "exact", _AT_RUN_TIME, "C2T390")
    return True


def _may_be_tensor(plan: Plan, node: ast.expr) -> bool:
    """Whether a value is unknown, or one of several kinds of which one is unknown or a tensor."""
    return any(k == UNKNOWN or isinstance(k, Tensor) for k in options(plan.analysis.kind(node)))


def _nobody_knows(plan: Plan, kind: Kind) -> bool:
    """Whether a value with one of these attributes may be Chainer's for all that is known.

    That is a value of unknown kind; an object of a library on Chainer, whose members no table lists; and an array,
    which has none of them: ``array - x`` was taken for an array and is a Variable if x is one.
    """
    return all(
        k == UNKNOWN
        or isinstance(k, HostArray)
        or isinstance(k, Tensor)
        and k.array
        or isinstance(k, Inst)
        and isinstance(k.cls, str)
        and plan.rules.library(k.cls) is not None
        for k in options(kind)
    )


def _astype(plan: Plan, node: ast.Attribute) -> None:
    """``(x != 0).astype(xp.float32)`` where x may be a tensor: the helper looks at run time.

    Host code has many such calls on values of unknown kind, which are arrays of NumPy and stay as they are.
    """
    call = plan.source.parents.get(node)
    if (
        isinstance(call, ast.Call)
        and call.func is node
        and _may_be_array(plan.analysis.kind(node.value))
        and plan.imports_chainer
        and among_tensors(plan, call)
    ):
        plan.call(call, plan.rules.rows["?.astype"], node, receiver=node.value)


def _backward(plan: Plan, node: ast.Attribute) -> None:
    """``loss.backward()`` of an unknown loss is the same in PyTorch unless a later one passes its graph again."""
    call = plan.source.parents.get(node)
    if not isinstance(call, ast.Call) or _OF_TORCH & {k.arg for k in call.keywords}:
        return
    if (
        call.func is node
        and plan.analysis.kind(node.value) == UNKNOWN
        and plan.imports_chainer
        and graph_use(plan, call) != GraphUse()
    ):
        plan.call(call, plan.rules.rows["?.backward"], node, receiver=node.value)


def _may_be_array(kind: Kind) -> bool:
    """Whether nobody knows the value, or it is taken for a number (``x > 0`` of an unknown x), which has no astype."""
    return all(k == UNKNOWN or scalar_type(k) in ("bool", "int", "float") for k in options(kind))


def among_tensors(plan: Plan, node: ast.expr) -> bool:
    """Whether a value of unknown kind stands where tensors are likely.

    That is in a method of a link, in a function with an array module, or beside a dtype of torch.
    """
    given = (*node.args, *(k.value for k in node.keywords)) if isinstance(node, ast.Call) else ()
    if any(isinstance(k, Inst) and k.cls == "torch.dtype" for k in map(plan.analysis.kind, given)):
        return True
    if any(isinstance(n, ast.Attribute) and n.attr == "xp" for part in given for n in ast.walk(part)):
        return True  # `astype(model.xp.float32)`
    cls = plan.enclosing_class(node)
    if cls is not None and plan.analysis.derives(cls, "chainer.Link"):
        return True
    function = plan.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef)
    return function is not None and any(
        isinstance(n, ast.Name) and plan.analysis.kind(n) in (XP, EITHER) for n in ast.walk(function)
    )
