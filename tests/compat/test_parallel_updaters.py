"""MultiprocessParallelUpdater in one process and as a job, against Chainer.

Chainer's own needs NCCL; its ParallelUpdater sums the gradients of the parts ``batch[i::n]`` of one batch, so that one
iterator over the interleaved shares, with the learning rate or eps corrected, is the same computation.
"""
import json
import os
import warnings

import numpy as np
import pytest
import torch

from chainer2torch.compat import classifier, iterators, log_extensions, optimizers, parallel_updaters, trainer
from chainer2torch.compat.parallel_updaters import MultiprocessParallelUpdater
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
        iterator, optimizer, devices={"main": -1, **{str(i): -1 for i in range(1, DEVICES)}})
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
    return len(made._extensions), optimizer.epoch, updater.iteration, [
        linear.weight.detach().numpy(), linear.bias.detach().numpy()]


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
