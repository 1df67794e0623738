"""Around one attempt of a search: how far it comes, its time, what it prints, and weights that cost nothing.

Written for Python 3.6 and Chainer 3 and newer.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import contextlib
import gc
import io
import os
import signal
import sys
import time

import chainer


# A Variable that is gone through value by value applies one for each; no model that is worth it has so many.
_MOST_APPLIED = 4000


class Iterated(Exception):
    """An attempt seems to go through a Variable: another size of it changes nothing."""


class Reach(object):
    """How far a block came in the project's code: its lines, and the functions of Chainer that it applied, those of one
    kind in one line once: going through a Variable applies one for each value.
    """

    def __init__(self, tree):
        self._tree = tree
        self._lines = set()
        self._applied = 0
        self._kinds = set()
        self._last = None
        node = getattr(chainer, "FunctionNode", None) or chainer.Function
        self._apply = getattr(getattr(node, "apply", None), "__code__", None)

    def __enter__(self):
        sys.settrace(self._call)

    def __exit__(self, *_):
        sys.settrace(None)

    def score(self):
        """More is farther."""
        return len(self._lines), len(self._kinds)

    def _call(self, frame, event, arg):
        code = frame.f_code
        if code is self._apply:
            self._applied += 1
            self._kinds.add((self._last, type(frame.f_locals.get("self"))))
            if self._applied > _MOST_APPLIED:
                raise Iterated("it applied more than {} functions".format(_MOST_APPLIED))
        return self._line if code.co_filename.startswith(self._tree) else None

    def _line(self, frame, event, arg):
        self._last = frame.f_code.co_filename, frame.f_lineno
        self._lines.add(self._last)
        return self._line


class Shares(object):
    """What is left of some seconds, in parts: what takes long takes nothing from those that come after it."""

    def __init__(self, seconds):
        self._end = time.time() + 0.9 * seconds if seconds else float("inf")

    def share(self, parts):
        """When one of so many parts of the time ends."""
        now = time.time()
        return now + max(self._end - now, 0.0) / max(parts, 1)


def bounded_memory():
    """An attempt that asks for more than half of the machine's memory fails as any other, in place of the worker."""
    try:
        import resource

        half = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (half, most))
    except (ImportError, AttributeError, ValueError, OSError):  # another system
        pass


def keep():
    """What is there now stays: looking through it for cycles after each attempt would take longer than that."""
    gc.collect()
    if hasattr(gc, "freeze"):
        gc.freeze()


def collect():
    """Frees the models of attempts: links and their parameters lie in cycles, and few objects hold much memory."""
    gc.collect()


@contextlib.contextmanager
def quiet():
    """Without what the project prints."""
    out, sys.stdout = sys.stdout, io.StringIO()
    try:
        yield
    finally:
        sys.stdout = out


class _Late(Exception):
    pass


@contextlib.contextmanager
def limited(seconds):
    """Ends a block after some seconds of its own time, where the system can."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def late(*_):
        raise _Late("it ran for more than {} seconds".format(seconds))

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
