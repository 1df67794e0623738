"""What programs subclass or call by hand around a training, against Chainer's: the same code runs with both."""

import io
import pickle
import types

import chainer
import numpy as np
import pytest
import torch

from chainer2torch.compat.dataset import convert, file_datasets, iterators
from chainer2torch.compat.training import updaters
from tests.compat.test_trainer import BOTH, Ours, T, Theirs, X, log_of, same_log, set_up
from tests.support.serialized import entries_of, read_into, same_entries

Iterators = {Theirs: chainer.dataset.Iterator, Ours: iterators.Iterator}
Converters = {Theirs: chainer.dataset.Converter, Ours: convert.Converter}
Updaters = {Theirs: chainer.training.Updater, Ours: updaters.Updater}
Datasets = {Theirs: chainer.datasets, Ours: file_datasets}


# -- datasets, iterators and converters --------------------------------------------------------------------------------


@pytest.mark.parametrize("api", BOTH)
def test_the_bases_ask_for_what_is_missing(api):
    with pytest.raises(NotImplementedError):
        Iterators[api]().next()
    with pytest.raises(NotImplementedError):
        next(iter(Iterators[api]()))
    with pytest.raises(NotImplementedError, match="__call__"):
        Converters[api]()([1], None)
    updater = Updaters[api]()
    assert updater.connect_trainer(None) is None
    for call in (
        updater.finalize,
        lambda: updater.get_optimizer("main"),
        updater.get_all_optimizers,
        updater.update,
        lambda: updater.serialize(None),
    ):
        with pytest.raises(NotImplementedError):
            call()
    with pytest.raises(NotImplementedError):
        api.Extension()(None)


def test_own_iterators():
    def make(base):
        calls = []

        class Countdown(base):
            epoch, epoch_detail, is_new_epoch = 0, 0.0, False

            def __init__(self, n):
                self.n = n

            def __next__(self):
                if not self.n:
                    raise StopIteration
                self.n -= 1
                return [self.n]

            def finalize(self):
                calls.append(self.n)

            def serialize(self, serializer):
                self.n = serializer("n", self.n)

        with Countdown(3) as iterator:
            found = [iterator.next(), *iterator]
        after_with = list(calls)
        other = Countdown(5)
        other.next()
        entries = entries_of(other)
        last = Countdown(0)
        read_into(last, entries)
        assert last.n == 4 and isinstance(last, base) and iter(last) is last
        del other
        return found, after_with, calls[1:], {key: int(value) for key, value in entries.items()}

    assert make(Iterators[Theirs]) == make(Iterators[Ours])
    assert make(Iterators[Ours])[:3] == ([[2], [1], [0]], [0], [4])


def test_an_own_iterator_and_converter_train_and_evaluate(tmp_path):
    """Updater and evaluator take objects of such classes as they take the built-in ones."""

    def build(api, made):
        devices = []

        class Last(Iterators[api]):
            """The examples from the last to the first."""

            def __init__(self, data, repeat):
                self.data, self.repeat, self.position = data, repeat, 0
                self.epoch, self.is_new_epoch = 0, False

            def __next__(self):
                if self.position >= len(self.data):
                    raise StopIteration
                start, self.position = self.position, self.position + 6
                self.is_new_epoch = self.position >= len(self.data)
                if self.is_new_epoch:
                    self.epoch += 1
                    if self.repeat:
                        self.position = 0
                return [self.data[len(self.data) - 1 - i] for i in range(start, min(start + 6, len(self.data)))]

            @property
            def epoch_detail(self):
                return self.epoch + self.position / len(self.data)

            def reset(self):
                self.position = 0

        class Half(Converters[api]):
            def __call__(self, batch, device):
                devices.append(device)
                x, t = api.concat(batch, device)
                return {"x": x * 0.5, "t": t}

        model = made.updater.get_optimizer("main").target
        optimizer = made.updater.get_optimizer("main")
        train, test = api.datasets.split_dataset(api.datasets.TupleDataset(X, T), 18)
        loss = model.__call__
        updater = api.StandardUpdater(
            Last(train, True), optimizer, converter=Half(), device=-1, loss_func=lambda x, t: loss(x, t)
        )
        trainer = api.Trainer(updater, (2, "epoch"), out=made.out)
        trainer.extend(
            api.extensions.Evaluator(
                Last(test, False), model, converter=Half(), device=-1, eval_func=lambda x, t: loss(x, t)
            )
        )
        trainer.extend(api.extensions.LogReport())
        trainer.run()
        return [updater.iteration, len(devices), {type(device) for device in devices}]

    results = [build(api, set_up(api, tmp_path / api.__name__)) for api in BOTH]
    same_log(*(log_of(tmp_path / api.__name__) for api in BOTH))
    assert results[0][:2] == results[1][:2] == [6, 8]
    assert [r[2] for r in results] == [{chainer.backend.CpuDevice}, {torch.device}]


