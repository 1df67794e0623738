"""Which process of the job this is, and the torch.distributed group that all processes of the job form."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Mapping

import torch
import torch.distributed as dist

# The variables that say which process this is and how many there are; the first pair that is set counts.
_LAUNCHERS = (
    ("RANK", "WORLD_SIZE"),  # torchrun
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),  # mpirun of Open MPI
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),  # MVAPICH2
    ("PMI_RANK", "PMI_SIZE"),  # MPICH, Intel MPI and others
)
_LOCAL_SIZES = ("OMPI_COMM_WORLD_LOCAL_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS")


def launched_rank(environ: Mapping[str, str] = os.environ) -> tuple[int, int]:
    """``(rank, number of processes)`` as torchrun or mpirun tell it; ``(0, 1)`` for a program that was just started.

    Raises:
        ValueError: the variables contradict each other.
    """
    for rank_name, size_name in _LAUNCHERS:
        if rank_name not in environ or size_name not in environ:
            continue
        rank, size = _number(environ, rank_name), _number(environ, size_name)
        if not 0 <= rank < size:
            raise ValueError(f"{rank_name}={rank} does not fit a world of {size} processes ({size_name})")
        stated = _number(environ, "WORLD_SIZE") if "WORLD_SIZE" in environ else size
        if stated != size:
            raise ValueError(f"the world size does not match: {size_name}={size} but WORLD_SIZE={stated}")
        return rank, size
    for names in _LAUNCHERS:
        if any(name in environ for name in names):
            raise ValueError(f"{' and '.join(names)} must be set together: start the program with torchrun or mpirun")
    return 0, 1


def _number(environ: Mapping[str, str], name: str) -> int:
    try:
        return int(environ[name])
    except ValueError:
        raise ValueError(f"{name}={environ[name]} is not a whole number") from None


def rendezvous_address(size: int, environ: Mapping[str, str] = os.environ) -> str:
    """Where the processes meet: ``tcp://MASTER_ADDR:MASTER_PORT``; torchrun sets both.

    Under mpirun on one machine both have defaults (this machine, 29500).
    Raises:
        ValueError: MASTER_ADDR is not set and the processes are, or may be, on several machines.
    """
    address = environ.get("MASTER_ADDR")
    if address is None:
        local = next((int(environ[name]) for name in _LOCAL_SIZES if name in environ), None)
        if size > 1 and local != size:
            raise ValueError(
                "MASTER_ADDR is not set: start the program with torchrun, or give mpirun the host of rank "
                "0 and a free port there (Open MPI: -x MASTER_ADDR=... -x MASTER_PORT=...)"
            )
        address = "127.0.0.1"
    return f"tcp://{address}:{environ.get('MASTER_PORT', '29500')}"


def start_process_group() -> None:
    """Joins this process to the job, unless the program has done so: gloo for CPU tensors, NCCL for those on GPUs.

    A program that was started without torchrun or mpirun is a job of one process.
    """
    if dist.is_initialized():
        return
    rank, size = launched_rank()
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() and dist.is_nccl_available() else "gloo"
    if size == 1:
        dist.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1)
    else:
        dist.init_process_group(backend, init_method=rendezvous_address(size), rank=rank, world_size=size)
    atexit.register(_leave_at_exit)


def ends_with_an_exception() -> bool:
    """Whether the program is ending because of an exception that nobody caught."""
    return getattr(sys, "last_value", None) is not None


def _leave_at_exit() -> None:
    # leaving may wait for the other processes, which a program that failed must not do
    if dist.is_initialized() and not ends_with_an_exception():
        dist.destroy_process_group()
