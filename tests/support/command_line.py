"""``chainer2torch`` as a person types it, in a process forked from this one (forked.py): nothing is imported again.

What a start of Python is about (which modules a command imports, how ``python -m`` finds them, an installed package)
needs a new interpreter: those tests start one.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import chainer2torch
from chainer2torch import __main__ as program
from chainer2torch.engine import Options, migrate_source
from tests.support import forked

# What the user has set is no part of a test.
PLAIN = {"PYTHONPATH": str(forked.ROOT), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "CHAINER2TORCH_CACHE_DIR": ""}


def run(
    *arguments: object,
    cwd: Path | str | None = None,
    env: Mapping[str, str] | None = None,
    text: str = "",
) -> subprocess.CompletedProcess[str]:
    """Runs one command line; ``text`` is its standard input, ``env`` its variables (default: those of this process)."""
    _import_all()
    return forked.call(functools.partial(_main, [str(word) for word in arguments]), cwd=cwd, env=env, text=text)


@functools.cache
def _import_all() -> None:
    """What commands import when they need it, and the rule tables: once here in place of once in each process."""
    apart = tuple(f"chainer2torch.{name}." for name in ("compat", "native", "verify"))  # they need the frameworks
    for module in pkgutil.walk_packages(chainer2torch.__path__, "chainer2torch."):
        if not module.name.startswith(apart) and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for style in ("native", "faithful"):
        migrate_source("import chainer.functions as F\nF.relu(x)\n", options=Options(style=style))


def _main(words: list[str]) -> None:
    sys.argv[:] = ["chainer2torch", *words]
    program.main()