@pytest.mark.parametrize("protocol", [None, 0, 2])
def test_pickle_datasets_on_streams(protocol):
    results = []
    for api in BOTH:
        module, stream = Datasets[api], io.BytesIO()
        options = {} if protocol is None else {"protocol": protocol}
        writer = module.PickleDatasetWriter(stream, **options)
        for i in range(4):
            writer.write({"x": X[i], "i": i})
        writer.flush()
        data = module.PickleDataset(io.BytesIO(stream.getvalue()))
        examples = [*data, data[-1], *data[1:3], *data[::-1]]
        results.append((stream.getvalue(), len(data), [(e["i"], e["x"].tolist()) for e in examples]))
        with pytest.raises(IndexError):
            data[4]
        with module.PickleDatasetWriter(stream) as writer:
            pass
        assert stream.closed
        with module.PickleDataset(io.BytesIO()) as data:
            assert len(data) == 0
        with pytest.raises(ValueError):
            data._reader.read()  # closed with the block
        with pytest.raises(ValueError, match="random access"):
            module.PickleDataset(types.SimpleNamespace(seekable=lambda: False))
    assert results[0] == results[1] and results[0][1] == 4
    assert pickle.loads(results[0][0])["i"] == 0


# -- updaters, trainers, extensions and writers ------------------------------------------------------------------------


def own_updater(api):
    class Twice(Updaters[api]):
        """Two steps of plain gradient descent an iteration, without StandardUpdater."""

        def __init__(self, model, optimizer, iterator):
            self.model, self.optimizer, self.iterator = model, optimizer, iterator
            self.iteration, self.trainers = 0, []

        epoch = property(lambda self: self.iterator.epoch)
        epoch_detail = property(lambda self: self.iterator.epoch_detail)
        previous_epoch_detail = property(lambda self: self.iterator.previous_epoch_detail)
        is_new_epoch = property(lambda self: self.iterator.is_new_epoch)

        def connect_trainer(self, trainer):
            self.trainers.append(trainer)
            trainer.reporter.add_observer("twice", self)

        def get_optimizer(self, name):
            return {"main": self.optimizer}[name]

        def get_all_optimizers(self):
            return {"main": self.optimizer}

        def update(self):
            self.iteration += 1
            for _ in range(2):
                x, t = api.concat(self.iterator.next())
                self.optimizer.update(self.model, x, t)
            api.report({"steps": 2 * self.iteration}, self)

        def finalize(self):
            self.iterator.finalize()
            self.trainers.append("finalized")

        def serialize(self, serializer):
            self.iteration = serializer("iteration", self.iteration)
            self.iterator.serialize(serializer["iterator"])
            self.optimizer.serialize(serializer["optimizer"])

    return Twice


def test_own_updaters(tmp_path):
    stored = []
    for api in BOTH:
        made = set_up(api, tmp_path / api.__name__)
        optimizer = made.updater.get_optimizer("main")
        iterator = api.SerialIterator(api.datasets.TupleDataset(X, T), 5, shuffle=False)
        updater = own_updater(api)(optimizer.target, optimizer, iterator)
        trainer = api.Trainer(updater, (3, "epoch"), out=str(tmp_path / api.__name__))
        trainer.extend(api.extensions.LogReport(trigger=(1, "iteration")))
        trainer.extend(api.extensions.snapshot(filename="snap"))
        trainer.run()
        assert updater.trainers == [trainer, "finalized"]
        stored.append(dict(np.load(tmp_path / api.__name__ / "snap")))
        again = own_updater(api)(optimizer.target, optimizer, iterator)
        read_into(again, entries_of(updater))
        assert again.iteration == updater.iteration == 7
    same_log(*(log_of(tmp_path / api.__name__) for api in BOTH))
    assert "twice/steps" in log_of(tmp_path / "Ours")[0]
    same_entries(*stored, rtol=1e-3)
    assert "updater/optimizer/t" in stored[0]


