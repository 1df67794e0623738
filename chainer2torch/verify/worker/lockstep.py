"""What keeps two runs of one training script in step: seeds, private random streams, records of what was computed.

Both workers use it. Written for Python 3.6 and newer, with NumPy and the standard library only.

Both scripts draw their batches and their own random numbers from NumPy's global generator, in the same order. What only
one framework draws from it (initial weights, dropout masks) comes from private streams, so that the global generator
advances equally on both sides. Dropout masks and sampled noise come from one private stream on both sides, in the order
of the calls.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import contextlib
import itertools
import os
import random
import runpy
import sys
import threading
import traceback

import numpy

from . import missing, outcomes, own_distribution, wire


class Stop(BaseException):
    """Ends the script when enough iterations were seen. Not an Exception: the script's handlers must let it pass."""


HIDDEN = "*"  # the name of what a trained model calls and does not hold, in the list of what no optimizer trains
# Held while NumPy's global generator is not itself: iterators draw the order of an epoch in threads of their own.
GENERATOR = threading.RLock()


class Stream(object):
    """A random stream apart from NumPy's global generator."""

    def __init__(self, seed):
        self.rng = numpy.random.RandomState(seed)
        self._depth = 0

    @contextlib.contextmanager
    def as_global(self):
        """Runs a block that draws from NumPy's global generator: it draws from this stream instead."""
        with GENERATOR:
            if self._depth:
                yield
            else:
                with self._instead():
                    yield

    @contextlib.contextmanager
    def _instead(self):
        state = numpy.random.get_state()
        numpy.random.set_state(self.rng.get_state())
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            self.rng.set_state(numpy.random.get_state())
            numpy.random.set_state(state)

    def wrap(self, function):
        """``function``, drawing from this stream."""

        def wrapped(*args, **kwargs):
            with self.as_global():
                return function(*args, **kwargs)

        wrapped.__name__ = getattr(function, "__name__", "wrapped")
        wrapped.__doc__ = function.__doc__
        wrapped.__wrapped__ = function
        return wrapped


def seed_everything(seed):
    """Seeds the global generators; generators that a script makes without a seed get this one, not the clock's.

    So does ``numpy.random.seed()`` later on, each time another one.
    """
    random.seed(seed)
    numpy.random.seed(seed)
    for module in (random, numpy.random):
        module.seed = _without_clock(module.seed, seed)
    base = numpy.random.RandomState

    class RandomState(base):
        """NumPy's generator; without a seed it starts from the seed of the comparison."""

        def __init__(self, *given, **named):  # `seed=0`, too
            first = _given(given, named)
            super(RandomState, self).__init__(seed if first is None else first)

    numpy.random.RandomState = RandomState
    if hasattr(numpy.random, "default_rng"):
        make = numpy.random.default_rng

        def default_rng(*given, **named):
            first = _given(given, named)
            return make(seed if first is None else first)

        numpy.random.default_rng = default_rng


def _given(given, named):
    """The seed that a generator is made with, if any: the first argument, or ``seed``; no other is known."""
    (first,) = given or (named.pop("seed", None),)
    if named:
        raise TypeError("unexpected arguments: {}".format(", ".join(sorted(named))))
    return first


def _without_clock(seed_generator, seed):
    """``random.seed`` that takes no seed from the clock: two runs would draw other numbers from there on."""
    count = itertools.count(seed + 1)

    def seeded(*args, **kwargs):
        is_given = any(value is not None for value in args) or any(value is not None for value in kwargs.values())
        return seed_generator(*args, **kwargs) if is_given else seed_generator(next(count))

    return seeded


def seed_again(stream, seed):
    """Starts a private stream and the global generators again, so that one case does not depend on those before it."""
    stream.rng.seed(seed)
    random.seed(seed)
    numpy.random.seed(seed)


def holding_generator(function):
    """``function``, waiting while NumPy's global generator stands for another stream."""

    def held(*args, **kwargs):
        with GENERATOR:
            return function(*args, **kwargs)

    return held


class SeededExamples(object):
    """A dataset whose examples draw from generators that start from the seed and the example's index.

    For processes that read ahead: Python seeds the generators of each from the clock, so that random cropping there
    would be another one in every run. Chainer reads the first batch in the main process: there nothing is advanced.
    """

    def __init__(self, dataset, seed):
        self.dataset = dataset
        self.seed = seed
        self.process = os.getpid()

    def __len__(self):
        return len(self.dataset)

    def __getitem__(self, index):
        if os.getpid() != self.process:  # whose lock may have been held when the process was made
            return self._read(index)
        with GENERATOR:
            states = random.getstate(), numpy.random.get_state()
            try:
                return self._read(index)
            finally:
                random.setstate(states[0])
                numpy.random.set_state(states[1])

    def _read(self, index):
        seed = (self.seed * 1000003 + int(index)) % 2**32
        random.seed(seed)
        numpy.random.seed(seed)
        return self.dataset[index]


