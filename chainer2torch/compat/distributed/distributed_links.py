"""Modules whose parts, batch statistics or states are spread over processes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import torch
import torch.nn as nn

from chainer2torch.compat.links.chains import ChainList
from chainer2torch.compat.distributed.communicators import Communicator
from chainer2torch.compat.links.copies import deepcopy
from chainer2torch.compat.backend.devices import _send
from chainer2torch.compat.distributed.distributed_functions import distributed_recv, distributed_send, pseudo_connect
from chainer2torch.compat.links.normalization_links import BatchNormalization
from chainer2torch.compat.links.sequential import Sequential


class MultiNodeChainList(ChainList):
    """The parts of a model that this process has, each with the ranks that it gets its input from and sends to.

    Source: chainermn.MultiNodeChainList.
    """

    def __init__(self, comm: Communicator) -> None:
        super().__init__()
        self._comm = comm
        self._rank_inouts: list[tuple[list[int] | None, list[int] | None]] = []

    def add_link(self, link: nn.Module, rank_in: Any = None, rank_out: Any = None) -> None:
        """Adds a part.

        Args:
            rank_in: rank or list of ranks that its inputs come from, perhaps this one; None: the inputs of the model.
            rank_out: rank or list of ranks that its output goes to; None: it is the output of the model.
        Raises:
            ValueError: there is a part with ``rank_out=None`` already.
        """
        super().add_link(link)
        if rank_out is None and any(out is None for _, out in self._rank_inouts):
            raise ValueError(
                "MultiNodeChainList cannot have more than two computational graph component whose rank_out is None"
            )
        ins, outs = ([ranks] if isinstance(ranks, int) else ranks for ranks in (rank_in, rank_out))
        self._rank_inouts.append((ins, outs))

    def forward(self, *inputs: Any) -> Any:
        """Runs the parts in the order in which they were added; the model's output, or a delegate without one.

        Raises:
            ValueError: a part sent something to this process that no part took.
        """
        to_myself: deque[Any] = deque()
        output = delegate = None
        for i, (part, (rank_in, rank_out)) in enumerate(zip(list(self), self._rank_inouts, strict=True)):
            if rank_in is not None:
                y = part(*self._receive(rank_in, delegate, to_myself))
                delegate = None
            elif i == 0:
                y = part(*inputs)
            else:
                (connected,) = pseudo_connect(delegate, *inputs)
                y = part(connected)
            if rank_out is None:
                output = delegate = y
            else:
                delegate = self._send(y, rank_out, delegate, to_myself)
        if to_myself:
            raise ValueError(
                "Communication queue is not empty at the end of forward. Make sure if all rank_in and "
                "rank_out correspond each other."
            )
        if output is None or output is delegate:
            return delegate
        return pseudo_connect(delegate, output)[0]

    def _receive(self, ranks: Sequence[int], delegate: Any, to_myself: deque[Any]) -> list[Any]:
        received: list[Any] = []
        for rank in ranks:
            if rank != self._comm.rank:
                x = distributed_recv(self._comm, rank, delegate)
            elif delegate is None:
                x = to_myself.popleft()
            else:
                (x,) = pseudo_connect(delegate, to_myself.popleft())
            received.append(x)
            delegate = x  # backward meets the ranks in reverse order
        return received

    def _send(self, y: Any, ranks: Sequence[int], delegate: Any, to_myself: deque[Any]) -> Any:
        for i, rank in enumerate(ranks):
            to_itself = rank == self._comm.rank
            if delegate is not None and (to_itself or i > 0):
                (y,) = pseudo_connect(delegate, y)
            if to_itself:
                to_myself.append(y)
                delegate = y
            else:
                delegate = distributed_send(y, self._comm, rank)
        return delegate


class MultiNodeBatchNormalization(BatchNormalization):
    """Batch normalization by the statistics of the batches of all processes, which count equally.

    ``size`` (int or tuple) is the shape of the axes after the first one. The running variance starts at 0. Source:
    chainermn.links.MultiNodeBatchNormalization; as there the gradients of gamma and beta are means over the processes,
    and the correction of the running variance goes by the size of this process' batch.
    """

    def __init__(
        self,
        size: Any,
        comm: Communicator,
        decay: float = 0.9,
        eps: float = 2e-5,
        dtype: Any = None,
        use_gamma: bool = True,
        use_beta: bool = True,
        initial_gamma: Any = None,
        initial_beta: Any = None,
        communication_backend: str = "auto",
    ) -> None:
        super().__init__(size, decay, eps, dtype, use_gamma, use_beta, initial_gamma, initial_beta, initial_avg_var=0)
        if communication_backend not in ("mpi", "nccl", "auto"):
            raise ValueError(f"MultiNodeBatchNormalization does not support {communication_backend}.")
        if communication_backend == "nccl" and comm.name != "pure_nccl":
            raise ValueError(f"nccl is not supported in MultiNodeBatchNormalization when using {comm.name}.")
        self.comm = comm

    def _normalize_mixed(self, x: torch.Tensor, decay: float) -> torch.Tensor:
        if not self.training:
            return super()._normalize_mixed(x, decay)
        running_mean, running_var = self.running_mean.view(-1), self.running_var.view(-1)
        gamma = torch.ones_like(running_mean) if self.weight is None else self.weight.view(-1)
        beta = torch.zeros_like(running_mean) if self.bias is None else self.bias.view(-1)
        y, mean, var = _MultiNodeNormalize.apply(x, gamma, beta, self.comm, self.eps)
        with torch.no_grad():
            running_mean.mul_(decay).add_(mean, alpha=1 - decay)
            running_var.mul_(decay).add_(var, alpha=(1 - decay) * len(x) / max(len(x) - 1, 1))
        return y


class _MultiNodeNormalize(torch.autograd.Function):
    """Normalizes (samples, features); one communication forward and one backward."""

    apply: ClassVar[Callable[..., tuple[torch.Tensor, torch.Tensor, torch.Tensor]]]

    @staticmethod
    def forward(
        ctx: Any, x: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor, comm: Communicator, eps: float
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        wide = x.to(gamma.dtype)
        mean, square = comm.start_mean([torch.stack([wide.mean(0), wide.square().mean(0)])])()[0]
        var = square - mean.square()
        inverse_std = (var + eps).rsqrt()
        normal = (wide - mean) * inverse_std
        ctx.comm = comm
        ctx.save_for_backward(normal, gamma, inverse_std)
        ctx.mark_non_differentiable(mean, var)
        return (gamma * normal + beta).to(x.dtype), mean, var

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        normal, gamma, inverse_std = ctx.saved_tensors
        grad = grads[0].to(gamma.dtype)
        beta_grad, gamma_grad = ctx.comm.start_mean([torch.stack([grad.sum(0), (grad * normal).sum(0)])])()[0]
        x_grad = gamma * inverse_std * (grad - (normal * gamma_grad + beta_grad) / len(normal))
        return x_grad.to(grads[0].dtype), gamma_grad, beta_grad, None, None


def create_mnbn_model(link: nn.Module, comm: Communicator, communication_backend: str = "auto") -> nn.Module:
    """A copy of a model with :class:`MultiNodeBatchNormalization` in place of every batch normalization.

    Source: chainermn.links.create_mnbn_model.
    """
    copied = deepcopy(link)
    return _with_multi_node_normalization(copied, comm, communication_backend)


def _with_multi_node_normalization(module: nn.Module, comm: Communicator, backend: str) -> nn.Module:
    if type(module) is BatchNormalization or isinstance(module, nn.modules.batchnorm._BatchNorm):
        return _multi_node_version(module, comm, backend)
    if isinstance(module, Sequential):  # it keeps a list of its layers
        for i, layer in enumerate(list(module)):
            if isinstance(layer, nn.Module):
                module[i] = _with_multi_node_normalization(layer, comm, backend)
        return module
    for name, child in list(module.named_children()):
        setattr(module, name, _with_multi_node_normalization(child, comm, backend))
    return module


def _multi_node_version(module: Any, comm: Communicator, backend: str) -> MultiNodeBatchNormalization:
    decay = module.decay if isinstance(module, BatchNormalization) else 1 - module.momentum
    made = MultiNodeBatchNormalization(
        tuple(module.running_mean.shape),
        comm,
        decay,
        module.eps,
        module.running_mean.dtype,
        communication_backend=backend,
    )
    for name in ("weight", "bias", "running_mean", "running_var"):
        setattr(made, name, getattr(module, name))
    if isinstance(module, BatchNormalization):
        made.N.copy_(module.N)
    return made.train(module.training)


def create_multi_node_n_step_rnn(
    actual_link: nn.Module, communicator: Communicator, rank_in: int | None = None, rank_out: int | None = None
) -> MultiNodeNStepRNN:
    """An NStep recurrent layer whose first states come from another process, and whose last ones go to another.

    Raises:
        ValueError: ``actual_link`` is no NStep layer.
    Source: chainermn.links.create_multi_node_n_step_rnn.
    """
    return MultiNodeNStepRNN(actual_link, communicator, rank_in, rank_out)


class MultiNodeNStepRNN(nn.Module):
    """What :func:`create_multi_node_n_step_rnn` makes: ``*states, ys, delegate = layer(xs)``.

    ``delegate`` is None without ``rank_out``.
    """

    def __init__(self, link: Any, communicator: Communicator, rank_in: int | None, rank_out: int | None) -> None:
        super().__init__()
        if not hasattr(link, "n_cells"):
            raise ValueError("link must be NStepRNN and its inherited link")
        self.actual_rnn = link
        self.communicator = communicator
        self.rank_in = rank_in
        self.rank_out = rank_out
        self.n_cells = link.n_cells

    def forward(self, *inputs: Any) -> tuple[Any, ...]:
        cells: list[Any] = [None] * self.n_cells
        if self.rank_in is not None:
            cells = [distributed_recv(self.communicator, self.rank_in) for _ in cells]
        outputs = self.actual_rnn(*cells, *_send(inputs, None))  # NumPy arrays become tensors
        delegate = None
        if self.rank_out is not None:
            for cell in outputs[:-1]:
                if delegate is not None:
                    (cell,) = pseudo_connect(delegate, cell)
                delegate = distributed_send(cell, self.communicator, self.rank_out)
        return (*outputs, delegate)
