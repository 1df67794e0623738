"""Searches what a model is made from and called with: attempts that come farther in its code are changed further.

Nothing tells an attempt apart from a right one but that Chainer runs it to its end. How far it came is the number of
lines of the project that it ran. Written for Python 3.6 and Chainer 3 and newer.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import collections
import contextlib
import inspect
import io
import json
import os
import signal
import sys
import time

import chainer
import numpy

from . import chainer_snippets, missing, model_text, search_values, wire

_MOST = 400
# Attempts without coming farther after which a search ends.
_PATIENCE = 120
_SECONDS_EACH = 10
_NO_MODEL = frozenset(
    "to_cpu to_gpu to_intel64 to_chx from_chx to_device copy copyparams addgrads serialize init_scope add_param "
    "add_link add_persistent register_persistent children links params namedparams namedlinks cleargrads zerograds "
    "reset_state reset load save set_state get_state enable_update disable_update initialize count_params repeat "
    "append to_chx from_chx delete_hook add_hook device_resident_accept visit_device_residents clear".split()
)
_NO_METHOD = ("_", "save", "load", "set_", "write", "print", "plot", "show", "reset", "init", "add_", "update", "to_")

Attempt = collections.namedtuple("Attempt", "arguments method inputs")


class Search(object):
    """The search for one class; ``hints`` are what its code says, ``made`` how other classes were made, by name."""

    def __init__(self, case, tree, made, seconds):
        self.target = case["target"]
        self.hints = case["hints"]
        self.made = made
        self.tree = os.path.abspath(tree) + os.sep
        self.end = time.process_time() + seconds
        self.tried = self.farther = self.begun = 0
        self.score = (-1, 0)
        self.best = None
        self.size = 0

    def run(self):
        """The record of what Chainer takes: the attempt, or the error of the one that came farthest."""
        try:
            with _quiet():
                cls = missing.importing(lambda: self._class())
            constructor = self._parameters(cls.__init__, self.hints["by_keyword"])
        except Exception as error:
            return dict(wire.failure("import", error), tried=0)
        methods = list(self._methods(cls))
        if not methods:
            return {"status": "error", "phase": "search", "type": "NoMethod", "message": "no method takes arrays",
                    "trace": "", "tried": 0}  # fmt: skip
        for number, method in enumerate(methods):
            share = (self.end - time.process_time()) / (len(methods) - number)
            self.begun = self.tried
            self.farther, self.score = self.tried, (-1, 0)
            found = self._of_method(cls, constructor, method, time.process_time() + share)
            if found is not None:
                return self._record(found)
        score, error, phase, attempt = self.best
        record = wire.failure(phase, error)
        record.update(tried=self.tried, attempt=self._text(attempt))
        return record

    def _class(self):
        import importlib

        module = importlib.import_module(model_text.place(self.target)[1])
        return getattr(module, self.target.partition(":")[2])

    def _record(self, found):
        names = ["x{}".format(i) for i in range(len(found.inputs))]
        return {
            "status": "ok",
            "arguments": self._arguments(found),
            "method": found.method,
            "inputs": dict(zip(names, found.inputs.values())),
            "tried": self.tried,
            "size": self.size,
        }

    # -- what is tried -----------------------------------------------------------------------------------------------

    def _parameters(self, function, by_keyword=()):
        """The parameters that have to be given, in order; ``*`` for any number."""
        try:
            found = list(inspect.signature(function).parameters.values())[1:]
        except (TypeError, ValueError):
            return []
        needed = []
        for parameter in found:
            if parameter.kind == parameter.VAR_POSITIONAL:
                needed.append("*")
            elif parameter.kind != parameter.VAR_KEYWORD and parameter.default is parameter.empty:
                needed.append(parameter.name)
        return needed

    def _methods(self, cls):
        """The methods to try, each with the names of its inputs: a call of the model, else what takes arrays."""
        call = inspect.getattr_static(cls, "__call__", None)
        if call is None or getattr(call, "__module__", "") == "chainer.link":
            call = getattr(cls, "forward", None)
        if call is not None:
            yield "", self._parameters(call)
        for name in self.hints["methods"]:
            method = getattr(cls, name, None)
            if name.startswith(_NO_METHOD) or name in _NO_MODEL or not inspect.isfunction(method):
                continue
            parameters = self._parameters(method)
            if method is not call and parameters or name.startswith(("sample", "generate", "make", "get")):
                yield name, parameters

    def _of_method(self, cls, constructor, method, end):
        name, parameters = method
        known = self.hints["inputs"] if not name else {}
        waiting, seen = [], set()
        for arguments in self._makers(constructor):
            for names in self._names(parameters):
                for inputs in self._starts(names, known):
                    waiting.append(Attempt(arguments, name, inputs))
        return self._climb(waiting, seen, end)

    def _names(self, parameters):
        if "*" not in parameters:
            return [parameters]
        before = [name for name in parameters if name != "*"]
        return [before + rest for rest in (["x"], ["x", "t"], ["x", "y", "t"], ["xs"], ["x", "h"])]

    def _starts(self, names, known):
        """Inputs to begin with: what the code tells of them, the others of one sort."""
        open_ = [name for name in names if not known.get(name)]
        for sort in search_values.sorts(open_, self.hints["first"]):
            given = dict(zip(open_, sort))
            yield collections.OrderedDict((name, given.get(name, known.get(name))) for name in names)

    def _makers(self, constructor):
        """Arguments to begin with: as the project makes the class, then by the names of the parameters."""
        names = [name for name in constructor if name != "*"]
        makers = []
        for recipe in self.hints["recipes"] + [{}]:
            values = collections.OrderedDict((name, recipe.get(name) or self._values(name)[0]) for name in names)
            values.update((name, value) for name, value in recipe.items() if name not in values)
            makers.append(values)
        seen = []
        return [values for values in makers if values not in seen and not seen.append(values)]

    def _values(self, name):
        """What an argument may be, with the models of the project for one of a model's name."""
        plain = name.lower().replace("_", "")
        links = [text for cls, text in self.made.items() if plain in cls.lower() or cls.lower() in plain]
        if not links and any(word in plain for word in ("model", "predictor", "net", "link", "func", "layer")):
            links = list(self.made.values())[:3]
        known = self.hints["values"].get(name, [])
        if links and not known:
            return list(dict.fromkeys(links + search_values.arguments_for(name)))
        return list(dict.fromkeys(known + search_values.arguments_for(name) + links))

    # -- the search --------------------------------------------------------------------------------------------------

    def _climb(self, starts, seen, end):
        """The first attempt that runs. Those that came farthest are changed first."""
        ranked = []
        for attempt in starts:
            if self._over(end) and ranked:
                break
            done = self._evaluate(attempt, seen, ranked)
            if done:
                return attempt
        while ranked and not self._over(end):
            ranked.sort(key=lambda item: (-item[0][0], -item[0][1], item[1]))
            score, _, attempt, error = ranked.pop(0)
            for other in self._neighbours(attempt, error):
                if self._over(end):
                    break
                before = len(ranked)
                if self._evaluate(other, seen, ranked):
                    return other
                if len(ranked) > before and ranked[-1][0] > score:
                    ranked.append((score, self.tried, attempt, error))  # its other changes come later
                    break
        return None

    def _over(self, end):
        return (
            self.tried - self.begun >= _MOST
            or self.tried - self.farther > _PATIENCE
            or time.process_time() > min(end, self.end)
        )

    def _evaluate(self, attempt, seen, ranked):
        key = json.dumps([attempt.arguments, attempt.method, attempt.inputs], sort_keys=True)
        if key in seen:
            return False
        seen.add(key)
        self.tried += 1
        phase, error, score = self._attempt(attempt)
        if error is None:
            return True
        if score > self.score:
            self.score = score
            self.farther = self.tried
            if self.best is None or not attempt.method or self.best[3].method:
                self.best = score, error, phase, attempt
        ranked.append((score, self.tried, attempt, error))
        return False

    def _neighbours(self, attempt, error):
        for source in (search_values.repairs(attempt.inputs, attempt.arguments, error),
                       search_values.other_sides(attempt.inputs, attempt.arguments)):  # fmt: skip
            for inputs, arguments in source:
                yield attempt._replace(
                    inputs=collections.OrderedDict((name, inputs[name]) for name in attempt.inputs),
                    arguments=collections.OrderedDict(arguments),
                )
        for name in attempt.inputs:
            for value in search_values.inputs_for(name):
                changed = attempt.inputs.copy()
                changed[name] = value
                yield attempt._replace(inputs=changed)
        for name in attempt.arguments:
            for value in self._values(name)[:8]:
                changed = attempt.arguments.copy()
                changed[name] = value
                yield attempt._replace(arguments=changed)

    # -- one attempt -------------------------------------------------------------------------------------------------

    def _arguments(self, attempt):
        return ", ".join("{}={}".format(name, value) for name, value in attempt.arguments.items())

    def _text(self, attempt):
        return "{}({}){} of {}".format(
            self.target.partition(":")[2],
            self._arguments(attempt),
            "." + attempt.method if attempt.method else "",
            ", ".join(_shown(spec) for spec in attempt.inputs.values()) or "nothing",
        )

    def _attempt(self, attempt):
        """Phase and error of an attempt (None: it runs), and how far it came."""
        names = ["x{}".format(i) for i in range(len(attempt.inputs))]
        source = model_text.text(self.target, self._arguments(attempt), attempt.method, names)
        reach = _Reach(self.tree)
        phase = "build"
        try:
            with _quiet(), _limited(_SECONDS_EACH), reach:
                namespace = chainer_snippets.execute({"source": source})
                phase = "first forward"
                result = namespace["run"](**{n: drawn(spec) for n, spec in zip(names, attempt.inputs.values())})
            arrays = wire.flat_arrays("out", result, chainer_snippets.array_of)
            if not any(value.dtype.kind in "biuf" and value.size for value in arrays.values()):
                raise TypeError("output: holds no array that can be compared")
            self.size = size_of(namespace["model"])
            return phase, None, reach.score()
        except (Exception, SystemExit) as error:
            return phase, error, reach.score()


