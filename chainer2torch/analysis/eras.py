"""For which version of Chainer a file was written, as far as its words tell."""
from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Mapping

# words that only version 1 knows, and words that came with version 2 or later
_VERSION_1 = re.compile(r"\b(volatile|wscale|FunctionSet|zero_grads|clip_grads)\b|\buse_cudnn\s*=\s*(?:True|False)\b")
_LATER = re.compile(r"\b(init_scope|using_config|no_backprop_mode|force_backprop_mode|global_config|FunctionNode|"
                    r"to_chx|get_device_from_id)\b|\bchainer\.(config|backends?|initializers\.Normal)\b")


def eras(texts: Mapping[str, str]) -> dict[str, int | None]:
    """By path: 1 for files of version 1, 2 for later ones, None where nothing tells.

    A file without a sign is of the era of the other files of its project when those agree.
    """
    texts = {path: _code(text) for path, text in texts.items()}
    own = {path: _own(text) for path, text in texts.items()}
    found = {era for era in own.values() if era is not None}
    common = next(iter(found)) if len(found) == 1 and not any(_both(text) for text in texts.values()) else None
    return {path: era if era is not None or _both(texts[path]) else common for path, era in own.items()}


def _code(text: str) -> str:
    """The text without comments and strings: what they say of a version is no sign of it. Empty where no word is."""
    if not (_VERSION_1.search(text) or _LATER.search(text)):
        return ""
    words = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.NAME:
                words.append(f" {token.string}")
            elif token.type == tokenize.OP:
                words.append(token.string)
    except (tokenize.TokenError, SyntaxError):  # what ast takes and tokenize does not: no sign
        return ""
    return "".join(words).replace(". ", ".")


def _own(text: str) -> int | None:
    first, later = _VERSION_1.search(text) is not None, _LATER.search(text) is not None
    return None if first == later else 1 if first else 2


def _both(text: str) -> bool:
    return _VERSION_1.search(text) is not None and _LATER.search(text) is not None
