"""What a search begins with, and what nobody has to give: parts of any name, inputs and arguments that are None.

Written for Python 3.6.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import collections
import re

from . import search_arguments, search_values

_NORMS = re.compile(r"norm|^bn|_bn")
_NO_ARRAY = re.compile(r"None|zero-dimensional|object arrays|<class 'object'>|object != ")
# What a constructor is given that takes any number of arguments.
SEVERAL = (("8", "8"), (search_arguments.LINK, search_arguments.LINK), ("[8, 8]",))


def starts(hints, names, known):
    """Inputs to begin with: what the code tells of them, the others of one sort."""
    tables = [name for name in names if "[" in name and not re.search(r"\[\d+\]$", name)]
    known = dict(((name, search_values.VECTOR) for name in tables), **known)
    open_ = [name for name in names if not known.get(name)]
    for sort in search_values.sorts(open_, hints["first"]):
        given = dict(zip(open_, sort))
        yield collections.OrderedDict((name, given.get(name, known.get(name))) for name in names)
    likely = list(search_values.sorts(open_, hints["first"]))[:1]
    for output in hints.get("outputs", ()) if open_ else ():
        given = dict(zip(open_, [output] + likely[0][1:]))
        yield collections.OrderedDict((name, given.get(name, known.get(name))) for name in names)


def readings(keys, method):
    """What becomes of the names of a method's inputs: those of what is in them, and as they are, where they may be
    arrays.
    """
    yield lambda names: with_tables(names, keys, method)
    tables = keys.get(method) if method else keys.get("__call__") or keys.get("forward")
    if any(key.isdigit() for some in (tables or {}).values() for key in some):
        yield lambda names: names


def with_tables(names, keys, method):
    """The names of a method's inputs, with one for each value of a table that it takes, or of a list: ``state[h1]``."""
    tables = keys.get(method) if method else keys.get("__call__") or keys.get("forward")
    found = []
    for name in names:
        found += ["{}[{}]".format(name, key) for key in (tables or {}).get(name, ())] or [name]
    return found


def parts_for(name, links):
    """Links for a part of this name; ``links`` are some of the project."""
    if _NORMS.search(name.lower()):
        return ["L.BatchNormalization(8)", search_arguments.LINK]
    return links + [search_arguments.LINK]


def instead_of_none(search, attempt, error):
    """Values for what is None by default, where something could not do with that, or lacks a value of this name: each,
    and all together.
    """
    is_none, named = "None" in str(error), re.findall(r"'(\w+)'", str(error))
    names = [name for name in search.without if name not in attempt.arguments and (is_none or name in named)]
    for number in range(2):
        found = [(name, (search.values(name) * 2)[number]) for name in names if name not in search.optional]
        for some in [found] + [[pair] for pair in found if len(found) > 1]:
            arguments = attempt.arguments.copy()
            arguments.update(some)
            if some:
                yield attempt.inputs, arguments


def order(inputs, attempt):
    """The names of inputs as a method takes them: those that were left out come last."""
    return [name for name in attempt.inputs if name in inputs] + [name for name in inputs if name not in attempt.inputs]


def another_number(search, attempt, error):
    """More inputs, or fewer, for a method that hands on as many as it is given."""
    if attempt.method not in search.any_number:
        return
    lacks = re.search(r"missing \d+ required positional arguments?: (.*)", str(error))
    names = [name for name in re.findall(r"'(\w+)'", lacks.group(1)) if name not in attempt.inputs] if lacks else []
    for several in range(3) if names else ():
        more = [(name, search_values.inputs_for(name)[several]) for name in names]
        yield collections.OrderedDict(list(attempt.inputs.items()) + more), attempt.arguments
    if names:
        first = list(attempt.inputs.values())[:1]
        more = [(name, value) for name in names for value in first]
        yield collections.OrderedDict(list(attempt.inputs.items()) + more), attempt.arguments
    if re.search(r"takes (from \d+ to )?\d+ positional arguments? but \d+ (was|were) given", str(error)):
        for name in list(attempt.inputs)[::-1] if len(attempt.inputs) > 1 else ():
            fewer = attempt.inputs.copy()
            del fewer[name]
            yield fewer, attempt.arguments


def inputs_for_none(search, attempt, error):
    """Inputs with a default of None, where something cannot do with that: the first of them, and each by itself."""
    names = [name for name in search.spare.get(attempt.method, ()) if name not in attempt.inputs]
    if not names or not _NO_ARRAY.search(str(error)):
        return
    for last in range(len(names)):
        for value in search_values.inputs_for(names[last])[:4]:
            for other in (None, search_values.ROWS) if last else (None,):
                inputs = attempt.inputs.copy()
                inputs.update((name, other) for name in names[:last])
                inputs[names[last]] = value
                yield inputs, attempt.arguments


def that_is_lacking(search, attempt, error):
    """A part that a class asks itself for, for a constructor that takes parts of any name."""
    lacks = re.match(r"'(\w+)' object has no attribute '(\w+)'", str(error))
    if lacks and search.takes_any is not True and lacks.group(2) not in search.takes_any:
        return
    if lacks and lacks.group(1) == search.target.partition(":")[2] and lacks.group(2) not in attempt.arguments:
        for value in parts_for(lacks.group(2), list(search.made.values())[:2]):
            arguments = attempt.arguments.copy()
            arguments[lacks.group(2)] = value
            yield attempt.inputs, arguments
