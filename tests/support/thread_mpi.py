"""The part of mpi4py that ChainerMN uses, between threads of one process: ChainerMN's own code runs without an MPI.

``run_ranks(size, function)`` calls ``function(comm)`` in one thread for each rank, with ChainerMN's naive communicator.
"""

import contextlib
import pickle
import sys
import threading
import types
import warnings

import numpy as np

TIMEOUT = 60


class World:
    """What the ranks of one communicator share."""

    def __init__(self, size):
        self.size = size
        self.slots = [None] * size
        self.barrier = threading.Barrier(size)
        self.arrived = threading.Condition()
        self.messages = {}


class Comm:
    """One rank's view of a world, with mpi4py's methods."""

    def __init__(self, world, rank):
        self.world, self.rank, self.size = world, rank, world.size

    def Get_rank(self):
        return self.rank

    def _exchange(self, value, read):
        """Shows ``value`` to all ranks and returns ``read(values)``, called while nobody changes anything."""
        self.world.slots[self.rank] = value
        self.world.barrier.wait(TIMEOUT)
        result = read(self.world.slots)
        self.world.barrier.wait(TIMEOUT)
        return result

    def Barrier(self):
        self._exchange(None, lambda values: None)

    # objects travel as pickles, so that ranks never share one
    def allgather(self, obj):
        return self._exchange(pickle.dumps(obj), lambda values: [pickle.loads(value) for value in values])

    def bcast(self, obj, root=0):
        return self.allgather(obj if self.rank == root else None)[root]

    def gather(self, obj, root=0):
        gathered = self.allgather(obj)
        return gathered if self.rank == root else None

    def scatter(self, objs, root=0):
        return self.bcast(objs, root)[self.rank]

    def alltoall(self, objs):
        return [row[self.rank] for row in self.allgather(objs)]

    def allreduce(self, obj):
        values = self.allgather(obj)
        total = values[0]
        for value in values[1:]:
            total = total + value
        return total

    def send(self, obj, dest, tag=0):
        with self.world.arrived:
            self.world.messages.setdefault((self.rank, dest), []).append((tag, pickle.dumps(obj)))
            self.world.arrived.notify_all()

    ssend = send

    def recv(self, source, status=None, tag=None):
        with self.world.arrived:
            waiting = self.world.messages.setdefault((source, self.rank), [])
            found = self.world.arrived.wait_for(
                lambda: next((i for i, (given, _) in enumerate(waiting) if tag in (None, given)), -1) + 1, TIMEOUT
            )
            if not found:
                raise RuntimeError(f"rank {self.rank} waits in vain for rank {source}")
            return pickle.loads(waiting.pop(found - 1)[1])

    # buffers
    def Ssend(self, array, dest, tag=0):
        self.send(np.array(array), dest, tag)

    def Recv(self, buffer, source, tag=0):
        buffer[...] = self.recv(source, tag=tag).reshape(buffer.shape)

    def Bcast(self, buffer, root=0):
        target = _array(buffer)
        data = self._exchange(target, lambda values: values[root].copy())
        if self.rank != root:
            target[...] = data.reshape(target.shape)

    def Allreduce(self, given, buffer):
        own = buffer if given is IN_PLACE else given
        total = self._exchange(np.array(own), lambda values: sum(values[1:], values[0].copy()))
        buffer[...] = total.reshape(buffer.shape)

    def Allgatherv(self, given, target):
        target[0][...] = self._exchange(given.ravel(), lambda values: np.concatenate(values))

    def Gatherv(self, given, target, root=0):
        data = self._exchange(given.ravel(), lambda values: np.concatenate(values))
        if self.rank == root:
            target[0][...] = data

    def Scatterv(self, given, buffer, root=0):
        buffer[...] = self._exchange(_pieces(given), lambda values: values[root][self.rank].copy())

    def Alltoallv(self, given, target):
        target[0][...] = self._exchange(_pieces(given), lambda values: np.concatenate([v[self.rank] for v in values]))

    def Split(self, color, key):
        given = self.allgather((color, key))
        members = sorted((other_key, rank) for rank, (other, other_key) in enumerate(given) if other == color)
        ranks = [rank for _, rank in members]
        new = World(len(ranks)) if self.rank == ranks[0] else None
        return Comm(self._exchange(new, lambda values: values[ranks[0]]), ranks.index(self.rank))


def _array(buffer):
    return buffer if isinstance(buffer, np.ndarray) else np.frombuffer(buffer, dtype=np.uint8)


def _pieces(given):
    if given is None:
        return None
    buffer, (lengths, starts), _ = given
    flat = buffer.ravel()
    return [flat[start : start + length] for start, length in zip(starts, lengths)]


IN_PLACE = object()


def _module():
    mpi = types.ModuleType("mpi4py.MPI")
    mpi.IN_PLACE = IN_PLACE
    mpi.ANY_TAG = None
    mpi.FLOAT = "f"
    mpi._typedict = {code: code for code in "ilfd"}
    mpi.Get_processor_name = lambda: "here"
    package = types.ModuleType("mpi4py")
    package.MPI = mpi
    package.__path__ = []
    return {"mpi4py": package, "mpi4py.MPI": mpi}


@contextlib.contextmanager
def chainermn_over_threads():
    """ChainerMN, imported with this module in place of mpi4py; afterwards the import is undone."""
    saved = {name: module for name, module in sys.modules.items() if name.split(".")[0] in ("mpi4py", "chainermn")}
    for name in saved:
        del sys.modules[name]
    sys.modules.update(_module())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import chainermn

            accept_arrays_of_one()
            yield chainermn
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] in ("mpi4py", "chainermn")]:
            del sys.modules[name]
        sys.modules.update(saved)


def accept_arrays_of_one():
    """ChainerMN's multi-node iterator calls ``int`` on an array of shape (1,), which today's NumPy refuses."""
    from chainermn.iterators import multi_node_iterator

    multi_node_iterator.int = lambda value: int(np.asarray(value).item())


def run_ranks(size, function):
    """``[function(comm) for each rank]``, run at the same time; the first exception is raised."""
    from chainermn.communicators.naive_communicator import NaiveCommunicator

    world = World(size)
    results, errors = [None] * size, []

    def run(rank):
        try:
            results[rank] = function(NaiveCommunicator(mpi_comm=Comm(world, rank)))
        except BaseException as error:  # noqa: B036 - raised in the caller
            errors.append(error)
            world.barrier.abort()

    threads = [threading.Thread(target=run, args=(rank,), daemon=True) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT)
    if errors:
        raise next((error for error in errors if not isinstance(error, threading.BrokenBarrierError)), errors[0])
    assert not any(thread.is_alive() for thread in threads), "a rank hangs"
    return results
