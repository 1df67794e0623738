"""Requirements as places in a text, and their replacement."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Sequence

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_PEP508 = re.compile(
    rf"\s*({_NAME.pattern})\s*(\[[^\]]*\])?\s*(\(?\s*(?:(?:[<>=!~]=?=?|===)[^;,()]+,?\s*)*\)?|@\s*\S+)\s*(;.*)?$",
    re.DOTALL,
)
_URL = re.compile(r"(?:git|hg|svn|bzr)\+\S+|https?://\S+")
_EGG = re.compile(r"[#&]egg=([A-Za-z0-9._-]+)|/([A-Za-z0-9._-]+?)(?:\.git)?(?:@[^/]*)?$")


def canonical(name: str) -> str:
    """A package's name as the index compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


@dataclasses.dataclass(frozen=True)
class Requirement:
    """A parsed requirement: the canonical name, its version (or address), and the marker with its semicolon."""

    name: str
    version: str
    marker: str = ""

    @property
    def capped(self) -> bool:
        """Whether newer versions are ruled out."""
        return bool(re.search(r"(?<![<>!~=])[<=~^]=?|~=", self.version.replace(">=", "")))


def parse(text: str) -> Requirement | None:
    """Reads a requirement of PEP 508, or an address that pip takes; None when it is neither."""
    if _URL.match(text.strip()):
        found = _EGG.search(text.split(";")[0].strip())
        return Requirement(canonical(found[1] or found[2]), text.strip()) if found else None
    match = _PEP508.match(text)
    return Requirement(canonical(match[1]), (match[3] or "").strip(), match[4] or "") if match else None


@dataclasses.dataclass(frozen=True)
class Item:
    """A requirement at a place: ``start`` and ``end`` hold what is replaced, the quotes of a string not included."""

    requirement: Requirement
    start: int
    end: int
    quote: str = ""


# How a package is written: its name, the lowest version that was proved, and what it takes the place of.
Writer = Callable[[str, str, Requirement], str]


def pip(package: str, minimum: str, old: Requirement) -> str:
    """As in a requirements file; with a version only where the old one had one."""
    return package + (f">={minimum}" if old.version and minimum else "") + (f" {old.marker}" if old.marker else "")


def table(package: str, minimum: str, old: Requirement) -> str:
    """As a key of a TOML table (Poetry, Pipenv)."""
    return f'{package} = "{f">={minimum}" if old.version not in ("", "*") and minimum else "*"}"'


@dataclasses.dataclass(frozen=True)
class Group:
    """Requirements that stand together: one a line, or the strings of an array."""

    items: tuple[Item, ...]
    array: bool = False
    write: Writer = pip
    # what stands in front of an item on a line of its own; None: as in front of the one that it follows
    indent: str | None = None
    unclear: str = ""  # why it cannot be edited


@dataclasses.dataclass(frozen=True)
class Wanted:
    """A package that is needed now."""

    package: str
    minimum: str


def line_of(text: str, offset: int) -> int:
    """The number of the line (from 1) in which an offset lies."""
    return len(re.findall(r"\r\n|\r|\n", text[:offset])) + 1


Change = tuple[int, int, str]


def replaced(text: str, group: Group, gone: Sequence[Item], after: Item, new: Iterable[Wanted]) -> list[Change]:
    """The changes (start, end, text) that take ``gone`` out of a group and put ``new`` in place of the first of them;
    behind ``after`` when none goes."""
    packages = list(new)
    changes: list[Change] = []
    at = gone[0] if gone else after
    written = [group.write(w.package, w.minimum, at.requirement) for w in packages]
    join = _array_joint(text, group) if group.array else _line_joint(text, group, at)
    if written:
        quoted = f"{at.quote}{join}{at.quote}".join(written) if group.array else join.join(written)
        if gone:
            changes.append((at.start, at.end, quoted))
        else:
            changes.append((at.end, at.end, (f"{at.quote}{join}{at.quote}" if group.array else join) + quoted))
    for item in gone if not written else gone[1:]:
        changes.append(_without(text, item) if group.array else _without_line(text, item))
    return changes


def added(text: str, item: Item, lines: Iterable[str]) -> Change:
    """The change that puts lines behind the line of an item."""
    end = re.compile(r"[^\r\n]*").match(text, item.end)
    assert end is not None
    break_ = _line_end(text)
    return end.end(), end.end(), "".join(break_ + line for line in lines)


def apply(text: str, changes: Iterable[Change]) -> str:
    """The text with its changes, which do not overlap."""
    for start, end, new in sorted(changes, key=lambda change: change[:2], reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _line_end(text: str) -> str:
    found = re.search(r"\r\n|\r|\n", text)
    return found[0] if found else "\n"


def _line_joint(text: str, group: Group, item: Item) -> str:
    start = max(text.rfind("\n", 0, item.start), text.rfind("\r", 0, item.start)) + 1
    return _line_end(text) + (text[start : item.start] if group.indent is None else group.indent)


def _array_joint(text: str, group: Group) -> str:
    """What stands between two strings of an array, a comma included."""
    first = group.items[0]
    outer = first.start - len(first.quote)
    before = re.search(r"(?:\r\n|\r|\n)[ \t]*$", text[:outer])
    return "," + (before[0] if before else " ")


def _without(text: str, item: Item) -> Change:
    start, end = item.start - len(item.quote), item.end + len(item.quote)
    comma = re.compile(r"[ \t]*,").match(text, end)
    begin = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
    rest = re.compile(r"[ \t]*(#[^\r\n]*)?(\r\n|\r|\n)").match(text, comma.end() if comma else end)
    if not text[begin:start].strip() and rest:  # on a line of its own: a comment stays
        return begin, rest.end(), f"{text[begin:start]}{rest[1]}{rest[2]}" if rest[1] else ""
    if comma:
        space = re.compile(r"[ \t]*").match(text, comma.end())
        return start, space.end() if space else comma.end(), ""
    before = re.search(r",[ \t\r\n]*$", text[:start])
    return (before.start() if before else start), end, ""


def _without_line(text: str, item: Item) -> Change:
    begin = max(text.rfind("\n", 0, item.start), text.rfind("\r", 0, item.start)) + 1
    rest = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)?").match(text, item.end)
    assert rest is not None
    comment = re.search(r"#.*", rest[0], re.DOTALL)
    return begin, rest.end(), comment[0] if comment else ""
