"""Searches what a model is made from and called with: attempts that come farther in its code are changed further.

Nothing tells an attempt apart from a right one but that Chainer runs it to its end. How far it came is the number of
lines of the project that it ran. Written for Python 3.6 and Chainer 3 and newer.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import collections
import json
import os
import re
import time


from . import (
    attempt_values,
    chainer_snippets,
    missing,
    model_text,
    search_arguments,
    search_arrays,
    search_conditions,
    search_globals,
    search_methods,
    search_neighbours,
    search_parts,
    search_room,
    wire,
)

_MOST = 400
# Attempts to begin with, before the best of them are changed.
_STARTS = 30
# Attempts without coming farther after which a search begins anew, or ends.
_PATIENCE = 120
# Changes of one attempt before others that came as far have their turn.
_TURN = 24
# Attempts that end where a package or what a module would have made is needed.
_LACKING = 2
_SECONDS_EACH = 10
# Values of all parameters: a smaller model is looked for, too.
_LARGE = 20000000
_NO_GPU = "CUDA environment is not correctly set up"
_OF_MODELS = re.compile(r"^(?!n_|num).*(model|predictor|net|link|func|layer)")

# ``before``: the call of another method that goes before each call.
Attempt = collections.namedtuple("Attempt", "arguments method inputs before")
Attempt.__new__.__defaults__ = ("",)
# ``rounds``: how often other changes have had their turn before the rest of its own.
Tried = collections.namedtuple("Tried", "score number attempt error phase rounds")
Tried.__new__.__defaults__ = (0,)


class NothingToCompare(TypeError):
    """An attempt ran to its end and gave nothing to compare."""


class Search(object):
    """The search for one class; ``hints`` are what its code says, ``made`` how other classes were made, by name."""

    def __init__(self, case, tree, made, seconds, wall=float("inf"), place=None):
        self.target = case["target"]
        self.hints = case["hints"]
        self.made = made
        self.place = place or attempt_values.Place()
        self.tree = os.path.abspath(tree) + os.sep
        self.end = time.process_time() + seconds
        self.wall = wall
        self.tried = self.farther = self.begun = 0
        self.seen, self.errors = set(), set()
        self.lacking = 0
        self.positional, self.optional = [], set()
        self.takes_any = self.takes_arrays = False
        self.supplied = collections.OrderedDict()  # names of modules that the class needs; see search_globals
        self.before = []  # what they were
        self.left_in = {}  # by method: the attributes in which a call leaves what it computes and does not give back
        self.spare, self.any_number = {}, []  # inputs that are None by default; methods that take any number
        self.never_none = []  # those that are something else
        self.without = []  # parameters of the constructor that are None by default
        self.score = (-1, 0, 0)
        self.best = None
        self.size = self.lasted = 0
        self.learns = True
        self.result = None

    def run(self):
        """The record of what Chainer takes: the attempt, or the error of the one that came farthest."""
        search_room.keep()
        try:
            with search_room.quiet():
                cls = missing.importing(lambda: self._class())
            constructor = self._parameters(cls.__init__)
            self.without, self.never_none = search_methods.without(cls.__init__)
            self.takes_any = search_methods.takes_any(cls.__init__)
            if search_methods.is_chainers(cls.__init__):  # a port takes what the project gives
                self.takes_any = frozenset(self.hints["given"])
            self.positional = [name for name in constructor if name != "*" and name not in self.hints["by_keyword"]]
        except Exception as error:
            return dict(wire.failure("import", error), tried=0)
        methods = list(search_methods.methods(cls, self.hints["methods"], self._parameters))
        self.spare = {name: search_methods.spare(cls, name) for name, _ in methods}
        self.any_number = [name for name, parameters in methods if "*" in parameters]
        small = None
        if not methods:
            return {"status": "error", "phase": "search", "type": "NoMethod", "message": "no method takes arrays",
                    "trace": "", "tried": 0}  # fmt: skip
        for number, method in enumerate(methods):
            parts = len(methods) - number  # a call of the model has the half, whatever else there is
            share = (self.end - time.process_time()) / (min(parts, 2) if not method[0] else parts)
            self.begun, self.lacking = self.tried, 0
            self.farther, self.score = self.tried, (-1, 0, 0)
            found = self._of_method(cls, constructor, method, time.process_time() + share)
            if found is not None and (self.learns or not method[0]):
                return self._record(found)
            small = small or found
        if self.best is None:  # everything could be called: nothing of it proves a layer
            return {"status": "error", "phase": "search", "type": "NoParameter", "trace": "", "tried": self.tried,
                    "message": "no parameter has a part in " + self._text(small)}  # fmt: skip
        score, error, phase, attempt = self.best
        record = wire.failure(phase, error)
        record.update(tried=self.tried, attempt=self._text(attempt))
        return record

    def _class(self):
        import importlib

        module = importlib.import_module(model_text.place(self.target)[1])
        return getattr(module, self.target.partition(":")[2])

    def _record(self, found):
        return dict(
            self._about(found),
            status="ok",
            inputs={"x{}".format(i): spec for i, spec in enumerate(found.inputs.values())},
            tried=self.tried,
            size=self.size,
            seconds=self.lasted,
        )

    def _about(self, attempt):
        return {
            "arguments": self._arguments(attempt),
            "method": attempt.method,
            "before": attempt.before,
            "started": search_globals.started(attempt.arguments),
            "called": model_text.call_of(attempt.method, list(attempt.inputs), self.left_in.get(attempt.method, ())),
        }

    # -- what is tried -----------------------------------------------------------------------------------------------

    def _parameters(self, function):
        """The parameters that have to be given, in order; ``*`` for any number."""
        needed, optional = search_methods.parameters(function)
        self.optional |= optional
        return needed

    def _of_method(self, cls, constructor, method, end):
        name, parameters = method
        known = self.hints["inputs"] if not name else {}
        found = None
        for reading in search_parts.readings(self.hints.get("keys", {}), name):
            waiting = []
            for arguments in self._makers(constructor):
                for names in map(reading, search_methods.names(parameters)):
                    starts = search_parts.starts(self.hints, names, known)
                    waiting += [Attempt(arguments, name, inputs) for inputs in starts]
            found = found or self._climb(waiting, end)
        return found

    def _makers(self, constructor):
        """Arguments to begin with: as the project makes the class, then by the names of the parameters."""
        names = [name for name in constructor if name != "*"]
        makers = []
        for recipe in self.hints["recipes"] + [{}]:
            values = collections.OrderedDict((name, recipe.get(name) or self.values(name)[0]) for name in names)
            values.update((name, value) for name, value in recipe.items() if name not in values)
            makers.append(values)
        for values in search_parts.SEVERAL if "*" in constructor else ():
            given = [self.values(name)[0] for name in names] + list(values)
            makers.append(collections.OrderedDict((str(i), value) for i, value in enumerate(given)))
        seen = []
        return [values for values in makers if values not in seen and not seen.append(values)]

    def values(self, name):
        """What an argument may be, with the models of the project for one of a model's name."""
        if "@" in name:
            return self.hints["values"][name]
        plain = name.lower().replace("_", "")
        fit = [self.made[cls] for cls in self.hints.get("fitting", {}).get(name, ()) if cls in self.made]
        links = [text for cls, text in self.made.items() if plain in cls.lower() or cls.lower() in plain]
        if not links and _OF_MODELS.search(name.lower()):
            links = list(self.made.values())[:3]
        known = self.hints["values"].get(name) or self.hints.get("options", {}).get(name, [])
        if name in self.optional:
            return search_arguments.arguments_for(name)
        if search_arguments.is_settings(name):
            fit = []
        if fit:  # it has what is asked of it, and is known to run
            return list(dict.fromkeys(fit + known + links + search_arguments.arguments_for(name)))
        if links and not known:
            return list(dict.fromkeys(links + search_arguments.arguments_for(name)))
        return list(dict.fromkeys(known + links + search_arguments.arguments_for(name)))

    # -- the search --------------------------------------------------------------------------------------------------

    def _climb(self, starts, end):
        """The first attempt that runs. Those that came farthest are changed first."""
        ranked, unbuilt, heavy = [], [], None
        while starts and not self._over(end):
            # All of them at once would leave no patience for changes.
            some, starts = starts[:_STARTS], starts[_STARTS:]
            for attempt in some:
                if self._over(end) and ranked:
                    break
                if self._ready(attempt).arguments in unbuilt:  # whatever its inputs are
                    continue
                attempt, tried = self._evaluate_ready(attempt)
                if tried is True and (self.size <= _LARGE or heavy):
                    return attempt
                if tried is True:  # a smaller one shows as much, and is compared in time
                    heavy = attempt
                    unbuilt.append(attempt.arguments)
                elif tried:
                    ranked.append(tried)
                    unbuilt += [attempt.arguments] if tried.phase == "build" else []
            self.farther = self.tried
            found = self._changed(ranked, end, _PATIENCE // 2 if starts and not heavy else _PATIENCE)
            if found is not None:
                return found
        return heavy

    def _changed(self, ranked, end, patience):
        """The first change of an attempt that runs; the others are added to those that are ranked."""
        while ranked and not self._over(end) and self.tried - self.farther <= patience:
            ranked.sort(key=self._rank)
            parent = ranked.pop(0)
            begun = self.tried
            for other, is_repair in search_neighbours.neighbours(self, parent):
                if self._over(end) or self.tried - self.farther > patience:
                    break
                if not is_repair and self.tried - begun > _TURN and ranked:
                    ranked.append(parent._replace(number=self.tried, rounds=parent.rounds + 1))
                    break
                other, tried = self._evaluate_ready(other, parent if is_repair else None)
                if tried is True:
                    return other
                if tried:
                    ranked.append(tried)
                    if tried.score[0] > parent.score[0] and search_arrays.only_arrays(
                        other.inputs, parent.attempt.inputs
                    ):
                        found = self._all_as_arrays(ranked)
                        if found:
                            return found
                    if tried.score > parent.score:
                        ranked.append(parent._replace(number=self.tried))  # its other changes come later
                        break
        return None

    def _evaluate_ready(self, attempt, repaired=None):
        """An attempt with what all attempts need, and what became of it."""
        while True:
            attempt = self._ready(attempt)
            tried = self._evaluate(attempt, repaired)
            if not tried or tried is True:
                return attempt, tried
            if not self.takes_arrays and search_arrays.are_wanted(tried.error):
                self.takes_arrays = True
            elif not search_globals.supply(self, tried.error):
                return attempt, tried

    def _ready(self, attempt):
        attempt = attempt._replace(arguments=search_globals.with_supplied(self, attempt.arguments))
        return attempt._replace(inputs=search_arrays.all_plain(attempt.inputs)) if self.takes_arrays else attempt

    def _all_as_arrays(self, ranked):
        """What comes farther with arrays than with Variables takes arrays: what was tried is tried with them."""
        self.takes_arrays = True
        for old in list(ranked):
            attempt = self._ready(old.attempt)
            tried = self._evaluate(attempt)
            if tried is True:
                return attempt
            if tried:
                ranked.append(tried)
        return None

    def _rank(self, tried):
        """What came farthest is first; of as many lines, the inputs that the layers take, then more of Chainer's own
        functions: taking a part of an image is one, of an array of words it is none.
        """
        is_likely = search_arrays.is_likely(tried.attempt.inputs, self.hints["first"])
        return -tried.score[0], tried.rounds, not is_likely, [-part for part in tried.score[1:]], tried.number

    def _over(self, end):
        return (
            self.tried - self.begun >= _MOST
            or self.lacking > _LACKING
            or time.process_time() > min(end, self.end)
            or time.time() > self.wall
        )

    def _evaluate(self, attempt, repaired=None):
        """True for an attempt that runs, None for one that was made before, else how it failed.

        One that repairs another has come farther if it fails in a way that is new.
        """
        key = json.dumps([attempt.arguments, attempt.method, attempt.inputs, attempt.before], sort_keys=True)
        if key in self.seen or search_arrays.is_too_large(list(attempt.inputs.values())):
            return None
        self.seen.add(key)
        self.tried += 1
        phase, error, score = self._attempt(attempt)
        search_room.collect()
        if error is None:
            return True
        is_lacking = isinstance(error, (ImportError, missing.NotRun, NothingToCompare)) or _NO_GPU in str(error)
        self.lacking += is_lacking and getattr(error, "lacking", None) is None
        words = repr(error)
        news = repaired.score[2] if repaired is not None and repaired.score[:2] == score else 0
        score += (news + 1 if repaired is not None and words not in self.errors else news,)
        self.errors.add(words)
        if score > self.score:
            self.score = score
            self.farther = self.tried
            if self.best is None or not attempt.method or self.best[3].method:
                self.best = score, error, phase, attempt
        return Tried(score, self.tried, attempt, error, phase)

    # -- one attempt -------------------------------------------------------------------------------------------------

    def _arguments(self, attempt):
        """By place where they have to be given: a port may have other names for them."""
        return ", ".join(
            value
            if name in self.positional and name not in self.optional or name.isdigit()
            else "{}={}".format(name, value)
            for name, value in attempt.arguments.items()
            if "@" not in name
        )

    def text_of(self, record):
        """The text that makes a model and calls it, of what was found."""
        names, started = list(record["inputs"]), list(self.hints.get("started", ())) + record["started"]
        about = record["arguments"], record["method"], names
        return model_text.text(self.target, *about, called=record["called"], before=record["before"], started=started)

    def _text(self, attempt):
        values = [text.partition(": ")[2] for text in search_globals.started(attempt.arguments)]
        return "{}({}){} of {}{}{}".format(
            self.target.partition(":")[2],
            self._arguments(attempt),
            "." + attempt.method if attempt.method else "",
            ", ".join(attempt_values.shown(spec) for spec in attempt.inputs.values()) or "nothing",
            " after " + attempt.before.lstrip("@") if attempt.before else "",
            " with " + ", ".join(values) if values else "",
        )

    def _attempt(self, attempt):
        """Phase and error of an attempt (None: it runs), and how far it came."""
        names = ["x{}".format(i) for i in range(len(attempt.inputs))]
        source = self.text_of(dict(self._about(attempt), inputs=names))
        reach = search_room.Reach(self.tree)
        phase, began, started = "build", time.process_time(), self.place.clock()
        # What is wrong can take long, too: half of what is left stays for what comes after it.
        most = min(_SECONDS_EACH, max(1.0, (self.end - began) / 2))
        try:
            with search_room.quiet(), search_room.limited(most), reach:
                namespace = self.place.made(source)
                phase, before = "first forward", dict(vars(namespace["model"]))
                result = namespace["run"](**self.place.given(dict(zip(names, attempt.inputs.values()))))
            arrays = wire.flat_arrays("out", result, chainer_snippets.array_of)
            if not _can_be_compared(arrays):
                self.left_in[attempt.method] = attempt_values.left_in(namespace["model"], before)
                result = [getattr(namespace["model"], name) for name in self.left_in[attempt.method]]
                arrays = wire.flat_arrays("out", result, chainer_snippets.array_of)
                source = self.text_of(dict(self._about(attempt), inputs=names))
            if not _can_be_compared(arrays):
                raise NothingToCompare("output: holds no array that can be compared")
            if search_arrays.are_wider(arrays.values(), attempt.inputs):
                raise TypeError(search_arrays.WIDER)
            self.size = attempt_values.size_of(namespace["model"])
            self.result = result
            learns = attempt_values.must_be_comparable(result, namespace["model"], self._arguments(attempt))
            self.learns = not self.size or learns
            phase, self.lasted = "second forward", self.place.clock() - started
            del namespace, result
            self._again(source, attempt.inputs)
            return phase, None, reach.score()
        except (Exception, SystemExit) as error:
            lines, applied = reach.score()
            error.asked = search_conditions.read(error, self.tree)
            error.lacking = search_globals.lacking(error, self.tree)
            error.__traceback__ = None  # its frames hold the model
            return phase, error, (lines + isinstance(error, NothingToCompare), applied)

    def _again(self, source, inputs):
        """Runs an attempt that ran with other values: what depends on them is no input to compare with."""
        with search_room.quiet(), search_room.limited(_SECONDS_EACH):
            self.place.run(source, {"x{}".format(i): spec for i, spec in enumerate(inputs.values())}, 1)


def _can_be_compared(arrays):
    return any(value.dtype.kind in "biuf" and value.size for value in arrays.values())
