"""What became of one file, and how that is kept from one run to the next."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from chainer2torch.plan.site import Mention, Site


@dataclasses.dataclass
class FileResult:
    """What became of one file."""

    path: str
    source: str
    code: str
    sites: list[Site] = dataclasses.field(default_factory=list)
    helpers: frozenset[str] = frozenset()
    root: str = ""
    left: int = 0
    error: str | None = None
    defect: bool = False  # the error is ours: the work on this file failed, or the process that did it
    kinds: list[str] = dataclasses.field(default_factory=list)
    mentions: list[Mention] = dataclasses.field(default_factory=list)
    kept: list[Site] = dataclasses.field(default_factory=list)  # what another stage migrates
    imports: frozenset[str] = frozenset()  # the project's files that it imports
    modules: frozenset[str] | None = None  # the top-level modules that the new text imports; None: not looked for
    uses: frozenset[str] = frozenset()  # the helpers that it takes, also those of an earlier run
    # the members that the new text may name; None: not looked for
    said: frozenset[str] | None = dataclasses.field(default=None, compare=False)
    # the markers that one answer settles for all files: the text of each, and what it asks
    asked: tuple[tuple[str, tuple[str, ...]], ...] = ()
    python2: bool = False  # the file was Python 2, and was converted first

    @property
    def changed(self) -> bool:
        """Whether the text is another one."""
        return self.code != self.source


_SETS = ("helpers", "imports", "modules", "uses")
_KEPT = ("root", "left", "error", "kinds")


def plain(result: FileResult) -> dict[str, Any]:
    """A result as JSON can hold it, without the text of its file."""
    return {
        "code": result.code if result.changed else None,
        **{name: getattr(result, name) for name in _KEPT},
        **{name: sorted(getattr(result, name) or ()) for name in _SETS},
        "said": None if result.said is None else sorted(result.said),
        "sites": [list(vars(site).values()) for site in result.sites],
        "asked": result.asked,
        "kept": [list(vars(site).values()) for site in result.kept],
        "mentions": [list(vars(mention).values()) for mention in result.mentions],
    }


def of_plain(path: str, text: str, kept: Mapping[str, Any]) -> FileResult:
    """The result that :func:`plain` gave."""
    fields = {name: kept[name] for name in _KEPT}
    fields.update((name, frozenset(kept[name])) for name in _SETS)
    return FileResult(
        path,
        text,
        text if kept["code"] is None else kept["code"],
        said=None if kept["said"] is None else frozenset(kept["said"]),
        sites=[Site(*site) for site in kept["sites"]],
        asked=tuple((text, tuple(questions)) for text, questions in kept["asked"]),
        kept=[Site(*site) for site in kept["kept"]],
        mentions=[Mention(*mention) for mention in kept["mentions"]],
        **fields,
    )


__all__ = ["FileResult", "of_plain", "plain"]