class Recorder(object):
    """Records losses and reported values between one optimizer update and the next."""

    def __init__(self, folder, iterations):
        self.results = wire.Results(folder)
        self.iterations = iterations
        self.updates = 0
        self._by_optimizer = {}
        self._losses = []
        self._reported = []

    def loss(self, value):
        """The value that ``backward`` started from."""
        self._losses.append(value)

    def report(self, name, value):
        """A value that the script or a link reported."""
        self._reported.append([name, value])

    def before_update(self, optimizer):
        """Ends the script when this optimizer has made all its updates."""
        if self._by_optimizer.get(optimizer, 0) >= self.iterations:
            raise Stop()

    def after_update(self, optimizer):
        """Writes the record of one update; ``optimizer`` is its number in the order of creation."""
        self._by_optimizer[optimizer] = self._by_optimizer.get(optimizer, 0) + 1
        self.updates += 1
        self._write(
            "update-{}".format(self.updates), {"optimizer": optimizer, "iteration": self._by_optimizer[optimizer]}
        )

    def end(self, how, notes, written, printed=None):
        """Writes what was seen after the last update, how the script ended, what it has written, and what
        it has printed if it trains nothing.
        """
        self._write("end", {"how": how, "notes": notes, "written": written, "printed": printed})
        self.results.close()

    def _write(self, name, record):
        record.update({"id": name, "losses": self._losses, "reported": self._reported})
        self.results.add(record)
        self._losses, self._reported = [], []


def run_script(job, recorder, notes, at_end=lambda: None):
    """Runs the script of the job as ``__main__`` in its folder, and records how it ended after a call of ``at_end``."""
    tree = os.path.abspath(job["tree"])
    before = stamps(tree)
    printed = outcomes.Printed(sys.stdout)
    sys.stdout = printed
    try:
        how = run_main(job)
    finally:
        sys.stdout = printed.stream
    at_end()
    trains_nothing = not recorder.updates
    written = [path for path, stamp in stamps(tree).items() if before.get(path) != stamp]
    found = {path: outcomes.entries(os.path.join(tree, path), trains_nothing) for path in written}
    recorder.end(how, notes, found, printed.text(tree) if trains_nothing else None)


def run_main(job, start=lambda: None, stop=lambda: None):
    """Runs the script as ``__main__`` in its folder, between ``start`` and ``stop``; gives how it ended."""
    tree = os.path.abspath(job["tree"])
    script = os.path.join(tree, job["argv"][0])
    os.chdir(os.path.dirname(script) if job.get("inside") else tree)
    sys.argv = [os.path.basename(script) if job.get("inside") else job["argv"][0]] + list(job["argv"][1:])
    sys.path.insert(0, os.path.dirname(script))
    sys.path.append(tree)  # scripts in a folder of their own find the project's packages
    how = {"status": "finished"}
    missing.leave_out(job.get("left_out", ()))
    own_distribution.install(tree)
    start()
    try:
        runpy.run_path(script, run_name="__main__")
    except Stop:
        how = {"status": "stopped"}
    except SystemExit as error:
        if error.code not in (None, 0):
            how = {"status": "error", "type": "SystemExit", "message": str(error.code), "trace": ""}
    except BaseException as error:
        how = wire.failure("script", error)
        how["lacks"] = missing.lacked(error, tree)
        how["own"] = _own_frame(error, tree)
    finally:
        stop()
    return how


def _own_frame(error, tree):
    """The last line of the program itself that an error came through: ``data.py:33``; empty if there is none."""
    found = ""
    for frame in traceback.extract_tb(error.__traceback__):
        path = os.path.abspath(frame.filename)
        if path.startswith(tree + os.sep) and "site-packages" not in path:
            found = "{}:{}".format(os.path.relpath(path, tree).replace(os.sep, "/"), frame.lineno)
    return found


def number(value):
    """A reported value as a float, or None when it is not one number."""
    try:
        array = numpy.asarray(value, dtype=numpy.float64)
    except (TypeError, ValueError):
        return None
    return float(array.reshape(-1)[0]) if array.size == 1 else None


def scalar(array):
    """The value of a loss: of an array with several elements their sum."""
    return float(numpy.asarray(array, dtype=numpy.float64).sum())


def stamps(tree):
    """What tells whether a file below ``tree`` is written: time and size by relative path."""
    found = {}
    for folder, _, files in os.walk(tree):
        for name in files:
            path = os.path.join(folder, name)
            if "__pycache__" in path or os.path.islink(path):
                continue
            status = os.stat(path)
            found[os.path.relpath(path, tree).replace(os.sep, "/")] = [status.st_mtime, status.st_size]
    return found
