"""The light trainer and what belongs to it beside Chainer's: the programs that the faithful one is tested with."""

import io
import unittest.mock

import chainer
import chainer.testing

import numpy as np
import pytest
import pytorch_pfn_extras.training as ppe_training
import pytorch_pfn_extras.training.extensions as ppe_extensions
import pytorch_pfn_extras.training.triggers as ppe_triggers
import torch

from chainer2torch.native.parallel_updaters import MultiprocessParallelUpdater, ParallelUpdater
from chainer2torch.native import (
    evaluators,
    iterators,
    log_extensions,
    shifts,
    trainer,
    training,
    triggers,
    updaters,
)
from tests.compat import test_parallel_updaters as parallel_programs
from tests.compat import test_testing_tools as testing_tools
from tests.compat import test_trainer as programs
from tests.compat.test_trainer import Theirs


class Extensions:
    """The names of chainer.training.extensions in what is emitted."""

    Evaluator = evaluators.Evaluator
    LogReport, PrintReport = log_extensions.LogReport, ppe_extensions.PrintReport
    MicroAverage, ParameterStatistics = ppe_extensions.MicroAverage, log_extensions.ParameterStatistics
    ProgressBar, FailOnNonNumber = ppe_extensions.ProgressBar, ppe_extensions.FailOnNonNumber
    observe_value = staticmethod(ppe_extensions.observe_value)
    snapshot, snapshot_object = staticmethod(ppe_extensions.snapshot), staticmethod(ppe_extensions.snapshot_object)

    PlotReport = log_extensions.PlotReport

    @staticmethod
    def observe_lr():
        return ppe_extensions.observe_value("lr", lambda made: made.updater.get_optimizer("main").lr)


class Triggers:
    """The names of chainer.training.triggers in what is emitted."""

    IntervalTrigger, ManualScheduleTrigger = ppe_triggers.IntervalTrigger, triggers.ManualScheduleTrigger
    OnceTrigger, TimeTrigger = ppe_triggers.OnceTrigger, ppe_triggers.TimeTrigger
    MinValueTrigger, MaxValueTrigger = ppe_triggers.MinValueTrigger, ppe_triggers.MaxValueTrigger
    BestValueTrigger, EarlyStoppingTrigger = ppe_triggers.BestValueTrigger, ppe_triggers.EarlyStoppingTrigger


for _name in programs.SHIFTS:
    setattr(Extensions, _name, getattr(shifts, _name))


class Light(programs.Ours):
    """The light classes."""

    SerialIterator = iterators.SerialIterator
    StandardUpdater, Trainer = updaters.StandardUpdater, trainer.Trainer
    extensions, triggers = Extensions, Triggers
    make_extension, Extension = staticmethod(ppe_training.make_extension), ppe_training.Extension

    @staticmethod
    def load(file, target):
        if isinstance(target, trainer.Trainer):
            target.load_state_dict(torch.load(file))
        else:
            super(Light, Light).load(file, target)


BOTH = (Theirs, Light)


@pytest.fixture(autouse=True)
def light(monkeypatch):
    """The programs of the other file are built of the light classes."""
    monkeypatch.setattr(programs, "BOTH", BOTH)
    monkeypatch.setattr(programs, "Ours", Light)


@pytest.mark.parametrize("optimizer, options", [("Adam", {}), ("MomentumSGD", {"lr": 0.1})])
@pytest.mark.parametrize("batch", [5, 6, 20])
def test_log_and_printed_table(tmp_path, optimizer, options, batch):
    programs.test_log_and_printed_table(tmp_path, optimizer, options, batch)


@pytest.mark.parametrize("name", programs.TRIGGERS)
def test_triggers(tmp_path, name):
    programs.test_triggers(tmp_path, name)


@pytest.mark.parametrize(
    "make",
    [
        lambda t: t.EarlyStoppingTrigger((1, "iteration"), monitor="main/loss", patience=2, max_trigger=(5, "epoch")),
        lambda t: (7, "iteration"),
        lambda t: (1.5, "epoch"),
        lambda t: lambda trainer: trainer.updater.iteration >= 3,
    ],
    ids=range(4),
)
def test_stop_triggers(tmp_path, make):
    programs.test_stop_triggers(tmp_path, make)


@pytest.mark.parametrize("name, args", [(n, args) for n, variants in programs.SHIFTS.items() for args in variants])
def test_shifts(tmp_path, name, args):
    programs.test_shifts(tmp_path, name, args)


