"""References that this run leaves to another one (``migrate --only``)."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import options
from chainer2torch.rules.stage_names import STAGES
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.stages import CODE, MODELS, TRAINING, stage_of
from chainer2torch.rules.signature import BindError
from chainer2torch.rules.table import Row

_FILES = ("load_npz", "save_npz", "load_hdf5", "save_hdf5")
# what has no form for models of the other framework
_WHOLE = frozenset(
    {
        "chainer.training.updaters.ParallelUpdater",
        "chainer.training.updaters.MultiprocessParallelUpdater",
        "chainer.training.extensions.DumpGraph",
        "chainer.training.extensions.dump_graph",
        "chainer.training.extensions.VariableStatisticsPlot",
        "chainer.training.extensions.unchain_variables",
        "chainer.training.extensions.ParameterStatistics",
    }
)
_NO_HALF = "has no form in which the training and the models are of different frameworks; migrate them together"


def later(context: Context, decisions: Decisions, node: ast.AST, row: Row | None, name: str) -> bool:
    """Whether a reference is left for another run; it is then listed as kept (or marked, where it cannot stay)."""
    if not context.choices.only:
        return False
    stages = context.stages
    if _whole(row, name) and stages.out & {TRAINING, MODELS} and stages.chosen & {TRAINING, MODELS}:
        decisions.mark(node, row, name, "manual", f"{name.rsplit('.', 1)[-1]} {_NO_HALF}", CODE)
        return True
    needs = _needs(context, node, row, name)
    if needs & stages.chosen and not needs & stages.out:
        return False
    goes_with = " and ".join(stage for stage in STAGES if stage in needs)
    decisions.keep(node, name, CODE, f"not in this stage: goes with {goes_with}")
    return True


def _whole(row: Row | None, name: str) -> bool:
    return (
        name.startswith("chainermn")
        or row is not None
        and any(row.name == whole or row.name.startswith(whole + ".") for whole in _WHOLE)
    )


def _needs(context: Context, node: ast.AST, row: Row | None, name: str) -> frozenset[str]:
    """The stages that have to be there for a reference to change."""
    table = row.home if row is not None else ""
    if table == "reporter.toml":
        cls = context.enclosing_class(node)
        inside = cls is not None and context.analysis.derives(cls, "chainer.Link")
        return frozenset({MODELS} if inside else {TRAINING, MODELS})
    if table == "serializers.toml" and row is not None:
        call = context.source.parents.get(node)
        stored = argument_of(call, row, "obj") if isinstance(call, ast.Call) and call.func is node else None
        if name.endswith(_FILES) and stored is not None:
            kinds = options(context.analysis.kind(stored))
            return frozenset({MODELS if all(map(context.analysis.is_link, kinds)) else TRAINING})
        return frozenset({TRAINING, MODELS})
    return frozenset({stage_of(row, name)})


def argument_of(call: ast.Call, row: Row, name: str) -> ast.expr | None:
    if row.signature is None:
        return None
    receiver = call.func.value if row.signature.is_method and isinstance(call.func, ast.Attribute) else None
    try:
        return row.signature.bind(call.args, call.keywords, receiver).given.get(name)
    except BindError:
        return None
