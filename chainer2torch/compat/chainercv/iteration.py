"""What ChainerCV's evaluations run over a data set: a function on the batches of an iterator, and its progress."""

from __future__ import annotations

import sys
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any


def apply_to_iterator(func: Callable[..., Any], iterator: Any, n_input: int = 1, hook: Any = None) -> tuple[Any, ...]:
    """A function on batches of examples: what it gets, what it gives and the rest of the examples, value by value.

    Each is a tuple of iterators. The first ``n_input`` parts of an example go to ``func``, as lists. A batch is drawn
    when one of the iterators needs it; what an iterator that is deleted would have given is not kept. ``hook`` gets the
    three parts of each batch. The first batch is drawn at once: without one this raises StopIteration.
    Source: chainercv.utils.apply_to_iterator.
    """
    batches = _applied(func, iterator, n_input, hook)
    first = next(batches)
    waiting = {(i, j): deque(column) for i, part in enumerate(first) for j, column in enumerate(part)}

    def values(place: tuple[int, int]) -> Iterator[Any]:
        while True:
            while not waiting[place]:
                batch = next(batches, None)
                if batch is None:
                    return
                for (i, j), column in list(waiting.items()):
                    column.extend(batch[i][j])
            yield waiting[place].popleft()

    found: tuple[list[Any], ...] = tuple([] for _ in first)
    for place in list(waiting):
        found[place[0]].append(values(place))
        weakref.finalize(found[place[0]][-1], waiting.pop, place)
    return tuple(map(tuple, found))


def _applied(func: Callable[..., Any], iterator: Any, n_input: int, hook: Any) -> Iterator[tuple[Any, Any, Any]]:
    for batch in iterator:
        examples = [example if isinstance(example, tuple) else (example,) for example in batch]
        given = tuple(map(list, zip(*(example[:n_input] for example in examples))))
        rest = tuple(map(list, zip(*(example[n_input:] for example in examples))))
        found = func(*given)
        found = found if isinstance(found, tuple) else (found,)
        if hook:
            hook(given, found, rest)
        yield given, found, rest


class ProgressHook:
    """A hook of :func:`apply_to_iterator` that prints how many of ``n_total`` examples are done."""

    def __init__(self, n_total: int | None = None) -> None:
        self.n_total, self.start, self.n_processed = n_total, time.time(), 0

    def __call__(self, in_values: Any, out_values: Any, rest_values: Any) -> None:
        """Writes over the line before. Source: chainercv.utils.ProgressHook."""
        self.n_processed += len(in_values[0])
        speed = self.n_processed / (time.time() - self.start)
        text = f"\r{self.n_processed} samples, {speed:.2f} samples/sec"
        if self.n_total is not None and speed > 0:
            left = int((self.n_total - self.n_processed) / speed)
            text = text.replace(" samples", f" of {self.n_total} samples", 1)
            text += f", ETA {left // 3600:4d}:{left // 60 % 60:02d}:{left % 60:02d}"
        sys.stdout.write(text)
        sys.stdout.flush()
