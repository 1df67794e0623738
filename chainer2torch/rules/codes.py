"""What the codes mean, for ``chainer2torch explain``. The texts stand in codes.toml beside this file.

Codes are stable: a number is never given another meaning.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclasses.dataclass(frozen=True)
class Code:
    """A code: what it stands for, an example of it, and what to do.

    ``run`` is there when the engine makes ``after`` from ``before``, with these options; a test compares.
    """

    title: str
    cause: str
    remedy: str
    before: str
    after: str
    run: Mapping[str, Any] | None = None

    @property
    def text(self) -> str:
        """Cause and remedy in one paragraph, for reports."""
        return f"{self.cause} {self.remedy}"


_FAMILIES = {
    "0": "input and tool",
    "1": "functions",
    "2": "links",
    "3": "variables and arrays",
    "4": "modes and configuration",
    "5": "optimizers",
    "6": "training and data",
    "7": "distributed",
    "8": "serialization",
}


@functools.lru_cache(maxsize=1)
def table() -> dict[str, Code]:
    """All codes, in order."""
    data = tomllib.loads(Path(__file__).with_name("codes.toml").read_text(encoding="utf-8"))
    return {code: Code(**fields) for code, fields in data.items()}


def explain(code: str) -> str | None:
    """The text for a code, or None when there is no such code."""
    code = code.upper()
    entry = table().get(code)
    if entry is None:
        return None
    before, after = (textwrap.indent(text.strip(), "    ") for text in (entry.before, entry.after))
    return (
        f"{code}: {entry.title} ({_FAMILIES.get(code[3], 'other')})\n\n{textwrap.fill(entry.cause, 100)}\n\n"
        f"Before:\n\n{before}\n\nAfter:\n\n{after}\n\nWhat to do: {textwrap.fill(entry.remedy, 100)}\n"
    )


def nearest(code: str) -> str | None:
    """The code that was probably meant."""
    found = difflib.get_close_matches(code.upper(), table(), 1)
    return found[0] if found else None
