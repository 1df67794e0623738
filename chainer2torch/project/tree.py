"""Files that belong together: their texts, and what the engine said of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from chainer2torch.plan.site import Mention, Site
from chainer2torch.project.files import Entry, Source
from chainer2torch.project.visible import visible

if TYPE_CHECKING:
    from chainer2torch.analysis.memory import Memory


class ResultLike(Protocol):
    """What is read of the engine's FileResult."""

    code: str
    helpers: frozenset[str]
    root: str
    left: int
    error: str | None
    defect: bool
    kinds: list[str]
    python2: bool
    imports: frozenset[str]
    modules: frozenset[str] | None
    uses: frozenset[str]
    said: frozenset[str] | None
    asked: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def changed(self) -> bool: ...

    @property
    def sites(self) -> Iterable[Site]: ...

    @property
    def kept(self) -> Iterable[Site]: ...

    @property
    def mentions(self) -> Iterable[Mention]: ...


class MovedLike(Protocol):
    """A dependency file as it was and as it becomes, with what the report says of it."""

    source: Source
    text: str
    sites: list[Site]


class PinLike(Protocol):
    """The version of Chainer that a project's requirements ask for."""

    @property
    def major(self) -> int: ...

    @property
    def minor(self) -> int | None: ...

    @property
    def path(self) -> str: ...

    def hint(self) -> str: ...


# texts by path, the major version of Chainer that their project asks for, and the name of the folder at the top
Engine = Callable[[Mapping[str, str], "int | None", str], Mapping[str, ResultLike]]


@dataclasses.dataclass
class Tree:
    """Files that are analysed together: a folder that was named, or named files of one import root.

    Paths are relative to ``base``, with ``/``. ``reported`` are the Python files that were asked for; ``sources`` can
    hold more, which are only read to know what the others import.
    """

    base: Path
    shown: str
    place: str = ""
    entries: list[Entry] = dataclasses.field(default_factory=list)
    reported: list[str] = dataclasses.field(default_factory=list)
    sources: dict[str, Source] = dataclasses.field(default_factory=dict)
    broken: set[str] = dataclasses.field(default_factory=set)
    packages: set[str] = dataclasses.field(default_factory=set)  # __init__.py files that only make packages of folders
    results: Mapping[str, ResultLike] = dataclasses.field(default_factory=dict)
    requirements: dict[str, MovedLike] = dataclasses.field(default_factory=dict)
    left_out: Callable[[str], bool] = lambda path: False
    pin: PinLike | None = None
    memory: Memory | None = None  # what earlier runs have found, whatever the tree
    style: str = "faithful"  # the style of the output, which says what the helpers are
    trainer: str = ""  # what its Trainer programs run on, where that is not the usual loop
    interrupted: list[Path] = dataclasses.field(default_factory=list)  # folders in which a run that wrote was killed
    hidden: list[str] = dataclasses.field(default_factory=list)  # files with Chainer that git ignores
    unread: dict[str, bytes] = dataclasses.field(default_factory=dict)  # of the standard input: what is not Chainer

    @property
    def name(self) -> str:
        """The name of the folder at the top, where that is a package: its files may import it by name. Else empty."""
        return self.base.resolve().name if (self.base / "__init__.py").is_file() else ""

    def show(self, relative: str) -> str:
        """The path as the user would write it."""
        return self.shown + relative

    def named(self, relative: str) -> str:
        """The path as a report or a terminal may show it."""
        return visible(self.show(relative))
