"""Git submodules that are not checked out: their folders are empty, so nothing of what is in them was read."""

from __future__ import annotations

import configparser
from pathlib import Path

from chainer2torch.project.visible import visible

_NAMED = 5  # submodules that a note lists


def notes(base: Path, shown: str) -> list[str]:
    """The note about the submodules of a folder that are not there; `shown` is how its paths begin in messages."""
    found = [visible(shown + path) for path in absent(base)]
    if not found:
        return []
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    lead = "1 git submodule is" if len(found) == 1 else f"{len(found)} git submodules are"
    return [
        f"{lead} not checked out, and what the project takes from there is not known "
        f"(`git submodule update --init`, then run this again): {', '.join(found[:_NAMED])}{more}"
    ]


def absent(base: Path) -> list[str]:
    """The folders of the submodules that are not there, as `.gitmodules` names them."""
    return [path for path in _paths(base / ".gitmodules") if _is_absent(base / path)]


def _paths(file: Path) -> list[str]:
    """The folders that a `.gitmodules` file names; none where there is no such file, or it cannot be read."""
    settings = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        # git indents its settings, which configparser would take for lines that go on
        settings.read_string("\n".join(map(str.strip, file.read_text("utf-8", "replace").splitlines())))
    except (OSError, configparser.Error):
        return []
    return [settings[name]["path"] for name in settings.sections() if settings[name].get("path")]


def _is_absent(folder: Path) -> bool:
    try:
        return not folder.is_dir() or not any(folder.iterdir())
    except OSError:
        return False
