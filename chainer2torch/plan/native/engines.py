"""How a Trainer program runs (``--trainer``): a loop over an ExtensionsManager, or an Ignite engine with a manager.

Here, and nowhere else, the two differ: how the manager is made, what one iteration is written in, how the training
is started. Extensions, evaluators, reports, optimizers and loaders are the same.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Protocol

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.values import dataclass
from chainer2torch.plan.context import Context

_ON_ERROR = frozenset({"on_error", "snapshot_on_error"})


@dataclass(frozen=True)
class Manager:
    """What a manager is made of, as code with operands: MANAGER, and LENGTH, STOP, OUT where they are given.

    ``epoch`` is how many batches an epoch has. ``by_trigger``: STOP decides when to stop, not a number of epochs.
    """

    models: str
    optimizers: str
    epoch: str
    by_trigger: bool
    has_stop: bool
    has_out: bool
    more: str = ""  # further arguments
    early: bool = False  # whether an extension is called before the first iteration
    asks: bool = False  # whether somebody asks the manager for the updater
    counted: bool = False  # whether the manager has to know the updater, whose models and optimizers it gets
    draws: str = ""  # how many batches of the updater's iterator an iteration takes; "": one
    own_clock: bool = False  # whether only the updater knows how many iterations an epoch has
    on_errors: bool = False  # whether an extension wants to know of exceptions
    whole: bool = True  # whether an epoch is known to have a whole number of batches
    long: bool = False  # whether the arguments take several lines
    apart: bool = False  # whether the models stand in a line of their own
    several: bool = False  # whether models and optimizers are long dictionaries: a line each


@dataclass(frozen=True)
class Iteration:
    """One iteration: its lines, without indentation, with operands; BATCH, the names of the parts of a batch.

    ``data`` is what gives the batches. An ``updater`` draws them itself: then ``lines`` is a call.
    """

    lines: str
    data: str
    batch: str = ""
    updater: bool = False
    taken: frozenset[str] = frozenset()  # names that have a meaning there


class Engine(Protocol):
    """One form of a program that trains."""

    def manager(self, made: Manager, iteration: Iteration) -> str:
        """The statements that make the manager."""

    def knows_updater(self, made: Manager) -> bool:
        """Whether the manager is told of the updater when it is made."""

    def run(self, made: Manager, iteration: Iteration, asked_often: bool) -> str:
        """The statements that train. ``asked_often``: whether the stop trigger may be asked twice an iteration."""


class Loop:
    """pytorch-pfn-extras' ExtensionsManager, and a loop in the program."""

    def manager(self, made: Manager, iteration: Iteration) -> str:
        """The manager counts iterations by itself."""
        if made.counted:
            its = [
                "UPDATER",
                *["LENGTH"] * (not made.by_trigger),
                *[f"iters_per_epoch={made.epoch}"] * bool(made.epoch),
                *[f"draws={made.draws}"] * bool(made.draws),
                *["own_clock=True"] * made.own_clock,
            ]
            if "native." in made.epoch or (made.epoch or made.draws) and made.epoch and made.by_trigger:
                return _made(replace(made, more=""), True, "native.TrainingManager", its)
            return f"MANAGER = native.TrainingManager({', '.join(its + _options(made))})\n"
        never = "None" if made.has_stop else "float('inf')"
        arguments = [never if made.by_trigger else "LENGTH", f"iters_per_epoch={made.epoch}"]
        name = "pytorch_pfn_extras.training.ExtensionsManager"
        rows = [[made.models], [made.optimizers, *arguments]]
        if made.several:
            rows = [[made.models], [made.optimizers], arguments]
        return _made(made, made.long, name, *(rows if made.apart or made.several else [sum(rows, [])]))

    def knows_updater(self, made: Manager) -> bool:
        """One that has to know it gets it."""
        return made.counted

    def run(self, made: Manager, iteration: Iteration, asked_often: bool) -> str:
        """A ``while`` loop, with one over the batches in it unless an updater draws them."""
        if iteration.updater:
            return f"while not MANAGER.stop_trigger:\n    with MANAGER.run_iteration():\n        {iteration.lines}\n"
        step = "with MANAGER.run_iteration():\n" + _indented(iteration.lines)
        if not asked_often:  # a trigger that remembers what it has seen is asked once an iteration
            head = f"for BATCH in native.endless({iteration.data}):\n"
            return head + _indented("if MANAGER.stop_trigger:\n    break\n" + step)
        if made.by_trigger:
            step += "if MANAGER.stop_trigger:\n    break\n"
        head = f"while not MANAGER.stop_trigger:\n    for BATCH in {iteration.data}:\n"
        return head + _indented(_indented(step))


