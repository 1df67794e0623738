"""Extensions of a training that runs in several processes: evaluation, observations, persistent values."""

from __future__ import annotations

import copy
import types
from collections.abc import Callable, Iterator
from typing import Any

import torch

from chainer2torch.compat.distributed.communicators import Communicator
from chainer2torch.compat.dataset.convert import _call_converter, concat_examples
from chainer2torch.compat.backend.devices import get_device, to_device
from chainer2torch.compat.training.extension_base import Extension
from chainer2torch.compat.training.triggers import EarlyStoppingTrigger, get_trigger


def create_multi_node_evaluator(actual_evaluator: Any, communicator: Communicator) -> Any:
    """Makes an evaluator average its results over the processes, and returns it.

    Every process evaluates its own data; the means count equally. Source: chainermn.create_multi_node_evaluator.
    """
    evaluate = actual_evaluator.evaluate

    def evaluate_everywhere(self: Any) -> dict[str, Any]:
        gathered = communicator.allgather_obj({name: _sendable(value) for name, value in evaluate().items()})
        names = sorted(gathered[communicator.rank])
        if any(sorted(results) != names for results in gathered):
            raise RuntimeError(
                "the processes evaluated different values: "
                + "; ".join(f"rank {rank}: {sorted(results)}" for rank, results in enumerate(gathered))
            )
        return {name: sum(results[name] for results in gathered) / communicator.size for name in names}

    actual_evaluator.evaluate = types.MethodType(evaluate_everywhere, actual_evaluator)
    return actual_evaluator


def _sendable(value: Any) -> Any:
    return value.detach().cpu() if isinstance(value, torch.Tensor) else value


class GenericMultiNodeEvaluator(Extension):
    """Base of evaluations whose results cannot simply be averaged, or whose processes have different amounts of data.

    Subclasses define ``calc_local``, which runs where the data are, and ``aggregate``, which gets all results at
    ``root``.

    Args:
        iterator: iterator over the data of this process, without repetition.
        target: the model.
        device: where the data go.
        converter: function ``(batch, device)`` that gives the arguments of ``calc_local``.
        root: the rank that collects the results.
        progress_hook: called with each batch at ``root``.
    Source: chainermn.extensions.GenericMultiNodeEvaluator.
    """

    trigger = (1, "epoch")
    default_name = "validation"
    priority = 300
    name = None

    def __init__(
        self,
        comm: Communicator,
        iterator: Any,
        target: Any,
        device: Any = None,
        converter: Callable[..., Any] = concat_examples,
        root: int = 0,
        *,
        progress_hook: Callable[[Any], None] | None = None,
    ) -> None:
        if not 0 <= root < comm.size:
            raise ValueError(f"root must be a rank from 0 to {comm.size - 1}, not {root}")
        self.comm = comm
        self.iterator = iterator
        self._targets = {"main": target}
        self.converter = converter
        self.device = None if device is None else get_device(device)
        self.root = root
        self._progress_hook = progress_hook

    def __call__(self, trainer: Any = None) -> Any:
        """What ``aggregate`` returns at ``root``; None elsewhere."""
        if hasattr(self.iterator, "reset"):
            self.iterator.reset()
            iterator = self.iterator
        else:
            iterator = copy.copy(self.iterator)
        results = list(self._evaluate(iterator))
        return self.aggregate(results) if self.comm.rank == self.root else None

    def calc_local(self, *args: Any, **kwargs: Any) -> Any:
        """The result of one batch, by default the model's; must not be None."""
        return self._targets["main"](*args, **kwargs)

    def aggregate(self, results: list[Any]) -> Any:
        """Called once, at ``root``, with the results of all processes: first batches first, by rank."""
        return results

    def _evaluate(self, iterator: Any) -> Iterator[Any]:
        """At ``root`` the results of all processes, until none has data any more; elsewhere nothing."""
        while True:
            batch = next(iterator, None)
            result = None if batch is None else self._result_of(batch)
            gathered = self.comm.allgather_obj(result)
            present = [each for each in gathered if each is not None]
            if not present:
                return
            if self.comm.rank == self.root:
                yield from present

    def _result_of(self, batch: Any) -> Any:
        inputs = to_device(self.device, _call_converter(self.converter, batch, self.device))
        with torch.no_grad():
            if isinstance(inputs, tuple):
                result = self.calc_local(*inputs)
            elif isinstance(inputs, dict):
                result = self.calc_local(**inputs)
            else:
                result = self.calc_local(inputs)
        if self.comm.rank == self.root and self._progress_hook is not None:
            self._progress_hook(batch)
        return result


