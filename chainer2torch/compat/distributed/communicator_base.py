"""What a communicator can do, for communicators of your own."""

from __future__ import annotations

import contextlib
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.nn.parameter import is_lazy


class CommunicatorBase(ABC):
    """The methods that every communicator has. A class of your own defines those that are abstract.

    Source: chainermn.CommunicatorBase.
    """

    name = ""

    def __init__(self) -> None:
        self._within_config_scope = False

    @property
    def rank(self) -> int:
        """The number of this process."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        """The number of processes."""
        raise NotImplementedError

    @property
    def intra_rank(self) -> int:
        """The number of this process among those of its machine."""
        raise NotImplementedError

    @property
    def intra_size(self) -> int:
        """The number of processes on this machine."""
        raise NotImplementedError

    @property
    def inter_rank(self) -> int:
        """The number of this machine."""
        raise NotImplementedError

    @property
    def inter_size(self) -> int:
        """The number of machines."""
        raise NotImplementedError

    # -- settings --------------------------------------------------------------------------------------------------

    def set_config(self, name: str, value: Any = True, **kwargs: Any) -> None:
        """Raises ValueError: a communicator without settings of its own knows none."""
        raise ValueError(f"Unknown config: {name}")

    def get_config(self, name: str | None = None) -> Any:
        """The value of a setting (KeyError: there is none of the name), or a dictionary of all."""
        settings = self._settings()
        return settings if name is None else settings[name]

    @property
    def within_config_scope(self) -> bool:
        """Whether attributes that are set now are settings."""
        return bool(vars(self).get("_within_config_scope", False))

    @contextlib.contextmanager
    def config_scope(self) -> Iterator[None]:
        """In this scope, attributes that are set are settings: :meth:`get_config` finds them."""
        before = self.within_config_scope
        self._within_config_scope = True
        try:
            yield
        finally:
            self._within_config_scope = before

    def _settings(self) -> dict[str, Any]:
        settings: dict[str, Any] = vars(self).setdefault("_configs", {})
        return settings

    def __setattr__(self, name: str, value: Any) -> None:
        if self.within_config_scope and name != "_within_config_scope":
            self._settings()[name] = value
        super().__setattr__(name, value)

    # -- what a class of your own defines --------------------------------------------------------------------------

    @abstractmethod
    def split(self, color: int, key: int) -> Any:
        """The communicator of the processes that give the same ``color``; ``key`` orders their ranks."""

    @abstractmethod
    def alltoall(self, xs: Any) -> Any:
        """Sends ``xs[i]`` to process i and returns what each process sent here."""

    @abstractmethod
    def send(self, data: Any, dest: int, tag: int) -> None:
        """Sends an array, or a tuple of arrays."""

    @abstractmethod
    def recv(self, source: int, tag: int) -> Any:
        """The array, or the tuple of arrays, that a process sent with this tag."""

    @abstractmethod
    def bcast(self, x: Any, root: int = 0) -> Any:
        """The array that ``root`` gave."""

    @abstractmethod
    def gather(self, x: Any, root: int = 0) -> Any:
        """The arrays of all processes at ``root``; None elsewhere."""

    @abstractmethod
    def allgather(self, x: Any) -> Any:
        """The arrays of all processes."""

    @abstractmethod
    def allreduce(self, x: Any) -> Any:
        """The sum of the arrays of all processes."""

    @abstractmethod
    def scatter(self, xs: Any, root: int = 0) -> Any:
        """Each process gets one of the arrays that ``root`` gives."""

    @abstractmethod
    def send_obj(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Sends an object."""

    @abstractmethod
    def recv_obj(self, source: int, status: Any = None, tag: int | None = None) -> Any:
        """The next object from a process."""

    @abstractmethod
    def bcast_obj(self, obj: Any, max_buf_len: int | None = None, root: int = 0) -> Any:
        """The object that ``root`` gave."""

    @abstractmethod
    def gather_obj(self, obj: Any, root: int = 0) -> list[Any] | None:
        """The objects of all processes, by rank, at ``root``; None elsewhere."""

    @abstractmethod
    def allreduce_obj(self, obj: Any) -> Any:
        """The sum of the objects of all processes."""

    @abstractmethod
    def bcast_data(self, model: torch.nn.Module) -> None:
        """Gives every process the parameters of rank 0."""

    @abstractmethod
    def multi_node_mean_grad(self, model: torch.nn.Module, zero_fill: bool = False) -> None:
        """Replaces the gradients of a model by their means over the processes."""

    # -- what follows from that ------------------------------------------------------------------------------------

    def finalize(self) -> None:  # noqa: B027 - not every communicator has something to end
        """Ends the communicator; nothing by default."""

    def broadcast_data(self, model: torch.nn.Module) -> None:
        """Chainer's older name of :meth:`bcast_data`."""
        self.bcast_data(model)

    def allreduce_grad(self, model: torch.nn.Module, zero_fill: bool = False) -> None:
        """Chainer's older name of :meth:`multi_node_mean_grad`."""
        warnings.warn("allreduce_grad() is deprecated.", DeprecationWarning)
        self.multi_node_mean_grad(model, zero_fill)

    def allgather_obj(self, obj: Any) -> list[Any]:
        """The objects of all processes, by rank."""
        gathered: list[Any] = self.bcast_obj(self.gather_obj(obj))
        return gathered

    def scatter_obj(self, objs: Any, root: int = 0) -> Any:
        """Each process gets one of the objects that ``root`` gives."""
        return self.bcast_obj(objs, root=root)[self.rank]

    def start_mean(self, tensors: Sequence[torch.Tensor]) -> Callable[[], list[torch.Tensor]]:
        """Computes the means of tensors over the processes; the function that it returns gives them."""
        means = [self.allreduce(tensor.detach()) * (1.0 / self.size) for tensor in tensors]
        return lambda: means

    def gradients(self, model: torch.nn.Module, zero_fill: bool = False) -> list[torch.Tensor]:
        """The gradients of a model in the order of the parameters' names.

        Args:
            zero_fill: a parameter without a gradient gets one of zeros; otherwise it is left out.
        Raises:
            RuntimeError: without ``zero_fill``, the processes have gradients for different parameters.
        """
        params = [(name, param) for name, param in _initialized_parameters(model) if param.requires_grad]
        if zero_fill:
            for _, param in params:
                if param.grad is None:
                    param.grad = torch.zeros_like(param, requires_grad=False)
        else:
            names = [name for name, param in params if param.grad is not None]
            if any(others != names for others in self.allgather_obj(names)):
                raise RuntimeError("the processes have gradients for different parameters; zero_fill=True allows it")
        return [param.grad for _, param in params if param.grad is not None]


def _initialized_parameters(model: torch.nn.Module) -> list[tuple[str, torch.nn.Parameter]]:
    """The parameters that have their shape, in the order of their names: the same in every process."""
    return sorted((name, param) for name, param in model.named_parameters() if not is_lazy(param))
