"""The training loop against Chainer's Trainer: logs, printed tables, triggers, snapshots, resuming, extensions."""

import io
import json
import os
import sys

import chainer
import chainer.functions as CF
import chainer.links as CL
import numpy as np
import pytest
import pytorch_pfn_extras.reporting as ppe_reporting
import pytorch_pfn_extras.training.extensions as ppe_extensions
import torch
from chainer import training as chainer_training

from chainer2torch.compat.links import classifier
from chainer2torch.compat.dataset import convert, datasets, iterators
from chainer2torch.compat.training import (
    evaluator,
    extension_base,
    extensions,
    log_extensions,
    shift_extensions,
    snapshot,
    trainer,
    triggers,
    updaters,
)
from chainer2torch.compat.optimizers import optimizer_hooks
from chainer2torch.compat.optimizers.optimizers_by_name import OptimizersByName as optimizers
from chainer2torch.compat.serializers import serializers


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = CL.Linear(None, 7)
            self.l2 = CL.Linear(None, 3)

    def forward(self, x):
        return self.l2(CF.tanh(self.l1(x)))


class TorchNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = torch.nn.LazyLinear(7)
        self.l2 = torch.nn.LazyLinear(3)

    def forward(self, x):
        return self.l2(torch.tanh(self.l1(x)))


class Theirs:
    """Chainer's names."""

    Classifier = staticmethod(lambda: CL.Classifier(Net()))
    optimizers, hooks, datasets = chainer.optimizers, chainer.optimizer_hooks, chainer.datasets
    SerialIterator = chainer.iterators.SerialIterator
    StandardUpdater, Trainer = chainer_training.updaters.StandardUpdater, chainer_training.Trainer
    extensions, triggers = chainer_training.extensions, chainer_training.triggers
    make_extension, Extension = staticmethod(chainer_training.make_extension), chainer_training.Extension
    report = staticmethod(chainer.report)
    save, load = staticmethod(chainer.serializers.save_npz), staticmethod(chainer.serializers.load_npz)
    concat = staticmethod(chainer.dataset.concat_examples)


class Extensions:
    """The names of chainer.training.extensions in what is emitted."""

    Evaluator, LogReport, PrintReport = evaluator.Evaluator, log_extensions.LogReport, log_extensions.PrintReport
    PlotReport, MicroAverage = log_extensions.PlotReport, log_extensions.MicroAverage
    ParameterStatistics = log_extensions.ParameterStatistics
    ProgressBar = ppe_extensions.ProgressBar
    snapshot, snapshot_object = staticmethod(snapshot.snapshot), staticmethod(snapshot.snapshot_object)
    observe_lr, observe_value = staticmethod(extensions.observe_lr), staticmethod(extensions.observe_value)
    FailOnNonNumber, DumpGraph = extensions.FailOnNonNumber, extensions.DumpGraph
    unchain_variables = extensions.unchain_variables


for _name in (
    "ExponentialShift",
    "InverseShift",
    "StepShift",
    "PolynomialShift",
    "LinearShift",
    "MultistepShift",
    "WarmupShift",
):
    setattr(Extensions, _name, getattr(shift_extensions, _name))


class Ours:
    """Our names."""

    Classifier = staticmethod(lambda: classifier.Classifier(TorchNet()))
    optimizers, hooks, datasets = optimizers, optimizer_hooks, datasets
    SerialIterator = iterators.SerialIterator
    StandardUpdater, Trainer = updaters.StandardUpdater, trainer.Trainer
    extensions, triggers = Extensions, triggers
    make_extension, Extension = staticmethod(extension_base.make_extension), extension_base.Extension
    report = staticmethod(ppe_reporting.report)
    save, load = staticmethod(serializers.save_npz), staticmethod(serializers.load_npz)
    concat = staticmethod(convert.concat_examples)


BOTH = (Theirs, Ours)
RNG = np.random.RandomState(0)
X, T = RNG.randn(23, 5).astype("f"), RNG.randint(0, 3, 23).astype("i")
WEIGHTS = {
    "predictor/l1/W": RNG.randn(7, 5).astype("f"),
    "predictor/l1/b": RNG.randn(7).astype("f"),
    "predictor/l2/W": RNG.randn(3, 7).astype("f"),
    "predictor/l2/b": RNG.randn(3).astype("f"),
}


