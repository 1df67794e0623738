"""``--parallel-updater single``: updaters that divide a batch over devices work on the first of them alone."""

from __future__ import annotations

import ast
import dataclasses

from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.decision import Part
from chainer2torch.plan.launching import ON_ONE_DEVICE
from chainer2torch.rules.signature import BindError

_UPDATERS = ("chainer.training.updaters.ParallelUpdater", "chainer.training.updaters.MultiprocessParallelUpdater")
_NOT_HERE = "asked for on one device, but the call does not name its devices here; give every model the same device"


def run(context: Context) -> Decisions:
    """Gives every share of the batch the first device, and says so."""
    decisions = Decisions(context)
    for node in context.source.of(ast.Name, ast.Attribute):
        symbol = context.reference(node)
        if symbol not in _UPDATERS:
            continue
        call = context.source.parents.get(node)
        row = context.rules.rows[symbol]
        devices = None
        if isinstance(call, ast.Call) and call.func is node and row.signature is not None:
            try:
                devices = row.signature.bind(call.args, call.keywords).given.get("devices")
            except BindError:
                continue  # marked as such
        if devices is None or isinstance(devices, ast.Constant):
            decisions.refine(node, row, "review", _NOT_HERE, of=symbol)
            continue
        with decisions.provided(taken=((Part.SITE, node),)):
            decisions.wrap(devices, "compat.one_device(value)")
            decisions.refine(node, dataclasses.replace(row, next=""), "review", ON_ONE_DEVICE, of=symbol)
    return decisions
