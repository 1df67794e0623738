"""What the search for a model's inputs tries where a call needs a state that another method makes.

Written for Python 3.6.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import itertools
import re

from . import search_arguments

_MOST = 6
_NUMBERS = re.compile(r"batch|size|num|len|^n(_|$)|^bs$|^b$")
_RESETS = re.compile(r"_?(re)?set|init|clear|start|begin|prepare")


def calls_before(attempt, error, setters):
    """Calls of methods that may go before that of the model, as texts: ``reset_state(4)``.

    ``setters`` are the methods by the attributes that they set, each with the parameters that it needs. A parameter is
    the number of examples, or the input itself; of a method that makes links (``@create``) what a constructor's is.
    """
    text = str(error)
    lacks = re.search(r"object has no attribute '(\w+)'", text)
    methods = dict(setters.get(lacks.group(1), {})) if lacks else {}
    if not methods and "None" in text:
        for some in setters.values():
            methods.update((name, needed) for name, needed in some.items() if _RESETS.match(name))
    methods = {name: needed for name, needed in methods.items() if name.lstrip("@") != attempt.method}
    if attempt.before:  # it has one, which was not the right one
        return
    for name, needed in itertools.islice(methods.items(), _MOST):
        if name.startswith("@"):
            values = [search_arguments.arguments_for(parameter)[:2] for parameter in needed]
        else:
            values = [_values(parameter, attempt.inputs) for parameter in needed]
        for chosen in itertools.islice(itertools.product(*values), _MOST):
            yield "{}({})".format(name, ", ".join(chosen))


def _values(parameter, inputs):
    """What a parameter may be: the input of its name, the number of examples, any input."""
    names = ["x{}".format(i) for i in range(len(inputs))]
    same = [place for place, name in zip(names, inputs) if name == parameter]
    first = next((spec for spec in inputs.values() if isinstance(spec, (dict, list))), None)
    number = [str(len(first) if isinstance(first, list) else (first["shape"] or [1])[0])] if first else ["4"]
    if _NUMBERS.search(parameter.lower()):
        return same + number
    return same + [name for name in names if name not in same] + number
