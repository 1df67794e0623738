"""Names of files as they may be shown: a name can hold anything, also what steers a terminal or ends a line."""

from __future__ import annotations

import unicodedata


def visible(text: str) -> str:
    r"""The text with an escape for every character that is not printable: ``\n``, ``\x1b``, ``\u202e``.

    So a name cannot add lines to a log or annotations to a CI run, colour or clear a terminal, or turn the direction
    of the text around it. A byte that is no UTF-8 in a file name becomes ``\xff``. A text that is shown already stays.
    """
    return text if text.isprintable() else "".join(map(_escaped, text))


def visible_lines(text: str) -> str:
    """The same for a text of several lines: its line ends and tabs stay."""
    return text if text.isprintable() else "".join(c if c in "\n\t" else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    if character.isprintable() or unicodedata.category(character) == "Zs":  # spaces, as in Japanese names, are harmless
        return character
    if "\udc80" <= character <= "\udcff":  # how Python holds a byte that could not be decoded
        return f"\\x{ord(character) - 0xDC00:02x}"
    return ascii(character)[1:-1]


def quoted(name: str) -> str:
    """The name of a file in the head of a patch, as git writes it: in quotes with escapes where it needs them."""
    if name.isprintable() and '"' not in name and "\\" not in name:
        return name
    return '"' + "".join(map(_in_quotes, name)) + '"'


def _in_quotes(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    return "".join(f"\\{byte:03o}" for byte in character.encode("utf-8", "surrogateescape"))
