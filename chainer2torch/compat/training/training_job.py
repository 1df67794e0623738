"""The processes of a training whose gradients are summed: each works for one part of the data."""

from __future__ import annotations

import contextlib
import functools
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.nn.parameter import is_lazy

from chainer2torch.compat.links.link_tree import copyparams
from chainer2torch.compat.distributed.process_group import start_process_group


class TrainingJob:
    """Rank 0 updates the main model with the sum of all gradients; the other processes get its values.

    Args:
        main: the model of the optimizer; every process has one.
        replica: the model that computes the gradients of this process; in rank 0 it is ``main``.
        loss_func: the loss; None: the replica is called.
        with_buffers: buffers and other persistent values are shared after each update, too.
    """

    def __init__(
        self, main: torch.nn.Module, replica: torch.nn.Module, loss_func: Callable[..., Any] | None, with_buffers: bool
    ) -> None:
        start_process_group()
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self._main, self._replica, self._with_buffers = main, replica, with_buffers
        self._loss = _Loss(replica, loss_func)
        self._parallel: DistributedDataParallel | None = None
        self._initialized = False  # whether every parameter has its shape: the same answer in all processes
        self._reporter: Any = None
        self._reports: dict[str, Any] = {}  # what the loss has reported, if there is a trainer

    def connect_trainer(self, trainer: Any) -> None:
        """Lets rank 0 decide when all stop, and keeps extensions to it: the others would write the same files."""
        self._reporter = trainer.reporter
        trainer._until_stopped = functools.partial(self._until_all_stop, trainer)
        if self.rank > 0:
            trainer.extend = _no_extension

    def _until_all_stop(self, trainer: Any) -> Iterator[None]:
        while not self._told(self.rank == 0 and trainer.stop_trigger(trainer)):
            yield None
        self._share(self._main, with_buffers=True)  # what the program saves is then the same in every process

    def _told(self, value: Any) -> Any:
        """What rank 0 says."""
        values = [value]
        dist.broadcast_object_list(values, 0, device=torch.device("cpu"))
        return values[0]

    def scatter(self, parts: Sequence[Any]) -> Any:
        """The part of this process, out of those that rank 0 gives."""
        part: list[Any] = [None]
        dist.scatter_object_list(part, list(parts) if self.rank == 0 else None)
        return part[0]

    def share_values(self, *models: torch.nn.Module) -> None:
        """Gives each model the values that it has in rank 0."""
        for model in models:
            self._share(model, self._with_buffers)

    def compute_gradients(self, inputs: Any, scale: float | None = None) -> None:
        """Leaves the sums of all processes' gradients in the main model of rank 0."""
        if self._initialized and self._parallel is None:
            # every process may leave out other parameters, and keeps its own running statistics
            self._parallel = DistributedDataParallel(
                self._loss, init_sync=False, forward_sync_buffers=False, find_unused_parameters=True
            )
            self._parallel.register_comm_hook(None, lambda _, bucket: _sum(bucket))
        self._reports = {}
        with contextlib.nullcontext() if self._reporter is None else self._reporter.scope(self._reports):
            loss = call_with(self._parallel or self._loss, inputs)
        self._replica.zero_grad()
        (loss if scale is None else loss * scale).backward()
        if self._parallel is None:  # which does not take parameters that get their shape in the first call
            self._sum_gradients()

    def report(self, order: Sequence[int] = (0,)) -> None:
        """Reports in rank 0 what the loss has reported in the ranks of ``order``: of one name, the last counts."""
        if self._reporter is None:
            return
        reports = [self._reports] * self.size
        if len(order) > 1:
            values = {
                name: value.detach().cpu() if isinstance(value, torch.Tensor) else value
                for name, value in self._reports.items()
            }
            dist.gather_object(values, reports if self.rank == 0 else None)
        for rank in order if self.rank == 0 else ():
            self._reporter.observation.update(reports[rank])

    def update(self, optimizer: Any) -> None:
        """Updates in rank 0 and gives the others the values."""
        if self.rank == 0:
            optimizer.update()
        self._share(self._main, self._with_buffers)
        if self._replica is not self._main:
            copyparams(self._replica, self._main, self._with_buffers)

    @torch.no_grad()
    def _sum_gradients(self) -> None:
        params = list(self._replica.parameters())
        for param, shape in zip(params, self._told(_shapes(params)), strict=True):
            if shape is not None:
                grad = None if is_lazy(param) else param.grad
                grad = torch.zeros(shape, dtype=param.dtype, device=param.device) if grad is None else grad
                dist.all_reduce(grad)
                param.grad = grad if self.rank == 0 else None

    @torch.no_grad()
    def _share(self, model: torch.nn.Module, with_buffers: bool) -> None:
        tensors = [*model.parameters(), *(model.buffers() if with_buffers else ())]
        if not self._initialized:
            shapes = self._told(_shapes(tensors))
            self._initialized = None not in shapes
            for tensor, shape in zip(tensors, shapes, strict=True):
                if is_lazy(tensor) and shape is not None:
                    tensor.materialize(shape)
            tensors = [tensor for tensor, shape in zip(tensors, shapes, strict=True) if shape is not None]
        alike = defaultdict(list)
        for tensor in tensors:
            alike[tensor.dtype].append(tensor)
        device = next(iter(self._replica.parameters())).device
        for same in alike.values():
            flat = torch.cat([tensor.reshape(-1).to(device) for tensor in same])
            dist.broadcast(flat, 0)
            for tensor, values in zip(same, flat.split([tensor.numel() for tensor in same]), strict=True):
                tensor.copy_(values.view_as(tensor))
        others = [(part, name) for part in model.modules() for name in vars(part).get("_chainer_persistent", ())]
        if with_buffers and others:
            for (part, name), value in zip(others, self._told([getattr(*other) for other in others]), strict=True):
                setattr(part, name, value)


def call_with(function: Callable[..., Any], inputs: Any) -> Any:
    """Calls a function with what a converter gave: a tuple or dict of arguments, or one argument."""
    if isinstance(inputs, tuple):
        return function(*inputs)
    return function(**inputs) if isinstance(inputs, dict) else function(inputs)


class _Loss(torch.nn.Module):
    """The loss as a module, which DistributedDataParallel can call: the function may use the model as it likes."""

    def __init__(self, model: torch.nn.Module, loss_func: Callable[..., Any] | None) -> None:
        super().__init__()
        self.model = model
        self._call = (loss_func or model,)  # in a tuple: a function that is a module is no second part

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._call[0](*args, **kwargs)


def _sum(bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """Communication of DistributedDataParallel that adds gradients; its own computes means."""
    done = dist.all_reduce(bucket.buffer(), async_op=True).get_future()
    total: torch.futures.Future[torch.Tensor] = done.then(lambda future: future.value()[0])
    return total


def _shapes(tensors: Sequence[torch.Tensor]) -> list[Any]:
    return [None if is_lazy(tensor) else tuple(tensor.shape) for tensor in tensors]


def _no_extension(*args: Any, **kwargs: Any) -> None:
    """``trainer.extend`` of a process that has no extensions."""
