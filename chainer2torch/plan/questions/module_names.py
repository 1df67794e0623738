"""Names of the user's links that ``torch.nn.Module`` needs for itself, and what they are called instead."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Const, Inst, Kind, Tensor, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand

# What torch.nn.Module defines and Chainer's links do not (`children`... exist in both, with one meaning).
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


# A method of this name is one in both; a link that is kept under it is hidden by that of the module.
CALLED = "forward"


def hidden_names(analysis: Analysis) -> dict[str, list[ClassInfo]]:
    """The names that classes of the project define and that a module needs for itself."""
    found: dict[str, list[ClassInfo]] = {}
    for cls in analysis.classes.values():
        names = MODULE_NAMES & (cls.attrs.keys() | cls.methods.keys())
        if _is_registered(analysis, cls.attrs.get(CALLED)) and not any(
            isinstance(c, ClassInfo) and CALLED in c.methods for c in analysis.mro(cls)
        ):
            names |= {CALLED}
        if names and analysis.derives(cls, "chainer.Link"):
            for name in names:
                found.setdefault(name, []).append(cls)
    return found


def _is_registered(analysis: Analysis, kind: Kind | None) -> bool:
    """Whether a module keeps a value apart from plain attributes, behind what its class has: a link or a parameter."""
    kinds = options(kind) if kind is not None else ()
    return any(isinstance(k, Tensor) or analysis.is_link(k) for k in kinds)


def attribute_name(context: Context, method: ast.AST, name: str) -> str:
    """Under which name a link of the constructor's is an attribute: ``type_`` where a module needs ``type`` itself."""
    cls = context.enclosing_class(method)
    return name if cls is None else _called(context, cls, name)


def child_name(context: Context, links: Iterable[Kind], name: ast.expr) -> Operand:
    """The name that asks some links for a child: the text ``'type_'`` where they have it under that."""
    asked = context.kind(name)
    own = [link.cls for link in links if isinstance(link, Inst) and isinstance(link.cls, ClassInfo)]
    if isinstance(asked, Const) and isinstance(asked.value, str):
        called = {_called(context, cls, asked.value) for cls in own} - {asked.value}
        if called:
            return Operand(code=repr(called.pop()))
    return context.operand(name)


def _called(context: Context, cls: ClassInfo, name: str) -> str:
    hiding = context.analysis.once(hidden_names).get(name, ())
    return f"{name}_" if any(c in hiding for c in context.analysis.mro(cls)) else name


# what is said of a link whose name is another one
RENAMED = "`{}` is `{}` here, as torch.nn.Module needs the name: also in files of weights, and where names are printed"

__all__ = ["MODULE_NAMES", "RENAMED", "attribute_name", "child_name", "hidden_names"]
