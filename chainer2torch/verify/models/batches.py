"""The models of a project in batches, one for each of its files: results come as they are there."""

from __future__ import annotations

import dataclasses
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

from chainer2torch.verify.models.entries import ModelEntry
from chainer2torch.verify.models.model_cases import run
from chainer2torch.verify.models.models_report import ModelsReport
from chainer2torch.verify.models.setting import Setting
from chainer2torch.verify.models.trials import Left, Open, choose
from chainer2torch.verify.results import VerifyReport

_MOST = 12  # classes of a batch
_TOGETHER = 2  # models that are compared together within a budget
_FOR_TRIALS = 0.5
_RUNS = 5  # of a forward pass, at the least: those of both sides, and what their backward passes take
_VALUES_A_SECOND = 10_000_000  # of parameters, which are written, read and compared several times
_SLOW, _LARGE = 0.15, 2_000_000  # seconds of a forward pass, values of parameters: compared behind all others
_LATE = "not reached: its time was up before it was compared (--budget)"
_LONG = "not reached: to compare it takes longer than what was left of the time (--budget)"
_WORKERS = 2
_CROWDED = 1.4  # of the load that our own workers make


@dataclasses.dataclass
class Batch:
    """Models that run together: those that are given, those that the code tells, and those to be searched.

    ``taken`` is what its search has found. ``so_far`` holds of a second round what the first one has to say of its
    models.
    """

    given: list[ModelEntry] = dataclasses.field(default_factory=list)
    open: list[Open] = dataclasses.field(default_factory=list)
    left: list[Left] = dataclasses.field(default_factory=list)
    taken: list[Any] = dataclasses.field(default_factory=list)
    so_far: list[Left] = dataclasses.field(default_factory=list)
    slow: list[ModelEntry] = dataclasses.field(default_factory=list)  # found, and not compared yet
    is_last: bool = False

    def targets(self) -> list[str]:
        """The classes, in order."""
        return [*(e.target for e in self.given), *(some.target for some in self.open), *(w.target for w in self.left)]

    def order(self) -> tuple[bool, float]:
        """What is slow comes last, the quickest of it first, from whatever file it is."""
        return self.is_last, sum(map(_seconds, self.given)) if self.is_last else 0.0

    def __len__(self) -> int:
        return len(self.given) + len(self.open) + len(self.left)


def batches(given: Sequence[ModelEntry], open_: Sequence[Open], left: Sequence[Left]) -> Iterator[Batch]:
    """What is given first, in one batch: a worker that an inferred model ends takes nothing with it. Then the files;
    what cannot be tried costs nothing and comes before them.
    """
    if given:
        yield Batch(given=list(given))
    hopeless = [what for what in left if not what.attempts and what.hints is None]
    if hopeless:
        yield Batch(left=hopeless)
    by_file: dict[str, Batch] = {}
    for some in open_:
        by_file.setdefault(some.target.partition(":")[0], Batch()).open.append(some)
    for what in left:
        if what not in hopeless:
            by_file.setdefault(what.target.partition(":")[0], Batch()).left.append(what)
    # Small files of one folder share the start of the workers.
    batch, folder = Batch(), ""
    for file, own in ((name, piece) for name in sorted(by_file) for piece in _pieces(by_file[name])):
        inside = file.replace(".", "/").rpartition("/")[0]
        if len(batch) and (inside != folder or len(batch) + len(own) > _MOST):
            yield batch
            batch = Batch()
        folder = inside
        batch.open += own.open
        batch.left += own.left
    if len(batch):
        yield batch


def _pieces(batch: Batch) -> Iterator[Batch]:
    """The classes of a file; those of a very long one in several batches, so that something is there before all are
    searched.
    """
    if len(batch) <= 2 * _MOST:
        yield batch
        return
    for first in range(0, len(batch.open), _MOST):
        yield Batch(open=batch.open[first : first + _MOST])
    for first in range(0, len(batch.left), _MOST):
        yield Batch(left=batch.left[first : first + _MOST])


