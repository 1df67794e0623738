"""Communication inside the graph: what is sent forward as values comes back as gradients.

Point-to-point communication splits a graph over processes. ``distributed_send`` returns a *delegate*, a zero that
depends on what was sent: its backward waits for the gradients from the receiver. Whoever receives or computes next
hands the delegate on (``distributed_recv(..., delegate_variable)``, ``pseudo_connect``), so that the backward passes of
all processes meet in the reverse order of the forward passes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import torch

from chainer2torch.compat.distributed.communicators import Communicator


def _connection() -> torch.Tensor:
    """An input that asks for a gradient, so that backward reaches a communication whose inputs do not."""
    return torch.zeros((), requires_grad=True)


def _one_or_all(outputs: tuple[torch.Tensor, ...]) -> Any:
    return outputs[0] if len(outputs) == 1 else outputs


def distributed_send(x: Any, communicator: Communicator, rank: int, tag: int = 0) -> torch.Tensor:
    """Sends a tensor, or a list or tuple of tensors, to a process; returns the delegate.

    Raises:
        ValueError: ``rank`` is this process.
    Source: chainermn.functions.send. Its delegate is empty; here it is a scalar, so that ``backward()`` needs no
    argument.
    """
    _check_peer(rank, communicator)
    tensors = tuple(x) if isinstance(x, (list, tuple)) else (x,)
    return _Send.apply(communicator, rank, tag, _connection(), *tensors)


def distributed_recv(
    communicator: Communicator,
    rank: int,
    delegate_variable: torch.Tensor | None = None,
    tag: int = 0,
    force_tuple: bool = False,
) -> Any:
    """The tensor, or the tuple of tensors, that a process sent with :func:`distributed_send`.

    Args:
        delegate_variable: delegate of what this process did before, whose backward must come after this one.
        force_tuple: a tuple also for one tensor.
    Raises:
        ValueError: ``rank`` is this process.
    Source: chainermn.functions.recv.
    """
    _check_peer(rank, communicator)
    delegate = _connection() if delegate_variable is None else delegate_variable
    received = _Receive.apply(communicator, rank, tag, delegate)
    return received if force_tuple else _one_or_all(received)


def pseudo_connect(delegate_variable: torch.Tensor | None, *actual_variables: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The given tensors, connected with a delegate: their backward goes on to the delegate's.

    Source: chainermn.functions.pseudo_connect.
    """
    return _PseudoConnect.apply(_connection() if delegate_variable is None else delegate_variable, *actual_variables)


def distributed_allgather(comm: Communicator, x: torch.Tensor) -> Any:
    """The tensors of all processes, of one dtype; one tensor when there is one process.

    Backward: every process gets the sum of the gradients of its tensor. Source: chainermn.functions.allgather.
    """
    return _one_or_all(_AllGather.apply(comm, x))


def distributed_alltoall(comm: Communicator, xs: Sequence[torch.Tensor]) -> Any:
    """Sends ``xs[i]`` to process i; what each process sent here. Backward sends the gradients back.

    Raises:
        ValueError: there are not as many tensors as processes.
    Source: chainermn.functions.alltoall.
    """
    if len(xs) != comm.size:
        raise ValueError("The length of xs must be same as communicator size.")
    return _one_or_all(_AllToAll.apply(comm, *xs))


def distributed_bcast(comm: Communicator, x: torch.Tensor | None, root: int = 0) -> torch.Tensor:
    """The tensor that ``root`` gave. Backward: ``root`` gets the sum of all gradients.

    Source: chainermn.functions.bcast.
    """
    return _Broadcast.apply(comm, root, x if comm.rank == root else _connection())


def distributed_gather(comm: Communicator, x: torch.Tensor, root: int = 0) -> Any:
    """The tensors of all processes at ``root``; a delegate elsewhere, whose backward waits for the gradient.

    Source: chainermn.functions.gather.
    """
    return _one_or_all(_Gather.apply(comm, root, x))


def distributed_scatter(comm: Communicator, xs: Sequence[torch.Tensor] | None, root: int = 0) -> torch.Tensor:
    """Each process gets one of the tensors that ``root`` gives. Backward gathers the gradients there.

    Source: chainermn.functions.scatter.
    """
    given = tuple(xs) if comm.rank == root and xs is not None else (_connection(),)
    return _Scatter.apply(comm, root, *given)


