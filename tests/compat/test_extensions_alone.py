"""Extensions of a trainer whose updater only counts, beside Chainer's: names, orders, reports, errors, stored state."""

import io
import json
import os
import unittest.mock

import chainer
import numpy as np
import pytest
import torch
from chainer import testing as chainer_testing
from chainer import training as chainer_training

from chainer2torch.compat.serializers.state_io import StateReader, StateWriter
from chainer2torch.compat.training import extension_base, extensions, log_extensions, mock_updater, snapshot
from chainer2torch.native import trainer as native_trainer


class Theirs:
    trainer = staticmethod(chainer_testing.get_trainer_with_mock_updater)
    extensions, training = chainer_training.extensions, chainer_training
    writer, reader = chainer.serializers.DictionarySerializer, chainer.serializers.NpzDeserializer
    entries = staticmethod(lambda writer: writer.target)
    report = staticmethod(chainer.report)


class Ours:
    trainer = staticmethod(mock_updater.get_trainer_with_mock_updater)
    extensions, training = log_extensions, extension_base
    writer, reader = StateWriter, StateReader
    entries = staticmethod(lambda writer: writer.entries)
    report = staticmethod(log_extensions.reporting.report)


BOTH = (Theirs, Ours)


@pytest.fixture(autouse=True)
def mock_of_the_standard_library(monkeypatch):
    """Chainer imports the package that Python 2 needed; the standard library holds the same module now."""
    monkeypatch.setattr(chainer_testing.training, "mock", unittest.mock, raising=False)
    monkeypatch.setattr(chainer_testing.training, "_error", None)


def reporting_values(trainer, report):
    """Lets the updater report a loss at every iteration, and another value at every second one."""

    def update_core():
        step = trainer.updater.iteration
        report({"loss": float((step * 7) % 5), **({"rare": float(step)} if step % 2 else {})})

    trainer.updater.update_core = update_core


