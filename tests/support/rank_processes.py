"""Processes that form one job over gloo, as torchrun would start them."""

import multiprocessing
import os
import socket
import sys
import time
import traceback

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.support.rank_preload"])


class RankError(Exception):
    """A rank raised; the message holds its traceback."""


def free_port():
    """A TCP port that nobody uses."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def torchrun_environment(rank, size, port):
    """The variables that torchrun sets."""
    return {
        "RANK": str(rank),
        "WORLD_SIZE": str(size),
        "LOCAL_RANK": str(rank),
        "LOCAL_WORLD_SIZE": str(size),
        "GROUP_RANK": "0",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }


def start_ranks(size, function, *args, environment=torchrun_environment):
    """Starts ``function(*args)`` in ``size`` processes; returns ``[(process, connection of its result)]``."""
    port = free_port()
    started = []
    for rank in range(size):
        receiver, sender = _CONTEXT.Pipe(duplex=False)
        variables = environment(rank, size, port)
        process = _CONTEXT.Process(target=_run, args=(sender, variables, function, args), daemon=True)
        process.start()
        sender.close()
        started.append((process, receiver))
    return started


def _run(sender, variables, function, args):
    os.environ.update(variables)
    try:
        sender.send((True, function(*args)))
    except BaseException:
        sender.send((False, traceback.format_exc()))
        sys.stdout.flush()
        os._exit(1)


def run_ranks(size, function, *args, timeout=60, environment=torchrun_environment):
    """What the ranks return. A rank that raises or hangs ends the job and raises RankError."""
    started = start_ranks(size, function, *args, environment=environment)
    end = time.monotonic() + timeout
    try:
        results = []
        for rank, (_, receiver) in enumerate(started):
            if not receiver.poll(max(0, end - time.monotonic())):
                raise RankError(f"rank {rank} hangs")
            try:
                good, value = receiver.recv()
            except EOFError:
                good, value = False, "it ended without a word"
            if not good:
                raise RankError(f"rank {rank}:\n{value}")
            results.append(value)
        return results
    finally:
        for process, _ in started:
            process.join(max(0.1, min(5, end - time.monotonic())) if sys.exc_info()[0] is None else 0.1)
            process.kill()