class _Reach(object):
    """How far a block came in the project's code: its lines, and the functions of Chainer that it applied."""

    def __init__(self, tree):
        self._tree = tree
        self._lines = set()
        self._applied = 0
        node = getattr(chainer, "FunctionNode", None) or chainer.Function
        self._apply = getattr(getattr(node, "apply", None), "__code__", None)

    def __enter__(self):
        sys.settrace(self._call)

    def __exit__(self, *_):
        sys.settrace(None)

    def score(self):
        """More is farther."""
        return len(self._lines), self._applied

    def _call(self, frame, event, arg):
        code = frame.f_code
        if code is self._apply:
            self._applied += 1
        return self._line if code.co_filename.startswith(self._tree) else None

    def _line(self, frame, event, arg):
        self._lines.add((frame.f_code.co_filename, frame.f_lineno))
        return self._line


def size_of(model):
    """How many values the parameters of a model have."""
    return sum(param.data.size for param in model.params() if param.data is not None)


def drawn(spec):
    """Any array of this description, integers below a bound; lists of them; other values as they are."""
    if isinstance(spec, list):
        return [drawn(item) for item in spec]
    if not isinstance(spec, dict):
        return spec
    rng = numpy.random.RandomState(0)
    if spec["dtype"][0] == "f":
        array = numpy.asarray(rng.standard_normal(spec["shape"])).astype(spec["dtype"])
        return array if spec.get("plain") else chainer.Variable(array)
    return numpy.asarray(rng.randint(0, spec["below"] or 2, spec["shape"])).astype(spec["dtype"])


