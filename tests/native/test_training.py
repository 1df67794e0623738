"""A Trainer program beside the same one on pytorch-pfn-extras, used directly: keys, values and printed columns.

Both sides have the same first weights, batches and rates; nothing of the log is left out but the elapsed time.
"""

import io
import json

import chainer
import chainer.functions as CF
import chainer.links as L
import numpy as np
import pytest
import pytorch_pfn_extras as ppe
import torch
from chainer import training
from chainer.training import extensions as chainer_extensions
from pytorch_pfn_extras.training import extensions
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from chainer2torch.native import optimizers
from chainer2torch.native.training import observers

BATCH, EPOCHS = 20, 4
RNG = np.random.RandomState(0)
X, T = RNG.randn(100, 6).astype("f"), RNG.randint(0, 3, 100).astype("i")
TEST_X, TEST_T = RNG.randn(50, 6).astype("f"), RNG.randint(0, 3, 50).astype("i")  # the last batch is short: 20, 20, 10
COLUMNS = [
    "epoch",
    "iteration",
    "main/loss",
    "main/accuracy",
    "validation/main/loss",
    "validation/main/accuracy",
    "lr",
    "none",
]


class TheirInner(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.fc = L.Linear(8, 3)

    def forward(self, h):
        chainer.report({"size": float(abs(h.array).mean())}, self)
        return self.fc(h)


class TheirNet(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.fc = L.Linear(6, 8)
            self.inner = TheirInner()

    def forward(self, x):
        return self.inner(CF.relu(self.fc(x)))


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 3)

    def forward(self, h):
        ppe.reporting.report({"size": h.abs().mean().item()}, self)
        return self.fc(h)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 8)
        self.inner = Inner()

    def forward(self, x):
        return self.inner(torch.relu(self.fc(x)))


class Classifier(nn.Module):
    """What L.Classifier dissolves into: the net under its name, so that keys stay."""

    def __init__(self, predictor):
        super().__init__()
        self.predictor = predictor

    def forward(self, x, t):
        y = self.predictor(x)
        loss = nn.functional.cross_entropy(y, t, ignore_index=-1)
        accuracy = (y.argmax(dim=1) == t).float().mean()
        ppe.reporting.report({"loss": loss.item(), "accuracy": accuracy.item()}, self)
        return loss


def run_chainer(out, log_trigger):
    model = L.Classifier(TheirNet())
    optimizer = chainer.optimizers.MomentumSGD(0.1).setup(model)
    weights = {path: param.array.copy() for path, param in model.namedparams()}
    iterator = chainer.iterators.SerialIterator(chainer.datasets.TupleDataset(X, T), BATCH, shuffle=False)
    tests = chainer.datasets.TupleDataset(TEST_X, TEST_T)
    test_iterator = chainer.iterators.SerialIterator(tests, BATCH, repeat=False, shuffle=False)
    updater = training.updaters.StandardUpdater(iterator, optimizer)
    trainer = training.Trainer(updater, (EPOCHS, "epoch"), out=out)
    printed = io.StringIO()
    trainer.extend(chainer_extensions.Evaluator(test_iterator, model))
    trainer.extend(chainer_extensions.ExponentialShift("lr", 0.5), trigger=(1, "epoch"))
    trainer.extend(chainer_extensions.observe_lr())
    trainer.extend(chainer_extensions.LogReport(trigger=log_trigger))
    trainer.extend(chainer_extensions.PrintReport(COLUMNS, out=printed), trigger=log_trigger)
    trainer.run()
    return weights, printed.getvalue()