def set_up(api, out, epochs=3, optimizer="Adam", batch=5, seed=1, load=True, unit="epoch", **options):
    """A trainer over 18 training examples; the weights come from a file, so that both start from the same."""
    model = api.Classifier()
    if load:
        stream = io.BytesIO()
        np.savez(stream, **WEIGHTS)
        stream.seek(0)
        api.load(stream, model)
    opt = getattr(api.optimizers, optimizer)(**options)
    opt.setup(model)
    opt.add_hook(api.hooks.WeightDecay(0.01))
    train, test = api.datasets.split_dataset(api.datasets.TupleDataset(X, T), 18)
    np.random.seed(seed)  # here: Chainer draws from the same generator when parameters are initialized
    updater = api.StandardUpdater(api.SerialIterator(train, batch), opt, device=-1)
    result = api.Trainer(updater, (epochs, unit) if isinstance(epochs, (int, float)) else epochs, out=str(out))
    test_iter = api.SerialIterator(test, 2, repeat=False, shuffle=False)
    result.extend(api.extensions.Evaluator(test_iter, model, device=-1), call_before_training=True)
    return result


def log_of(out, name="log"):
    with open(os.path.join(str(out), name)) as stream:
        return json.load(stream)


def same_log(theirs, ours, rtol=1e-4):
    assert len(theirs) == len(ours) > 0
    for a, b in zip(theirs, ours, strict=True):
        assert list(a) == list(b)
        for key in a:
            if key != "elapsed_time":
                np.testing.assert_allclose(b[key], a[key], rtol=rtol, err_msg=key)


def run_both(tmp_path, build, **options):
    """Builds and runs both; returns what build returned for each."""
    results = []
    for api in BOTH:
        made = set_up(api, tmp_path / api.__name__, **options)
        results.append(build(api, made))
        made.run()
    return results


@pytest.mark.parametrize("optimizer, options", [("Adam", {}), ("MomentumSGD", {"lr": 0.1}), ("SGD", {})])
@pytest.mark.parametrize("batch", [5, 6, 20])
def test_log_and_printed_table(tmp_path, optimizer, options, batch):
    def build(api, made):
        out = io.StringIO()
        made.extend(api.extensions.LogReport(), call_before_training=True)
        made.extend(api.extensions.observe_lr(), trigger=(1, "iteration"))
        made.extend(
            api.extensions.PrintReport(["epoch", "iteration", "main/loss", "validation/main/accuracy", "lr"], out=out),
            call_before_training=True,
        )
        return out

    printed = run_both(tmp_path, build, optimizer=optimizer, batch=batch, **options)
    logs = [log_of(tmp_path / api.__name__) for api in BOTH]
    same_log(*logs)
    assert len(logs[0]) == 4 and "validation/main/loss" in logs[1][0]
    tables = [[line.split() for line in out.getvalue().replace("\033[J", "").splitlines()] for out in printed]
    assert tables[0][0] == tables[1][0]
    for theirs, ours in zip(tables[0][1:], tables[1][1:], strict=True):
        np.testing.assert_allclose([float(word) for word in ours], [float(word) for word in theirs], rtol=1e-3)
    assert printed[0].getvalue().count("\033[J") == printed[1].getvalue().count("\033[J")


def test_files_of_the_log(tmp_path):
    def build(api, made):
        made.extend(
            api.extensions.LogReport(
                keys=["main/loss"],
                trigger=(2, "iteration"),
                filename="log_{iteration}",
                postprocess=lambda entry: entry.update(extra=1),
            )
        )
        made.extend(api.extensions.LogReport(log_name="old"), name="other")
        made.extend(api.extensions.LogReport(log_name=None), name="none")

    run_both(tmp_path, build, epochs=6, unit="iteration")
    files = [sorted(os.listdir(tmp_path / api.__name__)) for api in BOTH]
    assert files[0] == files[1] == ["log_2", "log_4", "log_6", "old"]
    same_log(*(log_of(tmp_path / api.__name__, "log_6") for api in BOTH))


