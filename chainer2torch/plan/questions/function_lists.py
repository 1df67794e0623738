"""Layers that a class keeps in lists of functions, which a loop calls one after the other.

``self.functions = OrderedDict([('pool4', [self.bn4, lambda x: F.average(x, axis=(2, 3))]), ('fc5', [self.fc5])])``:
``fc5`` gets what the function before it gives, and that are rows.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from chainer2torch.analysis.kinds import Func, Inst, Ref, Tensor, options
from chainer2torch.analysis.source import within
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.linear_rows import keeps_rows, sizes

_LINEAR = "chainer.links.Linear"
_OVER_AXES = frozenset(f"chainer.functions.{name}" for name in ("average", "max", "mean", "sum"))


def gets_rows_in_list(context: Context, call: ast.Call) -> bool:
    """Whether an L.Linear that is kept by name is called in a list only, behind what gives rows."""
    cls = context.source.enclosing(call, ast.ClassDef)
    if context.choices.style != "native" or cls is None:
        return False
    name = _kept_as(context.source.parents, call)
    if not name or _is_called_by_name(context, call, name):
        return False
    uses = [
        n
        for n in within(cls).of(ast.Attribute)
        if n.attr == name and isinstance(n.ctx, ast.Load) and isinstance(n.value, ast.Name) and n.value.id == "self"
    ]
    return bool(uses) and all(_stands_behind_rows(context, use, call) for use in uses)


def _kept_as(parents: Mapping[ast.AST, ast.AST], call: ast.Call) -> str:
    """The name under which ``self`` keeps a layer: an assignment's, or a keyword's of ``super().__init__``."""
    parent = parents.get(call)
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1:
        (target,) = parent.targets
        own = isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self"
        return target.attr if own else ""  # type: ignore[attr-defined]
    if isinstance(parent, ast.keyword):
        maker = parents.get(parent)
        if isinstance(maker, ast.Call) and isinstance(maker.func, ast.Attribute) and maker.func.attr == "__init__":
            return parent.arg or ""
    return ""


def _is_called_by_name(context: Context, call: ast.Call, name: str) -> bool:
    """Whether something calls the layer by its name, or through what is not a variable."""
    calls = context.analysis.layer_calls.get(context.analysis.site(call), ())
    return not all(isinstance(c.func, ast.Name) and c.func.id != name for c in calls)


def _stands_behind_rows(context: Context, use: ast.Attribute, call: ast.Call) -> bool:
    """Whether it stands in a list in which the items before it give rows to the layer that ``call`` makes."""
    around: ast.AST = use
    for parent in context.source.ancestors(use):
        if not isinstance(parent, (ast.List, ast.Tuple, ast.Dict)) and not _makes_dict(parent):
            break
        around = parent
    items = list(_flat(around)) if isinstance(around, ast.expr) else []
    before = items[: items.index(use)] if use in items else []
    for between, item in enumerate(reversed(before)):
        if _is_linear(context, item):  # side by side they may get the same input
            return _is_given(context, item, call, bool(between))
        if _gives_rows(context, item):
            return True
        if not keeps_rows(context, item):
            return False
    return False


def _is_linear(context: Context, item: ast.expr) -> bool:
    kinds = options(context.kind(item))
    return bool(kinds) and all(isinstance(k, Inst) and k.cls == _LINEAR for k in kinds)


def _is_given(context: Context, item: ast.expr, call: ast.Call, between: bool) -> bool:
    """Whether a layer takes what the linear layers before it give, as far as their sizes tell."""
    own = sizes(context, call)
    for kind in options(context.kind(item)):
        makers = [context.analysis.makers.get(site) for site in kind.sites] if isinstance(kind, Inst) else []
        made = [sizes(context, maker) if maker is not None else None for maker in makers or [None]]
        if own is None or any(m is None or m[1] != own[0] or not between and m[0] == m[1] for m in made):
            return False
    return True


def _makes_dict(node: ast.AST) -> bool:
    name = getattr(node.func, "attr", getattr(node.func, "id", "")) if isinstance(node, ast.Call) else ""
    return name in ("OrderedDict", "dict", "list", "tuple")


def _flat(node: ast.expr) -> Iterator[ast.expr]:
    """The functions of a list of pairs of a name and a list, of a dictionary of lists, in their order."""
    parts: list[ast.expr] = []
    if isinstance(node, (ast.List, ast.Tuple)):
        parts = node.elts
    elif isinstance(node, ast.Dict):
        parts = node.values
    elif isinstance(node, ast.Call) and _makes_dict(node):
        parts = node.args
    else:
        yield node
    for part in parts:
        if not (isinstance(part, ast.Constant) and isinstance(part.value, str)):
            yield from _flat(part)


def _gives_rows(context: Context, item: ast.expr) -> bool:
    """Whether what an item gives has two axes: a mean over all of a map's places, a function that says so."""
    kinds = options(context.kind(item))
    if isinstance(item, ast.Lambda) and _goes_over_maps(context, item.body):
        return True
    returned = [k.info.returns for k in kinds if isinstance(k, Func)]
    return len(returned) == len(kinds) > 0 and all(
        isinstance(one, Tensor) and one.rank == 2 for kind in returned if kind is not None for one in options(kind)
    )


def _goes_over_maps(context: Context, body: ast.expr) -> bool:
    """``F.average(x, axis=(2, 3))``: a map has four axes."""
    if not isinstance(body, ast.Call):
        return False
    callee = context.kind(body.func)
    axes = [k.value for k in body.keywords if k.arg == "axis"] or body.args[1:2]
    return (
        isinstance(callee, Ref)
        and callee.name in _OVER_AXES
        and not any(k.arg == "keepdims" for k in body.keywords)
        and bool(axes)
        and ast.unparse(axes[0]) in ("(2, 3)", "(-2, -1)", "(-1, -2)", "(3, 2)")
    )


__all__ = ["gets_rows_in_list"]
