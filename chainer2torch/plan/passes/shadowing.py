"""Attributes and methods of the user's links that would hide one of ``torch.nn.Module``'s: they get another name."""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import UNKNOWN, Inst, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.plan.edits import Rename
from chainer2torch.plan.sites import Plan
from chainer2torch.plan.stages import marked_before

# What torch.nn.Module defines and Chainer's links do not (`forward`, `children`... exist in both, with one meaning).
MODULE_NAMES = frozenset(
    {
        "add_module",
        "apply",
        "bfloat16",
        "buffers",
        "compile",
        "cpu",
        "cuda",
        "double",
        "eval",
        "extra_repr",
        "float",
        "get_buffer",
        "get_parameter",
        "get_submodule",
        "half",
        "ipu",
        "load_state_dict",
        "modules",
        "mtia",
        "named_buffers",
        "named_children",
        "named_modules",
        "named_parameters",
        "parameters",
        "register_backward_hook",
        "register_buffer",
        "register_forward_hook",
        "register_module",
        "register_parameter",
        "requires_grad_",
        "set_extra_state",
        "share_memory",
        "state_dict",
        "to",
        "to_empty",
        "train",
        "training",
        "type",
        "xpu",
        "zero_grad",
    }
)


def hidden_names(analysis: Analysis) -> dict[str, list[ClassInfo]]:
    """The names that classes of the project define and that a module needs for itself."""
    found: dict[str, list[ClassInfo]] = {}
    for cls in analysis.classes.values():
        names = MODULE_NAMES & (cls.attrs.keys() | cls.methods.keys())
        if names and analysis.derives(cls, "chainer.Link"):
            for name in names:
                found.setdefault(name, []).append(cls)
    return found


def rename_hidden(plan: Plan) -> None:
    """Gives such attributes a trailing underscore, at every place where the receiver is known."""
    hidden = plan.analysis.once(hidden_names)
    for classes in hidden.values():
        for cls in classes:
            if cls.module is plan.module:
                for method in cls.node.body:
                    if isinstance(method, ast.FunctionDef) and method.name in MODULE_NAMES & cls.methods.keys():
                        plan.edits[method] = Rename(plan.source.start(method), f"{method.name}_")
                        _rename_property(plan, method)
    for node in plan.source.of(ast.Attribute):
        if (
            node.attr in MODULE_NAMES
            and node not in plan.sites
            and (node.attr in hidden or isinstance(node.ctx, ast.Store))
        ):
            _rename(plan, node, hidden.get(node.attr, []))


def _rename_property(plan: Plan, method: ast.FunctionDef) -> None:
    """``@train.setter`` names the property that it belongs to."""
    for decorator in method.decorator_list:
        if (
            isinstance(decorator, ast.Attribute)
            and isinstance(decorator.value, ast.Name)
            and decorator.value.id == method.name
            and decorator.attr in ("getter", "setter", "deleter")
        ):
            plan.replace(decorator.value, f"{method.name}_", {})


def _rename(plan: Plan, node: ast.Attribute, classes: list[ClassInfo]) -> None:
    kind = plan.analysis.kind(node.value)
    owners = [
        k
        for k in options(kind)
        if isinstance(k, Inst) and isinstance(k.cls, ClassInfo) and any(c in classes for c in plan.analysis.mro(k.cls))
    ]
    where = ", ".join(sorted(c.name for c in classes))
    some_link = plan.analysis.is_link(kind) and any(
        isinstance(k, Inst) and isinstance(k.cls, str) for k in options(kind)
    )
    if owners or some_link and (classes or plan.rules.member("chainer.Link", node.attr) is None):
        plan.replace(node, f"receiver.{node.attr}_", {"receiver": plan.operand(node.value)})
    elif (
        kind == UNKNOWN
        and classes
        and _is_called(plan, node)
        and any(node.attr in c.methods for c in classes)
        and plan.imports_chainer
        and not plan.migrated
    ):
        plan.replace(node, f"compat.own_name(receiver, '{node.attr}')", {"receiver": plan.operand(node.value)})
        plan.mark(
            node,
            None,
            f"?.{node.attr}",
            "exact",
            f"`{node.attr}` of {where} is now `{node.attr}_`; what it is "
            "called on is not known here: the helper looks at run time",
            "C2T202",
        )
    elif (
        kind == UNKNOWN
        and classes
        and (isinstance(node.ctx, ast.Store) or not _is_called(plan, node))
        and not _is_asked_further(plan, node, classes)
        and not marked_before(plan, node)
    ):
        plan.mark(
            node,
            None,
            f"?.{node.attr}",
            "review",
            f"`{node.attr}` of {where} is now `{node.attr}_` (torch.nn.Module has a `{node.attr}` of its own); "
            "whether this is one of them is not known",
            "C2T202",
        )


def _is_asked_further(plan: Plan, node: ast.Attribute, classes: list[ClassInfo]) -> bool:
    """``settings.train.batch_size``: what the classes have under this name are methods, without such attributes."""
    parent = plan.source.parents.get(node)
    return (
        isinstance(parent, ast.Attribute)
        and parent.value is node
        and not parent.attr.startswith("__")
        and all(node.attr in c.methods and node.attr not in c.attrs for c in classes)
    )


def _is_called(plan: Plan, node: ast.expr) -> bool:
    parent = plan.source.parents.get(node)
    return isinstance(parent, ast.Call) and parent.func is node