def _shown(spec):
    if isinstance(spec, list):
        return "[" + ", ".join(_shown(item) for item in spec) + "]"
    if not isinstance(spec, dict):
        return repr(spec)
    return "{}[{}]".format(spec["dtype"], ",".join(map(str, spec["shape"])))


@contextlib.contextmanager
def _quiet():
    """Without what the project prints."""
    out, sys.stdout = sys.stdout, io.StringIO()
    try:
        yield
    finally:
        sys.stdout = out


class _Late(Exception):
    pass


@contextlib.contextmanager
def _limited(seconds):
    """Ends a block after some seconds, where the system can."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def late(*_):
        raise _Late("it ran for more than {} seconds".format(seconds))

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def cheap_weights():
    """Large arrays of new parameters are zeros: drawing them takes longer than all else, and no value matters here."""
    from chainer import initializers

    generate = initializers.generate_array

    def generate_array(initializer, shape, xp, *args, **kwargs):
        size = 1
        for n in shape if isinstance(shape, (tuple, list)) else (shape,):
            size *= n
        if size < 100000 or xp is not numpy:
            return generate(initializer, shape, xp, *args, **kwargs)
        dtype = kwargs.get("dtype") or (args[0] if args else None) or getattr(initializer, "dtype", None)
        return numpy.zeros(shape, dtype or numpy.float32)

    initializers.generate_array = generate_array
    try:
        yield
    finally:
        initializers.generate_array = generate