class AllreducePersistent(Extension):
    """Averages the persistent floating-point values of a model, such as running means, over the processes.

    Source: chainermn.extensions.AllreducePersistent.
    """

    trigger = (1, "epoch")
    priority = 301  # before evaluators

    def __init__(self, model: torch.nn.Module, comm: Communicator) -> None:
        self.model = model
        self.comm = comm

    @torch.no_grad()
    def __call__(self, trainer: Any = None) -> None:
        """Averages them now."""
        values = [value for _, value in sorted(self.model.named_buffers()) if value.is_floating_point()]
        for value, mean in zip(values, self.comm.start_mean(values)(), strict=True):
            value.copy_(mean)


class ObservationAggregator(Extension):
    """Replaces an observed value by a summary over the processes.

    Args:
        original_key: the value.
        aggregated_key: the name of the summary; by default ``original_key``.
        comm_trigger: when to communicate; values since the last time are summarized together.
        aggregator: function of a list (by rank) of lists of values; by default the mean of all of them.
    Source: chainermn.extensions.ObservationAggregator.
    """

    trigger = (1, "iteration")
    priority = 200
    name = None

    def __init__(
        self,
        comm: Communicator,
        original_key: str,
        aggregated_key: str | None = None,
        *,
        comm_trigger: Any = (1, "iteration"),
        aggregator: Callable[[list[list[Any]]], Any] | None = None,
    ) -> None:
        self.comm = comm
        self.original_key = original_key
        self.aggregated_key = original_key if aggregated_key is None else aggregated_key
        self.comm_trigger = get_trigger(comm_trigger)
        self.aggregator = aggregator or _mean_of_all
        self.observation_history: list[Any] = []

    def __call__(self, trainer: Any) -> None:
        """Notes the value, and summarizes when the trigger fires."""
        if self.original_key in trainer.observation:
            self.observation_history.append(_sendable(trainer.observation[self.original_key]))
        if not self.comm_trigger(trainer):
            return
        gathered = self.comm.gather_obj(self.observation_history)
        self.observation_history = []
        summary = self.comm.bcast_obj(None if gathered is None else self.aggregator(gathered))
        if summary is not None:
            trainer.observation[self.aggregated_key] = summary


def _mean_of_all(histories: list[list[Any]]) -> Any:
    values = [value for history in histories for value in history]
    return sum(values) / len(values)


class MultiNodeEarlyStoppingTrigger:
    """An early stopping trigger on the mean of a value over the processes, so that all stop together.

    Arguments as for ``EarlyStoppingTrigger``; ``suffix`` is added to the name of the mean. Source:
    chainermn.extensions.MultiNodeEarlyStoppingTrigger.
    """

    def __init__(
        self,
        comm: Communicator,
        *,
        check_trigger: Any = (1, "epoch"),
        monitor: str = "main/loss",
        patience: int | None = None,
        mode: str = "auto",
        verbose: bool = False,
        max_trigger: Any = (100, "epoch"),
        suffix: str = "_aggregated",
        **kwargs: Any,
    ) -> None:
        self.actual_trigger = EarlyStoppingTrigger(
            check_trigger, monitor + suffix, patience, mode, verbose, max_trigger, **kwargs
        )
        self.aggregator = ObservationAggregator(comm, monitor, monitor + suffix, comm_trigger=check_trigger)

    def __call__(self, trainer: Any) -> bool:
        """Whether to stop."""
        self.aggregator(trainer)
        return self.actual_trigger(trainer)

    def get_training_length(self) -> Any:
        """The latest end, for progress bars."""
        return self.actual_trigger.get_training_length()