@pytest.mark.parametrize("stop", [None, (7, "iteration"), (2, "epoch"), (1.5, "epoch")])
@pytest.mark.parametrize("length", [None, 3, 1])
def test_a_trainer_that_only_counts(stop, length, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = []
    for make in (Theirs.trainer, Ours.trainer, native_trainer.get_trainer_with_mock_updater):
        calls = []

        def seen(trainer, calls=calls):
            updater = trainer.updater
            calls.append(
                (updater.iteration, updater.epoch, updater.epoch_detail, updater.is_new_epoch)
                + ((updater.previous_epoch_detail,) if make is not native_trainer.get_trainer_with_mock_updater else ())  # noqa: B023
            )

        options = {} if length is None else {"iter_per_epoch": length}
        trainer = make(*([] if stop is None else [stop]), **options)
        before = trainer.updater
        first = (before.iteration, before.epoch, before.epoch_detail, before.is_new_epoch, before.previous_epoch_detail)
        trainer.extend(seen, name="seen", trigger=(1, "iteration"))
        trainer.run()
        found.append((first, [call[:4] for call in calls], calls))
    assert found[0][:2] == found[1][:2] == found[2][:2] and found[0][2] == found[1][2]


REPORTS = [
    {},
    {"trigger": (2, "iteration")},
    {"keys": ["rare"], "trigger": (3, "iteration")},
    {"trigger": (1, "epoch"), "filename": "other_{iteration}"},
    {"trigger": (4, "iteration"), "log_name": "older"},
    {"trigger": (5, "iteration"), "postprocess": lambda entry: entry.update(double=2 * entry["loss"])},
    {"log_name": None},
    {"filename": "first", "log_name": "second"},
]


@pytest.mark.parametrize("number", range(len(REPORTS)))
@pytest.mark.parametrize("resumed", [False, True])
def test_logs(number, resumed, tmp_path):
    written = []
    for api in BOTH:
        out = tmp_path / api.__name__
        report, entries = api.extensions.LogReport(**REPORTS[number]), None
        for run in (4, 9) if resumed else (9,):
            report = api.extensions.LogReport(**REPORTS[number])
            trainer = api.trainer((run, "iteration"), 3)
            trainer.out = str(out)
            reporting_values(trainer, api.report)
            trainer.extend(report)
            if entries is not None:
                report.serialize(api.reader(entries))
                trainer.updater.iteration, trainer.updater.epoch, trainer.updater.epoch_detail = 4, 1, 4 / 3
            trainer.run()
            kept = api.writer()
            report.serialize(kept)
            entries = api.entries(kept)
        files = {name: json.loads((out / name).read_text()) for name in sorted(os.listdir(out))}
        for each in (*files.values(), report.log):
            for entry in each:
                entry.pop("elapsed_time")
        written.append((files, report.log, sorted(key for key in entries)))
    assert written[0] == written[1]


COLUMNS = ["iteration", "epoch", "loss", "rare", "missing", "elapsed_time"]


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("resumed", [False, True])
def test_printed_tables(own, resumed, tmp_path):
    printed = []
    for api in BOTH:
        stream, entries = io.StringIO(), None
        for run in (4, 9) if resumed else (9,):
            trainer = api.trainer((run, "iteration"), 3)
            trainer.out = str(tmp_path)
            reporting_values(trainer, api.report)
            log = api.extensions.LogReport(trigger=(2, "iteration"), log_name=None)
            table = api.extensions.PrintReport(COLUMNS, log if own else "LogReport", out=stream)
            if not own:
                trainer.extend(log)
            trainer.extend(table, trigger=(1, "iteration"))
            if entries is not None:
                (table if own else log).serialize(api.reader(entries, "", *([] if api is Ours else [True])))
                trainer.updater.iteration, trainer.updater.epoch, trainer.updater.epoch_detail = 4, 1, 4 / 3
            trainer.run()
            kept = api.writer()
            (table if own else log).serialize(kept)
            entries = api.entries(kept)
        rows = [line.replace("\033[J", "").split() for line in stream.getvalue().splitlines()]
        printed.append([row[:-1] if row[0].isdigit() else row for row in rows])
    assert printed[0] == printed[1] and len(printed[0]) > 3


def test_errors_reach_plain_objects(tmp_path, capsys):
    found = []
    for api in BOTH:
        calls = []

        class Plain:
            def __init__(self, name):
                self.name = name

            def __call__(self, trainer):
                if trainer.updater.iteration == 2:
                    raise ValueError("broken")

            def initialize(self, trainer):
                calls.append((self.name, "initialize"))  # noqa: B023

            def on_error(self, trainer, exc, tb):
                calls.append((self.name, str(exc), tb is not None))  # noqa: B023

            def finalize(self):
                calls.append((self.name, "finalize"))  # noqa: B023

        class Bare:
            def __call__(self, trainer):
                calls.append("bare")  # noqa: B023

        for shown in (True, False):
            trainer = api.trainer((5, "iteration"))
            trainer.out = str(tmp_path)
            trainer.extend(Plain("first"), priority=10)
            trainer.extend(Plain("first"), priority=200)
            trainer.extend(Bare(), name="bare")
            with pytest.raises(ValueError, match="broken"):
                trainer.run(show_loop_exception_msg=shown)
            said = capsys.readouterr().err
            calls.append("Exception in main training loop: broken" in said)
        with pytest.raises(TypeError):
            trainer.extend(Bare())
        found.append(calls)
    assert found[0] == found[1]


def test_a_handler_that_fails_does_not_hide_the_error(tmp_path, capsys):
    class Failing(extension_base.Extension):
        def __call__(self, trainer):
            raise ValueError("broken")

        def on_error(self, trainer, exc, tb):
            raise RuntimeError("and again")

    trainer = Ours.trainer()
    trainer.out = str(tmp_path)
    trainer.extend(Failing())
    with pytest.raises(ValueError, match="broken"):
        trainer.run()
    assert "Exception in error handler: and again" in capsys.readouterr().err


@pytest.mark.parametrize("given", [{}, {"trigger": (2, "iteration"), "default_name": "other", "priority": 7}])
def test_functions_as_extensions(given, tmp_path):
    found = []
    for api in BOTH:
        calls = []
        hooks = {
            "finalizer": lambda: calls.append("end"),  # noqa: B023
            "initializer": lambda trainer: calls.append("start"),  # noqa: B023
            "on_error": lambda trainer, exc, tb: calls.append(str(exc)),  # noqa: B023
        }
        for options in (given, {**given, **hooks}):
            trainer = api.trainer((5, "iteration"))
            trainer.out = str(tmp_path)

            @api.training.make_extension(**options)
            def function(trainer):
                calls.append(trainer.updater.iteration)  # noqa: B023

            assert (function.default_name, function.priority) == (
                given.get("default_name", "function"),
                given.get("priority", api.training.Extension.priority),
            )
            trainer.extend(function)
            trainer.extend(lambda trainer: calls.append("by name"), name="by name", call_before_training=True)  # noqa: B023
            trainer.run()
            calls.append(sorted(name for name in ("function", "other") if _has(trainer, name)))
        found.append(calls)
    assert found[0] == found[1]


def _has(trainer, name):
    try:
        trainer.get_extension(name)
    except ValueError:
        return False
    return True


def test_observed_values(tmp_path):
    found = []
    for api, module in ((Theirs, chainer_training.extensions), (Ours, extensions)):
        trainer = api.trainer((6, "iteration"), 2)
        trainer.out = str(tmp_path)
        trainer.extend(module.observe_value("twice", lambda trainer: 2 * trainer.updater.iteration))
        calls = []
        trainer.extend(lambda t: calls.append(t.observation.get("twice")), name="probe", priority=0)  # noqa: B023
        trainer.run()
        found.append(calls)
    assert found[0] == found[1] == [None, 4, None, 8, None, 12]


@pytest.mark.parametrize("where", ["loss", "missing"])
def test_plots_store_their_points(where, tmp_path):
    found = []
    for api in BOTH:
        plot = api.extensions.PlotReport([where], "epoch", trigger=(2, "iteration"), filename="a.png")
        trainer = api.trainer((6, "iteration"), 4)
        trainer.out = str(tmp_path / api.__name__)
        reporting_values(trainer, api.report)
        trainer.extend(plot, trigger=(1, "iteration"), call_before_training=True)
        trainer.run()
        kept = api.writer()
        plot.serialize(kept)
        entries = api.entries(kept)
        other = api.extensions.PlotReport([where], "epoch", trigger=(2, "iteration"), filename="a.png")
        other.serialize(api.reader(entries))
        again = api.writer()
        other.serialize(again)
        assert {k: str(v) for k, v in api.entries(again).items()} == {k: str(v) for k, v in entries.items()}
        found.append(({k: str(v) for k, v in entries.items()}, sorted(os.listdir(trainer.out))))
        for resumed in (True, False):  # what is there before training is drawn before training
            plot = api.extensions.PlotReport([where], "epoch", trigger=(2, "iteration"), filename="a.png")
            if resumed:
                plot.serialize(api.reader(entries))
            trainer = api.trainer((1, "iteration"), 4)
            trainer.out = str(tmp_path / f"{api.__name__} {resumed}")
            reporting_values(trainer, api.report)
            trainer.extend(plot, trigger=(1, "iteration"), call_before_training=True)
            trainer.run()
            found[-1] += (sorted(os.listdir(trainer.out)),)
    assert found[0] == found[1]
    assert where == "missing" or found[0][2] == ["a.png"] and found[0][3] == []


def test_averages_of_parts(tmp_path):
    found = []
    for api in BOTH:
        trainer, seen = api.trainer((7, "iteration"), 3), []
        trainer.out = str(tmp_path)
        reporting_values(trainer, api.report)
        first = api.extensions.MicroAverage("rare", "loss", "ratio", (2, "iteration"))
        first.serialize(api.reader({"_numerator": np.array(3), "_denominator": np.array(2)}))
        trainer.extend(first, trigger=(1, "iteration"))
        trainer.extend(lambda t: seen.append(t.observation.get("ratio")), name="probe", priority=-9)  # noqa: B023
        trainer.updater.update_core = lambda: api.report({"rare": 3.0, "loss": 1.0 + trainer.updater.iteration})  # noqa: B023
        trainer.run()
        kept = api.writer()
        first.serialize(kept)
        found.append((seen, {key: float(value) for key, value in api.entries(kept).items()}))
    assert found[0] == found[1]
    average = log_extensions.MicroAverage("a", "b", "c")
    average.serialize(StateReader({"_numerator": np.array(2.5), "_denominator": np.array(0.5)}))
    assert (average._numerator, average._denominator) == (2.5, 0.5)


def test_what_is_no_number_is_left_out_of_statistics():
    class Their(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.a = chainer.Parameter(np.array([1.0, np.nan, 3.0], "f"))
                self.b = chainer.Parameter(np.array([[1.0, 0.0], [0.0, 5.0]], "f"))

    theirs = Their()
    ours = torch.nn.Module()
    for name, param in theirs.namedparams():
        param.grad = param.array * 2
        ours.register_parameter(name[1:], torch.nn.Parameter(torch.as_tensor(param.array.copy())))
        ours.get_parameter(name[1:]).grad = torch.as_tensor(param.grad.copy())
    for options in (
        {"skip_nan_params": True},
        {"report_grads": False},
        {"report_params": False, "prefix": "p"},
        {"statistics": {"top": lambda x: x.max()}, "trigger": (1, "iteration")},
        {"statistics": None},
    ):
        found = []
        for api, link in zip(BOTH, (theirs, ours), strict=True):
            trainer, seen = api.trainer((3, "iteration"), 2), []
            own = api.extensions.ParameterStatistics(link, **options)
            trainer.extend(own)
            own.register_statistics("first", lambda x: x.flatten()[0])
            trainer.extend(lambda t: seen.append(dict(t.observation)), name="probe", priority=-9)  # noqa: B023
            trainer.run()
            found.append(seen)
        for their_step, our_step in zip(*found, strict=True):
            assert set(their_step) == set(our_step)
            for key, value in their_step.items():
                assert float(our_step[key]) == pytest.approx(float(value), rel=1e-5, nan_ok=True), key
        assert any(found[0])


def test_files_of_snapshots(tmp_path):
    """Which ones stay, which one is loaded, and what is asked before one is written."""
    found = []
    for api, module in ((Theirs, chainer_training.extensions), (Ours, snapshot)):
        out, listed = tmp_path / api.__name__, []
        for options in (
            {"num_retain": 1},
            {"n_retains": 2, "filename": "own_{.updater.iteration}.npz"},
            {"condition": lambda: False},
            {"filename": lambda trainer: f"by_function_{trainer.updater.epoch}"},
            {"n_retains": -1, "filename": "all_{.updater.epoch}"},
            {"snapshot_on_error": False, "filename": "wrong"},
        ):
            trainer = api.trainer((4, "iteration"), 2)
            trainer.out = str(out)
            trainer.updater.serialize = lambda serializer: serializer("n", trainer.updater.iteration)  # noqa: B023
            trainer.extend(module.snapshot(**options), trigger=(1, "iteration"))
            trainer.run()
            listed.append(sorted(os.listdir(out)))
            for name in os.listdir(out):
                os.remove(out / name)
        found.append(listed)
        with pytest.raises(TypeError):
            module.snapshot(savefun=print, writer=print)
    assert found[0] == found[1]
