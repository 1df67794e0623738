"""What a run found: plain data that every format is made from."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable

from chainer2torch.plan.site import STATES, Mention, Site
from chainer2torch.project.files import FileError

# What can happen to a file; in the JSON report as "status".
NO_CHAINER, CLEAN, MIGRATED, PARTIAL, LEFT, ERROR = "no chainer", "clean", "migrated", "partial", "left", "error"
_NAMED = 5  # files that a note lists


@dataclasses.dataclass(frozen=True)
class FileRow:
    """One file: ``left`` counts the Chainer references of the migrated text (None: it was not migrated).

    ``before`` and ``after`` are the texts, where they were read; the JSON report does not have them.
    """

    path: str
    status: str
    sites: tuple[Site, ...] = ()
    left: int | None = None
    before: str | None = dataclasses.field(default=None, repr=False, compare=False)
    after: str | None = dataclasses.field(default=None, repr=False, compare=False)
    mentions: tuple[Mention, ...] = ()
    kept: tuple[Site, ...] = ()  # what another stage migrates (migrate --only); they are no sites of this run
    python2: bool = False  # it was Python 2, and was converted first


def modernised(rows: Iterable[FileRow]) -> list[str]:
    """The note about the files that were Python 2."""
    paths = [row.path for row in rows if row.python2]
    if not paths:
        return []
    shown = ", ".join(paths[:_NAMED]) + (f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else "")
    became = "1 file was Python 2 and is" if len(paths) == 1 else f"{len(paths)} files were Python 2 and are"
    return [f"{became} made Python 3 (--no-modernize leaves them): {shown}"]


@dataclasses.dataclass
class Report:
    """A whole run."""

    files: list[FileRow] = dataclasses.field(default_factory=list)
    problems: list[FileError] = dataclasses.field(default_factory=list)
    # whether texts were migrated; else the files were only looked at, and every site is still Chainer
    migrated: bool = True
    # whether the migrated texts were written; else this is what a migration would do
    written: bool = False
    # what to consider about the whole run, each in a sentence
    notes: list[str] = dataclasses.field(default_factory=list)
    # what the Trainer programs run on, where that is not the usual loop
    trainer: str = ""

    @property
    def sites(self) -> Iterable[Site]:
        """All sites of all files."""
        return (site for row in self.files for site in row.sites)

    @property
    def left(self) -> int:
        """References to Chainer that the migrated texts still have, counted in the output."""
        return sum(row.left or 0 for row in self.files)

    @property
    def mentions(self) -> list[tuple[FileRow, Mention]]:
        """Names of Chainer's in strings, docstrings and comments, which stay as they are."""
        return [(row, mention) for row in self.files for mention in row.mentions]

    @property
    def kept(self) -> list[tuple[FileRow, Site]]:
        """What this run was told to leave to another stage."""
        return [(row, site) for row in self.files for site in row.kept]

    def totals(self) -> dict[str, int]:
        """The numbers of the JSON report's ``totals``."""
        counts = {"files": len(self.files), "sites": 0, **dict.fromkeys(STATES, 0)}
        for site in self.sites:
            counts["sites"] += 1
            counts[site.state] += 1
        return counts

    def differences(self) -> dict[str, int]:
        """The declared differences of the native style (docs/differences.md), and at how many sites each is made."""
        found = Counter(site.difference for site in self.sites if site.difference)
        return dict(sorted(found.items()))

    def symbols(self) -> dict[str, dict[str, int]]:
        """For each Chainer name the number of sites by state, sorted by name."""
        found: dict[str, dict[str, int]] = {}
        for site in self.sites:
            counts = found.setdefault(site.symbol, {"sites": 0, **dict.fromkeys(STATES, 0)})
            counts["sites"] += 1
            counts[site.state] += 1
        return dict(sorted(found.items()))

    def leftovers(self) -> list[tuple[FileRow, Site]]:
        """What a person has to see to: the open sites, or every site when nothing was migrated."""
        return [(row, site) for row in self.files for site in row.sites if site.open or not self.migrated]

    def share_done(self) -> float:
        """Per cent of the sites that need no person (exact or close), as they are or would be migrated."""
        totals = self.totals()
        return 100.0 * (totals["exact"] + totals["close"]) / totals["sites"] if totals["sites"] else 100.0

    def something_left(self) -> bool:
        """Whether the migration leaves work: an open site, or Chainer in the output."""
        return self.left > 0 or any(site.open for site in self.sites)

    def filtered(self, select: Iterable[str], ignore: Iterable[str]) -> Report:
        """Only sites whose code starts with one of ``select`` (all, when empty) and with none of ``ignore``."""
        wanted, unwanted = tuple(select), tuple(ignore)
        if not wanted and not unwanted:
            return self

        def keeps(site: Site) -> bool:
            return (not wanted or site.code.startswith(wanted)) and not site.code.startswith(unwanted or ("-",))

        files = []
        for row in self.files:
            sites = tuple(site for site in row.sites if keeps(site))
            # A file whose open sites are all filtered away counts as done; otherwise what was counted stands.
            hidden = any(site.open for site in row.sites) and not any(site.open for site in sites)
            files.append(dataclasses.replace(row, sites=sites, left=0 if hidden and row.left else row.left))
        return dataclasses.replace(self, files=files)
