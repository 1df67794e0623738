"""Names of links and parameters, which a module of PyTorch does not have, and parameters without values."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import NONE, UNKNOWN, Inst, Kind, Ref, Tensor, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.plan.array_guards import BIASES
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.decision import Part
from chainer2torch.plan.native.places import function_of
from chainer2torch.plan.parts.link_names import given_name
from chainer2torch.plan.questions.walks import walked

_ARRAYS = frozenset({"array", "data"})
_LAZY = frozenset({"W", "b", "beta", "gamma"})  # of layers that wait for their first input
_VALUES, _NO_VALUES = "compat.parameter_is_initialized(self)", "torch.nn.parameter.is_lazy(self)"
_AT_RUN_TIME = "What it is called on is not known here; the helper looks at run time."
_IN_HOOK = (
    "a module learns its name when what holds it is called under the hook, or set up; the model that is called first "
    "has none, as one that nothing holds"
)
_OF_HOOKS = frozenset({"forward_preprocess", "forward_postprocess"})
_BASES = (
    "chainer.Link",
    "chainer.Optimizer",
    "chainer.Variable",
    "chainer.dataset.Iterator",
    "chainer.training.Extension",
    "chainer.training.Updater",
)
_CLASS = "the class may have another name now, as nn.Conv2d for Convolution2D"


def run(context: Context) -> Decisions:
    """What the walk over the file has left of names, of names of classes, and of parameters without values."""
    decisions = Decisions(context)
    for test in context.source.of(ast.UnaryOp):
        _has_none(context, decisions, test)
    for node in context.source.of(ast.Attribute, ast.Compare, ast.Assign):
        if isinstance(node, ast.Assign):
            _kept_array(context, decisions, node)
        elif isinstance(node, ast.Compare):
            _has_array(context, decisions, node)
        elif node.attr == "name":
            with decisions.provided(free=((Part.SITE, node),)):
                _name(context, decisions, node)
        elif node.attr == "__name__" and isinstance(node.ctx, ast.Load):
            _class_name(context, decisions, node)
    return decisions


def _name(context: Context, decisions: Decisions, node: ast.Attribute) -> None:
    kinds = options(context.analysis.kind(node.value))
    if any(
        isinstance(k, Inst)
        and context.analysis.derives(k.cls, "chainer.Link")
        and any(isinstance(c, ClassInfo) and "name" in c.attrs for c in context.analysis.mro(k.cls))
        for k in kinds
    ):
        given_name(context, decisions, node, [k for k in kinds if isinstance(k, Inst)])
    elif isinstance(node.ctx, ast.Load) and _is_link_of_hook(context, node.value):
        decisions.replace(node, "compat.link_name(link)", {"link": context.operand(node.value)})
        decisions.mark(node, context.rules.rows["chainer.Link.name"], "chainer.Link.name", "review", _IN_HOOK)
    elif (
        kinds == (UNKNOWN,)
        and isinstance(node.ctx, ast.Load)
        and context.imports_chainer
        and walked(context.source, node.value)
    ):
        decisions.replace(node, "compat.name_of(obj)", {"obj": context.operand(node.value)})
        decisions.mark(node, None, "?.name", "exact", _AT_RUN_TIME, "C2T390")


def _is_link_of_hook(context: Context, node: ast.expr) -> bool:
    """Whether it is ``args.link`` in a hook's method, where Chainer hands it the layer."""
    method = context.source.enclosing(node, ast.FunctionDef)
    cls = context.enclosing_class(node)
    if not isinstance(method, ast.FunctionDef) or method.name not in _OF_HOOKS or cls is None:
        return False
    parameters = [one.arg for one in method.args.args]
    return (
        isinstance(node, ast.Attribute)
        and node.attr == "link"
        and isinstance(node.value, ast.Name)
        and parameters[1:2] == [node.value.id]
        and context.analysis.derives(cls, "chainer.LinkHook")
    )


def _class_name(context: Context, decisions: Decisions, node: ast.Attribute) -> None:
    """``type(link).__name__``, ``link.__class__.__name__``."""
    cls = node.value
    if isinstance(cls, ast.Call) and len(cls.args) == 1 and context.analysis.kind(cls.func) == Ref("builtins.type"):
        link: ast.expr = cls.args[0]
    elif isinstance(cls, ast.Attribute) and cls.attr == "__class__":
        link = cls.value
    else:
        return
    kinds = options(context.analysis.kind(link))
    base = next((base for base in _BASES for k in kinds if _has_other_class(context, k, base)), None)
    if base is not None:
        message = _CLASS if base == "chainer.Link" else "the class may have another name now"
        decisions.mark(node, context.rules.rows.get("chainer.Link"), f"{base}.__class__", "review", message)


