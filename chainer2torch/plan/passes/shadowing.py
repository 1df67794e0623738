"""Attributes and methods of the user's links that would hide one of ``torch.nn.Module``'s: they get another name."""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import UNKNOWN, Inst, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.decision import Part
from chainer2torch.plan.edits import Rename

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


def run(context: Context) -> Decisions:
    """Gives such attributes a trailing underscore, at every place where the receiver is known."""
    decisions = Decisions(context)
    hidden = context.analysis.once(hidden_names)
    for cls in dict.fromkeys(cls for classes in hidden.values() for cls in classes if cls.module is context.module):
        for method in cls.node.body:
            if isinstance(method, ast.FunctionDef) and method.name in MODULE_NAMES & cls.methods.keys():
                decisions.edit(method, Rename(context.source.start(method), f"{method.name}_"))
                _rename_property(context, decisions, method)
    for node in context.source.of(ast.Attribute):
        if node.attr in MODULE_NAMES and (node.attr in hidden or isinstance(node.ctx, ast.Store)):
            with decisions.provided(free=((Part.SITE, node),)):
                _rename(context, decisions, node, hidden.get(node.attr, []))
    return decisions


def _rename_property(context: Context, decisions: Decisions, method: ast.FunctionDef) -> None:
    """``@train.setter`` names the property that it belongs to."""
    for decorator in method.decorator_list:
        if (
            isinstance(decorator, ast.Attribute)
            and isinstance(decorator.value, ast.Name)
            and decorator.value.id == method.name
            and decorator.attr in ("getter", "setter", "deleter")
        ):
            decisions.replace(decorator.value, f"{method.name}_", {})


def _rename(context: Context, decisions: Decisions, node: ast.Attribute, classes: list[ClassInfo]) -> None:
    kind = context.analysis.kind(node.value)
    owners = [
        k
        for k in options(kind)
        if isinstance(k, Inst)
        and isinstance(k.cls, ClassInfo)
        and any(c in classes for c in context.analysis.mro(k.cls))
    ]
    where = ", ".join(sorted(c.name for c in classes))
    some_link = context.analysis.is_link(kind) and any(
        isinstance(k, Inst) and isinstance(k.cls, str) for k in options(kind)
    )
    if owners or some_link and (classes or context.rules.member("chainer.Link", node.attr) is None):
        decisions.replace(node, f"receiver.{node.attr}_", {"receiver": context.operand(node.value)})
    elif (
        kind == UNKNOWN
        and classes
        and _is_called(context, node)
        and any(node.attr in c.methods for c in classes)
        and context.imports_chainer
        and not context.migrated
    ):
        decisions.replace(node, f"compat.own_name(receiver, '{node.attr}')", {"receiver": context.operand(node.value)})
        decisions.mark(
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
        and (isinstance(node.ctx, ast.Store) or not _is_called(context, node))
        and not _is_asked_further(context, node, classes)
        and not context.marked_before(node)
    ):
        decisions.mark(
            node,
            None,
            f"?.{node.attr}",
            "review",
            f"`{node.attr}` of {where} is now `{node.attr}_` (torch.nn.Module has a `{node.attr}` of its own); "
            "whether this is one of them is not known",
            "C2T202",
        )


def _is_asked_further(context: Context, node: ast.Attribute, classes: list[ClassInfo]) -> bool:
    """``settings.train.batch_size``: what the classes have under this name are methods, without such attributes."""
    parent = context.source.parents.get(node)
    return (
        isinstance(parent, ast.Attribute)
        and parent.value is node
        and not parent.attr.startswith("__")
        and all(node.attr in c.methods and node.attr not in c.attrs for c in classes)
    )


def _is_called(context: Context, node: ast.expr) -> bool:
    parent = context.source.parents.get(node)
    return isinstance(parent, ast.Call) and parent.func is node
