"""Dividing the files among processes: the same result, nothing left running, progress that a person can read."""

import io
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from chainer2torch import part_engine
from chainer2torch.project import worker_pool
from chainer2torch.engine import migrate_sources
from chainer2torch.cli.progress import shown

FIXTURES = Path(__file__).parents[2] / "fixtures"
SIZES = {"a": 10, "b": 200, "c": 3, "d": 40, "e": 0}

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="one process does it all where there is no fork")


def sources():
    return {
        path.relative_to(FIXTURES).as_posix(): path.read_text()
        for path in sorted(FIXTURES.rglob("*.py"))
        if "hand_port" not in path.parts
    }


@pytest.mark.parametrize("jobs", [1, 2, 3, 9])
def test_every_key_once(jobs):
    done = list(worker_pool.spread(lambda key: (key * 2, os.getpid()), SIZES, jobs))
    assert sorted(key for key, _ in done) == sorted(SIZES)
    assert all(value == key * 2 for key, (value, _) in done)
    processes = {pid for _, (_, pid) in done}
    assert len(processes) == min(jobs, len(SIZES))
    assert (os.getpid() in processes) is (jobs == 1)


def test_shares_are_about_even():
    sizes = {f"f{i}": size for i, size in enumerate([900, 10, 10, 10, 500, 400, 30])}
    shares = worker_pool._shares(sizes, 3)
    assert sorted(key for share in shares for key in share) == sorted(sizes)
    assert max(sum(sizes[key] for key in share) for share in shares) == 900


def test_small_work_stays_in_one_process(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: range(8), raising=False)
    assert worker_pool.sensible_jobs(1000) == 1
    assert worker_pool.sensible_jobs(1_000_000) == 4
    assert worker_pool.sensible_jobs(10**9) == 8


@pytest.mark.parametrize("rewrite", [True, False])
def test_files_are_the_same_whatever_the_number_of_processes(rewrite):
    one = migrate_sources(sources(), rewrite=rewrite, jobs=1)
    three = migrate_sources(sources(), rewrite=rewrite, jobs=3)
    assert list(one) == list(three)
    assert one == three
    assert any(result.sites for result in one.values())


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_an_error_costs_its_own_key_only():
    def work(key):
        if key == "b":
            raise ValueError("this\none")
        return key

    for jobs in (1, 2):
        done = dict(worker_pool.spread(work, SIZES, jobs))
        assert done == {**{key: key for key in SIZES}, "b": worker_pool.Failed("ValueError: this one")}


def once(tmp_path, key, how):
    """Does something the first time that it is asked for this key."""
    mark = tmp_path / key
    if not mark.exists():
        mark.touch()
        how()
    return key


@pytest.mark.parametrize("victims", ["a", "bd", "abcde"])
def test_what_a_process_had_not_done_when_it_died_is_done_again(tmp_path, victims):
    def work(key):
        return once(tmp_path, key, lambda: os.kill(os.getpid(), signal.SIGKILL)) if key in victims else key

    assert dict(worker_pool.spread(work, SIZES, 2)) == {key: key for key in SIZES}


def test_a_key_with_which_every_process_dies_fails_alone():
    def work(key):
        return os._exit(7) if key == "a" else os.kill(os.getpid(), signal.SIGABRT) if key == "b" else key

    done = dict(worker_pool.spread(work, SIZES, 2))
    assert "status 7" in done.pop("a").reason and "SIGABRT" in done.pop("b").reason
    assert done == {"c": "c", "d": "d", "e": "e"}


def test_memory_that_was_short_once_costs_nothing(tmp_path):
    def short():
        raise MemoryError

    assert dict(worker_pool.spread(lambda key: once(tmp_path, key, short), SIZES, 2)) == {key: key for key in SIZES}


def test_a_death_in_the_middle_of_a_result(tmp_path):
    def work(key):
        if key == "b":
            once(tmp_path, key, lambda: threading.Timer(0.05, os._exit, [1]).start())
            return [bytes(50_000_000) for _ in range(4)]
        return key

    results = worker_pool.spread(work, SIZES, 2)
    done = {key: len(value) if key == "b" else value for key, value in results}
    assert done == {**{key: key for key in SIZES}, "b": 4}


def test_where_no_process_can_be_started_this_one_does_it(monkeypatch):
    def refuse(process):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(multiprocessing.get_context("fork").Process, "start", refuse)
    assert dict(worker_pool.spread(lambda key: (key, os.getpid()), SIZES, 2)) == {k: (k, os.getpid()) for k in SIZES}


