"""Keywords that a function takes as a dictionary."""

from __future__ import annotations

from typing import Any


def parse_kwargs(kwargs: dict[str, Any], *name_and_values: tuple[str, Any], **unexpected: str) -> tuple[Any, ...]:
    """Takes the named values (or their defaults) out of ``kwargs``; for what is left it raises, with its message.

    Source: chainer.utils.argument.parse_kwargs.
    """
    values = tuple(kwargs.pop(name, default) for name, default in name_and_values)
    for name in kwargs:
        raise (ValueError if name in unexpected else TypeError)(unexpected.get(name, f"unexpected argument {name!r}"))
    return values
