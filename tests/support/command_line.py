"""``chainer2torch`` as a person types it, in a process forked from this one: nothing has to be imported again.

The process has its own folder, variables, streams and exit status, and what it changes ends with it. What a start of
Python is about (which modules a command imports, how ``python -m`` finds them, an installed package) needs a new
interpreter: those tests start one.
"""

from __future__ import annotations

import functools
import importlib
import multiprocessing
import os
import pkgutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import chainer2torch
from chainer2torch import __main__ as program
from chainer2torch.engine import Options, migrate_source

ROOT = Path(__file__).resolve().parents[2]
# What the user has set is no part of a test.
PLAIN = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "CHAINER2TORCH_CACHE_DIR": ""}


def run(
    *arguments: object,
    cwd: Path | str | None = None,
    env: Mapping[str, str] | None = None,
    text: str = "",
    timeout: float = 300,
) -> subprocess.CompletedProcess[str]:
    """Runs one command line; ``text`` is its standard input, ``env`` its variables (default: those of this process).

    Raises subprocess.TimeoutExpired.
    """
    _import_all()
    words = [str(word) for word in arguments]
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(text.encode())
        given.seek(0)
        child = multiprocessing.get_context("fork").Process(
            target=_work, args=(words, cwd or ROOT, dict(os.environ if env is None else env), (given, out, err))
        )
        child.start()
        child.join(timeout)
        if child.exitcode is None:
            child.kill()
            child.join()
            raise subprocess.TimeoutExpired(words, timeout)
        printed = []
        for stream in (out, err):
            stream.seek(0)
            printed.append(stream.read().decode("utf-8", "surrogateescape"))
        return subprocess.CompletedProcess(words, child.exitcode, *printed)


@functools.cache
def _import_all() -> None:
    """What commands import when they need it, and the rule tables: once here in place of once in each process."""
    apart = tuple(f"chainer2torch.{name}." for name in ("compat", "native", "verify"))  # they need the frameworks
    for module in pkgutil.walk_packages(chainer2torch.__path__, "chainer2torch."):
        if not module.name.startswith(apart) and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for style in ("native", "faithful"):
        migrate_source("import chainer.functions as F\nF.relu(x)\n", options=Options(style=style))


def _work(words: list[str], cwd: Path | str, env: dict[str, str], streams: tuple[IO[bytes], ...]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream.fileno(), number)
    sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)
    sys.stdout = open(1, "w", encoding="utf-8", errors="surrogateescape", closefd=False)
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    _forget_other_programs()
    sys.argv[:] = ["chainer2torch", *words]
    program.main()


def _forget_other_programs() -> None:
    """A module that another test has imported from a folder of its own is not the one that this command is to find."""
    known = tuple(os.path.join(folder, "") for folder in (ROOT, sys.prefix, sys.base_prefix))
    for name, module in list(sys.modules.items()):
        file = vars(module).get("__file__")
        if name == "chainer_compat" or (file is not None and not os.path.abspath(file).startswith(known)):
            del sys.modules[name]
