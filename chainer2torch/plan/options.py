"""What the user may choose for a migration."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass
class Options:
    """The choices that reach the plan; the command line and ``pyproject.toml`` fill them in."""

    init: str = "chainer"
    chainer_version: int | None = None  # the major version that the files were written for; None: their words tell
    chainer_minor: int | None = None  # the minor version, where a file is of version 1; None: nothing tells
    pinned: int | None = None  # the major version that the project's requirements ask for, for files without a sign
    name: str = ""  # of the folder at the top, where that is a package: its files may import it by name
    kinds: bool = False  # also list what was inferred
    text_only: bool = False  # of a file that stays as it is nothing is wanted but that: no words, mentions, helpers
    style: str = "faithful"  # or "native": plain PyTorch, with the differences that docs/differences.md declares
    trainer: str = "ppe"  # or "ignite": native Trainer programs run on an Ignite engine
    width: int = 0  # columns from which on new lines of the native style are broken; 0: no line is
    parallel_updater: str = "ddp"  # or "single": what divides a batch over devices works on the first of them
    modernize: bool = True  # names that today's Python and NumPy have dropped become those of today
    only: frozenset[str] = frozenset()  # the parts of the project that are migrated; none named: all