@pytest.mark.parametrize("api", BOTH)
def test_the_output_directory_appears_with_the_training(tmp_path, api):
    made = set_up(api, tmp_path / "made", epochs=1)
    assert not (tmp_path / "made").exists()
    made.out = str(tmp_path / "other")
    made.extend(api.extensions.LogReport())
    made.run()
    assert os.listdir(tmp_path) == ["other"] and os.listdir(tmp_path / "other") == ["log"]


def test_train_mode_is_back_after_evaluation(tmp_path):
    made = set_up(Ours, tmp_path, epochs=1)
    model = made.updater.get_optimizer("main").target
    seen = []
    model.predictor.register_forward_hook(lambda module, *args: seen.append((module.training, torch.is_grad_enabled())))
    made.run()
    assert set(seen) == {(True, True), (False, False)}
    assert all(module.training for module in model.modules())


TRIGGERS = {
    "2 epochs": lambda t: (2, "epoch"),
    "half epochs": lambda t: (0.5, "epoch"),
    "3 iterations": lambda t: (3, "iteration"),
    "interval": lambda t: t.IntervalTrigger(2, "iteration"),
    "schedule": lambda t: t.ManualScheduleTrigger([1, 2.5], "epoch"),
    "schedule of iterations": lambda t: t.ManualScheduleTrigger([2, 7], "iteration"),
    "one point": lambda t: t.ManualScheduleTrigger(4, "iteration"),
    "once": lambda t: t.OnceTrigger(),
    "min": lambda t: t.MinValueTrigger("main/loss", trigger=(2, "iteration")),
    "max": lambda t: t.MaxValueTrigger("validation/main/accuracy"),
    "best": lambda t: t.BestValueTrigger("main/loss", lambda best, new: new > best, (1, "iteration")),
    "early stopping": lambda t: t.EarlyStoppingTrigger((1, "iteration"), patience=2, max_trigger=(3, "epoch")),
    "function": lambda t: lambda trainer: trainer.updater.iteration % 4 == 1,
    "time": lambda t: t.TimeTrigger(1e6),
}


@pytest.mark.parametrize("name", TRIGGERS)
def test_triggers(tmp_path, name):
    def build(api, made):
        calls = []
        made.extend(
            lambda t: calls.append((t.updater.iteration, t.updater.epoch)),
            name="probe",
            trigger=TRIGGERS[name](api.triggers),
        )
        return calls

    calls = run_both(tmp_path, build, epochs=4, optimizer="SGD", lr=0.5)
    assert calls[0] == calls[1]
    assert calls[0] or name == "time"


@pytest.mark.parametrize(
    "make",
    [
        lambda t: t.EarlyStoppingTrigger((1, "iteration"), monitor="main/loss", patience=2, max_trigger=(5, "epoch")),
        lambda t: t.EarlyStoppingTrigger(monitor="validation/main/accuracy", patients=1, max_trigger=(5, "epoch")),
        lambda t: (7, "iteration"),
        lambda t: (1.5, "epoch"),
        lambda t: lambda trainer: trainer.updater.iteration >= 3,
    ],
    ids=range(5),
)
def test_stop_triggers(tmp_path, make):
    ends = []
    for api in BOTH:
        made = set_up(api, tmp_path, epochs=make(api.triggers), optimizer="SGD", lr=1.0)
        made.run()
        ends.append(made.updater.iteration)
    assert ends[0] == ends[1] > 0


def test_a_training_runs_once(tmp_path):
    for api in BOTH:
        made = set_up(api, tmp_path)
        made.run()
        with pytest.raises(RuntimeError, match="multiple times"):
            made.run()


