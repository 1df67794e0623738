"""Runs something in a process forked from this one: what the frameworks take to be imported is not paid again.

The process has its own folder, variables, streams and exit status, and what it changes ends with it.
"""

from __future__ import annotations

import functools
import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[2]


def call(
    work: Callable[[], object],
    *,
    cwd: Path | str | None = None,
    env: Mapping[str, str] | None = None,
    text: str = "",
    timeout: float = 300,
) -> subprocess.CompletedProcess[str]:
    """What ``work`` printed, and its exit status; ``text`` is its standard input, ``env`` its variables (default:
    those of this process).

    Raises subprocess.TimeoutExpired.
    """
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(text.encode())
        given.seek(0)
        child = multiprocessing.get_context("fork").Process(
            target=_work, args=(work, cwd or ROOT, dict(os.environ if env is None else env), (given, out, err))
        )
        child.start()
        child.join(timeout)
        if child.exitcode is None:
            child.kill()
            child.join()
            raise subprocess.TimeoutExpired(str(work), timeout)
        printed = []
        for stream in (out, err):
            stream.seek(0)
            printed.append(stream.read().decode("utf-8", "surrogateescape"))
        return subprocess.CompletedProcess(str(work), child.exitcode, *printed)


def script(
    path: Path | str, *arguments: object, cwd: Path | str | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a Python file as ``python FILE ARGUMENT...`` does."""
    return call(functools.partial(_run_script, str(path), [str(word) for word in arguments]), cwd=cwd, env=env)


def code(
    text: str, *, cwd: Path | str, without: Sequence[str] = (), env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a text in a folder as ``python -c`` does, and imports anew what is named in ``without``."""
    return call(functools.partial(_run_code, text, without), cwd=cwd, env=env)


def _run_code(text: str, without: Sequence[str]) -> None:
    for name in sys.modules.copy():
        if name.partition(".")[0] in without:
            del sys.modules[name]
    sys.path.insert(0, "")
    sys.argv[:] = ["-c"]
    exec(compile(text, "<string>", "exec"), vars(sys.modules["__main__"]))


def _run_script(path: str, arguments: list[str]) -> None:
    sys.argv[:] = [path, *arguments]
    sys.path.insert(0, os.path.dirname(path))
    runpy.run_path(path, run_name="__main__")


def _work(work: Callable[[], object], cwd: Path | str, env: Mapping[str, str], streams: tuple[IO[bytes], ...]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream.fileno(), number)
    sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)
    sys.stdout = open(1, "w", encoding="utf-8", errors="surrogateescape", closefd=False)
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    _forget_other_programs()
    work()


def _forget_other_programs() -> None:
    """A module that another test has imported from a folder of its own is not the one that is to be found here."""
    known = tuple(os.path.join(folder, "") for folder in (ROOT, sys.prefix, sys.base_prefix))
    for name, module in sys.modules.copy().items():  # a list of it may collect garbage, which may import and forget
        file = vars(module).get("__file__")  # `getattr` would make modules that are lazy import what they stand for
        if name == "chainer_compat" or (file is not None and not os.path.abspath(file).startswith(known)):
            del sys.modules[name]