def test_a_standard_updater_is_connected_and_stored(tmp_path):
    connected, stored = [], []
    for api in BOTH:
        made = set_up(api, tmp_path / api.__name__)

        class Mine(api.StandardUpdater):
            def connect_trainer(self, trainer):
                super().connect_trainer(trainer)
                connected.append(trainer)

        updater = Mine(made.updater.get_iterator("main"), made.updater.get_optimizer("main"), device=-1)
        trainer = api.Trainer(updater, (2, "epoch"), out=str(tmp_path))
        assert connected[-1] is trainer
        assert api.StandardUpdater.connect_trainer(updater, trainer) is None
        for _ in range(5):
            updater.update()
        stored.append(entries_of(updater))
    assert len(connected) == 2
    same_entries(*stored, rtol=1e-4)
    assert {"iteration", "iterator:main/epoch", "optimizer:main/t", "model:main/predictor/l1/W"} <= set(stored[1])
    for entries in stored:  # what either stored, both restore
        for api in BOTH:
            updater = set_up(api, tmp_path, seed=8, load=api is Theirs).updater
            read_into(updater, entries)
            assert updater.iteration == 5 and updater.epoch == 1
            same_entries(entries, entries_of(updater), 1e-4)


def counting(api):
    class Count(api.Extension):
        trigger = 1, "iteration"

        def __init__(self):
            self.count, self.best = 0, None

        def __call__(self, trainer):
            self.count += 1
            self.best = 0.5 * self.count

        def serialize(self, serializer):
            self.count = serializer("count", self.count)
            self.best = serializer("best", self.best)

    return Count()


def test_trainers_and_extensions_are_stored(tmp_path):
    stored = []
    for api in BOTH:
        made = set_up(api, tmp_path / api.__name__, epochs=2)
        made.extend(counting(api), name="count", trigger=api.triggers.ManualScheduleTrigger([1, 3, 9], "iteration"))
        made.extend(api.Extension(), name="nothing", trigger=(100, "epoch"))
        made.extend(api.extensions.LogReport())
        assert api.Extension().serialize(None) is None
        made.run()
        stored.append(entries_of(made))
    same_entries(*stored, rtol=1e-4)
    assert stored[1]["extensions/count/count"] == 2 and stored[1]["extensions/count/best"] == 1.0
    assert not [key for key in stored[1] if key.startswith("extensions/nothing")]
    for entries in stored:
        for api in BOTH:
            made = set_up(api, tmp_path / "again", epochs=3, seed=7, load=api is Theirs)
            made.extend(counting(api), name="count", trigger=(1, "iteration"))
            made.extend(api.extensions.LogReport())
            read_into(made, {key: value for key, value in entries.items() if "extension_triggers/count" not in key})
            count = made.get_extension("count")
            assert (count.count, count.best) == (2, 1.0) and made.updater.iteration == 8
            made.run()
            assert count.count == 5 and len(made.get_extension("LogReport").log) == 3


def test_parts_of_an_evaluator(tmp_path):
    for api in BOTH:
        model = api.Classifier()
        data = api.datasets.TupleDataset(X, T)
        one, two = (api.SerialIterator(data, 5, repeat=False, shuffle=False) for _ in range(2))
        hook, func, converter = (lambda e: None), (lambda x, t: None), (lambda batch, device: batch)
        single = api.extensions.Evaluator(one, model, converter, -1, hook, func)
        assert single.get_iterator("main") is one and single.get_target("main") is model
        assert single.get_all_iterators() == single._iterators == {"main": one}
        assert single.get_all_targets() == single._targets == {"main": model}
        assert (single.eval_hook, single.eval_func, single.converter) == (hook, func, converter)
        assert str(single.device) == ("@numpy" if api is Theirs else "cpu") and single._progress_bar is False
        several = api.extensions.Evaluator(
            {"main": one, "second": two}, {"main": model, "part": model.predictor}, progress_bar=True
        )
        assert several.get_iterator("second") is two and several.get_target("part") is model.predictor
        assert several._progress_bar is True and several.device is None
        copies = several.get_all_iterators(), several.get_all_targets()
        assert [sorted(copy) for copy in copies] == [["main", "second"], ["main", "part"]]
        copies[0].clear()
        copies[1].clear()
        assert len(several._iterators) == len(several._targets) == 2
        for call in (several.get_iterator, several.get_target):
            with pytest.raises(KeyError):
                call("other")


def test_the_progress_bar_of_an_evaluator(tmp_path, capsys):
    printed = []
    for api in BOTH:
        model = set_up(api, tmp_path).updater.get_optimizer("main").target
        iterator = api.SerialIterator(api.datasets.TupleDataset(X, T), 5, repeat=False, shuffle=False)
        api.extensions.Evaluator(iterator, model, progress_bar=True)()
        out = capsys.readouterr().out
        printed.append([line for line in out.splitlines() if "iters/sec" not in line])
        assert "iters/sec" in out
    assert printed[0] == printed[1] and any("validation [" in line for line in printed[0])
