"""Runs a program under Chainer once, unedited, and records what its functions, call sites and classes were given.

Written for Python 3.6 and Chainer 3 and newer. Columns of call sites need Python 3.11.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import functools
import inspect
import os
import sys
import threading

import chainer
import numpy

from . import chainer_gpu, chainer_legacy, lockstep, wire

# A parameter that is given more different kinds than this is not worth a list.
_MOST = 8
_DTYPES = {
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
    "bool": "bool",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
}
# Where the public classes of Chainer are found again.
_PUBLIC = (
    "chainer.links",
    "chainer.optimizers",
    "chainer.iterators",
    "chainer.training.updaters",
    "chainer.training",
    "chainer.training.extensions",
    "chainer.datasets",
    "chainer.distributions",
    "chainer",
)


def work(job, folder):
    """Runs the script of the job in its tree; what was recorded is the arrays-free record ``trace``."""
    results = wire.Results(folder)
    recorder = Recorder(os.path.abspath(job["tree"]), job["argv"][0])
    iterations = job.get("iterations") or 0
    recorder.watch_calls()
    if iterations:
        _stop_after(iterations)
    how = lockstep.run_main(job, recorder.start, recorder.stop)
    results.add(
        {
            "id": "trace",
            "how": how,
            "functions": recorder.functions,
            "calls": recorder.calls,
            "classes": recorder.classes,
        }
    )
    results.close()


def _stop_after(iterations):
    """Ends the program when some optimizer has made its updates."""
    seen = {}

    def counted(update):
        @functools.wraps(update)
        def wrapped(self, *args, **kwargs):
            if seen.get(id(self), 0) >= iterations:
                raise lockstep.Stop()
            seen[id(self)] = seen.get(id(self), 0) + 1
            return update(self, *args, **kwargs)

        return wrapped

    chainer.GradientMethod.update = counted(chainer.GradientMethod.update)


class Recorder(object):
    """Sees the start of every function of the project, and every call of Chainer's functions and links from there."""

    def __init__(self, tree, script):
        self.functions = {}
        self.calls = {}
        self.classes = {}
        self._tree = tree + os.sep
        self._script = script
        self._files = {}
        self._owners = {}
        self._made = set()

    def start(self):
        """Begins to record."""
        threading.setprofile(self._event)
        sys.setprofile(self._event)

    def stop(self):
        """Ends the record."""
        sys.setprofile(None)
        threading.setprofile(None)

    def watch_calls(self):
        """Replaces Chainer's public functions, and how links are called, by ones that record where they are called."""
        import chainer.functions as F

        for name, value in list(vars(F).items()):
            if inspect.isfunction(value) and not name.startswith("_"):
                setattr(F, name, self._watched(value, lambda args, name=name: "chainer.functions." + name))
        chainer_legacy.around_calls(
            lambda call: self._watched(call, lambda args: _public(type(args[0])) or type(args[0]).__name__, skip=1)
        )

    def _watched(self, function, name, skip=0):
        @functools.wraps(function)
        def watched(*args, **kwargs):
            frame = sys._getframe(1)
            path = self._relative(frame.f_code.co_filename)
            if path:
                callee, column = name(args), _column(frame)
                # Without columns, the calls of a line are told apart by what they call.
                place = "{}:{}:{}".format(path, frame.f_lineno, column or "0:" + callee)
                call = self.calls.setdefault(place, {"callee": callee, "count": 0, "arguments": {}})
                call["count"] += 1
                for i, value in enumerate(args[skip:]):
                    _note(call["arguments"], str(i), kind(value))
                for key, value in kwargs.items():
                    _note(call["arguments"], key, kind(value))
            return function(*args, **kwargs)

        return watched

    def _relative(self, filename):
        if filename not in self._files:
            path = os.path.abspath(filename)
            inside = path.startswith(self._tree) and not filename.startswith("<")
            self._files[filename] = path[len(self._tree) :].replace(os.sep, "/") if inside else None
        return self._files[filename]

    def _event(self, frame, event, argument):
        if event != "call":
            return
        code = frame.f_code
        path = self._relative(code.co_filename)
        if not path or code.co_name.startswith("<"):
            return
        names = code.co_varnames[: code.co_argcount + getattr(code, "co_kwonlyargcount", 0)]
        owner = self._owner(code, frame.f_locals.get(names[0]) if names else None)
        qualified = "{}:{}{}".format(path, owner + "." if owner else "", code.co_name)
        record = self.functions.setdefault(qualified, {"count": 0, "parameters": {}})
        record["count"] += 1
        for name in names[1 if owner else 0 :]:
            if name in frame.f_locals:
                _note(record["parameters"], name, kind(frame.f_locals[name]))
        if owner and isinstance(frame.f_locals[names[0]], chainer.Link):
            self._link(frame, code, names)

    def _owner(self, code, first):
        """The name of the class that defines a method, by its code; "" for a function."""
        if code not in self._owners:
            self._owners[code] = ""
            for cls in (first if isinstance(first, type) else type(first)).__mro__:
                member = vars(cls).get(code.co_name)
                member = getattr(member, "__func__", getattr(member, "fget", None) or member)
                if getattr(inspect.unwrap(member) if callable(member) else None, "__code__", None) is code:
                    self._owners[code] = cls.__name__
                    break
        return self._owners[code]

    def _link(self, frame, code, names):
        link = frame.f_locals[names[0]]
        module = type(link).__module__
        if module == "__main__":
            module = os.path.splitext(self._script)[0].replace("/", ".")
        target = "{}:{}".format(module, type(link).__name__)
        entry = self.classes.setdefault(target, {"main": type(link).__module__ == "__main__"})
        if code.co_name == "__init__" and "args" not in entry and id(link) not in self._made:
            self._made.add(id(link))
            count = code.co_argcount
            args = [frame.f_locals[name] for name in names[1:count]]
            kwargs = {name: frame.f_locals[name] for name in names[count:]}
            rest = code.co_varnames[len(names) :]
            if code.co_flags & inspect.CO_VARARGS:
                args += list(frame.f_locals[rest[0]])
                rest = rest[1:]
            if code.co_flags & inspect.CO_VARKEYWORDS:
                kwargs.update(frame.f_locals[rest[0]])
            try:
                entry.update(
                    {
                        "args": [_plain(value) for value in args],
                        "kwargs": {key: _plain(value) for key, value in kwargs.items()},
                    }
                )
            except ValueError as error:
                entry["why"] = "made from {}".format(error)
        elif code.co_name in ("forward", "__call__") and "inputs" not in entry:
            try:
                entry["inputs"] = [_spec(frame.f_locals[name]) for name in names[1:]]
            except ValueError as error:
                entry["inputs"], entry["why"] = None, "called with {}".format(error)


