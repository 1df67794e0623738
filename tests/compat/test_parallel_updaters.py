"""MultiprocessParallelUpdater in one process and as a job, against Chainer.

Chainer's own needs NCCL; its ParallelUpdater sums the gradients of the parts ``batch[i::n]`` of one batch, so that one
iterator over the interleaved shares, with the learning rate or eps corrected, is the same computation.
"""

import copy
import json
import os
import re
import warnings

import numpy as np
import pytest
import torch

from pytorch_pfn_extras import reporting
from torch.nn.parameter import is_lazy

from chainer2torch.compat.links import classifier, linear, normalization_links, persistent
from chainer2torch.compat.dataset import iterators
from chainer2torch.compat.training import log_extensions, parallel_updaters, trainer
from chainer2torch.compat.optimizers import optimizer_hooks
from chainer2torch.compat.optimizers.optimizers_by_name import OptimizersByName as optimizers
from chainer2torch.compat.serializers import serializers
from chainer2torch.compat.training.parallel_updaters import MultiprocessParallelUpdater, ParallelUpdater
from tests.support.rank_processes import run_ranks

DEVICES = 3
RNG = np.random.RandomState(0)
WEIGHT = RNG.randn(4, 5).astype("f")
SHARES = [[(RNG.randn(5).astype("f"), np.int32(RNG.randint(4))) for _ in range(8)] for _ in range(DEVICES)]
CASES = {  # what Chainer's updater corrects, by its source, with three devices
    "Adam": ({"alpha": 0.05, "eps": 1e-2}, {"alpha": 0.05, "eps": 3e-2}),
    "AdaDelta": ({"eps": 1e-3}, {"eps": 9e-3}),
    "MomentumSGD": ({"lr": 0.3}, {"lr": 0.1}),
    "AdaGrad": ({"lr": 0.1, "eps": 1e-3}, {"lr": 0.1, "eps": 3e-3}),
}


def by_chainer(name, out):
    """The log and the weights of Chainer's ParallelUpdater with the corrected optimizer."""
    import chainer
    from chainer import training

    model = chainer.links.Classifier(chainer.links.Linear(5, 4, initialW=WEIGHT))
    optimizer = getattr(chainer.optimizers, name)(**CASES[name][1])
    optimizer.setup(model)
    interleaved = [example for row in zip(*SHARES) for example in row]
    iterator = chainer.iterators.SerialIterator(interleaved, 4 * DEVICES, shuffle=False)
    updater = training.updaters.ParallelUpdater(
        iterator, optimizer, devices={"main": -1, **{str(i): -1 for i in range(1, DEVICES)}}
    )
    made = training.Trainer(updater, (5, "epoch"), out=out)
    made.extend(training.extensions.LogReport(trigger=(1, "iteration")))
    made.run()
    return log_of(out), [model.predictor.W.array, model.predictor.b.array]


def by_us(name, out, devices):
    """The same with ours; in a job every process runs this."""
    linear = torch.nn.Linear(5, 4)
    with torch.no_grad():
        linear.weight.copy_(torch.from_numpy(WEIGHT) + int(os.environ.get("RANK", 0)))  # rank 0's counts
        linear.bias.zero_()
    optimizer = getattr(optimizers, name)(**CASES[name][0])
    optimizer.setup(classifier.Classifier(linear))
    its = [iterators.SerialIterator(share, 4, shuffle=False) for share in SHARES]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        updater = MultiprocessParallelUpdater(its, optimizer, devices=devices)
    assert "by MultiprocessParallelUpdater for new batch size" in str(caught[0].message)
    made = trainer.Trainer(updater, (5, "epoch"), out=out)
    made.extend(log_extensions.LogReport(trigger=(1, "iteration")))
    made.run()
    return (
        len(made._extensions),
        optimizer.epoch,
        updater.iteration,
        [linear.weight.detach().numpy(), linear.bias.detach().numpy()],
    )