def _has_other_class(context: Context, kind: Kind, base: str) -> bool:
    """Whether an object is of a class of Chainer's, not of one of the project's own."""
    if isinstance(kind, Tensor):
        return base == "chainer.Variable"  # also that of its array, whose class was NumPy's or CuPy's
    return isinstance(kind, Inst) and isinstance(kind.cls, str) and context.analysis.derives(kind.cls, base)


def _has_array(context: Context, decisions: Decisions, node: ast.Compare) -> None:
    """``param.array is None``: a parameter without values has no array to look at."""
    if len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)):
        return
    held, none = node.left, node.comparators[0]
    if not (
        isinstance(none, ast.Constant)
        and none.value is None
        and isinstance(held, ast.Attribute)
        and held.attr in _ARRAYS
        and context.imports_chainer
    ):
        return
    kinds = options(context.analysis.kind(held.value))
    operands = {"self": context.operand(held.value)}
    if all(isinstance(k, Tensor) and not k.array for k in kinds):
        row = context.rules.rows["chainer.Parameter.is_initialized"]
        known = isinstance(node.ops[0], (ast.IsNot, ast.NotEq))
        plain = context.choices.style == "native" and _is_no_bias(held.value)
        template = f"{'not ' if known else ''}{_NO_VALUES}" if plain else f"{'' if known else 'not '}{_VALUES}"
        decisions.replace(node, template, operands)
        decisions.mark(held, row, row.name, row.state, replaces=((Part.SITE, held), (Part.EDIT, held)))
    elif held.attr == "data" and kinds == (UNKNOWN,) and not context.migrated:
        with decisions.provided(free=((Part.EDIT, held),)):
            decisions.replace(held, "compat.data_of(self)", operands)
            decisions.mark(held, None, "?.data", "exact", _AT_RUN_TIME, "C2T390")


def _has_none(context: Context, decisions: Decisions, node: ast.UnaryOp) -> None:
    """``not param.is_initialized``, in the native style."""
    asked = node.operand
    if not (isinstance(node.op, ast.Not) and isinstance(asked, ast.Attribute) and asked.attr == "is_initialized"):
        return
    known = all(isinstance(k, Tensor) and not k.array for k in options(context.analysis.kind(asked.value)))
    if context.choices.style == "native" and context.imports_chainer and known and _is_no_bias(asked.value):
        row = context.rules.rows["chainer.Parameter.is_initialized"]
        decisions.replace(node, _NO_VALUES, {"self": context.operand(asked.value)})
        decisions.mark(asked, row, row.name, row.state, replaces=((Part.SITE, asked), (Part.EDIT, asked)))


def _is_no_bias(node: ast.expr) -> bool:
    """Whether a parameter's own name says that it is no bias: that of a lazy layer has values in Chainer, not here."""
    return isinstance(node, ast.Attribute) and node.attr not in BIASES


def _kept_array(context: Context, decisions: Decisions, node: ast.Assign) -> None:
    """``w = link.W.data``, and ``w is None`` somewhere behind: it is None as long as the parameter has no values."""
    held, target = node.value, node.targets[0]
    if not isinstance(held, ast.Attribute) or held.attr not in _ARRAYS or not isinstance(target, ast.Name):
        return
    owner = held.value
    if not isinstance(owner, ast.Attribute) or owner.attr not in _LAZY or not context.imports_chainer:
        return
    if not all(isinstance(k, Tensor) and not k.array for k in options(context.analysis.kind(owner))):
        return
    scope = function_of(context, node)
    asked = any(
        isinstance(test.left, ast.Name)
        and test.left.id == target.id
        and isinstance(test.ops[0], (ast.Is, ast.IsNot))
        and context.kind(test.comparators[0]) == NONE
        and function_of(context, test) is scope
        for test in context.source.of(ast.Compare)
    )
    if asked:
        plain = context.choices.style == "native" and _is_no_bias(owner)
        template = f"None if {_NO_VALUES} else value" if plain else f"value if {_VALUES} else None"
        decisions.wrap(held, template, {"self": context.operand(owner)})