def test_extensions_are_called_as_in_chainer(tmp_path):
    """Order by priority, names, initialize, finalize, on_error, get_extension, user classes and functions."""

    def build(api, made):
        calls = []

        class Mine(api.Extension):
            trigger = 2, "iteration"
            priority = 250

            def initialize(self, trainer):
                calls.append(("initialize", self.name, trainer.out))

            def __call__(self, trainer):
                calls.append((self.name, trainer.updater.iteration, sorted(trainer.observation)))

            def finalize(self):
                calls.append(("finalize", self.name))

        class Plain:
            trigger = 3, "iteration"
            default_name = "plain"

            def __call__(self, trainer):
                calls.append(("plain", trainer.updater.epoch_detail, trainer.is_before_training))

        @api.make_extension(
            trigger=(1, "epoch"),
            priority=400,
            finalizer=lambda: calls.append("function done"),
            initializer=lambda trainer: calls.append("function starts"),
        )
        def function(trainer):
            api.report({"mine": trainer.updater.iteration})
            calls.append("function")

        made.extend(Mine())
        made.extend(Mine())
        plain = Plain()
        made.extend(plain)
        made.extend(function, call_before_training=True)
        made.extend(
            lambda trainer: calls.append(trainer.observation.get("mine")),
            name="reader",
            priority=-5,
            trigger=(1, "epoch"),
        )
        assert made.get_extension("plain") is plain
        assert made.get_extension("Mine_1").name == "Mine_1"
        for name in ("other", "training"):
            with pytest.raises(ValueError):
                made.get_extension(name) if name == "other" else made.extend(function, name=name)
        return calls

    calls = run_both(tmp_path, build, epochs=2)
    for api, each in zip(BOTH, calls, strict=True):
        for i, call in enumerate(each):
            if isinstance(call, tuple) and call[0] == "initialize":
                assert call[2] == str(tmp_path / api.__name__)
                each[i] = call[:2]
    assert calls[0] == calls[1]
    assert "function done" in calls[0] and ("finalize", "Mine") in calls[0]


@pytest.mark.parametrize("api", BOTH)
def test_errors_in_the_loop(tmp_path, api, capsys):
    calls = []

    class Handler(api.Extension):
        def __call__(self, trainer):
            if trainer.updater.iteration == 2:
                raise ValueError("broken")

        def on_error(self, trainer, exc, tb):
            calls.append(str(exc))

        def finalize(self):
            calls.append("finalized")

    made = set_up(api, tmp_path)
    made.extend(Handler())
    made.extend(api.extensions.snapshot(snapshot_on_error=True, filename="snap"), trigger=(100, "epoch"))
    with pytest.raises(ValueError, match="broken"):
        made.run()
    assert calls == ["broken", "finalized"]
    assert "Exception in main training loop: broken" in capsys.readouterr().err
    assert (tmp_path / "snap").exists()


SHIFTS = {
    "ExponentialShift": [("lr", 0.5), ("lr", 2.0, 0.1, 0.5), ("lr", 0.5, 0.1, 0.03)],
    "InverseShift": [("lr", 0.1, 0.75), ("lr", 0.1, -1.0, 0.1, 0.12)],
    "StepShift": [("lr", 0.5, 3), ("lr", 0.5, 2, 0.1, 0.04)],
    "PolynomialShift": [("lr", 0.5, 20), ("lr", 0.5, 20, 0.1, 0.08)],
    "LinearShift": [("lr", (0.1, 0.01), (2, 6))],
    "MultistepShift": [("lr", 0.1, [2, 5], 0.1), ("lr", 0.1, [2, 5], None)],
    "WarmupShift": [("lr", 0.01, 5, 0.1), ("lr", None, 5, 0.1)],
}


@pytest.mark.parametrize("name, args", [(name, args) for name, variants in SHIFTS.items() for args in variants])
def test_shifts(tmp_path, name, args):
    def build(api, made):
        made.extend(getattr(api.extensions, name)(*args))
        made.extend(api.extensions.observe_lr(), trigger=(1, "iteration"), priority=50)
        rates = []
        made.extend(lambda t: rates.append(t.observation["lr"]), name="probe", priority=0)
        return rates

    rates = run_both(tmp_path, build, optimizer="MomentumSGD", lr=0.07, epochs=2)
    np.testing.assert_allclose(rates[1], rates[0], rtol=1e-12)
    assert len(set(rates[0])) > 1


@pytest.mark.parametrize("cls, args", [("ExponentialShift", ("lr", -1)), ("InverseShift", ("lr", -1, 1))])
def test_shift_errors(cls, args):
    for api in BOTH:
        with pytest.raises(ValueError, match="negative"):
            getattr(api.extensions, cls)(*args)


