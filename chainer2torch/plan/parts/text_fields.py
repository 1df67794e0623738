"""Which values a format writes as they are: those with a number's format look alike, for a tensor and for an array.

'epoch {}: loss {:.4f}'.format(epoch, loss)      # {:.4f} asks both for their one number
'%s: %f' % (name, loss)
"""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Sequence

_CONVERSION = re.compile(
    r"%(?:\((?P<key>[^)]*)\))?[-+ #0]*(?P<width>\d+|\*)?(?:\.(?P<precision>\d+|\*))?[hlL]?(?P<type>.)"
)
_SHOWS_WHOLE = re.compile(r"%(\(\w*\))?[-+ #0]*(\d+|\*)?(\.\d+)?[sr]")
_NUMBERS = frozenset("diouxXeEfFgGc")
_NAME = re.compile(r"\w*\Z")


def as_they_are(text: str, call: ast.Call) -> list[ast.expr]:
    """The arguments of ``text.format(...)`` that it writes as they are; all of them where its fields do not tell."""
    given: dict[str | None, ast.expr] = {str(i): argument for i, argument in enumerate(call.args)}
    given |= {keyword.arg: keyword.value for keyword in call.keywords}
    everything = [*call.args, *(keyword.value for keyword in call.keywords)]
    if any(isinstance(argument, ast.Starred) for argument in call.args) or None in given:
        return everything
    found, count = list[ast.expr](), 0
    try:
        fields = [field for field in string.Formatter().parse(text) if field[1] is not None]
    except ValueError:
        return everything
    for _, name, spec, conversion in fields:
        assert name is not None
        if re.match(r"[.\[]|\Z", name):  # `{}`, `{.shape}`
            name, count = f"{count}{name}", count + 1
        if spec and "{" in spec:
            return everything  # `{:{}}` takes its width from another argument
        path = _NAME.match(name) is None  # `{0.shape}`, `{0[1]}`
        base = re.split(r"[.\[]", name, maxsplit=1)[0]
        value = given.get(base)
        if value is not None and (path or conversion or not spec) and value not in found:
            found.append(value)
    return found


def converted_as_they_are(text: str, values: Sequence[ast.expr]) -> list[ast.expr]:
    """The values of ``text % (...)`` that it writes as they are; all of them where its conversions do not tell."""
    found = [match for match in _CONVERSION.finditer(text) if match["type"] != "%"]
    told = all(match["key"] is None and "*" not in (match["width"], match["precision"]) for match in found)
    if not told or len(found) != len(values) or any(isinstance(value, ast.Starred) for value in values):
        return list(values)
    return [value for value, match in zip(values, found) if match["type"] not in _NUMBERS]


def looked_into(text: str, call: ast.Call) -> list[tuple[ast.expr, str]]:
    """The arguments of ``text.format(...)`` of which it writes a member, each with the path to it: ``{0.shape}``."""
    given: dict[str | None, ast.expr] = {keyword.arg: keyword.value for keyword in call.keywords}
    for i, argument in enumerate(call.args):
        if isinstance(argument, ast.Starred):
            break
        given[str(i)] = argument
    found, count = list[tuple[ast.expr, str]](), 0
    try:
        fields = [name for _, name, _, _ in string.Formatter().parse(text) if name is not None]
    except ValueError:
        return []
    for name in fields:
        base = re.split(r"[.\[]", name, maxsplit=1)[0]
        path, base = name[len(base) :], base or str(count)
        count += name[: len(name) - len(path)] == ""
        if path and base in given:
            found.append((given[base], path))
    return found


def shows_whole(text: str) -> bool:
    """Whether a text of ``%`` writes one of its values as it is: ``%s``, ``%-8s``, ``%(loss)r``."""
    return _SHOWS_WHOLE.search(text) is not None


__all__ = ["as_they_are", "converted_as_they_are", "looked_into", "shows_whole"]
