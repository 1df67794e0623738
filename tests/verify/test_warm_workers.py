"""Processes that import once and fork for each job; what has none of them says the same."""

import dataclasses
import os
from pathlib import Path

import pytest

from chainer2torch.verify import warm_workers
from chainer2torch.verify.judge.outcome import PASSED, Pair
from chainer2torch.verify.judge.pairs import run_pairs
from chainer2torch.verify.warm_workers import Unavailable, WarmWorkers
from chainer2torch.verify.worker import serving

WORKER = f"""
import os, sys
sys.path.insert(0, {str(Path(serving.__file__).parent)!r})
import serving
def run(folder):
    names = [name for name in ("colorsys", "left_by_a_job") if name in sys.modules]
    sys.modules["left_by_a_job"] = None
    open(os.path.join(folder, "said.txt"), "w").write(f"{{os.getpid()}} {{','.join(names)}} {{os.environ['SAID']}}")
    print("out")
    sys.exit(3)
serving.main(sys.argv, lambda: None, run, lambda: None)
"""


def test_each_job_is_a_process_behind_the_imports_that_were_asked_for(tmp_path):
    worker = tmp_path / "worker.py"
    worker.write_text(WORKER)
    said = []
    with WarmWorkers({**os.environ, "SAID": "here"}, {worker: ["no_such_module", "colorsys"]}) as warm:
        for name in ("first", "second"):
            folder = tmp_path / name
            folder.mkdir()
            for file in (serving.STDOUT, serving.STDERR):
                (folder / file).touch()
            assert warm.call(worker, None, folder, 60, None) == 3
            assert (folder / serving.STDOUT).read_text() == "out\n"
            said.append((folder / "said.txt").read_text().split(" "))
    assert [words[1:] for words in said] == [["colorsys", "here"]] * 2
    assert said[0][0] != said[1][0]


def test_a_worker_that_cannot_start_leaves_the_job_to_its_own_process(tmp_path):
    with WarmWorkers(os.environ) as warm, pytest.raises(Unavailable):
        warm.call(tmp_path / "worker.py", str(tmp_path / "no_python"), tmp_path, 60, None)


def test_processes_of_their_own_say_the_same(monkeypatch):
    original = "import chainer.functions as F\ndef run(x):\n    return F.relu(x)\n"
    pairs = [
        Pair(name, "chainer.functions.relu", name, original, f"import torch\ndef run(x):\n    return torch.{name}(x)\n")
        for name in ("relu", "abs")
    ]
    pairs = [dataclasses.replace(pair, given={"x": "f32[2,3]"}) for pair in pairs]

    def found():
        return [(outcome.status, outcome.compared, outcome.reasons) for outcome in run_pairs(pairs).outcomes]

    forked = found()
    monkeypatch.setattr(warm_workers, "start", lambda command, env: None)
    assert found() == forked
    assert [status == PASSED for status, _, _ in forked] == [True, False]
