"""Whether a script's loaders leave a short last batch out, by the texts of both sides."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_WHOLE = b"drop_last=True"  # of loaders that an updater gets with others
_SHUFFLED = re.compile(rb"DataLoader\([^\n]*shuffle=True[^\n]*")
_OF_SEVERAL = re.compile(rb"[Uu]pdat\w*\(\s*(?:iterator\s*=\s*)?\{[^{}]*:[^{}]*,[^{}]*:")


def left_out(run: Sequence[bytes], original: Iterable[bytes]) -> bool | str:
    """True: those of loaders that an updater gets with others; "all": those of all loaders that shuffle.

    Where some updater of the original gets several iterators, another of the same script may get one of them alone,
    as the command line says.
    """
    if not any(_WHOLE in text for text in run):
        return False
    shuffled = [call for text in run for call in _SHUFFLED.findall(text)]
    several = any(map(_OF_SEVERAL.search, original))
    return "all" if several and shuffled and all(_WHOLE in call for call in shuffled) else True


__all__ = ["left_out"]
