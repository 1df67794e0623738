"""Starts a worker process, watches it, and turns a dead, hanging or babbling worker into a clear error."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from chainer2torch.verify.warm_workers import Unavailable, WarmWorkers
from chainer2torch.verify.worker import serving, wire

CHAINER_WORKER = Path(__file__).with_name("worker") / "chainer_worker.py"
TORCH_WORKER = Path(__file__).with_name("worker") / "torch_worker.py"
_LAST_LINES = 15
_LAST_BYTES = 100_000
# A worker that died so often is not started again.
_MOST_DEATHS = 5
# Seconds after which a worker that is stopped ends.
_LISTEN = 0.2


class WorkerError(Exception):
    """A worker could not run; the message says which, why, and its last lines."""


class DeviceError(Exception):
    """The device that was asked for is not there."""


# A case without a record, or with one that says how far it came, is begun again when its worker has died.
_OPEN: Mapping[str, Any] = {"provisional": True}


@dataclasses.dataclass
class WorkerResult:
    """What a worker left: a record by case, versions, and why it ended early (None when it did not)."""

    folder: Path
    records: dict[str, dict[str, Any]]
    versions: dict[str, str]
    problem: str | None
    printed: str
    status: int | None = 0
    seconds: float = 0.0

    def arrays(self, case_id: str) -> Mapping[str, Any]:
        """The arrays of a case, each read when it is asked for."""
        return wire.Arrays(str(self.folder / f"{case_id}.npz"))


def run_worker(
    worker: Path,
    folder: Path,
    job: Mapping[str, Any],
    *,
    python: str | None = None,
    timeout: float = 600,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stop: threading.Event | None = None,
    warm: WarmWorkers | None = None,
) -> WorkerResult:
    """Writes the job, runs the worker on it and reads its results; what was done before it died is kept.

    Args:
        worker: CHAINER_WORKER or TORCH_WORKER.
        folder: An existing folder of the worker's own.
        job: Plain JSON data; its ``kind`` says what to do.
        python: The interpreter, default this one.
        timeout: Seconds after which the worker is ended. The processes that it started end with it in any case.
        stop: Ends the worker, too, when it is set.
        warm: Where a worker may already wait for a job; its processes have the variables that they were started with,
            and start where this one is: the job itself goes to its tree.

    Raises:
        WorkerError: The interpreter cannot be started.
    """
    wire.write_json(str(folder / "job.json"), job)
    for name in ("results.jsonl", serving.STDOUT, serving.STDERR):  # one that is ended at once leaves none
        (folder / name).touch()
    command = [python or sys.executable, "-u", str(worker), str(folder)]
    name = "Chainer" if worker == CHAINER_WORKER else "PyTorch"
    started = time.monotonic()
    try:
        if warm is None:
            raise Unavailable
        status = warm.call(worker, python, folder, timeout, stop)
    except Unavailable:
        status = _call(command, timeout, environment(env), cwd, name, folder, stop)
    out, err = (_end_of(folder / file) for file in (serving.STDOUT, serving.STDERR))
    problem = None
    if status is None:
        problem = f"the {name} worker was ended after {timeout:g} s (--timeout)" + _tail(out, err)
    elif status != 0:
        problem = f"the {name} worker ended with {_status(status)}{_missing(err, command[0])}" + _tail(out, err)
    records, garbage = _records(folder / "results.jsonl")
    if garbage:
        problem = problem or f"the {name} worker wrote a result that cannot be read: {garbage!r}" + _tail(out, err)
    versions = {}
    if (folder / "versions.json").exists():
        versions = json.loads((folder / "versions.json").read_text(encoding="utf-8"))
    return WorkerResult(folder, records, versions, problem, _tail(out, err), status, time.monotonic() - started)


def run_cases(
    worker: Path,
    folder: Path,
    job: Mapping[str, Any],
    *,
    python: str | None = None,
    timeout: float = 600,
    stop: threading.Event | None = None,
    warm: WarmWorkers | None = None,
) -> WorkerResult:
    """:func:`run_worker` for a job with ``cases``: where a worker dies, those after the one it died of run in a new
    one. The case itself gets a record with the error. A worker that dies before its first case, that has used up its
    time, or that dies again and again is not started again.
    """
    problems: list[str] = []
    while True:
        result = run_worker(worker, folder, job, python=python, timeout=timeout, stop=stop, warm=warm)
        left = [case for case in job["cases"] if result.records.get(case["id"], _OPEN).get("provisional")]
        timeout -= result.seconds
        gpu_lost = result.status == wire.BROKEN_DEVICE and len(left) < len(job["cases"])
        if result.problem and not gpu_lost:
            problems.append(result.problem)
        if not gpu_lost:
            if not result.status or not left or not result.versions or len(problems) > _MOST_DEATHS or timeout <= 0:
                break
            dead = _current(folder, left)
            left.remove(dead)
            _died(folder, dead["id"], result.status)
        if not left:
            break
        # The results file is appended to, so every turn sees all records so far.
        job = {**job, "cases": left}
    records, _ = _records(folder / "results.jsonl")
    return dataclasses.replace(result, records=records, problem="\n".join(problems) or None)


def _current(folder: Path, left: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The case that a worker died of: the one that it names, else the first without a record."""
    try:
        name = json.loads((folder / wire.CURRENT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        name = None
    return next((case for case in left if case["id"] == name), left[0])


def _died(folder: Path, case: str, status: int) -> None:
    """Gives the case that a worker died of its record; the worker may have left half a line."""
    with open(folder / "results.jsonl", "a", encoding="utf-8") as stream:
        record = {
            "id": case,
            "status": "error",
            "phase": "run",
            "type": "WorkerDied",
            "message": _status(status),
            "trace": "",
        }
        stream.write("\n" + json.dumps(record) + "\n")


def _call(
    command: Sequence[str],
    timeout: float,
    env: Mapping[str, str],
    cwd: Path | None,
    name: str,
    folder: Path,
    stop: threading.Event | None,
) -> int | None:
    """The exit status, None after ``timeout``. What is printed goes to files: it may be more than fits into memory,
    and a process that the worker left behind would keep a pipe open.
    """
    with open(folder / serving.STDOUT, "wb") as out, open(folder / serving.STDERR, "wb") as err:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=dict(env),
                cwd=cwd,
                start_new_session=os.name == "posix",
            )
        except OSError as error:
            raise WorkerError(f"cannot start the {name} worker: {command[0]}: {error.strerror or error}") from None
        try:
            return _wait(process, timeout, stop)
        finally:
            _end(process)
            process.wait()


def _wait(process: subprocess.Popen[bytes], timeout: float, stop: threading.Event | None) -> int | None:
    """The exit status; None after ``timeout``, or when it was stopped."""
    end = time.monotonic() + timeout
    while (left := end - time.monotonic()) > 0 and not (stop is not None and stop.is_set()):
        try:
            return process.wait(timeout=left if stop is None else min(left, _LISTEN))
        except subprocess.TimeoutExpired:
            continue
    return None


def _end_of(path: Path) -> str:
    with open(path, "rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - _LAST_BYTES))
        return stream.read().decode("utf-8", errors="replace")


def _missing(err: str, python: str) -> str:
    """Which package the interpreter lacks, when that is what ended the worker."""
    lines = [line for line in err.splitlines() if line.strip()]
    found = re.fullmatch(r"(?:ModuleNotFound|Import)Error: No module named '?(\w+)[\w.]*'?", (lines or [""])[-1])
    return f": {python} has no package `{found[1]}`" if found else ""


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the worker with the processes it started (iterators fork)."""
    if os.name == "posix":
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
    else:
        process.kill()


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables that every worker has."""
    env = dict(os.environ)
    env.setdefault("OMP_NUM_THREADS", "1")
    # Modules that protoc has made in Chainer's time are refused by protobuf's other implementation.
    env.setdefault("PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION", "python")
    env.update(
        {
            "MPLBACKEND": "Agg",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONHASHSEED": "0",
            "PYTHONIOENCODING": "utf-8",
            "PYTHONWARNINGS": "ignore",
        }
    )
    env.update(extra or {})
    return env


def _records(path: Path) -> tuple[dict[str, dict[str, Any]], str | None]:
    """The records by case, and the first line that is none."""
    records: dict[str, dict[str, Any]] = {}
    garbage = None
    for line in filter(None, path.read_text(encoding="utf-8", errors="replace").split("\n")):
        try:
            record = json.loads(line)
            records[record["id"]] = record
        except (ValueError, TypeError, KeyError):
            garbage = garbage or line[:200]
    return records, garbage


def _status(status: int) -> str:
    if status < 0:
        try:
            return f"signal {signal.Signals(-status).name}"
        except ValueError:
            return f"signal {-status}"
    return f"exit status {status}"


def _tail(out: str, err: str) -> str:
    lines = [line for line in (err if err.strip() else out).splitlines() if line.strip()][-_LAST_LINES:]
    shown = ["".join(c if c.isprintable() or c == "\t" else "?" for c in line)[:500] for line in lines]
    return "; its last lines:\n" + "\n".join("    " + line for line in shown) if lines else "; it printed nothing"


def versions_of(left: WorkerResult, right: WorkerResult) -> dict[str, str]:
    """The versions of both sides, for the foot of a report."""
    found = {
        name: result.versions[name] for name, result in (("chainer", left), ("torch", right)) if name in result.versions
    }
    for side, result in (("Chainer", left), ("PyTorch", right)):
        found.update(
            {f"{key} ({side} side)": value for key, value in result.versions.items() if key not in ("chainer", "torch")}
        )
    return found


def check_device(device: str, chainer_python: str | None = None, torch_python: str | None = None) -> None:
    """Raises DeviceError unless both sides can use the device: ``cpu``, ``cuda`` or ``cuda:<number>``.

    Each worker tries it in the interpreter that it is going to run in. Raises WorkerError when one cannot be started.
    """
    if device == "cpu":
        return
    if not re.fullmatch(r"cuda(:\d+)?", device):
        raise DeviceError(f"--device {device}: it is cpu or cuda (or cuda:1 for the second GPU)")
    # PyTorch first: where there is no GPU at all it says so at once.
    for worker, python in ((TORCH_WORKER, torch_python), (CHAINER_WORKER, chainer_python)):
        with tempfile.TemporaryDirectory(prefix="chainer2torch-") as folder:
            result = run_worker(worker, Path(folder), {"kind": "device", "device": device}, python=python, timeout=300)
        if result.problem is not None:
            why = result.problem.strip().splitlines()[-1].strip().removeprefix("RuntimeError: ")
            raise DeviceError(f"--device {device}: {why}; nothing was compared")
