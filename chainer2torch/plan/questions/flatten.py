"""`L.Linear` flattens what follows the batch axis; in the emitted code its calls say so, where they are all seen."""

from __future__ import annotations

import ast
from collections.abc import Callable

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Inst, Mod, Ref, Tensor, options
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.reading import library_module, read
from chainer2torch.rules.signature import BindError

_LINEAR = "chainer.links.Linear"


def flattens(context: Context, site: int) -> bool:
    """Whether a layer is an L.Linear whose calls flatten, so that it becomes a plain linear layer.

    In the faithful style: it is only ever given maps of one known rank above 2. In the native style: whatever it is
    given, unless every call gives rank 2; what has one axis only raises in both frameworks.
    """
    analysis = context.analysis
    kind = analysis.reaching(site)
    native = context.choices.style == "native"
    rank = kind.rank if isinstance(kind, Tensor) else None
    if not site or kind is None or rank is not None and rank <= 2 or rank is None and not native:
        return False
    maker = analysis.makers.get(site)
    made = options(analysis.kind(maker)) if maker is not None else ()
    if native and analysis.called_unseen(site):
        return False
    if not any(isinstance(k, Inst) and k.cls == _LINEAR for k in made) or site in analysis.called_inside:
        return False
    if maker is not None and not _fits(context, maker):  # it stays Chainer's, which flattens by itself
        return False
    may: Callable[[Analysis, ast.Call, int], bool] = _may_flatten_native if native else _may_flatten
    return all(may(analysis, call, site) for call in analysis.layer_calls.get(site, ()))


def _fits(context: Context, maker: ast.Call) -> bool:
    row = context.rules.rows[_LINEAR]
    signature = row.signature
    if any(library_module(context, value) for value in (*maker.args, *(k.value for k in maker.keywords))):
        return False
    try:
        if context.choices.style == "native":
            reading = read(context, maker, row, None)  # of this version, or of version 1
            return not reading.doubt and not reading.bound.starred
        return signature is None or signature.bind(maker.args, maker.keywords) is not None
    except BindError:
        return False


def flattened_axes(context: Context, call: ast.Call) -> int | None:
    """From which axis on the argument of a call of a layer is flattened: 1, or `n_batch_axes`. None: not at all."""
    callee = options(context.kind(call.func))
    if not any(isinstance(k, Inst) and any(flattens(context, site) for site in k.sites) for k in callee):
        return None
    return _batch_axes(call)


def is_flat(context: Context, node: ast.expr, axes: int) -> bool:
    """Whether an argument has one axis behind the first ``axes``: its kind tells, or ``x.reshape(1, 784)`` does."""
    kind = context.kind(node)
    if isinstance(kind, Tensor) and kind.rank is not None:
        return kind.rank == axes + 1
    while isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        if context.kind(node.func) not in _VARIABLES:
            break
        node = node.args[0]
    called = node.func if isinstance(node, ast.Call) and not node.keywords else None
    if not isinstance(called, ast.Attribute) or called.attr != "reshape":
        return False
    assert isinstance(node, ast.Call)
    lengths = node.args
    if len(lengths) == 1 and isinstance(lengths[0], ast.Tuple):
        lengths = lengths[0].elts
    of_module = isinstance(context.kind(called.value), (Mod, Ref))  # `F.reshape(x, shape)`
    return not of_module and len(lengths) == axes + 1 and not any(isinstance(a, ast.Starred) for a in lengths)


_VARIABLES = (Ref("chainer.Variable"), Ref("chainer.as_variable"))


def _may_flatten(analysis: Analysis, call: ast.Call, site: int) -> bool:
    """One plain argument, and the callee is this very layer at every visit."""
    callee = analysis.kind(call.func)
    return _batch_axes(call) == 1 and not call.keywords and isinstance(callee, Inst) and callee.site == site


def _may_flatten_native(analysis: Analysis, call: ast.Call, site: int) -> bool:
    """One plain argument, and the callee is some L.Linear at every visit, for each of which flattening is right."""
    callee, axes = options(analysis.kind(call.func)), _batch_axes(call)
    if axes == 1:
        return all(isinstance(k, Inst) and k.cls == _LINEAR for k in callee)
    # through a variable (`layer = L.Linear`) the class is one that flattens once more
    named = ast.unparse(analysis.makers[site].func).endswith("Linear")
    return axes is not None and named and all(isinstance(k, Inst) and k.sites == (site,) for k in callee)


def _batch_axes(call: ast.Call) -> int | None:
    """How many axes a call of an L.Linear keeps; None where it does not say so in plain sight."""
    if len(call.args) != 1 or isinstance(call.args[0], ast.Starred):
        return None
    if not call.keywords:
        return 1
    (first, *others) = call.keywords
    if others or first.arg != "n_batch_axes" or not isinstance(first.value, ast.Constant):
        return None
    return first.value.value if isinstance(first.value.value, int) else None


__all__ = ["flattened_axes", "flattens", "is_flat"]
