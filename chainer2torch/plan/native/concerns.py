"""The concerns that decide which training objects become native, in one table."""

from __future__ import annotations

from chainer2torch.analysis.flow import Analysis
from chainer2torch.plan.context import Context
from chainer2torch.plan.native import loop_iterators, optimizers, trainers
from chainer2torch.plan.native.objects import Concern, Objects
from chainer2torch.rules.stage_names import STAGES

CONCERNS: tuple[Concern, ...] = (
    optimizers.CONCERN,
    loop_iterators.CONCERN,
    trainers.TRAINERS,
    trainers.UPDATERS,
    trainers.EVALUATORS,
    trainers.TRIGGER_OBJECTS,
)
_NONE: tuple[Concern, ...] = ()


def native_objects(context: Context) -> Objects:
    """The training objects of the project; in the faithful style, and half way, none of them becomes native."""
    return context.analysis.once(_found if is_native(context) else _empty)


def is_native(context: Context) -> bool:
    """Whether the whole project is migrated, in the native style."""
    return context.choices.style == "native" and context.stages.chosen == frozenset(STAGES)


def objects_of(analysis: Analysis) -> Objects:
    """The training objects of a project that is migrated as a whole, in the native style."""
    return analysis.once(_found)


def _found(analysis: Analysis) -> Objects:
    return Objects(analysis, CONCERNS)


def _empty(analysis: Analysis) -> Objects:
    return Objects(analysis, _NONE)


__all__ = ["CONCERNS", "is_native", "native_objects", "objects_of"]
