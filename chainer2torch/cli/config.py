"""``[tool.chainer2torch]`` of the migrated project's pyproject.toml, read strictly."""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from chainer2torch.rules.stage_names import STAGES, STYLES, TRAINERS


class ConfigError(Exception):
    """The configuration is wrong; the message names the file and the key."""


@dataclasses.dataclass(frozen=True)
class Config:
    """The options that a project sets for itself; the command line adds to the lists and overrides the rest."""

    rules: tuple[Path, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    gitignore: bool = True
    jobs: int = 0
    init: str = "chainer"
    only: tuple[str, ...] = ()
    style: str = "native"
    trainer: str = "ppe"
    parallel_updater: str = "ddp"
    modernize: bool = True
    self_check: bool = True
    chainer_version: int | None = None
    chainer_minor: int | None = None
    baseline: Path | None = None
    fail_under: float | None = None


_LISTS = ("rules", "select", "ignore", "exclude", "only")
# single values: what TOML must give, and what a message calls it
_VALUES: dict[str, tuple[type | tuple[type, ...], str]] = {
    "gitignore": (bool, "true or false"),
    "modernize": (bool, "true or false"),
    "jobs": (int, "a whole number"),
    "init": (str, "'chainer' or 'torch'"),
    "style": (str, "'native' or 'faithful'"),
    "trainer": (str, "'ppe' or 'ignite'"),
    "chainer-version": ((int, str), 'a number from 1 to 7, or a version in quotes, such as "1.8"'),
    "baseline": (str, "a path"),
    "parallel-updater": (str, "'ddp' or 'single'"),
    "fail-under": ((int, float), "a number from 0 to 100"),
    "self-check": (bool, "true or false"),
}
_VERSION = re.compile(r"v?([1-7])(?:\.(\d+)(?:\.\w+)*)?")
_KEYS = (*_LISTS, *_VALUES, "verify")  # [tool.chainer2torch.verify] belongs to chainer2torch.verify


def stages(given: tuple[str, ...]) -> tuple[str, ...]:
    """The stages that ``--only`` names, several with commas."""
    names = tuple(name.strip() for text in given for name in text.split(","))
    unknown = [name for name in names if name not in STAGES]
    if unknown:
        near = _near(unknown[0], STAGES)
        raise ConfigError(
            f"--only {unknown[0]}: no such stage; "
            + (f"did you mean {near[0]}?" if near else f"the stages are {', '.join(STAGES)}")
        )
    return names


def _near(name: str, known: Iterable[str]) -> list[str]:
    import difflib

    return difflib.get_close_matches(name, list(known), 1)


def load(start: Path) -> Config:
    """The configuration that applies to ``start``: of the nearest pyproject.toml, in its folder or above."""
    start = start.resolve()
    for folder in (start, *start.parents):
        path = folder / "pyproject.toml"
        if path.is_file():
            return read(path)
    return Config()


def read(path: Path) -> Config:
    """Reads one pyproject.toml; a file without our table is an empty configuration."""
    raw = path.read_bytes()
    if b"chainer2torch" not in raw:  # somebody else's file: not ours to complain about
        return Config()
    if sys.version_info >= (3, 11):  # here, as most runs have no such file
        import tomllib
    else:
        import tomli as tomllib
    try:
        table = tomllib.loads(raw.decode("utf-8")).get("tool", {}).get("chainer2torch", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: [tool.chainer2torch] must be a table")
    for key in table:
        if key not in _KEYS:
            near = _near(key, _KEYS)
            hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(_KEYS)}"
            raise ConfigError(f"{path}: [tool.chainer2torch] has the unknown key {key!r}; {hint}")
    lists = {key: _strings(path, key, table[key]) for key in _LISTS if key in table}
    for stage in lists.get("only", ()):
        if stage not in STAGES:
            raise ConfigError(f"{path}: [tool.chainer2torch] only must be a list of {', '.join(STAGES)}, not {stage!r}")
    if "verify" in table:  # a mistake there shows at once, too, and not only when models are verified
        from chainer2torch.verify.models import entries

        entries.read_names(path.parent)
        entries.read_entries(path.parent)
    rules = tuple(path.parent / item for item in lists.pop("rules", ()))
    values = {key: _value(path, key, table[key]) for key in _VALUES if key in table}
    if "baseline" in values:
        values["baseline"] = path.parent / values["baseline"]
    if "chainer-version" in values:
        values["chainer-version"], values["chainer-minor"] = version_of(str(values["chainer-version"]))
    fields: dict[str, Any] = {**lists, **{key.replace("-", "_"): value for key, value in values.items()}}
    return Config(rules=rules, **fields)


def version_of(text: str) -> tuple[int, int | None]:
    """A version of Chainer: ``1.8.2`` is (1, 8), ``5`` is (5, None). ValueError for what is none."""
    match = _VERSION.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no version of Chainer: they go from 1 to 7, with a minor version as in 1.8")
    return int(match[1]), int(match[2]) if match[2] else None


def _is_version(text: str) -> bool:
    return _VERSION.fullmatch(text.strip()) is not None


def _value(path: Path, key: str, value: Any) -> Any:
    types, meaning = _VALUES[key]
    right = isinstance(value, types) and isinstance(value, bool) == (types is bool)
    right = right and (key != "parallel-updater" or value in ("ddp", "single")) and (key != "style" or value in STYLES)
    right = right and (key != "trainer" or value in TRAINERS)
    right = right and (key != "init" or value in ("chainer", "torch")) and (key != "fail-under" or 0 <= value <= 100)
    if not right or key == "jobs" and value < 0 or key == "chainer-version" and not _is_version(str(value)):
        raise ConfigError(f"{path}: [tool.chainer2torch] {key} must be {meaning}, not {value!r}")
    return value


def _strings(path: Path, key: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ConfigError(f"{path}: [tool.chainer2torch] {key} must be a list of strings, not {value!r}")
    return tuple(value)
