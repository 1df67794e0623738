"""`L.Linear` flattens what follows the batch axis; where the rank is known, its calls say so in the emitted code."""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Inst, Tensor, options


def flattens(analysis: Analysis, site: int) -> bool:
    """Whether a layer is an L.Linear that is only ever given maps of one known rank above 2.

    Then it becomes a plain linear layer and each of its calls flattens; otherwise the layer itself has to.
    """
    kind = analysis.layer_inputs.get(site)
    if not site or not isinstance(kind, Tensor) or kind.rank is None or kind.rank <= 2:
        return False
    maker = analysis.makers.get(site)
    made = options(analysis.kind(maker)) if maker is not None else ()
    if not any(isinstance(k, Inst) and k.cls == "chainer.links.Linear" for k in made):
        return False
    return all(_may_flatten(analysis, call, site) for call in analysis.layer_calls.get(site, ()))


def _may_flatten(analysis: Analysis, call: ast.Call, site: int) -> bool:
    """One plain argument, and the callee is this very layer at every visit."""
    callee = analysis.kind(call.func)
    return (
        len(call.args) == 1
        and not call.keywords
        and not isinstance(call.args[0], ast.Starred)
        and isinstance(callee, Inst)
        and callee.site == site
    )
