"""One part of a project at a time (``migrate --only``): what belongs to which stage, and what stands at the seams.

A stage is *out* when the project names something of Chainer's that belongs to it and it is not chosen: it is still
Chainer's after this run. What is not chosen stays as it is, without a marker, and is listed as kept. Where a chosen
part meets one that is out, an adapter of ``compat/half_way_*.py`` stands between them. The adapters let through what
is on the right side already, so nothing has to be guessed; a later run takes them away.
"""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterable

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Ref
from chainer2torch.rules.stage_names import STAGES
from chainer2torch.plan.edits import Replace
from chainer2torch.rules.table import Row

TRAINING, DATA, MODELS = "training", "data", "models"
CODE = "C2T017"
_TABLES = {
    **dict.fromkeys(
        (
            "optimizer.toml",
            "optimizer_old_names.toml",
            "optimizer_hooks.toml",
            "optimizers.toml",
            "extensions.toml",
            "training.toml",
            "triggers.toml",
            "updaters.toml",
            "snapshot_writers.toml",
            "serializer_protocol.toml",
            "chainermn.toml",
            "chainermn_aliases.toml",
        ),
        TRAINING,
    ),
    **dict.fromkeys(("dataset.toml", "datasets.toml", "iterators.toml"), DATA),
}
# these go with what they get
GO_WITH_OTHERS = ("reporter.toml", "serializers.toml")
# names without a rule
_MODULES = (
    ("chainer.training", TRAINING),
    ("chainer.optimizers", TRAINING),
    ("chainer.optimizer", TRAINING),
    ("chainer.serializers", TRAINING),
    ("chainermn", TRAINING),
    ("chainer.datasets", DATA),
    ("chainer.iterators", DATA),
    ("chainer.dataset", DATA),
)
# what makes the arrays that models take: they are of the model's kind and on its device
_CONVERTERS = tuple(
    f"chainer.dataset.{name}"
    for name in ("concat_examples", "to_device", "converter", "Converter", "ConcatWithAsyncTransfer")
)
_OF_LINKS = ("Trainer", "StandardUpdater", "Evaluator")
_PLAIN = re.compile(rf"\bcompat\.({'|'.join(_OF_LINKS)})\b")


@dataclasses.dataclass(frozen=True)
class Stages:
    """What this run migrates (``chosen``) and what is Chainer's afterwards (``out``)."""

    chosen: frozenset[str]
    out: frozenset[str]

    @classmethod
    def of(cls, analysis: Analysis, only: Iterable[str]) -> Stages:
        """The stages of a run; ``only`` empty: everything."""
        chosen = frozenset(only) or frozenset(STAGES)
        return cls(chosen, analysis.once(_present) - chosen if len(chosen) < len(STAGES) else frozenset())


def stage_of(row: Row | None, name: str) -> str:
    if name.startswith(_CONVERTERS):
        return MODELS
    if row is not None:
        return _TABLES.get(row.home, MODELS)
    return next((stage for module, stage in _MODULES if name == module or name.startswith(module + ".")), MODELS)


def _present(analysis: Analysis) -> frozenset[str]:
    """The stages of which the project names something."""
    found: set[str] = set()
    for module in analysis.project.modules.values():
        for node in module.source.of(ast.Name, ast.Attribute):
            kind = analysis.kind(node)
            if not isinstance(kind, Ref) or kind.name not in analysis.libraries:
                continue
            row = analysis.rules.rows.get(kind.name)
            inner = isinstance(module.source.parents.get(node), ast.Attribute)
            if not inner if row is None else row.home not in GO_WITH_OTHERS:
                found.add(stage_of(row, kind.name))
    return frozenset(found)


def spelled(stages: Stages, edit: Replace) -> Replace:
    """An edit as a run for one stage writes it: the training's helpers have another name while models are links."""
    if TRAINING in stages.chosen and MODELS in stages.out:
        return dataclasses.replace(edit, template=_PLAIN.sub(r"compat.\1OfLinks", edit.template))
    return edit
