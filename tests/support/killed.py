"""Kills `migrate --write` at chosen moments and runs it again: the result must be that of a run that nobody killed."""

from __future__ import annotations

import contextlib
import io
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from chainer2torch.__main__ import main
from chainer2torch.project import transaction

# Python tells of these before they happen
_EVENTS = frozenset({"open", "os.rename", "os.remove", "os.chmod", "os.mkdir", "os.truncate"})
FILES = {
    "net.py": "import chainer.functions as F\n\n\ndef f(x):\n    return F.leaky_relu(F.relu(x))\n",
    "pkg/__init__.py": "",
    "pkg/train.py": "from chainer import cuda\n\nfrom net import f\n\n\ndef g(x):\n    return cuda.to_cpu(f(x).data)\n",
    "pkg/old.py": "import chainer\n\nchainer.no_such_thing_at_all()\n",
    "latin.py": "# coding: latin-1\n# \xe9\nimport chainer.functions as F\ny = F.sigmoid(x)\n",
    "bad.py": "import chainer\nx = (\n",
    "requirements.txt": "chainer>=5\nnumpy\n",
    "data.txt": "chainer\n",
}


def make(folder: Path) -> Path:
    """A small project in a git repository."""
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("latin-1"))
    (folder / "pkg/train.py").chmod(0o755)
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=folder, check=True, capture_output=True)
    return folder


def state(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file outside of .git with its bytes and mode."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and ".git" not in path.relative_to(folder).parts:
            found[path.relative_to(folder).as_posix()] = path.read_bytes(), path.stat().st_mode
    return found


class Trials:
    """The project, what a run that nobody kills makes of it, and runs that are killed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.original = make(folder / "original")
        _warm_up(self.original, folder / "warm")
        whole = self.copy()
        self.status, self.steps = self.migrate(whole, count=True)
        self.expected = state(whole)
        assert self.expected != state(self.original) and self.steps > 10

    def copy(self) -> Path:
        target = self.folder / "copy"
        shutil.rmtree(target, ignore_errors=True)
        return shutil.copytree(self.original, target, symlinks=True)

    def migrate(self, project: Path, *, step: int = 0, after: float = 0.0, count: bool = False) -> tuple[int, int]:
        """Runs it in a process, killed before its step number ``step`` or ``after`` seconds; its status (a negative
        signal) and, with ``count``, the number of its steps."""
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            with contextlib.suppress(BaseException):
                os.close(reader)
                os.setsid()
                null = os.open(self.folder / "messages", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
                os.dup2(null, 1)
                os.dup2(null, 2)
                steps = _watched(step)
                os.chdir(project)
                sys.argv = ["chainer2torch", "migrate", ".", "--write", "-j", "2" if after else "1"]
                try:
                    main()
                except SystemExit as ended:
                    sys.stderr.flush()
                    os.write(writer, str(steps()).encode())
                    os._exit(int(ended.code or 0))
            os._exit(99)
        os.close(writer)
        if after:
            time.sleep(after)
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        with os.fdopen(reader) as stream:
            steps = stream.read()
        return os.waitstatus_to_exitcode(status), int(steps or 0)

    def trial(self, **moments: Any) -> str | None:
        """One run that is killed, and one that is not; what is wrong then."""
        project = self.copy()
        killed, _ = self.migrate(project, **moments)
        return self.finished(project, f"killed ({killed}) at {moments}")

    def twice(self, first: int, second: int) -> str | None:
        """The run that repairs is killed, too."""
        project = self.copy()
        self.migrate(project, step=first)
        self.migrate(project, step=second)
        return self.finished(project, f"killed at {first}, then at {second}")

    def finished(self, project: Path, what: str) -> str | None:
        status, _ = self.migrate(project)
        found = state(project)
        if status != self.status:
            return f"{what}: the next run ended with {status}: {(self.folder / 'messages').read_text()}"
        names = sorted(name for name in {*found, *self.expected} if found.get(name) != self.expected.get(name))
        return f"{what}: other files: {', '.join(names)}" if names else None

    def all(self, count: int, seed: int = 0) -> Iterator[tuple[str, str | None]]:
        """So many trials: every step, pairs of steps, moments of the whole run; each with what is wrong."""
        draw = random.Random(seed)
        start = time.monotonic()
        self.migrate(self.copy())
        whole = time.monotonic() - start
        every = range(1, self.steps + 1)
        steps = list(every) if count >= 2 * self.steps else sorted(draw.sample(every, min(self.steps, count // 2)))
        for step in steps:
            yield "at a step", self.trial(step=step)
        for number in range(count - len(steps)):
            if number % 2:
                yield "at two steps", self.twice(draw.choice(every), draw.randint(1, 12))
            else:
                yield "at any time", self.trial(after=draw.uniform(0.01, whole))


def _warm_up(project: Path, out: Path) -> None:
    """One run in this process, so that the others, which begin as its copies, have everything loaded."""
    sys.argv = ["chainer2torch", "migrate", str(project), "-o", str(out), "-q"]
    with contextlib.redirect_stderr(io.StringIO()), contextlib.suppress(SystemExit):
        main()


def _watched(last: int) -> Callable[[], int]:
    """Counts the steps of a write from its beginning, or from the repair of another; kills before number ``last``."""
    steps, active = 0, False

    def step() -> None:
        nonlocal steps
        steps += 1
        if steps == last:
            os.kill(os.getpid(), signal.SIGKILL)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if active and event in _EVENTS:
            step()

    def begins(function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any) -> Any:
            nonlocal active
            active = True
            return function(*arguments)

        return wrapped

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any) -> Any:
            if active:
                step()
            return function(*arguments)

        return wrapped

    class Halves:
        """A file that is written in two halves, as a large one is."""

        def __init__(self, stream: Any) -> None:
            self.stream = stream

        def __enter__(self) -> Halves:
            return self

        def __exit__(self, *_: object) -> None:
            self.stream.close()

        def write(self, data: bytes) -> None:
            for part in (data[: len(data) // 2], data[len(data) // 2 :]):
                step()
                self.stream.write(part)
                self.stream.flush()

        def flush(self) -> None:
            self.stream.flush()

    opened = os.fdopen
    patches: dict[str, Any] = {
        "fsync": counted(os.fsync),
        "fdopen": lambda *given, **named: Halves(opened(*given, **named)) if active else opened(*given, **named),
    }
    for name, function in patches.items():
        setattr(os, name, function)
    transaction.Transaction.__enter__ = begins(transaction.Transaction.__enter__)  # type: ignore[method-assign]
    transaction.recover = begins(transaction.recover)
    sys.addaudithook(hook)
    return lambda: steps
