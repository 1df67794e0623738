"""Results come file by file; what was not reached is not verified."""

import json
import time

import pytest

from chainer2torch.cli import progress
from chainer2torch.report.verification import document_of
from chainer2torch.verify.judge.outcome import FAILED, PASSED, UNVERIFIED, Outcome, Pair
from chainer2torch.verify.models import batches
from chainer2torch.verify.models.batches import run_batches
from chainer2torch.verify.models.entries import ModelEntry
from chainer2torch.verify.models.setting import Setting
from chainer2torch.verify.models.models_report import ModelsReport
from chainer2torch.verify.models.trials import Left
from chainer2torch.verify.results import VerifyReport


def _left(*targets):
    return [Left(target, "why", hints={}) for target in targets]


def _outcome(target, dtype="float32", status=PASSED, **changes):
    outcome = Outcome(Pair(target, target, dtype, "", "", dtype=dtype), status, compared=status == PASSED)
    for name, value in changes.items():
        setattr(outcome, name, value)
    return outcome


def test_a_batch_is_a_folder_and_what_cannot_be_tried_comes_first():
    found = list(batches.batches([], [], [*_left("a.b:X", "a.c:Y", "d.e:Z", "a.b:W"), Left("q:Q", "never")]))
    assert [batch.targets() for batch in found] == [["q:Q"], ["a.b:X", "a.b:W", "a.c:Y"], ["d.e:Z"]]


def test_a_very_long_file_is_several_batches():
    found = list(batches.batches([], [], _left(*(f"a:X{i}" for i in range(30)))))
    assert [len(batch) for batch in found] == [12, 12, 6]
    assert [len(batch) for batch in batches.batches([], [], _left(*(f"a:X{i}" for i in range(24))))] == [24]


def test_slow_models_of_all_files_come_last_and_the_quickest_of_them_first():
    def slow(seconds):
        entry = ModelEntry("a:X", [], {}, {}, [], seconds=seconds)
        return batches.Batch(given=[entry], is_last=True)

    first, second = batches.Batch(left=_left("a:X")), batches.Batch(left=_left("b:Y"))
    several = [slow(0.9), first, slow(0.2), second]
    assert sorted(several, key=batches.Batch.order) == [first, second, slow(0.2), slow(0.9)]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """``run(behaviour)``: three batches, each run by ``behaviour(batch)``; gives the report and what was told."""

    def run(behaviour, **given):
        def run_one(batch, setting, share, add):
            part, left = behaviour(batch)
            if part.outcomes:
                add(part, [])
            return left

        monkeypatch.setattr(batches, "_run", run_one)
        report, told = ModelsReport([], [], {}), []
        todo = batches.batches([], [], _left("a:X", "b.c:Y", "d.e:Z"))
        run_batches(todo, Setting(tmp_path, tmp_path, **given), report, lambda part, left: told.append(left))
        return report, told

    return run


def _proved(batch):
    return VerifyReport([_outcome(target) for target in batch.targets()], [], {"torch": "2"}), []


def test_results_are_told_as_they_come(run):
    report, told = run(_proved)
    assert sorted(told, reverse=True) == told and told[-1] == 0 and len(told) == 3
    assert set(report.classes().values()) == {"proved"} and report.exit_code == 0


def test_what_was_searched_in_haste_is_searched_again_behind_all_others(run):
    order = []

    def hasty(batch):
        order.append((batch.targets(), len(batch.taken)))
        batch.taken.append(["case", "record"])
        if batch.targets() == ["b.c:Y"] and not batch.so_far:
            return VerifyReport([], [], {}), [Left("b.c:Y", "so far", in_haste=True)]
        return _proved(batch)

    report, told = run(hasty, end=time.monotonic() + 100)
    assert order[-1] == (["b.c:Y"], 1), "it knows what its first round has found"
    assert len(order) == 4 and told[-1] == 0
    assert set(report.classes().values()) == {"proved"} and report.left == []


def test_what_is_still_open_after_its_second_round_is_said_once(run):
    def never(batch):
        return VerifyReport([], [], {}), [Left(target, "so far", in_haste=True) for target in batch.targets()]

    report, _ = run(never, end=time.monotonic() + 100)
    assert sorted(what.target for what in report.left) == ["a:X", "b.c:Y", "d.e:Z"]
    assert {report.reason(what.target) for what in report.left} == {"so far"}


def test_without_a_budget_there_is_one_round(run):
    rounds = []

    def hasty(batch):
        rounds.append(batch)
        return VerifyReport([], [], {}), [Left(target, "so far", in_haste=True) for target in batch.targets()]

    report, _ = run(hasty)
    assert len(rounds) == len(report.left) == 3


def test_a_batch_has_its_share_of_a_budget(tmp_path, monkeypatch):
    seconds = []
    monkeypatch.setattr(batches, "choose", lambda *args, timeout, **options: (seconds.append(timeout), ([], []))[1])
    monkeypatch.setattr(batches.os, "cpu_count", lambda: 1)
    todo = [batches.Batch(left=_left(*(f"{name}:C{i}" for i in range(n)))) for name, n in (("a", 6), ("b", 2))]
    run_batches(iter(todo), Setting(tmp_path, tmp_path, end=time.monotonic() + 100), ModelsReport([], [], {}))
    assert seconds == pytest.approx([37.5, 50], abs=1), "half of what is left, and of that its part of the models"