def full(api, out, epochs, **options):
    made = set_up(api, out, epochs=epochs, **options)
    made.extend(api.extensions.ExponentialShift("alpha", 0.9), trigger=(2, "iteration"))
    made.extend(api.extensions.LogReport(trigger=(2, "iteration")))
    made.extend(api.extensions.PlotReport(["main/loss"], "iteration", file_name="loss.png"))
    made.extend(lambda t: api.report({"part": t.updater.iteration, "all": 2}), name="count", priority=350)
    made.extend(api.extensions.MicroAverage("part", "all", "ratio", (3, "iteration")))
    made.extend(
        api.extensions.snapshot_object(made.updater.get_optimizer("main").target, "model_{.updater.epoch}"),
        trigger=api.triggers.MinValueTrigger("validation/main/loss"),
    )
    # after the other: Chainer saves the triggers of later extensions as they were before this iteration
    made.extend(api.extensions.snapshot(), trigger=(1, "epoch"))
    return made


def test_snapshots_are_chainers(tmp_path):
    for api in BOTH:
        full(api, tmp_path / api.__name__, 2).run()
    files = [sorted(os.listdir(tmp_path / api.__name__)) for api in BOTH]
    assert files[0] == files[1]
    assert "snapshot_iter_4" in files[0] and "model_1" in files[0]
    for name in ("snapshot_iter_4", "model_1"):
        theirs, ours = (dict(np.load(tmp_path / api.__name__ / name)) for api in BOTH)
        assert set(theirs) == set(ours)
        for key, value in theirs.items():
            assert value.shape == ours[key].shape, key
            if value.dtype.kind in "biuf" and "elapsed" not in key and "elapsed_time" not in str(value):
                np.testing.assert_allclose(ours[key], value, rtol=1e-3, atol=1e-6, err_msg=key)


@pytest.mark.parametrize("writer", BOTH)
@pytest.mark.parametrize("reader", BOTH)
def test_resume(tmp_path, writer, reader):
    """A training that was saved by either goes on in either, with the same log."""
    full(writer, tmp_path / "first", 2).run()
    made = full(reader, tmp_path / "second", 4, load=reader is Theirs)
    Theirs.load(str(tmp_path / "first" / "snapshot_iter_8"), made) if reader is Theirs else Ours.load(
        str(tmp_path / "first" / "snapshot_iter_8"), made
    )
    np.random.seed(5)
    made.run()
    assert made.elapsed_time > 0
    whole = full(Theirs, tmp_path / "whole", 4)
    whole.extend(lambda t: np.random.seed(5), name="seed", trigger=lambda t: t.updater.iteration == 8)
    whole.run()
    same_log(log_of(tmp_path / "whole"), log_of(tmp_path / "second"), rtol=1e-3)


def test_a_finished_training_resumes_to_nothing(tmp_path):
    for api in BOTH:
        full(api, tmp_path / api.__name__, 1).run()
        made = full(api, tmp_path / api.__name__, 1)
        api.load(str(tmp_path / api.__name__ / "snapshot_iter_4"), made)
        before = made.updater.iteration
        made.run()
        assert made.updater.iteration == before == 4


def test_a_wrong_file_says_what_is_missing(tmp_path):
    np.savez(tmp_path / "wrong.npz", x=np.zeros(3))
    with pytest.raises(KeyError, match="updater/iterator:main/current_position"):
        Ours.load(str(tmp_path / "wrong.npz"), full(Ours, tmp_path, 1))


def test_the_state_of_an_optimizer_needs_shapes(tmp_path):
    full(Theirs, tmp_path, 1).run()
    made = full(Ours, tmp_path, 1, load=False)
    with pytest.raises(ValueError, match="load the model"):
        Ours.load(str(tmp_path / "snapshot_iter_4"), made.updater.get_optimizer("main"), path="updater/optimizer:main/")


@pytest.mark.parametrize("api", BOTH)
def test_retained_files_and_autoload(tmp_path, api):
    made = set_up(api, tmp_path, epochs=3)
    made.extend(api.extensions.snapshot(n_retains=2), trigger=(1, "iteration"))
    made.run()
    assert sorted(os.listdir(tmp_path)) == ["snapshot_iter_10", "snapshot_iter_11"]
    made = set_up(api, tmp_path, epochs=4)
    starts = []
    made.extend(
        api.extensions.snapshot(autoload=True, filename="snapshot_iter_{.updater.iteration}"), trigger=(100, "epoch")
    )
    made.extend(lambda t: starts.append(t.updater.iteration), name="probe")
    made.run()
    assert starts[0] == 12


