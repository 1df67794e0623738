"""Checkpoints of a training that runs in several processes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import torch
from pytorch_pfn_extras.training import ExtensionsManager
from pytorch_pfn_extras.training.extension import Extension

from chainer2torch.native.training import manager_state


class MultiNodeCheckpointer(Extension):
    """Saves the state of every process as ``<name>.<rank>.<iteration>``, and resumes from the last that all have.

    At the end of the training they are removed. Source: chainermn.create_multi_node_checkpointer.
    """

    def __init__(self, name: str, comm: Any, cp_interval: int = 5, path: str | None = None):
        self.name, self.comm, self.cp_interval, self.path = name, comm, cp_interval, path
        self._iterations: list[int] = []

    def __call__(self, trainer: Any) -> None:
        self.path = trainer.out if self.path is None else self.path
        self.save(trainer, trainer.iteration)

    def save(self, target: Any, iteration: int) -> None:
        """Saves an object; every process calls it at the same iteration. Old checkpoints go from time to time."""
        file = self._file(iteration)
        os.makedirs(os.path.dirname(file), exist_ok=True)
        state = manager_state(target) if isinstance(target, ExtensionsManager) else target.state_dict()
        torch.save(state, file + ".tmp")
        os.replace(file + ".tmp", file)
        self._iterations.append(iteration)
        if len(self._iterations) - self.cp_interval > 5:
            kept = self._everywhere()
            self._remove(set(self._iterations) - set(kept))
            self._iterations = kept

    def maybe_load(self, trainer: Any, optimizer: Any = None, path: str | None = None) -> None:
        """Loads the last checkpoint that every process has; nothing happens when there is none."""
        self.path = (trainer.out if path is None else path) if self.path is None else self.path
        names = [name.split(".") for name in os.listdir(self.path)] if os.path.isdir(self.path) else []
        own = [parts[2] for parts in names if len(parts) == 3 and parts[:2] == [self.name, str(self.comm.rank)]]
        self._iterations = [int(iteration) for iteration in own]
        self._iterations = self._everywhere()
        if self._iterations:
            trainer.load_state_dict(torch.load(self._file(self._iterations[-1]), map_location="cpu"))

    def finalize(self, manager: Any = None) -> None:
        """Removes the checkpoints: the training is done."""
        self._remove(self._iterations)
        self._iterations = []

    def _everywhere(self) -> list[int]:
        return sorted(set.intersection(*map(set, self.comm.allgather_obj(self._iterations))))[-self.cp_interval :]

    def _file(self, iteration: int) -> str:
        assert self.path is not None, "without a trainer it needs a path"
        return os.path.join(self.path, f"{self.name}.{self.comm.rank}.{iteration}")

    def _remove(self, iterations: Iterable[int]) -> None:
        for iteration in iterations:
            if os.path.exists(self._file(iteration)):
                os.remove(self._file(iteration))