@pytest.mark.parametrize(
    "program",
    [
        programs.test_extensions_are_called_as_in_chainer,
        programs.test_evaluators,
        programs.test_parameter_statistics_and_plots,
        programs.test_fail_on_non_number,
        programs.test_train_mode_is_back_after_evaluation,
        programs.test_a_finished_training_resumes_to_nothing,
    ],
)
def test_programs(tmp_path, program):
    program(tmp_path)


def test_progress_bar(tmp_path, capsys):
    programs.test_progress_bar(tmp_path, capsys)


def test_extensions_are_told_of_errors(tmp_path):
    calls = []

    class Handler(ppe_training.Extension):
        def __call__(self, made):
            if made.updater.iteration == 2:
                raise ValueError("broken")

        def on_error(self, made, exc, tb):
            calls.append(str(exc))

    made = programs.set_up(Light, tmp_path)
    made.extend(Handler())
    made.extend(Extensions.snapshot(snapshot_on_error=True, filename="snap"), trigger=(100, "epoch"))
    with pytest.raises(ValueError, match="broken"):
        made.run()
    assert calls == ["broken"]
    assert (tmp_path / "snap").exists()


def test_a_resumed_training_logs_what_an_uninterrupted_one_does(tmp_path):
    def full(api, out, epochs):
        made = programs.set_up(api, out, epochs=epochs)
        made.extend(api.extensions.ExponentialShift("alpha", 0.9), trigger=(2, "iteration"))
        made.extend(api.extensions.LogReport(trigger=(2, "iteration")), call_before_training=True)
        made.extend(lambda t: api.report({"part": t.updater.iteration, "all": 2}), name="count", priority=350)
        made.extend(api.extensions.MicroAverage("part", "all", "ratio", (3, "iteration")))
        made.extend(api.extensions.snapshot(), trigger=(1, "epoch"))
        return made

    full(Light, tmp_path / "first", 2).run()
    made = full(Light, tmp_path / "second", 4)
    Light.load(str(tmp_path / "first" / "snapshot_iter_8"), made)
    np.random.seed(5)
    made.run()
    whole = full(Theirs, tmp_path / "whole", 4)
    whole.extend(lambda t: np.random.seed(5), name="seed", trigger=lambda t: t.updater.iteration == 8)
    whole.run()
    programs.same_log(programs.log_of(tmp_path / "whole"), programs.log_of(tmp_path / "second"), rtol=1e-3)


def test_custom_updater(tmp_path):
    """Two optimizers, update_core with the iterator, the converter and the device; report with an observer."""
    for api in BOTH:
        programs_updater(api, tmp_path / api.__name__)
    logs = [programs.log_of(tmp_path / api.__name__) for api in BOTH]
    programs.same_log(*logs)
    assert {"gen/loss", "dis/twice"} <= set(logs[0][0])


def programs_updater(api, out):
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
        np.savez(stream, **{key: value * scale for key, value in programs.WEIGHTS.items()})
        stream.seek(0)
        api.load(stream, model)
        models.append(model)
    opts = {name: api.optimizers.Adam().setup(model) for name, model in zip(("gen", "dis"), models, strict=True)}
    np.random.seed(0)
    data = api.datasets.TupleDataset(programs.X, programs.T)
    updater = GAN(api.SerialIterator(data, 4), opts, device=-1, models=models)
    made = api.Trainer(updater, (2, "epoch"), out=str(out))
    made.extend(api.extensions.LogReport())
    made.run()


# -- iterators -----------------------------------------------------------------------------------------------------


def seen(iterator, count):
    found = []
    for _ in range(count):
        try:
            batch = iterator.next()
        except StopIteration:
            batch = None
        counts = iterator.epoch, iterator.is_new_epoch, iterator.epoch_detail, iterator.previous_epoch_detail
        found.append((batch, counts, iterator.current_position))
    return found


@pytest.mark.parametrize("size, batch", [(5, 2), (6, 3), (4, 4), (3, 7), (1, 1)])
@pytest.mark.parametrize("options", [{}, {"shuffle": False}, {"repeat": False}, {"repeat": False, "shuffle": False}])
def test_serial_iterators_give_the_same_batches(size, batch, options):
    found = []
    for api in BOTH:
        np.random.seed(3)
        iterator = api.SerialIterator(list(range(size)), batch, **options)
        first = seen(iterator, 7)
        iterator.reset()
        found.append(first + seen(iterator, 3))
    assert found[0] == found[1]