@pytest.mark.parametrize("api", BOTH)
def test_no_file_goes_where_none_is_to_be_retained(tmp_path, api):
    made = set_up(api, tmp_path, epochs=1)
    made.extend(api.extensions.snapshot(n_retains=0), trigger=(1, "iteration"))
    made.run()
    assert len(os.listdir(tmp_path)) == made.updater.iteration > 1


def test_an_interrupted_snapshot_leaves_the_last_one(tmp_path):
    saved = []

    def savefun(path, entries):
        with open(path, "wb") as stream:
            stream.write(b"half" if saved else b"whole")
            if saved:
                raise KeyboardInterrupt
            saved.append(path)

    made = set_up(Ours, tmp_path)
    made.extend(snapshot.snapshot(savefun, "snap"), trigger=(1, "iteration"))
    with pytest.raises(KeyboardInterrupt):
        made.run()
    assert os.listdir(tmp_path) == ["snap"] and (tmp_path / "snap").read_bytes() == b"whole"


@pytest.mark.parametrize(
    "writer", ["SimpleWriter", "ThreadWriter", "ProcessWriter", "ThreadQueueWriter", "ProcessQueueWriter"]
)
def test_writers(tmp_path, writer):
    for api, module in ((Theirs, chainer_training.extensions.snapshot_writers), (Ours, snapshot)):
        out = tmp_path / api.__name__
        made = set_up(api, out, epochs=2)
        made.extend(api.extensions.snapshot(writer=getattr(module, writer)()), trigger=(1, "epoch"))
        made.run()
        assert sorted(os.listdir(out)) == ["snapshot_iter_4", "snapshot_iter_8"]
    theirs, ours = (dict(np.load(tmp_path / api.__name__ / "snapshot_iter_8")) for api in BOTH)
    assert set(theirs) == set(ours)
    key = "updater/model:main/predictor/l1/W"
    np.testing.assert_allclose(ours[key], theirs[key], rtol=1e-3, atol=1e-6)
    Ours.load(str(tmp_path / "Ours" / "snapshot_iter_8"), set_up(Ours, tmp_path))


def test_custom_updater(tmp_path):
    """Two optimizers, update_core with the iterator, the converter and the device; report with an observer."""

    def build(api, out):
        class GAN(api.StandardUpdater):
            def __init__(self, *args, **kwargs):
                self.models = kwargs.pop("models")
                super().__init__(*args, **kwargs)

            def update_core(self):
                x, t = self.converter(self.get_iterator("main").next(), self.device)
                for name, model in zip(("gen", "dis"), self.models, strict=True):
                    loss = model(x, t)
                    model.cleargrads() if api is Theirs else model.zero_grad()
                    loss.backward()
                    self.get_optimizer(name).update()
                    api.report({"twice": loss * 2}, model)

        models = []
        for scale in (1, 2):
            model = api.Classifier()
            stream = io.BytesIO()
            np.savez(stream, **{key: value * scale for key, value in WEIGHTS.items()})
            stream.seek(0)
            api.load(stream, model)
            models.append(model)
        opts = {name: api.optimizers.Adam().setup(model) for name, model in zip(("gen", "dis"), models, strict=True)}
        np.random.seed(0)
        updater = GAN(api.SerialIterator(api.datasets.TupleDataset(X, T), 4), opts, device=-1, models=models)
        made = api.Trainer(updater, (2, "epoch"), out=str(out))
        made.extend(api.extensions.LogReport())
        made.extend(api.extensions.snapshot(filename="snap"))
        made.run()

    for api in BOTH:
        build(api, tmp_path / api.__name__)
    logs = [log_of(tmp_path / api.__name__) for api in BOTH]
    same_log(*logs)
    assert {"gen/loss", "dis/twice"} <= set(logs[0][0])
    assert set(np.load(tmp_path / "Theirs" / "snap")) == set(np.load(tmp_path / "Ours" / "snap"))


