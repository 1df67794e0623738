"""Programs on an Ignite engine: epochs with a fraction of a batch, exceptions, names, the option."""

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from ignite.engine import Engine

from chainer2torch.cli.app import cli
from chainer2torch.engine import Options, migrate_source
from chainer2torch.native.engine_manager import EngineManager
from chainer2torch.native.iterators import SerialIterator
from chainer2torch.native.training import iterations_per_epoch
from tests.plan.native import test_native_managers as managers
from tests.plan.native import test_native_trainers as trainers
from tests.support.native_programs import both

IGNITE = Options(style="native", trainer="ignite")


@pytest.mark.parametrize("size, batch", [(20, 6), (20, 5), (7, 3)])
def test_an_iterator_that_fills_its_last_batch_has_a_fraction_of_batches_in_an_epoch(size, batch):
    def seen(make):
        iterator = SerialIterator(list(range(size)), batch, shuffle=False)
        updater = SimpleNamespace(get_iterator=lambda name: iterator, update=lambda: next(iterator))
        model, found = torch.nn.Linear(1, 1), []
        manager = make(updater, model, torch.optim.SGD(model.parameters(), lr=0.1), iterations_per_epoch(updater))
        manager.extend(lambda m: found.append((m.epoch, m.epoch_detail)), name="all", trigger=(1, "iteration"))
        manager.extend(lambda m: found.append("epoch"), name="epochs", trigger=(1, "epoch"))
        return manager, updater, found

    loop, updater, expected = seen(
        lambda updater, model, optimizer, length: managers.ppe.training.ExtensionsManager(
            model, optimizer, 3, iters_per_epoch=length
        )
    )
    while not loop.stop_trigger:
        with loop.run_iteration():
            updater.update()
    manager, _, found = seen(
        lambda updater, model, optimizer, length: EngineManager(
            Engine(lambda engine, batch: updater.update()),
            model,
            optimizer,
            stop_trigger=(3, "epoch"),
            iters_per_epoch=length,
        )
    )
    manager.engine.run(range(sys.maxsize))
    assert found == expected and found.count("epoch") == 3


def test_extensions_are_told_of_exceptions():
    step = "trainer.extend(extensions.snapshot(snapshot_on_error=True))"
    code = migrate_source(trainers.HEAD + trainers.PROGRAM.format(**{**trainers.USUAL, "more": step}), options=IGNITE)
    assert "compat.EngineManager(" in code.code, code.code

    told = []

    def fail(engine, batch):
        raise KeyError("what happened")

    model = torch.nn.Linear(1, 1)
    manager = EngineManager(Engine(fail), model, torch.optim.SGD(model.parameters(), lr=0.1), 2)

    class Listens(managers.ppe.training.Extension):
        def on_error(self, manager, error, trace):
            told.append(error)

    manager.extend(Listens())
    with pytest.raises(KeyError, match="what happened"):
        manager.engine.run(range(3), max_epochs=manager.max_epochs)
    assert [str(error) for error in told] == ["'what happened'"]


def test_a_trigger_is_asked_once_before_each_iteration():
    asked, done = [], []
    model = torch.nn.Linear(1, 1)

    def stop(manager):
        asked.append(manager.iteration)
        return manager.iteration == 5

    engine = Engine(lambda engine, batch: done.append(batch))
    manager = EngineManager(engine, model, torch.optim.SGD(model.parameters(), lr=0.1), stop_trigger=stop)
    engine.run(range(3), max_epochs=manager.max_epochs)
    assert (asked, done, manager.epoch_detail) == ([0, 1, 2, 3, 4, 5], [0, 1, 2, 0, 1], 5 / 3)


@pytest.mark.parametrize("taken", ["batch", "engine", "train_step", "x"])
def test_names_of_the_program_keep_their_meaning(taken, tmp_path):
    source = trainers.PROGRAM.format(**trainers.USUAL).replace("model", taken)
    source = source.replace("{" + taken, "{model")
    theirs, ours, code = both(source, trainers.HEAD, "ignite")
    trainers.compare(theirs, ours, code, tmp_path)


