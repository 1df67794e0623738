"""ChainerMN's communicators, optimizers, evaluators and shares of data sets over torch.distributed."""

from __future__ import annotations

import functools
import operator
import os
import types
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.parameter import is_lazy
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from torch.utils.data import Subset


def create_communicator(communicator_name: str = "pure_nccl") -> Communicator:
    """A communicator of all processes that torchrun started: 'naive' is gloo, other names are NCCL on GPUs.

    A program that was just started is one process. Source: chainermn.create_communicator.
    """
    backend = "gloo" if communicator_name == "naive" else "cpu:gloo,cuda:nccl"
    if any(name in os.environ for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE")) and "RANK" not in os.environ:
        raise RuntimeError("start the program with torchrun in place of mpirun")
    if not dist.is_initialized():
        alone: Any = {} if "RANK" in os.environ else {"store": dist.HashStore(), "rank": 0, "world_size": 1}
        dist.init_process_group(backend, **alone)
    return Communicator()


class Communicator:
    """All processes of the job. Each of them calls the methods, in the same order.

    Source: chainermn.CommunicatorBase.
    """

    def __init__(self) -> None:
        self.rank, self.size = dist.get_rank(), dist.get_world_size()

    @property
    def intra_rank(self) -> int:
        """The number of this process among those of its machine."""
        return int(os.environ["LOCAL_RANK"]) if self.size > 1 else 0

    @property
    def intra_size(self) -> int:
        """The number of processes on this machine."""
        return int(os.environ["LOCAL_WORLD_SIZE"]) if self.size > 1 else 1

    @property
    def inter_rank(self) -> int:
        """The number of this machine."""
        return int(os.environ["GROUP_RANK"]) if self.size > 1 else 0

    @property
    def inter_size(self) -> int:
        """The number of machines."""
        return self.size // self.intra_size

    @property
    def mpi_comm(self) -> Communicator:
        """This one: in place of mpi4py's it has a rank, a size, Barrier and what exchanges objects."""
        return self

    def Barrier(self) -> None:
        """Waits for all processes."""
        dist.barrier()

    def scatter(self, objects: Any, root: int = 0) -> Any:
        """One of the objects that ``root`` gave, by rank."""
        return self.bcast_obj(objects, root=root)[self.rank]

    def send_obj(self, obj: Any, dest: int) -> None:
        """Sends an object, and waits until it is taken."""
        dist.send_object_list([obj], dest, device=torch.device("cpu"))

    def recv_obj(self, source: int) -> Any:
        """The next object from a process."""
        objects: list[Any] = [None]
        dist.recv_object_list(objects, source, device=torch.device("cpu"))
        return objects[0]

    def finalize(self) -> None:
        """Leaves the job."""
        dist.destroy_process_group()

    def bcast_obj(self, obj: Any, max_buf_len: int | None = None, root: int = 0) -> Any:
        """The object that ``root`` gave."""
        objects = [obj]
        dist.broadcast_object_list(objects, root, device=torch.device("cpu"))
        return obj if self.rank == root else objects[0]

    def allgather_obj(self, obj: Any) -> list[Any]:
        """The objects of all processes, by rank."""
        objects: list[Any] = [None] * self.size
        dist.all_gather_object(objects, obj)
        return objects

    def gather_obj(self, obj: Any, root: int = 0) -> list[Any] | None:
        """The objects of all processes at ``root``; None elsewhere."""
        objects = self.allgather_obj(obj)
        return objects if self.rank == root else None

    def allreduce_obj(self, obj: Any) -> Any:
        """The sum of the objects of all processes."""
        return functools.reduce(operator.add, self.allgather_obj(obj))

    def bcast_data(self, model: Any) -> None:
        """Gives every process the parameters of rank 0."""
        _share(list(model.parameters()))

    broadcast_data = bcast_data


@torch.no_grad()
def _share(params: list[Any]) -> None:
    """Gives every process the parameters of rank 0."""
    for param in params:
        if not is_lazy(param):
            dist.broadcast(param.data, 0)


@torch.no_grad()
def _average_gradients(params: list[Any], size: int) -> None:
    """Replaces the gradients by their means over the processes; one that is missing counts as zero."""
    params = [p for p in params if p.requires_grad and not is_lazy(p)]
    for param in params:
        param.grad = torch.zeros_like(param) if param.grad is None else param.grad
    grads = [param.grad for param in params]
    flat = parameters_to_vector(grads)
    mean = flat.to(torch.promote_types(flat.dtype, torch.float32), copy=True)
    dist.all_reduce(mean)
    vector_to_parameters((mean * (1.0 / size)).to(flat.dtype), grads)


def create_multi_node_optimizer(actual_optimizer: Any, communicator: Communicator) -> Any:
    """Makes an optimizer step by the mean of the gradients of all processes.

    Its first step, and each one before which parameters got their shapes, only gives all processes the parameters of
    rank 0. Source: chainermn.create_multi_node_optimizer.
    """
    step, known = actual_optimizer.step, None

    def step_together(optimizer: Any, closure: None = None) -> None:
        nonlocal known
        params = [param for group in optimizer.param_groups for param in group["params"]]
        before, known = known, [is_lazy(param) for param in params]
        if known != before:
            _share(params)
        else:
            _average_gradients(params, communicator.size)
            step()

    actual_optimizer.step = types.MethodType(step_together, actual_optimizer)
    return actual_optimizer


def create_multi_node_evaluator(evaluator: Any, communicator: Any) -> Any:
    """Makes an evaluator average its results over the processes; every process evaluates its own data.

    Source: chainermn.create_multi_node_evaluator.
    """
    evaluate = evaluator.evaluate

    def evaluate_everywhere() -> dict[str, Any]:
        own = {name: x.detach().cpu() if isinstance(x, Tensor) else x for name, x in evaluate().items()}
        results = communicator.allgather_obj(own)
        names = sorted(set().union(*results))
        return {name: sum(result[name] for result in results) / len(results) for name in names}

    evaluator.evaluate = evaluate_everywhere
    return evaluator


def scatter_dataset(dataset: Any, comm: Any, root: int = 0, shuffle: bool = False, seed: Any = None) -> Subset[Any]:
    """The share of this process of the data set that ``root`` gives; all shares are of one length.

    ``shuffle`` permutes the examples first, as Chainer's does for the same seed. Source: chainermn.scatter_dataset.
    """
    given = None
    if comm.rank == root:
        given = dataset, np.random.RandomState(seed).permutation(len(dataset)) if shuffle else range(len(dataset))
    dataset, order = comm.bcast_obj(given, root=root)
    if len(order) < comm.size:
        raise ValueError(f"{len(order)} examples cannot be shared by {comm.size} processes")
    start = len(order) * comm.rank // comm.size
    return Subset(dataset, order[start : start + (len(order) + comm.size - 1) // comm.size])
