"""ChainerMN's communicators over torch.distributed: ranks, object and array communication, means of gradients.

Arrays are tensors or NumPy arrays and arrive as what they were sent as; tensors that were sent from a GPU arrive on
the receiver's current GPU.
"""

from __future__ import annotations

import functools
import operator
import os
import pickle
import socket
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.distributed as dist

from chainer2torch.compat.distributed.background_sender import BackgroundSender
from chainer2torch.compat.distributed.communicator_base import CommunicatorBase, _initialized_parameters
from chainer2torch.compat.backend.devices import _as_tensor
from chainer2torch.compat.distributed.except_hook import add_hook_if_enabled
from chainer2torch.compat.initializers.initializers import _torch_dtype
from chainer2torch.compat.distributed.object_messages import ObjectMessages
from chainer2torch.compat.distributed.process_group import start_process_group

_COMMUNICATORS = tuple("naive flat hierarchical two_dimensional single_node non_cuda_aware pure_nccl dummy".split())
_WIRE_DTYPES = (torch.int32, torch.int64, torch.float16, torch.float32, torch.float64)


def create_communicator(
    communicator_name: str = "pure_nccl", *, allreduce_grad_dtype: Any = None, batched_copy: bool = True
) -> Communicator:
    """A communicator of all processes of the job, which torchrun or mpirun started. All of them must call it.

    Args:
        communicator_name: ``'naive'`` for CPUs (gloo); ``'pure_nccl'`` for GPUs (NCCL), as are Chainer's other names
            ``'flat'``, ``'hierarchical'``, ``'two_dimensional'``, ``'single_node'`` and ``'non_cuda_aware'``;
            ``'dummy'`` leaves gradients as they are.
        allreduce_grad_dtype: dtype in which ``'pure_nccl'`` exchanges gradients; by default their own.
        batched_copy: accepted for compatibility; gradients are always exchanged together.
    Raises:
        ValueError: the name is not known, or ``allreduce_grad_dtype`` is given to another communicator.
        RuntimeError: the communicator needs a GPU and there is none.
    Source: chainermn.create_communicator.
    """
    if communicator_name not in _COMMUNICATORS:
        raise ValueError(f"Unrecognized communicator: {communicator_name!r}; known are {', '.join(_COMMUNICATORS)}")
    if communicator_name != "pure_nccl" and allreduce_grad_dtype is not None:
        raise ValueError("allreduce_grad_dtype is only available at 'pure_nccl' communicator.")
    if communicator_name != "naive" and not (torch.cuda.is_available() and dist.is_nccl_available()):
        raise RuntimeError(
            f"the communicator {communicator_name!r} needs a GPU and NCCL, and this PyTorch finds none; "
            "'naive' works on the CPU"
        )
    add_hook_if_enabled()
    start_process_group()
    dtype = None if allreduce_grad_dtype is None else _torch_dtype(allreduce_grad_dtype)
    return Communicator(communicator_name, list(range(dist.get_world_size())), dist.group.WORLD, dtype)