def test_a_training_goes_on_in_the_middle_of_an_epoch(tmp_path):
    """A snapshot after 7 of 15 iterations: as many follow as were missing, and the log has the same times."""
    more = "trainer.extend(extensions.snapshot(filename='s'), trigger=(7, 'iteration'))\n    load(trainer)"
    before = "path = [None]\n\n\ndef load(trainer):\n    if path[0]:\n"
    before += "        chainer.serializers.load_npz(path[0], trainer)\n\n\n"
    changed = {"iterator": "SerialIterator(data(20, 0), 4, shuffle=False)", "more": more, "stop": "(2, 'epoch')"}
    _, ours, code = both(before + trainers.PROGRAM.format(**{**trainers.USUAL, **changed}), trainers.HEAD, "ignite")
    torch.manual_seed(0)
    trainers.run(ours, ours["Net"](), tmp_path / "one")
    ours["path"][0] = str(tmp_path / "one" / "s")
    log, _ = trainers.run(ours, ours["Net"](), tmp_path / "two")
    assert [(e["epoch"], e["iteration"]) for e in log] == [(1, 5), (2, 10)], code


def test_what_keeps_its_own_loop_says_so():
    changed = managers.OWN_CLOCKS["an iterator of its own"]
    source = managers.HEAD + managers.PROGRAM.format(**{**managers.USUAL, **changed})
    for options, said in ((IGNITE, True), (Options(style="native"), False)):
        found = [s.message for s in migrate_source(source, options=options).sites]
        assert any("without an Ignite engine" in message for message in found) is said, found


def test_the_option_stands_on_the_command_line_in_the_project_and_in_the_report(tmp_path):
    (tmp_path / "src").mkdir()
    program = trainers.HEAD + trainers.PROGRAM.format(**trainers.USUAL)
    (tmp_path / "src" / "train.py").write_text(program, encoding="utf-8")
    (tmp_path / "src" / "requirements.txt").write_text("chainer\n", encoding="utf-8")

    def migrate(number, *options):
        out, report = tmp_path / f"out{number}", tmp_path / f"{number}.json"
        cache = ["--cache-dir", str(tmp_path / "cache")]
        command = ["migrate", str(tmp_path / "src"), "-q", "-o", str(out), "--report", str(report), *cache, *options]
        result = CliRunner().invoke(cli, command)
        assert result.exit_code in (0, 1), result.output
        texts = [(out / name).read_text(encoding="utf-8") for name in ("train.py", "requirements.txt")]
        return [*texts, json.loads(report.read_text(encoding="utf-8")).get("trainer")]

    plain, asked = migrate(1), migrate(2, "--trainer", "ignite")
    assert "run_iteration" in plain[0] and plain[2] is None and "ignite" not in plain[1]
    assert "Engine(train_step)" in asked[0] and asked[2] == "ignite" and "pytorch-ignite" in asked[1]
    (tmp_path / "src" / "pyproject.toml").write_text("[tool.chainer2torch]\ntrainer = 'ignite'\n", encoding="utf-8")
    assert migrate(3)[0] == asked[0] and migrate(4, "--trainer", "ppe")[0] == plain[0]
    (tmp_path / "src" / "pyproject.toml").write_text("[tool.chainer2torch]\ntrainer = 'other'\n", encoding="utf-8")
    wrong = CliRunner().invoke(cli, ["check", str(tmp_path / "src")])
    assert "trainer must be 'ppe' or 'ignite'" in str(wrong.exception), wrong.output


def test_numbers_are_those_of_the_other_form(tmp_path):
    """Both forms of one program, from one set of weights and one order: the same losses to the last bit."""
    source = trainers.PROGRAM.format(**{**trainers.USUAL, "iterator": "SerialIterator(data(20, 0), 6, shuffle=False)"})
    logs = []
    for form in ("ppe", "ignite"):
        _, ours, _ = both(source, trainers.HEAD, form)
        torch.manual_seed(1)
        log, _ = trainers.run(ours, ours["Net"](), tmp_path / form)
        logs.append([{key: value for key, value in entry.items() if key != "elapsed_time"} for entry in log])
    assert logs[0] == logs[1] and np.isfinite(logs[0][0]["main/loss"])
