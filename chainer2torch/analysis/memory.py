"""The files of a project as they are read, and what of them need not be worked out again.

A memory holds plain data by keys. A key is made from everything that its value was decided from, so a value cannot be
out of date: it is found, or it is not.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeVar

from chainer2torch.analysis.outlines import Outline, outline_of
from chainer2torch.analysis.parsing import parse
from chainer2torch.analysis.source import Source

T = TypeVar("T")
# the texts of a file of which outlines are kept: as it is, as the self-check reads it, and as they were before
_TEXTS = 4
# of so many characters in all the trees are kept until they are analysed; of more, each is parsed twice
_KEPT = 4_000_000


class Memory(Protocol):
    """What earlier runs have found. A value that is broken, or was never kept, is None."""

    def get(self, key: str) -> Any:
        """The value that was put under a key."""

    def put(self, key: str, value: Any) -> None:
        """Keeps a value that JSON can hold."""


def key(*parts: Any) -> str:
    """The key for what is decided from all these parts."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def made_once(memory: Memory | None, make: Callable[[], T], *parts: Any) -> T:
    """What ``make`` gives, which is decided from ``parts`` alone and can be held by JSON; it is made once."""
    if memory is None:
        return make()
    place = key(*parts)
    found = memory.get(place)
    if not isinstance(found, list) or len(found) != 1:  # in a list: an answer can be None
        found = [make()]
        memory.put(place, found)
    answer: T = found[0]
    return answer


class Files:
    """Texts by path, with the outlines of those that can be parsed, and the errors of the others."""

    def __init__(self, texts: Mapping[str, str]):
        self.texts = texts
        self.outlines: dict[str, Outline] = {}
        self.errors: dict[str, str] = {}
        self._sources: dict[str, Source] = {}
        self._digests: dict[str, str] = {}

    @classmethod
    def read(cls, texts: Mapping[str, str], memory: Memory | None) -> Files:
        """Parses the files of which the memory has no outline. All outlines of a project are one value there."""
        files = cls(texts)
        place = key("outlines", list(texts))
        known = memory.get(place) if memory is not None and texts else None
        kept = known if isinstance(known, dict) else {}
        keeps_sources = sum(map(len, texts.values())) < _KEPT
        for path in texts:
            outline = _kept(kept.get(path), files.digest(path)) if memory is not None else None
            if outline is None:
                outline = files._parsed(path, keeps_sources)
            if outline is not None:
                files.outlines[path] = outline
        if memory is not None and texts:
            new = {path: _with(kept.get(path), files.digest(path), files.outlines.get(path)) for path in texts}
            if new != kept:
                memory.put(place, new)
        return files

    def digest(self, path: str) -> str:
        """What stands for the text of a file."""
        if path not in self._digests:
            self._digests[path] = hashlib.sha256(self.texts[path].encode("utf-8", "surrogatepass")).hexdigest()
        return self._digests[path]

    def source(self, path: str) -> Source:
        """The tree of a file, which is needed once."""
        return self._sources.pop(path, None) or Source(self.texts[path], parse(self.texts[path]))

    def _parsed(self, path: str, keep: bool) -> Outline | None:
        text = self.texts[path]
        try:
            source = Source(text, parse(text))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            self.errors[path] = _syntax_message(error)
            return None
        if keep:
            self._sources[path] = source
        return outline_of(source)


def imported(outlines: Iterable[Outline]) -> frozenset[str]:
    """The top-level modules that some file imports: the rules of libraries on Chainer are loaded for these."""
    return frozenset(
        name.split(".", 1)[0]
        for outline in outlines
        for statement in outline.imports
        for name in (statement.names if statement.level is None else () if statement.level else (statement.module,))
    )


def _kept(entry: Any, digest: str) -> Outline | None:
    try:
        return next((Outline.of_plain(plain) for known, plain in entry or () if known == digest), None)
    except (TypeError, ValueError, IndexError):  # nothing that we have written
        return None


def _with(entry: Any, digest: str, outline: Outline | None) -> list[Any]:
    """What is kept of a file, with the outline of one more text."""
    old = entry if isinstance(entry, list) else []
    if outline is None or any(known == digest for known, _ in old):
        return old
    return [[digest, outline.plain()], *old][:_TEXTS]


def _syntax_message(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return f"line {error.lineno}: {error.msg}" if error.lineno is not None else error.msg
    return f"cannot be parsed: {error or type(error).__name__}"


__all__ = ["Files", "Memory", "imported", "key", "made_once"]