def test_large_models_are_compared_behind_those_of_all_files(tmp_path, monkeypatch):
    sizes = {"a:Small": 10, "a:Large": 10_000_000, "b.c:Small": 10}
    entries = {target: ModelEntry(target, [], {}, {}, ["train"], size=size) for target, size in sizes.items()}
    order = []

    def compared(some, setting):
        order.append([entry.target for entry in some])
        return VerifyReport([], [], {})

    def chosen(open_, left, *args, **options):
        return [entries[what.target] for what in left], []

    monkeypatch.setattr(batches, "choose", chosen)
    monkeypatch.setattr(batches, "run", compared)
    monkeypatch.setattr(batches.os, "cpu_count", lambda: 1)
    todo = [batches.Batch(left=_left("a:Large", "a:Small")), batches.Batch(left=_left("b.c:Small"))]
    setting = Setting(tmp_path, tmp_path, end=time.monotonic() + 100)
    run_batches(iter(todo), setting, ModelsReport([], [], {}))
    assert order == [["a:Small"], ["b.c:Small"], ["a:Large"]]


def test_what_the_budget_does_not_reach_is_named(run):
    report, told = run(_proved, end=time.monotonic() - 1)
    assert told == [] and set(report.classes().values()) == {"not verified"}
    assert "not reached: its time was up before it was reached (--budget)" in report.reason("a:X")


def test_an_interrupt_keeps_what_is_there(run):
    def interrupted(batch):
        if batch.targets() == ["b.c:Y"]:
            raise KeyboardInterrupt
        return _proved(batch)

    report, _ = run(interrupted)
    assert report.classes()["b.c:Y"] == "not verified" and "proved" in report.classes().values()
    assert report.problems == ["interrupted"] and report.exit_code == 1
    (whole,) = [check for check in json.loads(document_of(report))["checks"] if check["name"] == "chainer2torch"]
    assert (whole["failed"], whole["unverified"]) == (0, 1), "nothing was found to differ"


@pytest.mark.parametrize(
    "cases, state",
    [
        ([_outcome("n:N"), _outcome("n:N", "float64")], "proved"),
        ([_outcome("n:N"), _outcome("n:N", "float64", UNVERIFIED, float32_only=True)], "proved"),
        ([_outcome("n:N"), _outcome("n:N", "float32", UNVERIFIED)], "in part"),
        ([_outcome("n:N", status=FAILED, raised=True), _outcome("n:N")], "raises"),
        ([_outcome("n:N", status=FAILED, raised=True), _outcome("n:N", status=FAILED)], "differs"),
        ([_outcome("n:N", status=UNVERIFIED)], "not verified"),
    ],
)
def test_what_becomes_of_a_class(cases, state):
    assert ModelsReport(cases, [], {}).classes() == {"n:N": state}


def test_a_percentage_that_is_asked_for():
    report = ModelsReport([_outcome("n:N"), _outcome("n:M", status=UNVERIFIED)], [], {})
    assert report.exit_code == 0 and report.lines()[-1] == "1 of 2 classes proved (50%); 1 not verified"
    report.at_least = 60
    assert report.exit_code == 1 and "fewer than --at-least 60" in report.lines()[-1]


def test_classes_are_printed_once_with_their_reason(capsys):
    report = ModelsReport([_outcome("n:N"), _outcome("n:M", status=UNVERIFIED, reasons=["no  such\nthing"])], [], {})
    with progress.models() as tell:
        tell(report, 1)
        tell(report, 0)
    assert capsys.readouterr().err.splitlines() == ["proved        n:N", "not verified  n:M: no such thing"]


def test_within_a_budget_few_are_compared_at_a_time_and_the_smallest_first(tmp_path, monkeypatch):
    entries = [ModelEntry(f"a:C{i}", [], {}, {}, ["train"], size=10 - i) for i in range(6)]
    ran = []

    def run(some, setting):
        ran.append([entry.target for entry in some])
        setting.stop.set()  # its time is up
        return VerifyReport([_outcome(entry.target) for entry in some], [], {})

    monkeypatch.setattr(batches, "choose", lambda *args, **options: (entries, []))
    monkeypatch.setattr(batches, "run", run)
    setting = Setting(tmp_path, tmp_path, end=time.monotonic() + 100)
    parts = []
    left = batches._run(batches.Batch(), setting, 1.0, lambda part, left: parts.extend(part.outcomes))
    assert ran == [["a:C5", "a:C4"]] and len(parts) == 2
    assert {what.target for what in left} == {"a:C0", "a:C1", "a:C2", "a:C3"}
    assert "before it was compared" in left[0].why


def test_what_takes_longer_than_the_rest_of_the_budget_is_not_begun(tmp_path, monkeypatch):
    entries = [ModelEntry(f"a:C{i}", [], {}, {}, ["train"], size=size) for i, size in enumerate((10, 10**9))]
    monkeypatch.setattr(batches, "choose", lambda *args, **options: (entries, []))
    monkeypatch.setattr(batches, "run", lambda some, setting: VerifyReport([_outcome(some[0].target)], [], {}))
    told = []
    for end, rest in ((time.monotonic() + 100, ["a:C1"]), (float("inf"), [])):
        left = batches._run(
            batches.Batch(is_last=True), Setting(tmp_path, tmp_path, end=end), 1.0, lambda part, left: told.append(part)
        )
        assert [what.target for what in left] == rest
    assert len(told) == 2 and "it takes longer" in batches._LONG