def run_native(out, weights, log_trigger):
    model = Classifier(Net())
    names = {"W": "weight", "b": "bias"}
    with torch.no_grad():
        for path, value in weights.items():
            *link, name = path.strip("/").split("/")
            model.get_submodule(".".join(link)).get_parameter(names[name]).copy_(torch.tensor(value))
    optimizer = optimizers.MomentumSGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    loader = DataLoader(TensorDataset(torch.tensor(X), torch.tensor(T).long()), BATCH)
    test_loader = DataLoader(TensorDataset(torch.tensor(TEST_X), torch.tensor(TEST_T).long()), BATCH)
    manager = ppe.training.ExtensionsManager(model, optimizer, EPOCHS, iters_per_epoch=len(loader), out_dir=str(out))
    manager.reporter.add_observers("", observers(model).items())
    printed = io.StringIO()
    manager.extend(extensions.Evaluator(test_loader, observers(model)))
    manager.extend(extensions.LRScheduler(scheduler, trigger=(1, "epoch")))
    manager.extend(extensions.observe_lr(optimizer))
    manager.extend(extensions.LogReport(trigger=log_trigger))
    manager.extend(extensions.PrintReport(COLUMNS, out=printed), trigger=log_trigger)
    while not manager.stop_trigger:
        for x, t in loader:
            with manager.run_iteration():
                optimizer.zero_grad()
                model(x, t).backward()
                optimizer.step()
    return printed.getvalue()


@pytest.mark.parametrize("log_trigger", [(1, "epoch"), (3, "iteration"), (0.5, "epoch")])
def test_log_and_print_report_are_the_same(tmp_path, log_trigger):
    weights, their_text = run_chainer(tmp_path / "theirs", log_trigger)
    our_text = run_native(tmp_path / "ours", weights, log_trigger)
    theirs, ours = (json.loads((tmp_path / name / "log").read_text()) for name in ("theirs", "ours"))
    assert len(theirs) == len(ours) > 3
    for left, right in zip(theirs, ours):
        assert set(left) == set(right)
        for key in set(left) - {"elapsed_time"}:
            assert right[key] == pytest.approx(left[key], rel=2e-5), key
    assert {"main/loss", "validation/main/loss", "main/predictor/inner/size", "lr"} <= set().union(*theirs)
    assert our_text.splitlines()[0] == their_text.splitlines()[0]
    assert_same_columns(their_text, our_text)


def assert_same_columns(theirs, ours):
    left, right = ([line.replace("\033[J", "").split() for line in text.splitlines()] for text in (theirs, ours))
    assert len(left) == len(right)
    for one, other in zip(left[1:], right[1:]):
        np.testing.assert_allclose(np.array(other, "f8"), np.array(one, "f8"), rtol=2e-5)


class Modes(nn.Module):
    """Reports from a part, in a model of which one part always stays in evaluation mode."""

    def __init__(self):
        super().__init__()
        self.inner = Inner()
        self.frozen = nn.BatchNorm1d(8).eval()

    def forward(self, h):
        return self.inner(h)


def evaluator_of(target, model):
    loader = DataLoader(TensorDataset(torch.ones(4, 8)), 2)
    return model, extensions.Evaluator(loader, target(model))


def test_names_of_parts_without_the_helper_and_with_it():
    for target, key, trains in (
        (lambda model: model, "maininner/size", True),
        (observers, "main/inner/size", False),
    ):
        model, evaluator = evaluator_of(target, Modes())
        assert set(evaluator()) == {key}
        assert model.training and model.inner.training
        assert model.frozen.training is trains, "plain, the evaluator switches every part to the model's mode"


def test_observers_name_the_parts_as_chainer_does():
    theirs = {"/".join(["main", path.strip("/")]).rstrip("/") for path, _ in L.Classifier(TheirNet()).namedlinks()}
    ours = observers(Classifier(Net()))
    assert set(ours) == theirs
    assert list(ours)[0] == "main"
    listed = chainer.ChainList(L.Linear(1, 1), chainer.ChainList(L.Linear(1, 1)))
    names = {"/".join(["main", path.strip("/")]).rstrip("/") for path, _ in listed.namedlinks()}
    assert names == set(observers(nn.ModuleList([nn.Linear(1, 1), nn.ModuleList([nn.Linear(1, 1)])])))


