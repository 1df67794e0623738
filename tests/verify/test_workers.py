"""Workers that die, hang, print garbage, leave processes behind or lack a package: what is said and what is kept."""

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from chainer2torch.verify import worker_process
from chainer2torch.verify.worker import wire

HEAD = """
import json, os, sys, subprocess, time
folder = sys.argv[1]
job = json.load(open(os.path.join(folder, "job.json")))
json.dump({"torch": "2"}, open(os.path.join(folder, "versions.json"), "w"))
lines = open(os.path.join(folder, "results.jsonl"), "a")
def add(case):
    lines.write(json.dumps({"id": case["id"], "status": "ok"}) + "\\n")
    lines.flush()
for case in job["cases"]:
"""
CASES = [{"id": name} for name in ("a", "b", "c", "d")]


def _run(tmp_path, body, *, head=HEAD, timeout=20, python=None):
    worker = tmp_path / "worker.py"
    worker.write_text(head + body)
    folder = tmp_path / "results"
    folder.mkdir()
    return worker_process.run_cases(worker, folder, {"cases": CASES}, timeout=timeout, python=python)


def _states(result):
    return {name: record["status"] for name, record in result.records.items()}


def test_a_worker_that_does_its_work(tmp_path):
    result = _run(tmp_path, "    add(case)\n")
    assert _states(result) == dict.fromkeys("abcd", "ok") and result.problem is None


@pytest.mark.parametrize(
    "death, said",
    [
        (
            "print('last words', file=sys.stderr, flush=True); os._exit(3)",
            "ended with exit status 3; its last lines:\n    last words",
        ),
        ("os.kill(os.getpid(), 9)", "ended with signal SIGKILL; it printed nothing"),
        ('lines.write(\'{"id": "b\'); lines.flush(); os._exit(1)', "ended with exit status 1"),
    ],
)
def test_a_worker_that_dies_of_a_case_keeps_the_others(tmp_path, death, said):
    result = _run(tmp_path, f"    if case['id'] == 'b':\n        {death}\n    add(case)\n")
    assert _states(result) == {"a": "ok", "b": "error", "c": "ok", "d": "ok"}
    assert result.records["b"]["type"] == "WorkerDied"
    assert f"the PyTorch worker {said}" in result.problem


def test_a_worker_that_always_dies_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(worker_process, "_MOST_DEATHS", 1)
    result = _run(tmp_path, "    os._exit(1)\n")
    assert _states(result) == {"a": "error"} and result.problem.count("exit status 1") == 2


def test_a_worker_that_dies_at_its_start_is_not_started_again(tmp_path):
    result = _run(tmp_path, "", head="import sys; sys.exit('no versions yet')")
    assert result.records == {} and result.problem.endswith("    no versions yet")


def test_a_worker_that_lacks_a_package(tmp_path):
    result = _run(tmp_path, "", head="import not_installed_anywhere.inner\n")
    assert f"{sys.executable} has no package `not_installed_anywhere`" in result.problem


def test_a_worker_that_hangs(tmp_path):
    result = _run(
        tmp_path,
        "    if case['id'] == 'c':\n        print('waiting', flush=True); time.sleep(60)\n    add(case)\n",
        timeout=2,
    )
    assert _states(result) == {"a": "ok", "b": "ok"}
    assert "was ended after 2 s (--timeout); its last lines:\n    waiting" in result.problem


def test_a_worker_that_prints_garbage(tmp_path):
    body = (
        "    os.write(1, bytes(range(256)) * 4000); os.write(2, b'\\xff\\xfe\\x00\\n' * 4000); add(case)\n"
        "sys.stderr.write('\\x1b[31mthe end'); sys.exit(4)\n"
    )
    result = _run(tmp_path, body)
    assert _states(result) == dict.fromkeys("abcd", "ok")
    assert "exit status 4" in result.problem and "?[31mthe end" in result.problem and len(result.problem) < 2000
    assert all(c.isprintable() or c == "\n" for c in result.problem.replace("\N{REPLACEMENT CHARACTER}", ""))


def test_a_result_that_cannot_be_read(tmp_path):
    result = _run(tmp_path, "    add(case)\n    lines.write('what is this\\n')\n")
    assert _states(result) == dict.fromkeys("abcd", "ok")
    assert "wrote a result that cannot be read: 'what is this'" in result.problem


def test_processes_that_a_worker_leaves_behind_end_with_it(tmp_path):
    child = "import os, pathlib, time; pathlib.Path('{}').write_text(str(os.getpid())); time.sleep(100)".format(
        tmp_path / "child"
    )
    wait = f"while not os.path.exists({str(tmp_path / 'child')!r}):\n    pass\n"
    result = _run(tmp_path, f"    add(case)\nimport os\nsubprocess.Popen([sys.executable, '-c', {child!r}])\n{wait}")
    assert result.problem is None
    number = int((tmp_path / "child").read_text())
    for _ in range(100):  # a process that was ended is gone when its parent has taken note
        try:
            os.kill(number, 0)
        except ProcessLookupError:
            return
        if Path(f"/proc/{number}/stat").exists() and " Z " in Path(f"/proc/{number}/stat").read_text():
            return
        time.sleep(0.1)
    os.kill(number, signal.SIGKILL)
    pytest.fail("the process of the worker goes on")


def test_an_interpreter_that_is_not_there(tmp_path):
    with pytest.raises(
        worker_process.WorkerError, match="cannot start the PyTorch worker: /no/such/python: No such file"
    ):
        _run(tmp_path, "", python="/no/such/python")


def test_a_lost_gpu_is_no_problem_of_the_other_cases(tmp_path):
    body = f"    add(case)\n    if case['id'] == 'b':\n        sys.exit({wire.BROKEN_DEVICE})\n"
    result = _run(tmp_path, body)
    assert _states(result) == dict.fromkeys("abcd", "ok") and result.problem is None
    assert json.loads((tmp_path / "results" / "job.json").read_text())["cases"] == CASES[2:]


OPEN = """
    lines.write(json.dumps({"id": case["id"], "status": "error", "provisional": True}) + "\\n")
    lines.flush()
"""


def test_a_case_that_was_left_open_is_begun_again_when_the_worker_dies(tmp_path):
    body = OPEN + "    if case['id'] == 'c':\n        os._exit(3)\nfor case in job['cases']:\n    add(case)\n"
    result = _run(tmp_path, body)
    # The first case that is open is taken for the one it died of: with no note of the worker there is no other hint.
    assert sorted(result.records) == list("abcd") and "provisional" not in result.records["d"]


def test_what_is_known_of_a_case_is_kept_when_time_is_up(tmp_path):
    result = _run(tmp_path, OPEN + "time.sleep(60)\n", timeout=3)
    assert all(record.get("provisional") for record in result.records.values()) and sorted(result.records) == list(
        "abcd"
    )
