"""What Chainer's side gave is kept for the next run; whatever changes is run anew."""

import pytest

from chainer2torch.verify import kept as room
from chainer2torch.verify import worker_process
from chainer2torch.verify.judge.outcome import PASSED
from chainer2torch.verify.models.verify_models import verify_models

NET = """
import chainer
import chainer.functions as F
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self, n_units):
        super().__init__(fc=L.Linear(6, n_units))

    def __call__(self, x):
        return F.tanh(self.fc(x)) * {factor}
"""
PORT = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, n_units):
        super().__init__()
        self.fc = nn.Linear(6, n_units)

    def forward(self, x):
        return torch.tanh(self.fc(x)) * {factor}
"""


@pytest.fixture
def trees(tmp_path):
    src, out = tmp_path / "src", tmp_path / "out"
    for folder, text in ((src, NET), (out, PORT)):
        folder.mkdir()
        (folder / "net.py").write_text(text.format(factor=2))
    return src, out


@pytest.fixture
def jobs(monkeypatch):
    """The kinds of jobs that workers were given."""
    found, plain = [], worker_process.run_worker

    def run_worker(worker, folder, job, **options):
        found.append((worker.name.partition("_")[0], job["kind"]))
        return plain(worker, folder, job, **options)

    monkeypatch.setattr(worker_process, "run_worker", run_worker)
    return found


def _run(trees, tmp_path, **options):
    report = verify_models(*trees, steps=1, cache=tmp_path / "kept", **options)
    return {outcome.status for outcome in report.outcomes}, report.versions


ALL = [("chainer", "trials"), ("chainer", "models"), ("torch", "models")]


def test_the_second_run_needs_pytorch_alone(trees, jobs, tmp_path):
    first = _run(trees, tmp_path)
    assert first[0] == {PASSED} and jobs == ALL
    del jobs[:]
    assert _run(trees, tmp_path) == first and jobs == [("torch", "models")]
    # and it still compares: the port is wrong now
    (trees[1] / "net.py").write_text(PORT.format(factor=3))
    statuses, _ = _run(trees, tmp_path)
    # Where it differs, Chainer's gradients at the outputs of the links are asked for, once.
    assert statuses == {"failed"} and jobs[1:] == [("torch", "models"), ("chainer", "models"), ("torch", "models")]
    del jobs[:]
    assert _run(trees, tmp_path)[0] == {"failed"} and set(jobs) == {("torch", "models")}


def test_what_changes_is_run_anew(trees, jobs, tmp_path, monkeypatch):
    _run(trees, tmp_path)

    def again(**options):
        del jobs[:]
        assert _run(trees, tmp_path, **options)[0] == {PASSED}
        return ("chainer", "models") in jobs

    assert not again()
    assert again(seed=1)
    for folder, text in zip(trees, (NET, PORT)):
        (folder / "net.py").write_text(text.format(factor=4))
    assert again() and not again()
    (trees[0] / "sizes.json").write_text("{}")  # a module may read it
    assert again()
    about = room.about_interpreter
    monkeypatch.setattr(room, "about_interpreter", lambda python: about(python) + " another Chainer")
    assert again()


def test_what_is_broken_or_of_the_moment_is_not_there(trees, jobs, tmp_path):
    _run(trees, tmp_path)
    for path in (tmp_path / "kept").rglob("*.npz"):
        path.write_bytes(path.read_bytes()[:-1])
    del jobs[:]
    assert _run(trees, tmp_path)[0] == {PASSED} and ("chainer", "models") in jobs
    kept = room.Kept(tmp_path / "other", "")
    for record in ({"type": "WorkerDied"}, {"provisional": True}, {"in_haste": True}):
        kept.put("key", {"status": "error", **record})
        assert kept.get("key", tmp_path) is None
    kept.put("key", {"status": "error"})
    assert kept.get("key", tmp_path) == {"status": "error"}


def test_the_command_keeps_unless_it_is_told_not_to(trees, tmp_path, monkeypatch):
    from click.testing import CliRunner

    from chainer2torch.cli.app import cli

    monkeypatch.setenv("CHAINER2TORCH_CACHE_DIR", str(tmp_path / "kept"))
    command = ["verify", "models", *map(str, trees), "--steps", "1"]
    CliRunner().invoke(cli, [*command, "--no-cache"])
    assert not (tmp_path / "kept").exists()
    done = CliRunner().invoke(cli, command)
    assert "1 of 1 classes proved" in done.output
    assert any((tmp_path / "kept" / "verify").rglob("record.json"))