def test_the_evaluators_mean_is_over_batches_not_examples():
    """On both sides: the last batch of 10 counts as much as one of 20."""
    loader = DataLoader(TensorDataset(torch.tensor([[1.0]] * 4 + [[7.0]])), 2)
    model = nn.Identity()

    def report(x):
        ppe.reporting.report({"mean": x.mean().item()}, model)

    assert extensions.Evaluator(loader, model, eval_func=report)()["main/mean"] == pytest.approx((1 + 1 + 7) / 3)

    link = chainer.Link()
    iterator = chainer.iterators.SerialIterator(np.array([1, 1, 1, 1, 7], "f"), 2, repeat=False, shuffle=False)
    evaluator = chainer_extensions.Evaluator(
        iterator, link, eval_func=lambda x: chainer.report({"mean": float(x.mean())}, link)
    )
    evaluator.name = None
    assert evaluator()["main/mean"] == pytest.approx(3.0)


def firings(period, epochs=4, per_epoch=5):
    theirs, ours = [], []
    trigger = training.triggers.IntervalTrigger(period, "epoch")
    other = ppe.training.triggers.IntervalTrigger(period, "epoch")
    for i in range(1, epochs * per_epoch + 1):
        updater = type("Updater", (), {"epoch_detail": i / per_epoch, "previous_epoch_detail": (i - 1) / per_epoch})
        updater.iteration = i
        if trigger(type("Trainer", (), {"updater": updater})):
            theirs.append(i)
        if other.may_fire(i, per_epoch):
            ours.append(i)
    return theirs, ours


@pytest.mark.parametrize("period", [1, 2, 0.5, 0.25, 3])
def test_epoch_triggers_fire_together(period):
    theirs, ours = firings(period)
    assert theirs == ours and theirs


def test_fractions_that_binary_numbers_do_not_hold_may_fire_elsewhere():
    """1.2 // 0.4 is 2 in floating point: Chainer fires an iteration late, pytorch-pfn-extras counts iterations."""
    theirs, ours = firings(0.4)
    assert ours == list(range(2, 21, 2)) and theirs != ours


def test_observe_lr_of_adam_is_alpha_not_its_corrected_rate(tmp_path):
    """Chainer's Adam.lr is alpha with the bias correction of the step; torch's group holds alpha."""
    link = L.Linear(2, 1)
    theirs = chainer.optimizers.Adam().setup(link)
    ours = optimizers.Adam(nn.Linear(2, 1).parameters())
    for param in link.params():
        param.grad = np.zeros_like(param.array)
    theirs.update()
    assert theirs.alpha == ours.param_groups[0]["lr"] == 0.001
    assert theirs.lr == pytest.approx(0.001 * np.sqrt(1 - 0.999) / (1 - 0.9))


def test_a_resumed_run_logs_what_an_uninterrupted_one_does(tmp_path):
    """A snapshot of the manager holds the helpers' states too; loaded, the run goes on as if nothing had happened."""

    def run(out, epochs, resume=None):
        torch.manual_seed(0)
        model = Classifier(Net())
        optimizer = optimizers.Adam(model.parameters(), lr=0.05, weight_decay=0.01)
        scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
        loader = DataLoader(TensorDataset(torch.tensor(X), torch.tensor(T).long()), BATCH)
        manager = ppe.training.ExtensionsManager(
            model, optimizer, epochs, iters_per_epoch=len(loader), out_dir=str(out)
        )
        manager.reporter.add_observers("", observers(model).items())
        manager.extend(extensions.LRScheduler(scheduler, trigger=(1, "iteration")))
        manager.extend(extensions.snapshot(filename="snapshot"), trigger=(1, "epoch"))
        manager.extend(extensions.LogReport())
        if resume:
            manager.load_state_dict(torch.load(resume, weights_only=False))
        while not manager.stop_trigger:
            for x, t in loader:
                with manager.run_iteration():
                    optimizer.zero_grad()
                    model(x, t).backward()
                    optimizer.step()
        return [{**entry, "elapsed_time": 0} for entry in json.loads((out / "log").read_text())]

    expected = run(tmp_path / "whole", 4)
    run(tmp_path / "first", 2)
    assert run(tmp_path / "second", 4, tmp_path / "first" / "snapshot") == expected
    assert len(expected) == 4