def test_evaluators(tmp_path):
    """Several evaluators, a subclass with evaluate(), eval_func, eval_hook, and a call without a trainer."""

    def build(api, made):
        model = made.updater.get_optimizer("main").target
        hooked = []

        class Mine(api.extensions.Evaluator):
            def evaluate(self):
                result = super().evaluate()
                result["extra"] = len(result)
                return result

        data = api.datasets.TupleDataset(X, T)
        made.extend(
            Mine(
                api.SerialIterator(data, 7, repeat=False, shuffle=False),
                model,
                eval_hook=lambda e: hooked.append(e.name),
            ),
            name="mine",
        )
        made.extend(
            api.extensions.Evaluator(
                {"main": api.SerialIterator(data, 23, repeat=False, shuffle=False)},
                {"main": model, "other": model.predictor},
                eval_func=lambda x, t: api.report({"mean": model.predictor(x)[0, 0]}, model.predictor),
            )
        )
        made.extend(api.extensions.LogReport())
        alone = api.extensions.Evaluator(api.SerialIterator(data, 23, repeat=False, shuffle=False), model)
        return sorted(alone()), hooked

    results = run_both(tmp_path, build)
    same_log(*(log_of(tmp_path / api.__name__) for api in BOTH))
    assert results[0] == results[1]
    assert results[0][0] == ["main/accuracy", "main/loss"]


def test_parameter_statistics_and_plots(tmp_path):
    def build(api, made):
        model = made.updater.get_optimizer("main").target
        model.name = "net"
        made.extend(api.extensions.ParameterStatistics(model, trigger=(2, "iteration")))
        own = {"sum": lambda x: (x**2).sum(), "places": lambda x: np.percentile(np.asarray(x), (10, 90))}
        made.extend(api.extensions.ParameterStatistics(model, own, trigger=(2, "iteration"), prefix="own"), name="own")
        made.extend(api.extensions.LogReport(trigger=(2, "iteration")))
        made.extend(api.extensions.PlotReport(["main/loss"], "epoch", filename="loss.pdf"), call_before_training=True)

    run_both(tmp_path, build, epochs=2)
    same_log(*(log_of(tmp_path / api.__name__) for api in BOTH), rtol=1e-3)
    assert {"net/predictor/l1/W/data/percentile/6", "own/net/predictor/l1/W/grad/places/1"} <= set(
        log_of(tmp_path / BOTH[-1].__name__)[0]
    )
    if log_extensions.PlotReport.available():
        assert all((tmp_path / api.__name__ / "loss.pdf").read_bytes()[:4] == b"%PDF" for api in BOTH)


def test_parameter_statistics_know_the_names_of_children():
    model = torch.nn.Module()
    model.body = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 1))
    assert [log_extensions._name_of(link) for link in (model, model.body, model.body[0], model.body[2])] == [
        "None",
        "body",
        "0",
        "1",
    ]
    other = torch.nn.Module()
    other.tail = model.body
    with pytest.warns(UserWarning, match="body, tail"):
        log_extensions._name_of(model.body)
    del other


def test_fail_on_non_number(tmp_path):
    for api in BOTH:
        made = set_up(api, tmp_path, optimizer="SGD", lr=float("inf"))
        made.extend(api.extensions.FailOnNonNumber())
        with pytest.raises(RuntimeError, match="diverge"):
            made.run()


def test_what_is_observed_keeps_no_graph(tmp_path):
    def build(api, made):
        found = []

        def graph_of(trainer):
            value = trainer.observation["main/loss"]
            found.append(getattr(value, "creator", None) is None and getattr(value, "grad_fn", None) is None)

        made.extend(api.extensions.unchain_variables())
        made.extend(graph_of, name="probe", priority=-200, trigger=(1, "iteration"))
        return found

    found = run_both(tmp_path, build, epochs=1)
    assert found[0] == found[1] == [True] * 4


def test_graph(tmp_path):
    made = set_up(Ours, tmp_path, epochs=1)
    made.extend(extensions.DumpGraph("main/loss"))
    made.run()
    text = (tmp_path / "cg.dot").read_text()
    assert text.startswith("digraph") and "TanhBackward" in text and "(7, 5), float32" in text
    assert not made.reporter.graphs and not made.reporter.keep_graph


def test_progress_bar(tmp_path, capsys):
    lines = []
    for api in BOTH:
        made = set_up(api, tmp_path, epochs=2)
        # pytorch-pfn-extras takes the stream from when it was imported
        made.extend(api.extensions.ProgressBar(update_interval=3, out=sys.stdout))
        made.run()
        lines.append([line for line in capsys.readouterr().out.splitlines() if "iters/sec" not in line])
    assert lines[0] == lines[1] and any("this epoch" in line for line in lines[0])
