"""Snapshots of a training that runs in several processes."""

from __future__ import annotations

import io
import os
import tempfile
import time
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from chainer2torch.compat.distributed.communicators import Communicator
from chainer2torch.compat.training.extension_base import Extension
from chainer2torch.compat.serializers.serializers import load_npz, save_npz
from chainer2torch.compat.training.snapshot import Snapshot, _matching_files


def multi_node_snapshot(comm: Communicator, snapshot: Snapshot, replica_sets: Iterable[Any]) -> MultiNodeSnapshot:
    """Lets one process of each set of equal processes take the snapshots, and load them for the others.

    Args:
        snapshot: the extension that ``snapshot()`` made. The rank is added to its file names.
        replica_sets: sets of ranks (an int is a set of one) whose state is the same; ranks that are in none are one
            more set.
    Raises:
        ValueError: a rank does not exist or is in two sets.
    Source: chainermn.extensions.multi_node_snapshot.
    """
    return MultiNodeSnapshot(comm, snapshot, replica_sets)


class MultiNodeSnapshot(Extension):
    """The extension that :func:`multi_node_snapshot` makes."""

    def __init__(self, comm: Communicator, snapshot: Snapshot, replica_sets: Iterable[Any]) -> None:
        self.comm = comm
        self.snapshot = snapshot
        self.replica_set = next(ranks for ranks in _replica_sets(replica_sets, comm.size) if comm.rank in ranks)
        self.master = min(self.replica_set)
        name, suffix = snapshot.filename, f".{comm.rank}"
        snapshot.filename = (lambda trainer: name(trainer) + suffix) if callable(name) else name + suffix

    @property
    def is_master(self) -> bool:
        """Whether this process takes the snapshots of its set."""
        return self.master == self.comm.rank

    def initialize(self, trainer: Any) -> None:
        """Loads the newest snapshot of the set, when the snapshot extension has ``autoload``."""
        if self.is_master:
            self.snapshot.initialize(trainer)
        if not self.snapshot.autoload:
            return
        target = trainer if self.snapshot._target is None else self.snapshot._target
        if not self.is_master:
            data = self.comm.recv_obj(self.master)
            if data is not None:
                load_npz(io.BytesIO(data), target)
            return
        data = None
        if _matching_files(self.snapshot.filename, trainer.out):
            buffer = io.BytesIO()
            save_npz(buffer, target)
            data = buffer.getvalue()
        for rank in sorted(self.replica_set - {self.comm.rank}):
            self.comm.send_obj(data, rank)

    def __call__(self, trainer: Any) -> None:
        """Takes a snapshot."""
        if self.is_master:
            self.snapshot(trainer)

    def on_error(self, trainer: Any, exc: Exception, tb: Any) -> None:
        """Lets the snapshot extension decide."""
        if self.is_master:
            self.snapshot.on_error(trainer, exc, tb)

    def finalize(self, manager: Any = None) -> None:
        """Waits until everything is written."""
        if self.is_master:
            self.snapshot.finalize()


def _replica_sets(given: Iterable[Any], size: int) -> list[set[int]]:
    sets = [{ranks} if isinstance(ranks, int) else set(ranks) for ranks in given]
    named = [rank for ranks in sets for rank in ranks]
    if len(named) > len(set(named)) or not set(named) <= set(range(size)):
        raise ValueError(f"replica_sets must name each rank from 0 to {size - 1} once at most, not {sorted(named)}")
    rest = set(range(size)) - set(named)
    return [*sets, rest] if rest else sets


def create_multi_node_checkpointer(
    name: str, comm: Communicator, cp_interval: int = 5, gc_interval: int = 5, path: str | None = None
) -> MultiNodeCheckpointer:
    """An extension that saves the state of every process as ``<name>.<rank>.<iteration>``, and resumes from it.

    Args:
        cp_interval: how many checkpoints to keep at least.
        gc_interval: accepted for compatibility.
        path: the directory; by default that of the trainer's results.
    Source: chainermn.create_multi_node_checkpointer.
    """
    warnings.warn("Checkpointer is deprecated. Use multi_node_snapshot instead.", DeprecationWarning)
    return MultiNodeCheckpointer(name, comm, cp_interval, path)


class MultiNodeCheckpointer(Extension):
    """The extension that :func:`create_multi_node_checkpointer` makes."""

    def __init__(self, name: str, comm: Communicator, cp_interval: int, path: str | None) -> None:
        if cp_interval <= 0:
            raise ValueError(f"cp_interval must be positive, not {cp_interval}")
        self.name = name
        self.comm = comm
        self.cp_interval = cp_interval
        self.path = path
        self._iterations: list[int] = []
        self._durations: list[float] = []

    def __call__(self, trainer: Any) -> None:
        """Saves the trainer of every process."""
        if self.path is None:
            self.path = trainer.out
        self.save(trainer, trainer.updater.iteration)

    def save(self, target: Any, iteration: int) -> None:
        """Saves an object; every process calls it at the same iteration. Old checkpoints go from time to time."""
        start = time.perf_counter()
        directory = self._directory()
        os.makedirs(directory, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="tmp-" + self._filename(iteration), dir=directory) as temporary:
            # written whole or not at all
            save_npz(os.path.join(temporary, "checkpoint"), target)
            os.replace(os.path.join(temporary, "checkpoint"), self._file(iteration))
        self._durations.append(time.perf_counter() - start)
        self._iterations.append(iteration)
        if len(self._iterations) - self.cp_interval > 5:
            kept = self._common_iterations()
            self._remove(set(self._iterations) - set(kept))
            self._iterations = kept

    def maybe_load(self, trainer: Any, optimizer: Any = None, path: str | None = None) -> None:
        """Loads the last checkpoint that every process has into ``trainer``; nothing happens when there is none."""
        if self.path is None:
            self.path = trainer.out if path is None else path
        directory = self._directory()
        names = os.listdir(directory) if os.path.isdir(directory) else []
        self._iterations = sorted(
            int(iteration)
            for name, rank, iteration in (parts for parts in (file.split(".") for file in names) if len(parts) == 3)
            if name == self.name and rank == str(self.comm.rank)
        )
        self._iterations = self._common_iterations()
        if self._iterations:
            load_npz(self._file(self._iterations[-1]), trainer)

    def finalize(self, manager: Any = None) -> None:
        """Removes the checkpoints: the training is done."""
        self._remove(self._iterations)
        self._iterations = []

    def get_stats(self) -> str:
        """How long saving took."""
        if not self._durations:
            return "No stats available"
        mean = sum(self._durations) / len(self._durations)
        return (
            f"Snapshot duration stats (sec): avg={mean:f}, min={min(self._durations):f}, max={max(self._durations):f}"
        )

    def _common_iterations(self) -> list[int]:
        everywhere = set.intersection(*map(set, self.comm.allgather_obj(self._iterations)))
        return sorted(everywhere)[-self.cp_interval :]

    def _directory(self) -> str:
        if self.path is None:
            raise ValueError("the checkpointer needs a path when it is used without a trainer")
        return self.path

    def _filename(self, iteration: int) -> str:
        return f"{self.name}.{self.comm.rank}.{iteration}"

    def _file(self, iteration: int) -> str:
        return os.path.join(self._directory(), self._filename(iteration))

    def _remove(self, iterations: Iterable[int] | Sequence[int]) -> None:
        for iteration in iterations:
            if os.path.exists(self._file(iteration)):
                os.remove(self._file(iteration))