@pytest.mark.parametrize("rewrite", [True, False])
def test_killed_workers_do_not_change_a_byte(tmp_path, monkeypatch, rewrite):
    texts = sources()
    whole = migrate_sources(texts, rewrite=rewrite, jobs=1)
    real = part_engine._migrate_file

    def dies_once(ledger, *rest):
        path = ledger.context.module.path
        if path.endswith(("t.py", "n.py")):
            once(tmp_path, path.replace("/", "_"), lambda: os.kill(os.getpid(), signal.SIGKILL))
        return real(ledger, *rest)

    monkeypatch.setattr(part_engine, "_migrate_file", dies_once)
    assert migrate_sources(texts, rewrite=rewrite, jobs=3) == whole
    assert list(tmp_path.iterdir()), "processes did die"


@pytest.mark.parametrize("place", ["decide", "_migrate_file"])
@pytest.mark.parametrize("jobs", [1, 3])
def test_an_error_in_one_file_leaves_that_file_alone(monkeypatch, place, jobs):
    texts = sources()
    whole = migrate_sources(texts, jobs=1)
    bad = next(path for path in whole if whole[path].changed)
    real = getattr(part_engine, place)

    def fails(*arguments):
        module = arguments[0].context.module if place == "_migrate_file" else arguments[1]
        if module.path == bad:
            raise RuntimeError("a defect")
        return real(*arguments)

    monkeypatch.setattr(part_engine, place, fails)
    found = migrate_sources(texts, jobs=jobs)
    assert found[bad].defect and "RuntimeError: a defect" in found[bad].error and not found[bad].changed
    assert [path for path in whole if path != bad and found[path] != whole[path]] == []


def test_who_stops_listening_ends_all(tmp_path):
    def work(key):
        (tmp_path / str(os.getpid())).touch()
        if key == "d":
            time.sleep(60)
        return key

    results = worker_pool.spread(work, SIZES, 2)
    next(results)
    results.close()
    assert not any(alive(int(path.name)) for path in tmp_path.iterdir())


@pytest.mark.parametrize(("end_all", "number"), [(os.killpg, signal.SIGINT), (os.kill, signal.SIGTERM)])
def test_ctrl_c_and_an_end_from_outside_are_one_line_and_leave_nothing(tmp_path, end_all, number):
    (tmp_path / "src").mkdir()
    for name in "ab":
        (tmp_path / "src" / f"{name}.py").write_text("import chainer.functions as F\ny = F.relu(x)\n")
    program = textwrap.dedent("""\
        import os, pathlib, signal, sys, time
        signal.signal(signal.SIGINT, signal.default_int_handler)  # who runs the tests may have it ignored
        from chainer2torch import part_engine
        from chainer2torch.__main__ import main
        def slow(*_):
            pathlib.Path(str(os.getpid()) + ".pid").touch()
            time.sleep(60)
        part_engine._migrate_file = slow
        sys.argv = ["chainer2torch", "migrate", "src", "-o", "out", "-j", "2"]
        main()
        """)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    end = time.monotonic() + 60
    while len(list(tmp_path.glob("*.pid"))) < 2 and time.monotonic() < end:
        time.sleep(0.05)
    end_all(process.pid, number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (128 + number, "")
    assert err.lstrip() == "chainer2torch: interrupted; no file is half-written\n"
    assert not (tmp_path / "out").exists()
    workers = [int(path.stem) for path in tmp_path.glob("*.pid")]
    assert len(workers) == 2
    assert not any(alive(pid) for pid in workers)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_on_a_terminal(monkeypatch):
    clock = iter(range(1000))
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    terminal = Terminal()
    with shown(30, wanted=True, stream=terminal) as progress:
        for done in range(1, 31):
            progress(done, 30)
    lines = terminal.getvalue().split("\r")
    assert lines[1] == "analysing 30 files"
    assert "10 of 30 files, about 20 s left" in [line.rstrip() for line in lines]
    assert "30 of 30 files" in [line.rstrip() for line in lines]
    assert lines[-1] == "" and not lines[-2].strip(), "the line is wiped at the end"


@pytest.mark.parametrize("stream, wanted", [(io.StringIO(), True), (Terminal(), False)], ids=["pipe", "not wanted"])
def test_no_progress_elsewhere(stream, wanted):
    with shown(30, wanted=wanted, stream=stream) as progress:
        assert progress is None
    assert stream.getvalue() == ""
