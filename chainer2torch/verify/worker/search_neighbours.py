"""Attempts beside one that failed: other values, other shapes, other calls before it, what its error asks for.

Written for Python 3.6.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import collections
import itertools

from . import search_areas, search_arguments, search_conditions, search_parts, search_room, search_state, search_values


def _is_of_kinds(error):
    """Whether Chainer refuses what an input is made of: another size of it changes nothing."""
    return "dtype" in str(getattr(error, "expect", ""))


def neighbours(search, tried):
    """Changes of an attempt, each with whether its error suggests it."""
    attempt = tried.attempt
    asked = search_conditions.repairs(attempt.inputs, attempt.arguments, getattr(tried.error, "asked", ()))
    keys = search.hints.get("keys", {}).get("__init__", {})
    repairs = search_values.repairs(attempt.inputs, attempt.arguments, tried.error, search.hints.get("options"), keys)
    repairs = itertools.chain(asked, repairs, search_parts.instead_of_none(search, attempt, tried.error))
    repairs = itertools.chain(repairs, search_parts.inputs_for_none(search, attempt, tried.error))
    repairs = itertools.chain(search_parts.another_number(search, attempt, tried.error), repairs)
    if search.takes_any:
        repairs = itertools.chain(repairs, search_parts.that_is_lacking(search, attempt, tried.error))
    sides = ()
    if tried.phase != "build" and not isinstance(tried.error, search_room.Iterated) and not _is_of_kinds(tried.error):
        sides = search_areas.other_sides(attempt.inputs, attempt.arguments, named=search.hints.get("side"))
    for source, is_repair in ((repairs, True), (sides, False)):
        for inputs, arguments in source:
            yield (
                attempt._replace(
                    inputs=collections.OrderedDict(
                        (name, inputs[name]) for name in search_parts.order(inputs, attempt)
                    ),
                    arguments=collections.OrderedDict(arguments),
                ),
                is_repair,
            )
    for before in search_state.calls_before(attempt, tried.error, search.hints.get("setters", {})):
        yield attempt._replace(before=before), True
    for name in attempt.inputs if tried.phase != "build" else ():
        for value in search_values.inputs_for(name):
            changed = attempt.inputs.copy()
            changed[name] = value
            yield attempt._replace(inputs=changed), False
    for arguments in search_arguments.other_settings(attempt.arguments, search.hints.get("options", {})):
        yield attempt._replace(arguments=arguments), False
    optional = [name for name in search.hints["values"] if name not in attempt.arguments]
    for name in list(attempt.arguments) + optional:
        for value in search.values(name)[:8] if name not in optional else search.hints["values"][name]:
            if value == "None" and name in search.never_none and name not in search.optional:
                continue  # what Chainer makes of it, nobody has meant
            changed = attempt.arguments.copy()
            changed[name] = value
            yield attempt._replace(arguments=changed), False