def _check_peer(rank: int, communicator: Communicator) -> None:
    if rank == communicator.rank:
        raise ValueError("rank must be different from communicator rank, otherwise deadlock occurs")


class _Send(torch.autograd.Function):
    apply: ClassVar[Callable[..., torch.Tensor]]

    @staticmethod
    def forward(
        ctx: Any, comm: Communicator, rank: int, tag: int, connection: torch.Tensor, *tensors: torch.Tensor
    ) -> torch.Tensor:
        ctx.peer = comm, rank, tag
        comm.send(tensors[0] if len(tensors) == 1 else tensors, rank, tag)
        return tensors[0].new_zeros((), dtype=torch.float32)

    @staticmethod
    def backward(ctx: Any, delegate_grad: torch.Tensor) -> Any:
        comm, rank, tag = ctx.peer
        return None, None, None, torch.zeros(()), *comm.recv(rank, tag)


class _Receive(torch.autograd.Function):
    apply: ClassVar[Callable[..., tuple[torch.Tensor, ...]]]

    @staticmethod
    def forward(ctx: Any, comm: Communicator, rank: int, tag: int, delegate: torch.Tensor) -> tuple[torch.Tensor, ...]:
        ctx.peer = comm, rank, tag
        ctx.save_for_backward(delegate)
        received = comm.recv(rank, tag)
        return received if isinstance(received, tuple) else (received,)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        comm, rank, tag = ctx.peer
        comm.send(grads, rank, tag)
        return None, None, None, torch.zeros_like(ctx.saved_tensors[0])


class _PseudoConnect(torch.autograd.Function):
    apply: ClassVar[Callable[..., tuple[torch.Tensor, ...]]]

    @staticmethod
    def forward(ctx: Any, delegate: torch.Tensor, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        ctx.save_for_backward(delegate)
        outputs = tuple(tensor.view_as(tensor) for tensor in tensors)
        ctx.mark_non_differentiable(*(output for output in outputs if not output.is_floating_point()))
        return outputs

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        return torch.zeros_like(ctx.saved_tensors[0]), *grads


class _AllGather(torch.autograd.Function):
    apply: ClassVar[Callable[..., tuple[torch.Tensor, ...]]]

    @staticmethod
    def forward(ctx: Any, comm: Communicator, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        ctx.comm = comm
        return comm.allgather(x)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        return None, torch.stack(ctx.comm.alltoall(grads)).sum(0)


class _AllToAll(torch.autograd.Function):
    apply: ClassVar[Callable[..., tuple[torch.Tensor, ...]]]

    @staticmethod
    def forward(ctx: Any, comm: Communicator, *xs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        ctx.comm = comm
        return comm.alltoall(xs)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        return None, *ctx.comm.alltoall(grads)


class _Broadcast(torch.autograd.Function):
    apply: ClassVar[Callable[..., torch.Tensor]]

    @staticmethod
    def forward(ctx: Any, comm: Communicator, root: int, x: torch.Tensor) -> torch.Tensor:
        ctx.comm, ctx.root = comm, root
        ctx.save_for_backward(x)
        y: torch.Tensor = comm.bcast(x, root=root)
        return y.view_as(y)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        grads = ctx.comm.gather(grad, ctx.root)
        return None, None, torch.zeros_like(ctx.saved_tensors[0]) if grads is None else torch.stack(grads).sum(0)


class _Gather(torch.autograd.Function):
    apply: ClassVar[Callable[..., tuple[torch.Tensor, ...]]]

    @staticmethod
    def forward(ctx: Any, comm: Communicator, root: int, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        ctx.comm, ctx.root = comm, root
        gathered = comm.gather(x, root)
        return (x.new_zeros(()),) if gathered is None else gathered

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        return None, None, ctx.comm.scatter(grads if ctx.comm.rank == ctx.root else None, ctx.root)


class _Scatter(torch.autograd.Function):
    apply: ClassVar[Callable[..., torch.Tensor]]

    @staticmethod
    def forward(ctx: Any, comm: Communicator, root: int, *xs: torch.Tensor) -> torch.Tensor:
        ctx.comm, ctx.root = comm, root
        ctx.save_for_backward(*xs)
        y: torch.Tensor = comm.scatter(xs if comm.rank == root else None, root)
        return y

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        grads = ctx.comm.gather(grad, ctx.root)
        return None, None, *(map(torch.zeros_like, ctx.saved_tensors) if grads is None else grads)