def log_of(out):
    with open(os.path.join(out, "log")) as f:
        return [{key: value for key, value in entry.items() if "/" in key} for entry in json.load(f)]


def check(theirs, ours, out):
    log, weights = theirs
    for mine, expected in zip(log_of(out), log, strict=True):
        assert set(mine) == {"main/loss", "main/accuracy"}  # the other devices report nothing
        assert mine == pytest.approx({key: expected[key] for key in mine}, rel=1e-4)
    for mine, expected in zip(ours, weights):
        np.testing.assert_allclose(mine, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_one_process(name, tmp_path):
    extensions, epoch, iteration, weights = by_us(name, str(tmp_path / "ours"), [-1] * DEVICES)
    assert (extensions, epoch, iteration) == (1, 5, 10)
    check(by_chainer(name, str(tmp_path / "theirs")), weights, tmp_path / "ours")


@pytest.mark.parametrize("name", ["Adam", "MomentumSGD"])
def test_a_process_for_each_device(name, tmp_path):
    results = run_ranks(DEVICES, by_us, name, str(tmp_path / "ours"), {"main": "cpu", "a": "cpu", "b": "cpu"})
    assert [result[:3] for result in results] == [(1, 5, 10), (0, 5, 10), (0, 5, 10)]  # extensions on the first only
    theirs = by_chainer(name, str(tmp_path / "theirs"))
    for result in results:
        check(theirs, result[3], tmp_path / "ours")


@pytest.mark.parametrize("name", sorted(CASES))
def test_all_shares_on_one_device(name, tmp_path):
    places = parallel_updaters.one_device(["cpu", "cuda:0", "cuda:1"])
    assert places == ["cpu"] * 3
    assert parallel_updaters.one_device({"second": "cuda:1", "main": "cpu"}) == {"second": "cpu", "main": "cpu"}
    theirs = by_chainer(name, str(tmp_path / "theirs"))
    check(theirs, by_us(name, str(tmp_path / "ours"), places)[3], tmp_path / "ours")


def test_wrong_arguments(monkeypatch):
    optimizer = optimizers.SGD().setup(torch.nn.Linear(1, 1))
    one, two = (iterators.SerialIterator([0] * n, 1) for n in (1, 2))
    with pytest.raises(ValueError, match="1 iterators do not fit 2 devices"):
        MultiprocessParallelUpdater([one], optimizer, devices=[-1, -1])
    with pytest.raises(ValueError, match="same length"):
        MultiprocessParallelUpdater([one, two], optimizer, devices=[-1, -1])
    for devices in (None, 3, [0, None]):
        with pytest.raises(ValueError, match="devices must be"):
            MultiprocessParallelUpdater([one], optimizer, devices=devices)
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "3")
    with pytest.raises(ValueError, match=r"2 devices need as many .* --nproc_per_node 2\) or one, not 3"):
        MultiprocessParallelUpdater([one, one], optimizer, devices=[-1, -1])
    assert parallel_updaters._devices_in_order({"b": 1, "main": 0}) == [torch.device("cuda:0"), torch.device("cuda:1")]


class Theirs:
    """A model of Chainer's whose persistent value is part of the loss, with a parameter that nothing uses."""

    def __new__(cls):
        import chainer

        class Net(chainer.Chain):
            def __init__(self):
                super().__init__()
                with self.init_scope():
                    self.hidden = chainer.links.Linear(None, 4, initialW=0.25)
                    self.norm = chainer.links.BatchNormalization(4)
                    self.out = chainer.links.Linear(4, 4, initialW=WEIGHT[:, :4])
                    self.unused = chainer.Parameter(np.ones(3, "f"))
                self.add_persistent("seen", np.zeros((), "f"))
                self.add_persistent("calls", 0)

            def forward(self, x, t):
                self.seen += len(x)
                self.calls += 2
                h = chainer.functions.tanh(self.norm(self.hidden(x * np.arange(5, dtype="f"))))
                loss = chainer.functions.softmax_cross_entropy(self.out(h), t) * (self.seen + self.calls) / 10
                chainer.report({"loss": loss}, self)
                return loss

        return Net()