def run_batches(
    todo: Iterator[Batch],
    setting: Setting,
    report: ModelsReport,
    tell: Callable[[ModelsReport, int], object] | None = None,
) -> None:
    """Runs batches, two at a time where there are cores for it, and adds what came of them to ``report``.

    Within a budget a batch has its share of the time to search its models, and what found nothing in that is searched
    once more behind all others: a model that takes long, or takes nothing, costs the others nothing.

    An interrupt (Ctrl-C) ends the workers; what is there stays, and the rest is not verified.
    """
    waiting = list(todo)
    pool = ThreadPoolExecutor(min(_WORKERS, os.cpu_count() or 1))
    running: dict[Future[list[Left]], Batch] = {}
    lock = threading.Lock()

    def add(part: VerifyReport, left: list[Left]) -> None:
        with lock:
            _add(report, part, left)
            if tell is not None:
                open_ = [target for batch in [*waiting, *running.values()] for target in batch.targets()]
                tell(report, len(set(open_) - {outcome.pair.row for outcome in report.outcomes}))

    try:
        while waiting or running:
            while waiting and len(running) < pool._max_workers and not setting.is_over():
                if waiting[0].is_last and running and _is_crowded():
                    break
                batch = waiting.pop(0)
                share = pool._max_workers * len(batch) / (len(batch) + sum(map(len, waiting)))
                running[pool.submit(_run, batch, setting, share, add)] = batch
            if not running:
                break
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                batch, left = running[future], future.result()
                del running[future]
                if batch.slow:
                    waiting += [Batch(given=[entry], is_last=True) for entry in batch.slow]
                    waiting.sort(key=Batch.order)
                if setting.end != float("inf") and len(again := _once_more(batch, left)):
                    waiting.insert(sum(not other.is_last for other in waiting), again)
                    left = [what for what in left if what not in again.so_far]
                if left:
                    add(VerifyReport([], [], {}, setting.device), left)
    except KeyboardInterrupt:
        report.problems.append("interrupted")
    finally:
        setting.stop.set()
        pool.shutdown()
    why = "interrupted" if "interrupted" in report.problems else "its time was up before it was reached (--budget)"
    known = {outcome.pair.row for outcome in report.outcomes}
    for batch in [*running.values(), *waiting]:
        targets = [target for target in batch.targets() if target not in known]
        reasons = [Left(target, f"not reached: {why}") for target in dict.fromkeys(targets)]
        report.add_left(batch.so_far or reasons)


def _is_crowded() -> bool:
    """Whether others use the processors, too: then slow models come one by one, so that some are done in time."""
    try:
        return os.getloadavg()[0] > _CROWDED * (os.cpu_count() or 1)
    except (AttributeError, OSError):  # another system
        return False


def _once_more(batch: Batch, left: Sequence[Left]) -> Batch:
    """Those models of a batch whose search had no time to end, after the first round."""
    hasty = [what for what in left if what.in_haste and not batch.so_far]
    targets = {what.target for what in hasty}
    return Batch(
        open=[some for some in batch.open if some.target in targets],
        left=[what for what in batch.left if what.target in targets],
        taken=batch.taken,
        so_far=hasty,
    )


def _run(batch: Batch, setting: Setting, share: float, add: Callable[[VerifyReport, list[Left]], None]) -> list[Left]:
    """Finds out what the models of a batch take, and compares them; gives what is left.

    Within a budget, trying may take half of what is left, or of the batch's share of it, and few are compared at a
    time, the quickest first, each given to ``add``: what is not reached then takes nothing else with it. Large models
    are left to a batch behind all others.
    """
    is_short = setting.end != float("inf")
    chosen, left = choose(
        batch.open,
        batch.left,
        setting.src,
        setting.out,
        python=setting.chainer_python,
        timeout=setting.left() * (_FOR_TRIALS * min(1.0, share) if is_short else 1),
        stop=setting.stop,
        warm=setting.warm,
        kept=setting.kept,
        taken=batch.taken,
        device=setting.device,
    )
    entries = [*batch.given, *chosen]
    if not is_short:
        add(run(entries, setting), [])
        return left
    entries.sort(key=lambda entry: (round(entry.seconds, 1), entry.size))
    if not batch.is_last:
        batch.slow = [entry for entry in chosen if entry.seconds > _SLOW or entry.size > _LARGE]
        entries = [entry for entry in entries if entry not in batch.slow]
    for first in range(0, len(entries), _TOGETHER):
        some = [entry for entry in entries[first : first + _TOGETHER] if not _is_too_long(entry, setting)]
        late = [entry for entry in entries[first : first + _TOGETHER] if entry not in some]
        left += [Left(entry.target, _LATE if setting.is_over() else _LONG) for entry in late]
        if some:
            add(run(some, setting), [])
    return left


def _is_too_long(entry: ModelEntry, setting: Setting) -> bool:
    """Whether what is left of a budget is not enough: a comparison that is broken off shows nothing."""
    return setting.is_over() or setting.left() < _seconds(entry)


def _seconds(entry: ModelEntry) -> float:
    """The least that a comparison takes."""
    return _RUNS * entry.seconds + entry.size / _VALUES_A_SECOND


def _add(report: ModelsReport, part: VerifyReport, left: list[Left]) -> None:
    report.outcomes += part.outcomes
    report.problems += part.problems
    report.versions = {**part.versions, **report.versions}
    report.add_left(left)
