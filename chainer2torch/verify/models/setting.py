"""Where and how ``verify models`` runs models, and what of one that takes long it does within a budget."""

from __future__ import annotations

import dataclasses
import threading
import time
from pathlib import Path

from chainer2torch.verify.kept import Kept
from chainer2torch.verify.models.entries import ModelEntry
from chainer2torch.verify.models.ports import Ports
from chainer2torch.verify.warm_workers import WarmWorkers

# Values of all parameters together.
LARGE = 4_000_000
SLOW, _VERY_SLOW = 0.15, 1.0  # seconds of a forward pass
# Up to so many, a model is made several times on both sides, to compare what it starts with.
SMALL = 500_000
# Of a larger array of parameters or gradients of a large model, so many values are compared within a budget.
_SAMPLE = 250_000


@dataclasses.dataclass(frozen=True)
class Setting:
    """Where and how models are run; see ``verify_models``. ``end`` is when the whole run ends, of the monotonic clock;
    ``stop`` ends it earlier.
    """

    src: Path
    out: Path
    steps: int = 3
    seed: int = 0
    chainer_python: str | None = None
    torch_python: str | None = None
    device: str = "cpu"
    timeout: float = 600
    end: float = float("inf")
    stop: threading.Event = dataclasses.field(default_factory=threading.Event)
    map_file: Path | None = None
    ports: Ports | None = None
    warm: WarmWorkers | None = None
    kept: Kept | None = None

    def port_of(self, entry: ModelEntry) -> str:
        """The target of a model's counterpart."""
        return entry.port or (self.ports.target(entry.target) if self.ports else entry.target)

    def steps_of(self, entry: ModelEntry) -> int:
        """How many steps a model makes: within a budget a large one makes one, which shows what an update does, and one
        that takes very long none: its gradients are compared.
        """
        if self.end == float("inf"):
            return self.steps
        return 0 if entry.seconds > _VERY_SLOW else min(self.steps, 1) if entry.size > SMALL else self.steps

    def most_of(self, entry: ModelEntry) -> int:
        """How many values of each array of a large model are compared within a budget; 0: all."""
        return _SAMPLE if self.end != float("inf") and entry.size > LARGE else 0

    def is_differentiated(self, entry: ModelEntry, mode: str) -> bool:
        """Whether gradients are compared: within a budget, those of a model that takes very long in one mode only."""
        slow = self.end != float("inf") and entry.seconds > _VERY_SLOW
        return not slow or mode == entry.modes[0]

    def limits(self, entry: ModelEntry) -> list[str]:
        """What the report says of a model that takes long: what of it was not compared within the time."""
        said = []
        if self.steps and not self.steps_of(entry):
            said.append("no step of gradient descent was compared")
        modes = [mode for mode in entry.modes if not self.is_differentiated(entry, mode)]
        said += [f"no gradients were compared in mode {mode}" for mode in modes]
        if most := self.most_of(entry):
            said.append(f"of larger arrays of parameters and gradients {most:,} values were compared, in fixed places")
        return [f"it takes long; within the time (--budget) {'; '.join(said)}"] if said else []

    def left(self) -> float:
        """Seconds that a worker may take now."""
        return max(0.0, min(self.timeout, self.end - time.monotonic()))

    def is_over(self) -> bool:
        """Whether nothing new is begun."""
        return self.stop.is_set() or self.left() <= 0