class Ours(torch.nn.Module):
    """The same as a module."""

    def __init__(self):
        super().__init__()
        self.hidden = linear.Linear(None, 4, initialW=0.25)
        self.norm = normalization_links.BatchNormalization(4)
        self.out = linear.Linear(4, 4, initialW=WEIGHT[:, :4])
        self.unused = torch.nn.Parameter(torch.ones(3))
        persistent.add_persistent(self, "seen", np.zeros((), "f"))
        persistent.add_persistent(self, "calls", 0)

    def forward(self, x, t):
        self.seen += len(x)
        self.calls += 2
        h = torch.tanh(self.norm(self.hidden(x * torch.arange(5.0))))
        loss = torch.nn.functional.cross_entropy(self.out(h), t.long()) * (self.seen + self.calls) / 10
        reporting.report({"loss": loss.detach()}, self)
        return loss


MODES = {  # names of the models in their order, and how the updater gets them
    "devices": (["main", "second"], {}),
    "main is last": (["second", "third", "main"], {}),
    "models": (["second", "main"], {"models": True, "loss_scale": 8.0}),
    "loss function": (["main", "second", "third"], {"loss_func": True}),
}


def train(api, name, out):
    """Ten iterations; the log, every value of the model, and what else the processes must agree on."""
    names, given = MODES[name]
    np.random.seed(3)
    model = api.classifier() if "loss_func" in given else api.model()
    # the gradient of a bias before batch normalization is nothing but rounding, which a small eps makes a step of
    optimizer = api.optimizers.Adam(0.05, eps=1e-2).setup(model)
    optimizer.add_hook(api.WeightDecay(0.1))
    options = {"devices": dict.fromkeys(names, -1)}
    if "models" in given:
        other = copy.deepcopy(model)
        for param in api.parameters(other):
            param[...] = param * 3  # not the values of the main model
        options = {**options, "models": {"second": other, "main": model}, "loss_scale": given["loss_scale"]}
    if "loss_func" in given:
        options["loss_func"] = lambda x, t: model(x, t) * 2
    np.random.seed(5 + int(os.environ.get("RANK", 0)))  # the order of rank 0 counts
    iterator = api.SerialIterator([example for row in zip(*SHARES) for example in row], 4 * len(names))
    updater = api.ParallelUpdater(iterator, optimizer, **options)
    made = api.Trainer(updater, (10, "iteration"), out=out)
    made.extend(api.LogReport(trigger=(1, "iteration")))
    made.run()
    return {"iteration": updater.iteration, "epoch": updater.epoch, "values": api.values(model)}


class TheirApi:
    """Chainer."""

    def __init__(self):
        import chainer
        from chainer.training import extensions, updaters

        self.model, self.optimizers, self.WeightDecay = Theirs, chainer.optimizers, chainer.optimizer_hooks.WeightDecay
        self.SerialIterator, self.Trainer = chainer.iterators.SerialIterator, chainer.training.Trainer
        self.ParallelUpdater, self.LogReport = updaters.ParallelUpdater, extensions.LogReport

    def classifier(self):
        import chainer.links as L

        return L.Classifier(L.Linear(5, 4, initialW=WEIGHT))

    def parameters(self, model):
        return [param.array for param in model.params(include_uninit=False)]

    def values(self, model):
        entries = {}
        import chainer

        chainer.serializers.DictionarySerializer(entries).save(model)
        return entries


class OurApi:
    """The helpers."""

    model, optimizers, WeightDecay = Ours, optimizers, optimizer_hooks.WeightDecay
    SerialIterator, Trainer = iterators.SerialIterator, trainer.Trainer
    ParallelUpdater, LogReport = ParallelUpdater, log_extensions.LogReport

    def classifier(self):
        return classifier.Classifier(linear.Linear(5, 4, initialW=WEIGHT))

    def parameters(self, model):
        return [param.data for param in model.parameters() if not is_lazy(param)]

    def values(self, model):
        return serializers.chainer_entries(model)