class _Description(NamedTuple):
    """What a receiver must know before an array arrives."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    kind: str  # "numpy", or the type of the tensor's device


class Communicator(CommunicatorBase):
    """Processes that work together; :func:`create_communicator` and :meth:`split` make them.

    Methods without a rank among their arguments are collective: every process of the communicator calls them, in the
    same order. Source: chainermn.communicators.
    """

    rank = size = intra_rank = intra_size = inter_rank = inter_size = 0

    def __init__(
        self, name: str, members: Sequence[int], group: Any, allreduce_grad_dtype: torch.dtype | None = None
    ) -> None:
        self.name = name
        self.allreduce_grad_dtype = allreduce_grad_dtype
        self.batched_copy = True
        self._members = list(members)  # by rank here: the rank in the whole job
        self._group = group
        self.size = len(self._members)
        self.rank = self._members.index(dist.get_rank())
        self._unclaimed: dict[int, list[Any]] = defaultdict(list)  # messages that arrived before they were asked for
        self._senders: dict[int, BackgroundSender] = {}
        # two launchers on one machine count as two nodes, as they do for torchrun
        node = (socket.gethostname(), os.environ.get("GROUP_RANK"))
        nodes = self.allgather_obj(node)
        self.intra_rank = nodes[: self.rank].count(node)
        self.intra_size = nodes.count(node)
        first_seen = list(dict.fromkeys(nodes))
        self.inter_rank = first_seen.index(node)
        self.inter_size = len(first_seen)

    @property
    def mpi_comm(self) -> ObjectMessages:
        """Barrier and the methods for objects, under mpi4py's names."""
        return ObjectMessages(self)

    def __deepcopy__(self, memo: Any) -> Communicator:
        return self  # a copied model talks to the same processes

    def set_config(self, name: str, value: Any = True, **kwargs: Any) -> None:
        """Sets ``'batched_copy'`` (no effect here) or ``'allreduce_grad_dtype'``; others raise ValueError."""
        if name not in ("batched_copy", "allreduce_grad_dtype"):
            raise ValueError(f"Unknown config: {name}")
        setattr(self, name, _torch_dtype(value) if name == "allreduce_grad_dtype" and value is not None else value)

    def get_config(self, name: str | None = None) -> Any:
        """The value of a setting, or all of them."""
        settings = {**{key: getattr(self, key) for key in ("batched_copy", "allreduce_grad_dtype")}, **self._settings()}
        return settings if name is None else settings[name]

    def split(self, color: int, key: int) -> Communicator:
        """The communicator of the processes that give the same ``color``; ``key`` orders their ranks."""
        given = self.allgather_obj((color, key))
        mine = sorted((other_key, rank) for rank, (other, other_key) in enumerate(given) if other == color)
        members = [self._members[rank] for _, rank in mine]
        group = dist.new_group(sorted(members), use_local_synchronization=True)
        made = Communicator(self.name, members, group, self.allreduce_grad_dtype)
        self.allgather_obj(None)  # no process goes on, and perhaps ends, while another one still connects
        return made

    def finalize(self) -> None:
        """Waits for what is being sent and leaves the group. The communicator must not be used afterwards."""
        for sender in self._senders.values():
            sender.finish()
        dist.destroy_process_group(self._group)

    # -- objects: anything that pickle takes -----------------------------------------------------------------------

    def send_obj(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Sends an object; returns at once."""
        self._post(obj, (), dest, tag)

    def recv_obj(self, source: int, status: Any = None, tag: int | None = None) -> Any:
        """The next object from a process, by default with any tag. ``status`` must be None."""
        if status is not None:
            raise TypeError("status is not supported: it is an object of mpi4py")
        return self._claim(source, tag)[0]

    def bcast_obj(self, obj: Any, max_buf_len: int | None = None, root: int = 0) -> Any:
        """The object that ``root`` gave; what the others give is ignored. ``max_buf_len`` has no effect."""
        objects = [obj]
        dist.broadcast_object_list(objects, self._members[root], self._group, torch.device("cpu"))
        return obj if self.rank == root else objects[0]

    def allgather_obj(self, obj: Any) -> list[Any]:
        """The objects of all processes, by rank."""
        gathered: list[Any] = [None] * self.size
        dist.all_gather_object(gathered, obj, self._group)
        return [gathered[self._position(rank)] for rank in range(self.size)]

    def gather_obj(self, obj: Any, root: int = 0) -> list[Any] | None:
        """The objects of all processes, by rank, at ``root``; None elsewhere."""
        gathered = self.allgather_obj(obj)
        return gathered if self.rank == root else None

    def allreduce_obj(self, obj: Any) -> Any:
        """The sum of the objects of all processes, by ``+`` in the order of the ranks."""
        return functools.reduce(operator.add, self.allgather_obj(obj))

    # -- arrays ----------------------------------------------------------------------------------------------------

    def send(self, data: Any, dest: int, tag: int) -> None:
        """Sends an array, or a tuple of arrays of one dtype, and returns when it has arrived."""
        several = isinstance(data, (tuple, list))
        self._post(several, list(data) if several else [data], dest, tag).result()

    def recv(self, source: int, tag: int) -> Any:
        """The array, or the tuple of arrays, that a process sent with this tag."""
        several, arrays = self._claim(source, tag)
        return tuple(arrays) if several else arrays[0]

    def bcast(self, x: Any, root: int = 0) -> Any:
        """The array that ``root`` gave; what the others give is ignored."""
        description = self.bcast_obj(self._describe([x])[0] if self.rank == root else None, root=root)
        tensor = self._wire(x) if self.rank == root else self._empty(description)
        dist.broadcast(tensor, self._members[root], self._group)
        return x if self.rank == root else self._unwire(tensor, description)

    def gather(self, x: Any, root: int = 0) -> tuple[Any, ...] | None:
        """The arrays of all processes at ``root``, of any shapes and one dtype; None elsewhere."""
        arrays = self._exchange([x if rank == root else None for rank in range(self.size)])
        return arrays if self.rank == root else None

    def allgather(self, x: Any) -> tuple[Any, ...]:
        """The arrays of all processes, of any shapes and one dtype."""
        return self._exchange([x] * self.size)

    def alltoall(self, xs: Sequence[Any]) -> tuple[Any, ...]:
        """Sends ``xs[i]`` to process i and returns what each process sent here."""
        if len(xs) != self.size:
            raise ValueError("The length of data must be same as communicator size.")
        return self._exchange(xs)

    def scatter(self, xs: Any, root: int = 0) -> Any:
        """Each process gets one of the arrays, or one row of the array, that ``root`` gives."""
        if self.rank == root and len(xs) != self.size:
            raise ValueError(f"scatter needs one array for each of the {self.size} processes, not {len(xs)}")
        return self._exchange(list(xs) if self.rank == root else [None] * self.size)[root]

    def allreduce(self, x: Any) -> Any:
        """The sum of the arrays of all processes, which have one shape."""
        (description,) = self._describe([x])
        wire = self._wire(x)
        # float16 is summed in float32, as in Chainer
        total = wire.to(torch.float32 if wire.dtype == torch.float16 else wire.dtype, copy=True)
        dist.all_reduce(total, group=self._group)
        return self._unwire(total.to(wire.dtype), description)

    # -- models ----------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def bcast_data(self, model: torch.nn.Module) -> None:
        """Gives every process the parameters of rank 0. Persistent values, such as running means, stay."""
        for _, param in _initialized_parameters(model):
            data = param.data  # a graph that was built before stays usable, and sees the new values, as in Chainer
            tensor = self._wire(data)
            dist.broadcast(tensor, self._members[0], self._group)
            data.copy_(tensor)

    def multi_node_mean_grad(self, model: torch.nn.Module, zero_fill: bool = False) -> None:
        """Replaces the gradients of a model by their means over the processes.

        Args:
            zero_fill: a parameter without a gradient counts as one with a gradient of zeros; otherwise it is left out.
        Raises:
            RuntimeError: without ``zero_fill``, the processes have gradients for different parameters.
        """
        grads = self.gradients(model, zero_fill)
        if self.name != "dummy":
            for grad, mean in zip(grads, self.start_mean(grads)(), strict=True):
                grad.copy_(mean)

    @torch.no_grad()
    def start_mean(self, tensors: Sequence[torch.Tensor]) -> Callable[[], list[torch.Tensor]]:
        """Starts to compute the means of tensors over the processes; the function that it returns waits for them.

        Tensors of one dtype and device are communicated together.
        """
        alike = defaultdict(list)
        for position, tensor in enumerate(tensors):
            alike[tensor.dtype, tensor.device].append(position)
        jobs = []
        for (dtype, _), positions in alike.items():
            flat = torch.cat([tensors[position].reshape(-1) for position in positions])
            flat = flat.to(self.allreduce_grad_dtype or (torch.float32 if dtype == torch.float16 else dtype))
            flat = flat.cpu() if self.name == "naive" else flat
            jobs.append((positions, flat, dist.all_reduce(flat, group=self._group, async_op=True)))

        def finish() -> list[torch.Tensor]:
            means = list(tensors)
            for positions, flat, work in jobs:
                work.wait()
                parts = flat.mul_(1.0 / self.size).split([tensors[position].numel() for position in positions])
                for position, part in zip(positions, parts, strict=True):
                    means[position] = part.view_as(tensors[position]).to(tensors[position])
            return means

        return finish

    # -- how arrays travel -----------------------------------------------------------------------------------------

    def _position(self, rank: int) -> int:
        """Where torch.distributed, which sorts the members of a group, has the process of a rank."""
        return dist.get_group_rank(self._group, self._members[rank])

    def _describe(self, arrays: Sequence[Any]) -> list[_Description]:
        descriptions = []
        for array in arrays:
            if not isinstance(array, (torch.Tensor, np.ndarray)):
                raise TypeError(f"Message object must be a tensor or NumPy array or their tuple, not {type(array)}")
            tensor = _as_tensor(array) if isinstance(array, np.ndarray) else array
            if not isinstance(tensor, torch.Tensor) or tensor.dtype not in _WIRE_DTYPES:
                raise TypeError(f"dtype {array.dtype} is not supported by communicators")
            kind = "numpy" if isinstance(array, np.ndarray) else tensor.device.type
            descriptions.append(_Description(tuple(tensor.shape), tensor.dtype, kind))
        if len({description.dtype for description in descriptions}) > 1:
            raise TypeError("Message objects must be the same dtype")
        return descriptions

    def _wire(self, array: Any) -> torch.Tensor:
        """A contiguous tensor, on the CPU for gloo."""
        tensor: torch.Tensor = (_as_tensor(array) if isinstance(array, np.ndarray) else array).detach()
        return (tensor.cpu() if self.name == "naive" else tensor).contiguous()

    def _empty(self, description: _Description) -> torch.Tensor:
        on_gpu = description.kind == "cuda" and self.name != "naive"
        return torch.empty(description.shape, dtype=description.dtype, device="cuda" if on_gpu else "cpu")

    @staticmethod
    def _unwire(tensor: torch.Tensor, description: _Description) -> Any:
        tensor = tensor.view(description.shape)
        return tensor.numpy() if description.kind == "numpy" else tensor.to(description.kind)

    def _exchange(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """Sends ``arrays[i]`` to process i (None: nothing) and returns what each process sent here."""
        given = [array for array in arrays if array is not None]
        described = iter(self._describe(given))
        table = self.allgather_obj([None if array is None else next(described) for array in arrays])
        incoming = [row[self.rank] for row in table]
        dtypes = {description.dtype for row in table for description in row if description is not None}
        if len(dtypes) > 1:
            raise TypeError(f"all dtypes must be the same, not {', '.join(sorted(map(str, dtypes)))}")
        order = sorted(range(self.size), key=self._position)
        sent = [self._wire(arrays[rank]).view(-1) for rank in order if arrays[rank] is not None]
        kind = next(description.kind for row in table for description in row if description is not None)
        empty = self._empty(_Description((0,), dtypes.pop(), kind))
        sizes_out = [0 if arrays[rank] is None else int(np.prod(table[self.rank][rank].shape)) for rank in order]
        sizes_in = [0 if incoming[rank] is None else int(np.prod(incoming[rank].shape)) for rank in order]
        received = empty.new_empty(sum(sizes_in))
        dist.all_to_all_single(received, torch.cat([empty, *sent]), sizes_in, sizes_out, self._group)
        parts = dict(zip(order, received.split(sizes_in), strict=True))
        return tuple(
            None if description is None else self._unwire(parts[rank], description)
            for rank, description in enumerate(incoming)
        )

    def _post(self, body: Any, arrays: Sequence[Any], dest: int, tag: int) -> Future[None]:
        """Lets the background sender of ``dest`` send a message."""
        descriptions = self._describe(arrays)
        if dest == self.rank:
            self._unclaimed[dest].append((tag, body, list(arrays)))
            done: Future[None] = Future()
            done.set_result(None)
            return done
        header = torch.frombuffer(bytearray(pickle.dumps((tag, body, descriptions))), dtype=torch.uint8)
        tensors = [torch.tensor([len(header)]), header, *(self._wire(array) for array in arrays)]
        if dest not in self._senders:
            self._senders[dest] = BackgroundSender()
        return self._senders[dest].submit(self._send_all, tensors, self._members[dest])

    def _send_all(self, tensors: Sequence[torch.Tensor], member: int) -> None:
        for tensor in tensors:
            if tensor.numel():
                dist.send(tensor, member, self._group)

    def _claim(self, source: int, tag: int | None) -> Any:
        """``(body, arrays)`` of the next message with the tag; messages with other tags are kept for later."""
        waiting = self._unclaimed[source]
        for i, (kept_tag, *message) in enumerate(waiting):
            if tag in (None, kept_tag):
                del waiting[i]
                return message
        for arrived_tag, *message in self._arrivals(source):
            if tag in (None, arrived_tag):
                return message
            waiting.append((arrived_tag, *message))

    def _arrivals(self, source: int) -> Iterator[tuple[int, Any, list[Any]]]:
        member = self._members[source]
        while True:
            length = torch.empty(1, dtype=torch.int64)
            dist.recv(length, member, self._group)
            header = torch.empty(int(length), dtype=torch.uint8)
            dist.recv(header, member, self._group)
            tag, body, descriptions = pickle.loads(header.numpy().tobytes())
            arrays = []
            for description in descriptions:
                tensor = self._empty(description)
                if tensor.numel():
                    dist.recv(tensor, member, self._group)
                arrays.append(self._unwire(tensor, description))
            yield tag, body, arrays
