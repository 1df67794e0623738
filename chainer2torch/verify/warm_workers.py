"""Workers that have imported their framework already and fork for each job: see worker/serving.py.

A job sees what it would see in a new process; it costs milliseconds to begin in place of seconds.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from chainer2torch.verify.worker import serving

# How often a job is asked whether it has ended.
_LISTEN = 0.02
# A server that has not imported its framework by then is given up.
_IMPORTS = 120.0


class Unavailable(Exception):
    """No such worker serves here: the job needs a process of its own, whose error says why."""


class _TimeIsUp(Exception):
    """The time of a job is up before it began."""


class WarmWorkers:
    """One serving process for each worker and interpreter, started when it is asked for first, ended by ``with``."""

    def __init__(self, env: Mapping[str, str], imports: Mapping[Path, Sequence[str]] | None = None):
        """``imports``: modules by worker that most jobs are going to need beside the framework."""
        self._env = dict(env)
        self._imports = imports or {}
        self._lock = threading.Lock()
        self._servers: dict[tuple[Path, str], _Server | None] = {}

    def __enter__(self) -> WarmWorkers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for server in filter(None, self._servers.values()):
            server.close()

    def prepare(self, workers: Iterable[tuple[Path, str | None]]) -> None:
        """Starts the processes for these workers and interpreters; their imports go on beside what follows."""
        with self._lock, contextlib.suppress(Unavailable):
            for worker, python in workers:
                self._server(worker, python or sys.executable)

    def call(
        self, worker: Path, python: str | None, folder: Path, timeout: float, stop: threading.Event | None
    ) -> int | None:
        """The exit status of a job; None after ``timeout``, or when it was stopped.

        Raises:
            Unavailable: The worker does not serve: another system, or it cannot be started.
        """
        end = time.monotonic() + timeout
        key = worker, python or sys.executable
        with self._lock:
            server = self._server(*key)
            try:
                leader = server.begin(folder, end, stop)
            except _TimeIsUp:  # its answer would be taken for that of the next job
                server.close()
                del self._servers[key]
                return None
            except Unavailable:
                server.close()
                self._servers[key] = None
                raise
        status = folder / serving.STATUS
        try:
            while not status.exists():
                if time.monotonic() > end or (stop is not None and stop.is_set()):
                    return None
                if not server.is_alive():
                    return -signal.SIGKILL
                time.sleep(_LISTEN)
            return int(status.read_text())
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(leader, signal.SIGKILL)
            status.unlink(missing_ok=True)

    def _server(self, worker: Path, python: str) -> _Server:
        key = worker, python
        if key not in self._servers:
            # Elsewhere libraries do not survive a fork, or there is none.
            self._servers[key] = self._start(worker, python) if sys.platform == "linux" else None
        server = self._servers[key]
        if server is None:
            raise Unavailable
        return server

    def _start(self, worker: Path, python: str) -> _Server | None:
        return start([python, "-u", str(worker), serving.SERVE, *self._imports.get(worker, ())], self._env)


class _Server:
    """A process that forks for each folder that it is told."""

    def __init__(self, process: subprocess.Popen[bytes]):
        self._process = process

    def begin(self, folder: Path, end: float, stop: threading.Event | None) -> int:
        """The process that leads the group of a new job. Raises _TimeIsUp if the imports take longer than it has."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        given_up = time.monotonic() + _IMPORTS
        try:
            stdin.write(f"{folder}\n".encode())
            stdin.flush()
            while not select.select([stdout], [], [], 0.2)[0]:
                now = time.monotonic()
                if self._process.poll() is not None or now > given_up:
                    raise Unavailable
                if now > end or (stop is not None and stop.is_set()):
                    raise _TimeIsUp
            return int(stdout.readline())
        except (OSError, ValueError):
            raise Unavailable from None

    def is_alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def close(self) -> None:
        """Ends it."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._process.wait()


def start(command: Sequence[str], env: Mapping[str, str]) -> _Server | None:
    """The process of a command that serves; None where it cannot be started."""
    try:
        return _Server(
            subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=dict(env),
                start_new_session=True,
            )
        )
    except OSError:
        return None
