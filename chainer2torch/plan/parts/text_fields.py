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
        if name == "":
            name, count = str(count), count + 1
        if spec and "{" in spec:
            return everything  # `{:{}}` takes its width from another argument
        path = _NAME.match(name) is None  # `{0.shape}`, `{0[1]}`
        base = re.split(r"[.\[]", name, maxsplit=1)[0]
        value = given.get(base or str(count))
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


__all__ = ["as_they_are", "converted_as_they_are"]
