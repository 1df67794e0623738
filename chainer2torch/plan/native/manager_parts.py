"""What is known of Trainers that become managers: where they are made and run, and of all of them together."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from chainer2torch.analysis.values import dataclass
from chainer2torch.plan.native.programs import Program


@dataclass(frozen=True, eq=False)
class Managed:
    """A Trainer that becomes a manager: where it is made, the paths of it and of its updater, and its arguments."""

    call: ast.Call
    name: str
    updater: str
    stop: ast.expr
    out: ast.expr | None
    has_parts: bool  # whether parts of a model may report by themselves
    loader: str = ""  # the path of what gives the updater its batches; "": only the updater has it
    draws: str = ""  # how many batches an update draws; "": one
    draws_itself: bool | None = False  # whether its updater draws them, though loops hand them over; None: one may


@dataclass(frozen=True, eq=False)
class Run:
    """A statement ``trainer.run()``: the paths of the manager and of what to call, and what may make the Trainer."""

    statement: ast.Expr
    name: str
    updater: str
    made: tuple[ast.Call, ...]
    loader: str = ""  # as of a Trainer


@dataclass(frozen=True, eq=False)
class Group:
    """The Trainers of the files that see each other.

    ``asks``: whether somebody needs the updater from the manager; ``connects``: whether an updater reports copies, or
    needs the manager's counters;
    ``by_loaders``: whether DataLoaders give the batches, so that an epoch has a whole number of them.
    """

    managed: dict[ast.Call, Managed]
    runs: dict[ast.Expr, Run]
    starts_early: bool
    asks: bool
    connects: bool
    by_loaders: bool
    opened: Mapping[ast.Call, Program]  # the Trainers whose step the loop says itself
    handed: bool  # whether the loops hand their batches to the updaters
    borrowed: frozenset[ast.Attribute]  # the places where a manager stands in for its updater
    own_clock: bool = False  # whether only the updaters know how many iterations an epoch has
    knows_updaters: bool = True  # whether it is known of which classes the updaters are


__all__ = ["Group", "Managed", "Run"]