def test_order_samplers():
    def sampler(order, position):
        return np.roll(order, 1 + position)

    both = [api.SerialIterator(list("abcde"), 2, order_sampler=sampler) for api in BOTH]
    assert seen(both[0], 8) == seen(both[1], 8)
    for api in BOTH:
        with pytest.raises(ValueError):
            api.SerialIterator([1], 1, shuffle=True, order_sampler=sampler)


@pytest.mark.parametrize(
    "make",
    [
        lambda d, **o: iterators.MultithreadIterator(d, 3, n_threads=2, **o),
        lambda d, **o: iterators.MultiprocessIterator(d, 3, n_processes=1, **o),
    ],
    ids=["threads", "processes"],
)
@pytest.mark.parametrize("options", [{}, {"repeat": False}])
def test_iterators_that_read_elsewhere_give_what_a_serial_one_does(make, options):
    data = [np.float32(i) for i in range(7)]
    np.random.seed(1)
    expected = seen(iterators.SerialIterator(data, 3, **options), 6)
    np.random.seed(1)
    with make(data, **options) as iterator:
        assert seen(iterator, 6) == expected
        iterator.reset()
        assert len(iterator.next()) == 3 and iterator.epoch == 0


@pytest.mark.parametrize("cls", [iterators.SerialIterator, iterators.MultiprocessIterator])
def test_an_iterator_goes_on_where_it_was(cls):
    def order(before, position):  # the one that reads ahead draws from the generator before it is asked
        return np.roll(before, 3)

    first, other = (cls(list(range(7)), 3, order_sampler=order) for _ in range(2))
    seen(first, 4)
    seen(other, 1)
    other.load_state_dict(first.state_dict())
    assert seen(other, 3) == seen(first, 3)
    for iterator in (first, other):
        iterator.finalize()


def test_what_serialize_says_is_saved():
    class Mine(iterators.Iterator):
        def __init__(self, position=0):
            self.position, self.array = position, np.arange(3.0)

        def serialize(self, serializer):
            self.position = serializer("position", self.position)
            self.array = serializer["inner"]("array", self.array)

    one, other = Mine(5), Mine()
    one.array += 1
    other.load_state_dict(one.state_dict())
    assert other.position == 5 and (other.array == one.array).all() and isinstance(other.array, np.ndarray)
    assert iterators.Iterator().state_dict() == {}


# -- converters ----------------------------------------------------------------------------------------------------


def test_converters_get_numbers_or_devices():
    given = []

    def plain(batch, device):
        given.append(device)
        return np.stack(batch)

    @updaters.converter()
    def modern(batch, device):
        given.append(device)
        return {"x": torch.stack([torch.as_tensor(x) for x in batch])}

    class Own(updaters.Converter):
        def __call__(self, batch, device):
            given.append(device)
            return tuple(batch)

    batch = [np.ones(2, "f"), np.zeros(2, "f")]
    cpu = torch.device("cpu")
    assert isinstance(updaters.converted(plain, batch, cpu), torch.Tensor)
    assert updaters.converted(plain, batch, None).shape == (2, 2)
    assert set(updaters.converted(modern, batch, cpu)) == {"x"}
    assert [type(x) for x in updaters.converted(Own(), batch, cpu)] == [torch.Tensor, torch.Tensor]
    modern(batch, -1)
    assert given == [-1, None, cpu, cpu, cpu]


# -- several devices -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss_func", [False, True])
def test_a_batch_is_split_over_copies(tmp_path, loss_func):
    for api, updater in ((Theirs, chainer.training.updaters.ParallelUpdater), (Light, ParallelUpdater)):
        model = api.Classifier()
        stream = io.BytesIO()
        np.savez(stream, **programs.WEIGHTS)
        stream.seek(0)
        api.load(stream, model)
        opt = api.optimizers.MomentumSGD(0.1).setup(model)
        np.random.seed(0)
        data = api.datasets.TupleDataset(programs.X, programs.T)
        options = {"loss_func": lambda x, t, model=model: model(x, t)} if loss_func else {}
        made = updater(api.SerialIterator(data, 7), opt, devices={"second": -1, "main": -1}, **options)
        made = api.Trainer(made, (2, "epoch"), out=str(tmp_path / api.__name__))
        made.extend(api.extensions.LogReport(trigger=(1, "iteration")))
        made.run()
        assert opt.epoch == 2
    programs.same_log(*(programs.log_of(tmp_path / api.__name__) for api in BOTH))


