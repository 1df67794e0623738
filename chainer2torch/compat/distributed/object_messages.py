"""The few methods of mpi4py's communicators that ChainerMN programs call on ``comm.mpi_comm``."""

from __future__ import annotations

from typing import Any


class ObjectMessages:
    """``comm.mpi_comm``: Barrier, and the methods for objects. Reductions are sums.

    Source: mpi4py.MPI.Comm.
    """

    def __init__(self, comm: Any) -> None:
        self._comm = comm
        self.rank: int = comm.rank
        self.size: int = comm.size
        self.gather = comm.gather_obj
        self.allgather = comm.allgather_obj
        self.scatter = comm.scatter_obj
        self.allreduce = comm.allreduce_obj

    def Get_rank(self) -> int:
        """The rank of this process."""
        return self.rank

    def Get_size(self) -> int:
        """The number of processes."""
        return self.size

    def Barrier(self) -> None:
        """Waits until every process is here."""
        self._comm.allgather_obj(None)

    barrier = Barrier

    def bcast(self, obj: Any, root: int = 0) -> Any:
        """The object that ``root`` gave."""
        return self._comm.bcast_obj(obj, root=root)

    def send(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Sends an object; returns at once."""
        self._comm.send_obj(obj, dest, tag)

    def recv(self, source: int, tag: int | None = None) -> Any:
        """The next object from a process, by default with any tag."""
        return self._comm.recv_obj(source, tag=tag)
