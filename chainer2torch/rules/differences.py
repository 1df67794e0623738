"""The declared differences of the native style. The texts stand in differences.toml beside this file."""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Mapping
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclasses.dataclass(frozen=True)
class Difference:
    """What the output does otherwise than Chainer on purpose, and what ``verify`` does about it."""

    what: str
    checked: str


@functools.lru_cache(maxsize=1)
def table() -> Mapping[str, Difference]:
    """All declared differences by their names."""
    data = tomllib.loads(Path(__file__).with_name("differences.toml").read_text(encoding="utf-8"))
    return {name: Difference(**fields) for name, fields in data.items()}