class Ignite:
    """An Ignite engine, whose iterations the IgniteExtensionsManager of pytorch-pfn-extras counts."""

    def manager(self, made: Manager, iteration: Iteration) -> str:
        """The function of one iteration, and the manager on an engine that calls it."""
        before, function = _function(made, iteration)
        name = "pytorch_pfn_extras.training.IgniteExtensionsManager"
        if made.by_trigger or made.early or made.asks or made.on_errors or not made.whole:
            name = "native.EngineManager"
        if made.whole:
            arguments = ["LENGTH"] * (not made.by_trigger)
        else:  # then the engine's epochs are not those of the training
            arguments = ["stop_trigger=(LENGTH, 'epoch')"] * (not made.by_trigger)
        arguments += [f"iters_per_epoch={_epoch(made)}"] * (made.early or not made.whole)
        engine = f"ignite.engine.Engine({function})"
        long = made.long or iteration.updater
        optimizers = [[made.optimizers], arguments] if made.several else [[made.optimizers, *arguments]]
        return before + _made(made, long, name, [engine], [made.models], *optimizers)

    def knows_updater(self, made: Manager) -> bool:
        """The engine has the updater, the manager the engine."""
        return False

    def run(self, made: Manager, iteration: Iteration, asked_often: bool) -> str:
        """The engine stops by its number of epochs; the manager terminates it where a trigger decides."""
        if not made.whole:
            return "MANAGER.engine.run(range(sys.maxsize))\n"
        data = f"range({_epoch(made)})" if iteration.updater else iteration.data
        return f"MANAGER.engine.run({data}, max_epochs=MANAGER.max_epochs)\n"


def _epoch(made: Manager) -> str:
    """How many batches an epoch has, for what does not ask the updater by itself."""
    return made.epoch or f"native.iterations_per_epoch({', '.join(filter(None, ('UPDATER', made.draws)))})"


def _options(made: Manager) -> list[str]:
    return ["stop_trigger=STOP"] * (made.by_trigger and made.has_stop) + ["out_dir=OUT"] * made.has_out


def _made(made: Manager, long: bool, name: str, *rows: list[str]) -> str:
    lines = [", ".join(row) for row in (*rows, _options(made) + [made.more] * bool(made.more)) if row]
    arguments = (",\n    " if long else ", ").join(lines)
    return f"MANAGER = {name}(\n    {arguments})\n"


def _function(made: Manager, iteration: Iteration) -> tuple[str, str]:
    """The function of one iteration: the statement that defines it, and what the engine gets."""
    if iteration.updater:
        if made.asks and iteration.lines.endswith(".update()"):  # its name may mean another one when the training runs
            updater = iteration.lines.removesuffix(".update()")
            return "", f"lambda engine, batch, updater={updater}: updater.update()"
        return "", f"lambda engine, batch: {iteration.lines}"
    taken = iteration.taken | frozenset(part.strip() for part in iteration.batch.split(","))
    name = _free("train_step", taken)
    alone = iteration.batch.isidentifier()
    batch = iteration.batch if alone else _free("batch", taken)
    lines = iteration.lines if alone else f"BATCH = {batch}\n{iteration.lines}"
    return f"def {name}({_free('engine', taken | {batch})}, {batch}):\n{_indented(lines)}\n", name


def _free(name: str, taken: frozenset[str]) -> str:
    return next(n for n in (name, *(f"{name}_{i}" for i in range(1, len(taken) + 2))) if n not in taken)


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


def engine_of(context: Context) -> Engine:
    """The form that the user has chosen."""
    return Ignite() if context.choices.trainer == "ignite" else Loop()


def wants_errors(context: Context) -> bool:
    """Whether an extension of the project is told of exceptions: an engine handles them itself."""
    return context.analysis.once(_wants_errors)


def _wants_errors(analysis: Analysis) -> bool:
    kinds = (ast.keyword, ast.FunctionDef, ast.Attribute)
    nodes = (node for module in analysis.project.modules.values() for node in module.source.of(*kinds))
    return any(n.arg in _ON_ERROR if isinstance(n, ast.keyword) else _name(n) in _ON_ERROR for n in nodes)


def _name(node: ast.AST) -> str:
    return str(getattr(node, "name", "") or getattr(node, "attr", ""))


__all__ = ["Engine", "Iteration", "Manager", "engine_of", "wants_errors"]
