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
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from chainer2torch.verify import wire

CHAINER_WORKER = Path(__file__).with_name("chainer_worker.py")
TORCH_WORKER = Path(__file__).with_name("torch_worker.py")
_LAST_LINES = 15


class WorkerError(Exception):
    """A worker could not run; the message says which, why, and its last lines."""


class DeviceError(Exception):
    """The device that was asked for is not there."""


@dataclasses.dataclass
class WorkerResult:
    """What a worker left: a record by case, versions, and why it ended early (None when it did not)."""

    folder: Path
    records: dict[str, dict[str, Any]]
    versions: dict[str, str]
    problem: str | None
    stdout: str
    status: int | None = 0

    def arrays(self, case_id: str) -> dict[str, Any]:
        """The arrays of a case."""
        return wire.load_arrays(str(self.folder / f"{case_id}.npz"))


def run_worker(worker: Path, folder: Path, job: Mapping[str, Any], *, python: str | None = None, timeout: float = 600,
               env: Mapping[str, str] | None = None, cwd: Path | None = None) -> WorkerResult:
    """Writes the job, runs the worker on it and reads its results; what was done before it died is kept.

    Args:
        worker: CHAINER_WORKER or TORCH_WORKER.
        folder: An existing folder of the worker's own.
        job: Plain JSON data; its ``kind`` says what to do.
        python: The interpreter, default this one.
        timeout: Seconds after which the worker and its children are ended.

    Raises:
        WorkerError: The interpreter cannot be started.
    """
    wire.write_json(str(folder / "job.json"), job)
    (folder / "results.jsonl").touch()
    command = [python or sys.executable, "-u", str(worker), str(folder)]
    name = "Chainer" if worker == CHAINER_WORKER else "PyTorch"
    status, out, err = _call(command, timeout, _environment(env), cwd, name)
    problem = None
    if status is None:
        problem = f"the {name} worker was ended after {timeout:g} s (--timeout)" + _tail(out, err)
    elif status != 0:
        problem = f"the {name} worker ended with {_status(status)}" + _tail(out, err)
    records, garbage = _records(folder / "results.jsonl")
    if garbage:
        problem = problem or f"the {name} worker wrote a result that cannot be read: {garbage!r}" + _tail(out, err)
    versions = {}
    if (folder / "versions.json").exists():
        versions = json.loads((folder / "versions.json").read_text(encoding="utf-8"))
    return WorkerResult(folder, records, versions, problem, out, status)


def run_cases(worker: Path, folder: Path, job: Mapping[str, Any], *, python: str | None = None,
              timeout: float = 600) -> WorkerResult:
    """:func:`run_worker` for a job with ``cases``: what a worker with a broken GPU did not reach runs in a new one."""
    result = run_worker(worker, folder, job, python=python, timeout=timeout)
    while result.status == wire.BROKEN_DEVICE:
        left = [case for case in job["cases"] if case["id"] not in result.records]
        if len(left) == len(job["cases"]):
            return result
        if not left:
            return dataclasses.replace(result, problem=None)
        job = {**job, "cases": left}
        # The results file is appended to, so every turn sees all records so far.
        result = run_worker(worker, folder, job, python=python, timeout=timeout)
    return result


def _call(command: Sequence[str], timeout: float, env: Mapping[str, str], cwd: Path | None,
          name: str) -> tuple[int | None, str, str]:
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(env), cwd=cwd,
            encoding="utf-8", errors="replace", start_new_session=os.name == "posix")
    except OSError as error:
        raise WorkerError(f"cannot start the {name} worker: {command[0]}: {error.strerror or error}") from None
    try:
        out, err = process.communicate(timeout=timeout)
        return process.returncode, out, err
    except subprocess.TimeoutExpired:
        _end(process)
        out, err = process.communicate()
        return None, out, err
    except BaseException:
        _end(process)
        process.wait()
        raise


def _end(process: subprocess.Popen[str]) -> None:
    """Ends the worker with the processes it started (iterators fork)."""
    if os.name == "posix":
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    else:
        process.kill()


def _environment(extra: Mapping[str, str] | None) -> dict[str, str]:
    env = dict(os.environ)
    env.setdefault("OMP_NUM_THREADS", "1")
    env.update({"MPLBACKEND": "Agg", "PYTHONHASHSEED": "0", "PYTHONIOENCODING": "utf-8", "PYTHONWARNINGS": "ignore"})
    env.update(extra or {})
    return env


def _records(path: Path) -> tuple[dict[str, dict[str, Any]], str | None]:
    records: dict[str, dict[str, Any]] = {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            record = json.loads(line)
            records[record["id"]] = record
        except (ValueError, TypeError, KeyError):
            return records, line[:200]
    return records, None


def _status(status: int) -> str:
    if status < 0:
        try:
            return f"signal {signal.Signals(-status).name}"
        except ValueError:
            return f"signal {-status}"
    return f"exit status {status}"


def _tail(out: str, err: str) -> str:
    lines = [line for line in (err or out).splitlines() if line.strip()][-_LAST_LINES:]
    return "; its last lines:\n" + "\n".join("    " + line for line in lines) if lines else "; it printed nothing"


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
