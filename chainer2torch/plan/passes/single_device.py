"""``--parallel-updater single``: updaters that divide a batch over devices work on the first of them alone."""

from __future__ import annotations

import ast
import dataclasses

from chainer2torch.plan.edits import Wrap
from chainer2torch.plan.sites import Plan
from chainer2torch.rules.signature import BindError

_UPDATERS = ("chainer.training.updaters.ParallelUpdater", "chainer.training.updaters.MultiprocessParallelUpdater")
ON_ONE_DEVICE = (
    "works for all shares on the first device, one after the other: the learning is the same, no time is won"
)
_NOT_HERE = "asked for on one device, but the call does not name its devices here; give every model the same device"


def on_one_device(plan: Plan) -> None:
    """Gives every share of the batch the first device, and says so."""
    for node, site in list(plan.sites.items()):
        if site.symbol not in _UPDATERS or site.state == "manual":
            continue
        call = plan.source.parents.get(node)
        row = plan.rules.rows[site.symbol]
        devices = None
        if isinstance(call, ast.Call) and call.func is node and row.signature is not None:
            try:
                devices = row.signature.bind(call.args, call.keywords).given.get("devices")
            except BindError:
                continue  # marked as such
        del plan.sites[node]
        if devices is None or isinstance(devices, ast.Constant):
            plan.mark(node, row, site.symbol, "review", _NOT_HERE)
            continue
        plan.wraps[devices] = Wrap(plan.source.span(devices), "compat.one_device(value)")
        plan.mark(node, dataclasses.replace(row, next=""), site.symbol, "review", ON_ONE_DEVICE)


__all__ = ["ON_ONE_DEVICE", "on_one_device"]
