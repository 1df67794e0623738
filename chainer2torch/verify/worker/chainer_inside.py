"""How links are made and called inside of other models that run: what a class takes that is hard to find by itself.

A layer of the project that is handed another layer, or a function, or a table of sizes, is made by the model that uses
it. The model runs once under Chainer and is watched. Written for Python 3.6 and Chainer 3 and newer.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import collections
import inspect
import sys

import chainer
import numpy

from . import attempt_values, chainer_snippets, model_text, search_methods, search_room, wire

_MOST = 3  # calls of a class that are kept
_DEPTH = 4
_LONGEST = 32
_SECONDS_EACH = 10
_KINDS = {"f": "float32", "i": "int32", "b": "bool"}
_ENTRIES = ("forward", "__call__")

Call = collections.namedtuple("Call", "arguments method inputs")


def search(open_, running, folders, place):
    """For each key of ``open_`` (its target by key) what Chainer took of it inside of the models that run, and how
    the others of them were made there. Also what the models that run give: a decoder takes what an encoder gives.

    ``running`` are cases with the text of each model, its call and its inputs.
    """
    found, made, outputs = {}, collections.defaultdict(list), []
    for case, source, inputs in running:
        waiting = {key: target for key, target in open_.items() if key not in found}
        if not waiting:
            break
        folders.enter(case["module"], case["root"], case["file"])
        watch = _Watch(waiting)
        try:
            with search_room.quiet(), search_room.limited(_SECONDS_EACH), watch:
                _, result = place.run(source, inputs)
            outputs.append(result)
        except (Exception, SystemExit):
            pass  # what was seen until then counts
        for key, recipes in watch.recipes.items():
            made[key] += [recipe for recipe in recipes if recipe not in made[key]]
        for key, calls in watch.calls.items():
            record = next(filter(None, (_taken(waiting[key], call, place) for call in calls)), None)
            if record is not None:
                found[key] = record
    return found, made, specs(outputs)


def specs(results):
    """What models gave, described as inputs of others; without numbers and what no input can be."""
    found = []
    for result in results:
        try:
            spec = _spec(result)
        except _Unwritten:
            continue
        if spec not in found and (isinstance(spec, dict) and spec["shape"] or isinstance(spec, list) and spec):
            found.append(spec)
    return found


def _taken(target, call, place):
    """The record of a call that also runs by itself; None for one that does not."""
    names = ["x{}".format(i) for i in range(len(call.inputs))]
    inputs = dict(zip(names, call.inputs))
    try:
        source = model_text.text(target, call.arguments, call.method, names)
        with search_room.quiet(), search_room.limited(_SECONDS_EACH):
            namespace, result = place.run(source, inputs)
        arrays = wire.flat_arrays("out", result, chainer_snippets.array_of)
        if not any(value.dtype.kind in "biuf" and value.size for value in arrays.values()):
            return None
    except (Exception, SystemExit):
        return None
    return {
        "status": "ok",
        "arguments": call.arguments,
        "method": call.method,
        "inputs": inputs,
        "tried": 1,
        "size": attempt_values.size_of(namespace["model"]),
    }


class _Unwritten(Exception):
    """A value that cannot be written as text."""


class _Watch(object):
    """Sees how the links of some classes are made and called."""

    def __init__(self, targets):
        self.calls = collections.defaultdict(list)
        self.recipes = collections.defaultdict(list)
        self._keys = {}
        for key, target in targets.items():
            self._keys[model_text.place(target)[1], target.partition(":")[2]] = key
        self._made = {}  # by id: the link (so that its id stays its own) and the text of its arguments
        self._inside = {}

    def __enter__(self):
        sys.setprofile(self._event)

    def __exit__(self, *_):
        sys.setprofile(None)

    def _event(self, frame, event, argument):
        code = frame.f_code
        if event != "call" or not code.co_argcount:
            return
        link = frame.f_locals.get(code.co_varnames[0])
        if not isinstance(link, chainer.Link):
            return
        cls = type(link)
        if code.co_name == "__init__":
            if code is getattr(cls.__init__, "__code__", None) and id(link) not in self._made:
                recipe = _written_call(frame, self._made)
                self._made[id(link)] = link, None if recipe is None else _joined(recipe)
                key = self._keys.get((cls.__module__, cls.__name__))
                if key is not None and recipe and len(self.recipes[key]) < _MOST and recipe not in self.recipes[key]:
                    self.recipes[key].append(recipe)
            return
        key = self._keys.get((cls.__module__, cls.__name__))
        made = self._made.get(id(link))
        if key is None or made is None or made[1] is None or len(self.calls[key]) >= _MOST:
            return
        method = inspect.getattr_static(cls, code.co_name, None)
        if getattr(method, "__code__", None) is not code:
            return
        name = "" if code.co_name in _ENTRIES else code.co_name
        if search_methods.is_none(name):
            return
        try:
            inputs = [_spec(value) for value in _given(frame)]
        except _Unwritten:
            return
        call = Call(made[1], name, inputs)
        if inputs and call not in self.calls[key]:
            # A call of the model comes before its other methods.
            self.calls[key].insert(0 if not name else len(self.calls[key]), call)


def _given(frame):
    """The values of the parameters behind ``self``, those of ``*args`` among them."""
    code = frame.f_code
    values = [frame.f_locals[name] for name in code.co_varnames[1 : code.co_argcount]]
    if code.co_flags & inspect.CO_VARARGS:
        values += frame.f_locals[code.co_varnames[code.co_argcount + code.co_kwonlyargcount]]
    while values and values[-1] is None:
        values.pop()
    return values


def _written_call(frame, made):
    """The arguments of a constructor as texts, by name or by number; None where one cannot be written."""
    code = frame.f_code
    count = code.co_argcount
    rest = list(code.co_varnames[count:])
    values = [(name, frame.f_locals[name]) for name in code.co_varnames[1:count]]
    named = [(name, frame.f_locals[name]) for name in rest[: code.co_kwonlyargcount]]
    rest = rest[code.co_kwonlyargcount :]
    if code.co_flags & inspect.CO_VARARGS:
        more = frame.f_locals[rest.pop(0)]
        if more:
            values = list(enumerate([value for _, value in values] + list(more)))
    if code.co_flags & inspect.CO_VARKEYWORDS:
        named += sorted(frame.f_locals[rest.pop(0)].items())
    try:
        return collections.OrderedDict((str(name), _text(value, made)) for name, value in values + named)
    except _Unwritten:
        return None


def _joined(recipe):
    return ", ".join(text if name.isdigit() else "{}={}".format(name, text) for name, text in recipe.items())


def _text(value, made, depth=0):
    """A value as text that means the same on both sides. Raises _Unwritten."""
    if depth > _DEPTH:
        raise _Unwritten
    if isinstance(value, numpy.generic) and value.dtype.kind in "biuf":
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return repr(value)
    if isinstance(value, float):
        if value != value or abs(value) == float("inf"):
            raise _Unwritten
        return repr(value)
    if type(value) in (list, tuple) and len(value) <= _LONGEST:
        inner = ", ".join(_text(item, made, depth + 1) for item in value)
        return "[{}]".format(inner) if type(value) is list else "({},)".format(inner) if value else "()"
    if type(value) is dict and len(value) <= _LONGEST:
        return "{{{}}}".format(
            ", ".join("{!r}: {}".format(key, _text(item, made, depth + 1)) for key, item in value.items())
        )
    if type(value).__name__ in ("Namespace", "SimpleNamespace"):
        pairs = sorted(vars(value).items())
        return "types.SimpleNamespace({})".format(
            ", ".join("{}={}".format(name, _text(item, made, depth + 1)) for name, item in pairs)
        )
    name = getattr(value, "__name__", "")
    if name in model_text.FUNCTIONS and getattr(chainer.functions, name, None) is value:
        return "F." + name
    if isinstance(value, chainer.Link) and made.get(id(value), (None, None))[1] is not None:
        cls = type(value)
        if not cls.__module__.startswith("chainer"):
            return model_text.maker("{}:{}".format(cls.__module__, cls.__name__), made[id(value)][1])
    raise _Unwritten


def _spec(value):
    """An input as the search describes it. Raises _Unwritten."""
    if isinstance(value, (list, tuple)):
        if len(value) > _LONGEST:
            raise _Unwritten
        return [_spec(item) for item in value]
    is_variable = isinstance(value, chainer.Variable)
    array = value.data if is_variable else value
    if isinstance(array, numpy.ndarray) and array.dtype.kind in _KINDS and array.size:
        spec = {"dtype": _KINDS[array.dtype.kind], "shape": list(array.shape), "below": None}
        if array.dtype.kind == "i":
            if array.min() < 0:
                raise _Unwritten
            spec["below"] = int(array.max()) + 1
        if array.dtype.kind == "f" and not is_variable:
            spec["plain"] = True
        return spec
    if value is None or isinstance(value, (bool, int, float)):
        return value
    raise _Unwritten