@pytest.mark.parametrize("name", parallel_programs.CASES)
def test_each_device_has_its_own_batches(tmp_path, name):
    log, weights = parallel_programs.by_chainer(name, str(tmp_path / "theirs"))
    model = torch.nn.Linear(5, 4)
    with torch.no_grad():
        model.weight.copy_(torch.from_numpy(parallel_programs.WEIGHT))
        model.bias.zero_()
    opt = getattr(Light.optimizers, name)(**parallel_programs.CASES[name][0])
    opt.setup(training.Classifier(model))
    its = [iterators.SerialIterator(share, 4, shuffle=False) for share in parallel_programs.SHARES]
    made = trainer.Trainer(MultiprocessParallelUpdater(its, opt, devices=[-1] * 3), (5, "epoch"), out=tmp_path / "ours")
    made.extend(Extensions.LogReport(trigger=(1, "iteration")))
    made.run()
    assert (opt.epoch, made.updater.iteration) == (5, 10)
    parallel_programs.check((log, weights), [p.detach().numpy() for p in model.parameters()], tmp_path / "ours")


def test_what_cannot_be_split(monkeypatch):
    opt = Light.optimizers.SGD().setup(torch.nn.Linear(1, 1))
    with pytest.raises(ValueError, match="either models or devices"):
        ParallelUpdater(None, opt)
    with pytest.raises(ValueError, match="zip"):
        MultiprocessParallelUpdater([None], opt, devices=[-1, -1])
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "1")
    with pytest.raises(RuntimeError, match="instead of torchrun"):
        ParallelUpdater(None, opt, devices={"main": -1})


def test_statistics_know_the_names_of_children_and_refuse_several():
    model = torch.nn.Module()
    model.body = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 1))
    named = log_extensions._NamedByParents
    found = [named(link).name for link in (model, model.body, model.body[0], model.body[2])]
    assert found == ["None", "body", "0", "1"]
    assert next(named(model.body[2]).named_parameters())[0] == "1/W"
    other = torch.nn.Module()
    other.tail = model.body
    with pytest.raises(ValueError, match="body, tail"):
        named(model.body).name  # noqa: B018


@pytest.mark.parametrize("given, calls", [({}, [3, 6]), ({"trigger": (2, "iteration")}, [2, 4, 6])])
def test_an_extension_with_a_trigger_of_its_own(given, calls):
    seen = []
    extension = training_extension(lambda manager: seen.append(manager.iteration))
    manager = ppe_training.ExtensionsManager({}, {}, 2, iters_per_epoch=3)
    manager.extend(log_extensions.with_trigger(extension, (3, "iteration")), **given)
    for _ in range(6):
        with manager.run_iteration():
            pass
    assert seen == calls


def training_extension(function):
    """An extension that calls a function."""

    class Probe(ppe_training.Extension):
        def __call__(self, manager):
            function(manager)

    return Probe()


@pytest.mark.parametrize("period", [2, 3])
def test_a_table_of_a_log_report_of_its_own(tmp_path, period):
    tables = []
    for api, table in ((Theirs, Theirs.extensions.PrintReport), (Light, log_extensions.PrintReport)):
        made = programs.set_up(api, tmp_path / api.__name__, epochs=3)
        log, out = api.extensions.LogReport(trigger=(period, "iteration")), io.StringIO()
        made.extend(table(["epoch", "iteration", "main/loss"], log, out=out), trigger=(1, "iteration"))
        made.run()
        tables.append(out.getvalue().replace("\033[J", ""))
    assert tables[0] == tables[1] != ""


@pytest.mark.parametrize("stop", [(7, "iteration"), (2, "epoch")])
def test_get_trainer_with_mock_updater(tmp_path, stop, monkeypatch):
    monkeypatch.setattr(chainer.testing.training, "mock", unittest.mock, raising=False)
    monkeypatch.setattr(chainer.testing.training, "_error", None)
    monkeypatch.chdir(tmp_path)
    expected = testing_tools.run_mock(chainer.testing, stop)
    assert testing_tools.run_mock(trainer, stop) == expected
    assert len(expected) > 5


@pytest.mark.parametrize("api", [chainer.testing, trainer], ids=["chainer", "native"])
def test_what_a_mock_updater_hands_out(api, monkeypatch):
    monkeypatch.setattr(chainer.testing.training, "mock", unittest.mock, raising=False)
    monkeypatch.setattr(chainer.testing.training, "_error", None)
    calls = []
    made = api.get_trainer_with_mock_updater(iter_per_epoch=10, extensions=[lambda trainer: calls.append(trainer)])
    made.updater.get_optimizer.return_value = unittest.mock.MagicMock()
    made.updater.get_optimizer().x = -1
    made.updater.update()
    assert made.updater.get_optimizer("main").x == -1 and made.updater.iteration == 1 and not calls