def by_our_api(name, out):
    torch.set_num_threads(1)
    return train(OurApi(), name, out)


def compare_training(theirs, theirs_out, ours, ours_out):
    log = log_of(theirs_out)
    assert len(log) == 10
    for mine, expected in zip(log_of(ours_out), log, strict=True):
        assert mine == pytest.approx(expected, rel=1e-4)
    for result in ours:
        assert (result["iteration"], result["epoch"]) == (theirs["iteration"], theirs["epoch"])
        assert set(result["values"]) == set(theirs["values"])
        for key, expected in theirs["values"].items():
            np.testing.assert_allclose(result["values"][key], expected, rtol=1e-4, atol=1e-5, err_msg=key)


@pytest.mark.parametrize("name", MODES)
def test_parallel_updater(name, tmp_path):
    theirs = train(TheirApi(), name, str(tmp_path / "theirs"))
    if "loss_func" not in MODES[name][1]:
        assert "second/loss" in log_of(tmp_path / "theirs")[0]
    one = train(OurApi(), name, str(tmp_path / "one"))
    compare_training(theirs, tmp_path / "theirs", [one], tmp_path / "one")
    several = run_ranks(len(MODES[name][0]), by_our_api, name, str(tmp_path / "several"))
    compare_training(theirs, tmp_path / "theirs", several, tmp_path / "several")


class Own(ParallelUpdater):
    def update_core(self):
        self.get_iterator("main").next()


def refused(given):
    """What the updater says, in a job."""
    optimizer = optimizers.SGD().setup(Ours())
    with pytest.raises((RuntimeError, ValueError)) as caught:
        given.pop("kind", ParallelUpdater)(
            iterators.SerialIterator([0], 1), optimizer, devices={"main": -1, "b": -1}, **given
        )
    return str(caught.value)


@pytest.mark.parametrize(
    ("processes", "given", "message"),
    [
        (3, {}, r"2 devices need as many processes \(torchrun --nproc_per_node 2\) or one, not 3"),
        (2, {"kind": Own}, "Own has an update_core of its own"),
        (2, {"loss_func": print}, "persistent values"),
    ],
)
def test_refused_in_a_job(processes, given, message, monkeypatch):
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", str(processes))
    assert re.search(message, refused(given))


def until_rank_0_has_enough(kind, out):
    """The main process stops early, by what it alone knows; a loop by hand follows."""
    torch.set_num_threads(1)
    model = classifier.Classifier(linear.Linear(5, 4, initialW=WEIGHT))
    optimizer = optimizers.SGD(0.1).setup(model)
    if kind == "split":
        iterator = iterators.SerialIterator(SHARES[0], 4)
        updater = ParallelUpdater(iterator, optimizer, devices={"main": -1, "second": -1})
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            updater = MultiprocessParallelUpdater(
                [iterators.SerialIterator(share, 4) for share in SHARES[:2]], optimizer, devices=[-1, -1]
            )
    enough = int(os.environ["RANK"]) == 0
    made = trainer.Trainer(updater, lambda trainer: enough and trainer.updater.iteration == 3, out=out)
    made.run()
    stopped = updater.iteration
    while updater.epoch < 4:
        updater.update()
    return stopped, updater.iteration, model.predictor.weight.detach().numpy()


@pytest.mark.parametrize("kind", ["split", "shares"])
def test_rank_0_decides_when_to_stop(kind, tmp_path):
    first, second = run_ranks(2, until_rank_0_has_enough, kind, str(tmp_path))
    assert first[:2] == second[:2] == (3, 8)
    np.testing.assert_array_equal(first[2], second[2])
    assert not np.array_equal(first[2], WEIGHT)
