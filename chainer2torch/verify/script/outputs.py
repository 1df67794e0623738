"""What two runs of one script have written: the names of the files, and the values of logs, entry by entry."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Entries = Sequence[Mapping[str, Any]]

# Values that measure the run itself.
_TIMES = ("elapsed_time", "iters/sec", "samples/sec", "time")
_DAY, _HOUR = r"20\d\d[-_.]?\d\d[-_.]?\d\d", r"\d\d[-_:.h]?\d\d(?:[-_:.m]?\d\d)?"
_MOMENT = re.compile(rf"(?<!\d)(?:{_DAY}[-_ T.]?{_HOUR}|{_DAY}|1\d{{9}}(?:\.\d+)?)(?!\d)")
# a file of that name may hold weights, which each framework writes in its own way
_OF_WEIGHTS = (".npz", ".npy")


def is_time(name: str) -> bool:
    """Whether a reported value measures the run itself, as ``elapsed_time`` does."""
    return name.rsplit("/", 1)[-1] in _TIMES


def compare(
    chainer: Mapping[str, Entries | None],
    torch: Mapping[str, Entries | None],
    step: Callable[[int, int, str, float | None, float | None], None],
    problems: list[str],
    unverified: list[str],
) -> None:
    """Compares the files that both runs have written, by relative path; of logs the entries, of others None.

    Logs, keys and entries of logs that one side only has go to ``problems``, other files of one side only to
    ``unverified``: a port by hand may well name its weights in another way. Numbers of logs go to ``step``: iteration,
    optimizer (0), name, Chainer's and PyTorch's value.
    """
    chainer, torch = _without_times(chainer), _without_times(torch)
    for path in sorted({*chainer, *torch}):
        if path in chainer and path in torch:
            _log(path, chainer[path], torch[path], step, problems)
            continue
        side = "Chainer" if path in chainer else "PyTorch"
        named = unverified if chainer.get(path) is torch.get(path) else problems
        named.append(f"{path}: written by {side} only")


def _without_times(written: Mapping[str, Entries | None]) -> Mapping[str, Entries | None]:
    """Files by path; a date and time in a path is that of the run: ``logs/20180721_085118/log.csv``."""
    named = [(_MOMENT.sub("<time>", path), path) for path in written]
    known = [name for name, _ in named]
    return {name if known.count(name) == 1 else path: written[path] for name, path in named}


def _log(
    path: str,
    left: Entries | None,
    right: Entries | None,
    step: Callable[[int, int, str, float | None, float | None], None],
    problems: list[str],
) -> None:
    if left is None or right is None:
        if left is not right and not path.endswith(_OF_WEIGHTS):
            problems.append(f"{path}: a list of entries under {'PyTorch' if left is None else 'Chainer'} only")
        return
    if len(left) != len(right):
        problems.append(f"{path}: {len(left)} entries under Chainer, {len(right)} under PyTorch")
    for i, (x, y) in enumerate(zip(left, right, strict=False)):
        if x.keys() != y.keys():
            problems.append(f"{path}: entry {i} has the keys {sorted(x)} under Chainer and {sorted(y)} under PyTorch")
            return
        iteration = x.get("iteration")
        for key in sorted(x):
            if is_time(key):
                continue
            if _is_number(x[key]) and _is_number(y[key]):
                step(
                    iteration if isinstance(iteration, int) else i + 1,
                    0,
                    f"log {path}: {key}",
                    float(x[key]),
                    float(y[key]),
                )
            elif x[key] != y[key]:
                problems.append(f"{path}: entry {i}: {key} is {x[key]!r} under Chainer and {y[key]!r} under PyTorch")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float))