def _note(found, name, text):
    kinds = found.setdefault(name, [])
    if text not in kinds and len(kinds) <= _MOST:
        kinds.append(text)


def _column(frame):
    if not hasattr(frame.f_code, "co_positions"):
        return 0
    for i, position in enumerate(frame.f_code.co_positions()):
        if i == frame.f_lasti // 2:
            return (position[2] or 0) + 1
    return 0


def kind(value):
    """A value in the words of a hint, with the shape of arrays: ``tensor rank 2 dtype float32 shape 4x784``."""
    if isinstance(value, chainer.Variable):
        array = value.data
        return "tensor" if array is None else "tensor " + _array(array)
    if chainer_gpu.is_array(value):
        return "array " + _array(value)
    if value is None:
        return "none"
    if isinstance(value, (bool, int, float, str)):
        return type(value).__name__
    if isinstance(value, (list, tuple)):
        inner = sorted({kind(item) for item in value[:50]})
        return "{} of {}".format(type(value).__name__, inner[0] if len(inner) == 1 else "unknown")
    public = _public(type(value))
    return "instance " + public if public else "unknown " + type(value).__name__


def _array(array):
    return "rank {} dtype {} shape {}".format(array.ndim, array.dtype, "x".join(map(str, array.shape)) or "()")


def _public(cls):
    if not cls.__module__.startswith("chainer."):
        return None
    for package in _PUBLIC:
        if getattr(sys.modules.get(package), cls.__name__, None) is cls:
            return package + "." + cls.__name__
    return None


def _plain(value):
    """A constructor argument as JSON; ValueError, with its type, for what cannot be written down."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, numpy.generic) and value.dtype.kind in "biuf":
        return value.item()
    if isinstance(value, tuple):
        return {"tuple": [_plain(item) for item in value]}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    raise ValueError(type(value).__name__)


def _spec(value):
    """An input in the words of ``[[tool.chainer2torch.verify.model]]``."""
    value = value.data if isinstance(value, chainer.Variable) else value
    if isinstance(value, (list, tuple)):
        return [_spec(item) for item in value]
    if not chainer_gpu.is_array(value):
        if value is None or isinstance(value, (bool, int, float, str)):
            return "={!r}".format(value)
        raise ValueError(type(value).__name__)
    dtype = _DTYPES.get(str(value.dtype))
    if dtype is None:
        raise ValueError("an array of " + str(value.dtype))
    text = "{}[{}]".format(dtype, ",".join(map(str, value.shape)))
    if value.dtype.kind in "iu" and value.size:
        host = chainer_gpu.fetch(value)
        text += " in [{},{}]".format(int(host.min()), int(host.max()))
    return text
