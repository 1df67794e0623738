"""Where requirements stand in requirements.txt, setup.cfg, pyproject.toml, Pipfile and environment.yml."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator

from chainer2torch.project.dependencies import toml_places
from chainer2torch.project.dependencies.editing import Group, Item, Requirement, canonical, parse, table

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_ARRAYS = tuple(
    """
    project.dependencies project.optional-dependencies.* build-system.requires dependency-groups.*
    tool.pdm.dev-dependencies.* tool.uv.dev-dependencies tool.hatch.envs.*.dependencies
    tool.hatch.envs.*.extra-dependencies tool.flit.metadata.requires tool.poetry.extras.*
    """.split()
)
_TABLES = (
    "tool.poetry.dependencies",
    "tool.poetry.dev-dependencies",
    "tool.poetry.group.*.dependencies",
    "packages",
    "dev-packages",
)
_CFG_KEYS = frozenset({"install_requires", "setup_requires", "tests_require"})


def groups(kind: str, text: str) -> list[Group]:
    """The requirements of a file. ``ValueError`` when it is not well formed."""
    return list({"pip": _pip, "cfg": _cfg, "toml": _toml, "conda": _conda}[kind](text))


def _lines(text: str, start: int = 0) -> Iterator[tuple[int, str]]:
    for match in _LINE.finditer(text, start):
        yield match.start(), match[0]


def _item(text: str, start: int) -> Item | None:
    """The requirement on (the rest of) a line that begins at an offset, its comment not included."""
    body = re.split(r"(?:^|[ \t])#", text.rstrip("\r\n"), maxsplit=1)[0]
    stripped = body.strip()
    found = parse(stripped) if stripped else None
    if found is None:
        return None
    at = start + body.index(stripped[0])
    return Item(found, at, at + len(stripped))


def _pip(text: str) -> Iterator[Group]:
    items: list[Item] = []
    unclear = ""
    inside = False
    for start, line in _lines(text):
        if re.search(r"(?:^|\s)--hash[= ]", line):
            unclear = "the file has hashes, which have to be made anew (pip-compile --generate-hashes)"
        if not inside:
            item = _item(re.sub(r"\\\s*$", "", line.split(" --hash")[0]), start)
            items += [item] if item else []
        inside = line.rstrip("\r\n").endswith("\\")
    yield Group(tuple(items), unclear=unclear)


def _cfg(text: str) -> Iterator[Group]:
    section = key = ""
    items: list[Item] = []
    indent: str | None = None
    for start, line in _lines(text):
        header = re.match(r"\[([^\]]*)\]", line)
        entry = re.match(r"([^\s#;=:\[][^=:]*?)[ \t]*[=:]", line)
        if header or entry:
            if items:
                yield Group(tuple(items), indent=indent)
            items, indent = [], None
            section, key = (header[1], "") if header else (section, entry[1].strip() if entry else "")
            wanted = (section == "options" and key in _CFG_KEYS) or (section == "options.extras_require" and key)
            if header or not wanted or not entry:
                key = ""
                continue
            item = _item(line[entry.end() :], start + entry.end())
            if item:
                items, indent = [item], "    "
        elif key and line[:1].isspace():
            item = _item(line, start)
            items += [item] if item else []
    if items:
        yield Group(tuple(items), indent=indent)


def _toml(text: str) -> Iterator[Group]:
    tables: dict[tuple[str, ...], list[Item]] = {}
    for entry in toml_places.scan(text):
        path = ".".join(entry.path)
        if entry.strings is not None and any(fnmatch.fnmatchcase(path, pattern) for pattern in _ARRAYS):
            found = [(parse(string.value), string) for string in entry.strings]
            items = tuple(
                Item(requirement, string.start, string.end, string.quote)
                for requirement, string in found
                if requirement is not None
            )
            if items:
                yield Group(items, array=True)
        elif any(fnmatch.fnmatchcase(".".join(entry.path[:-1]), pattern) for pattern in _TABLES):
            version = text[entry.value_start : entry.end]
            plain = version.strip("\"'") if version[:1] in "\"'" else "*"
            tables.setdefault(entry.path[:-1], []).append(
                Item(Requirement(canonical(entry.path[-1]), plain), entry.start, entry.end)
            )
    for listed in tables.values():
        yield Group(tuple(listed), write=table)


def _conda(text: str) -> Iterator[Group]:
    """Conda's own list is one group (there is one at least), the list of its ``pip`` another."""
    conda: list[Item] = []
    inner: list[Item] = []
    depth: int | None = None  # how far the list of conda is indented
    listed = False
    for start, line in _lines(text):
        if re.match(r"dependencies[ \t]*:", line):
            listed = True
            continue
        if listed and re.match(r"[^\s#-]", line):
            listed = False
        match = re.match(r"([ \t]*)-[ \t]+(['\"]?)([^'\"#\r\n]*?)\2[ \t]*(?:#.*)?[\r\n]*$", line)
        if not listed or not match:
            continue
        depth = len(match[1]) if depth is None else depth
        at = start + match.start(3)
        if len(match[1]) > depth:
            requirement = parse(match[3])
            inner += [Item(requirement, at, at + len(match[3]))] if requirement else []
        elif not match[3].endswith(":"):
            name = re.match(r"(?:[\w./-]+::)?([\w.-]+)[ \t]*(.*)", match[3])
            if name:
                conda.append(Item(Requirement(canonical(name[1]), name[2]), at, at + len(match[3])))
    yield Group(tuple(conda))
    yield Group(tuple(inner))
