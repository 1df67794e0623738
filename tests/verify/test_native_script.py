"""Native programs in lockstep: a loader of PyTorch's beside an iterator of Chainer's, in one order."""

from pathlib import Path

import pytest

from chainer2torch.verify.script.script_report import ScriptReport
from chainer2torch.verify.script.verify_script import verify_script
from tests.support.command_line import run

CHAINER = """
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(5, 8)
            self.l2 = L.Linear(8, 3)

    def forward(self, x):
        return self.l2(F.dropout(F.relu(self.l1(x)), 0.4))


rng = np.random.RandomState(3)
x, t = rng.rand(30, 5).astype("f"), rng.randint(0, 3, 30).astype("i")
train = chainer.datasets.TupleDataset(x, t)
first = chainer.iterators.ITERATOR(train, 7)
second = chainer.iterators.SerialIterator(train, 11, shuffle=True)
plain = chainer.iterators.SerialIterator(train, 8, repeat=False, shuffle=False)
model = Net()
optimizer = chainer.optimizers.SGD(0.1)
optimizer.setup(model)


def update(batch):
    x, t = chainer.dataset.concat_examples(batch)
    loss = F.softmax_cross_entropy(model(x), t) * (1 + np.random.rand())
    model.cleargrads()
    loss.backward()
    optimizer.update()


while first.epoch < 3:
    update(first.next())
for batch in plain:
    update(batch)
while second.epoch < 2:
    update(second.next())
"""
TORCH = """
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(5, 8)
        self.l2 = nn.Linear(8, 3)

    def forward(self, x):
        return self.l2(F.dropout(F.relu(self.l1(x)), 0.4, training=self.training))


rng = np.random.RandomState(3)
x, t = rng.rand(30, 5).astype("f"), rng.randint(0, 3, 30).astype("i")
train = TensorDataset(torch.from_numpy(x), torch.from_numpy(t).long())
first = DataLoader(train, 7, shuffle=True)
second = DataLoader(train, 11, shuffle=True)
plain = DataLoader(train, 8)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def update(x, t):
    loss = F.cross_entropy(model(x), t) * (1 + np.random.rand())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


for epoch in range(3):
    for x, t in first:
        update(x, t)
for x, t in plain:
    update(x, t)
for epoch in range(2):
    for x, t in second:
        update(x, t)
"""


def compared(folder: Path, chainer: str, torch: str) -> ScriptReport:
    for name, text in (("src", chainer), ("out", torch)):
        (folder / name).mkdir()
        (folder / name / "train.py").write_text(text, encoding="utf-8")
    return verify_script(folder / "src", folder / "out", ["train.py"], iterations=60, timeout=100)


@pytest.mark.parametrize("iterator", ["SerialIterator", "MultithreadIterator"])
def test_batches_and_orders_are_the_same(tmp_path: Path, iterator: str) -> None:
    report = compared(tmp_path, CHAINER.replace("ITERATOR", iterator), TORCH)
    text = "\n".join(report.lines())
    assert report.exit_code == 0, text
    assert len([step for step in report.steps if step.name == "loss"]) == 3 * 5 + 4 + 2 * 3
    assert "declared differences, made on both sides: first-values, noise, batch-geometry, shuffle-order" in text


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("7, shuffle=True", "7"),
        ("7, shuffle=True", "7, shuffle=True, drop_last=True"),
        ("range(3)", "range(2)"),
        ("11, shuffle=True", "10, shuffle=True"),
        ("DataLoader(train, 8)", "DataLoader(train, 8, shuffle=True)"),
    ],
)
def test_other_batches_are_found(tmp_path: Path, right: str, wrong: str) -> None:
    assert right in TORCH
    report = compared(tmp_path, CHAINER.replace("ITERATOR", "SerialIterator"), TORCH.replace(right, wrong))
    assert report.exit_code == 1


TRAINER = """
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import training
from chainer.training import extensions, triggers

rng = np.random.RandomState(3)
x, t = rng.rand(5, 5).astype("f"), rng.randint(0, 3, 5).astype("i")
data = chainer.datasets.TupleDataset(x, t)
model = L.Classifier(L.Linear(5, 3))
optimizer = chainer.optimizers.SGD(0.5)
optimizer.setup(model)
updater = training.updaters.StandardUpdater(chainer.iterators.SerialIterator(data, 4), optimizer)
trainer = training.Trainer(updater, (3, "epoch"))
trainer.extend(extensions.ExponentialShift("lr", 0.1), trigger=triggers.ManualScheduleTrigger([0.75, 2.6], "epoch"))
trainer.extend(extensions.LogReport(trigger=(1, "iteration")))
trainer.run()
"""


def test_how_far_an_epoch_is_counts_batches_on_both_sides(tmp_path: Path) -> None:
    """After the first of two batches, four of five examples, a loader's epoch is half done."""
    (tmp_path / "original").mkdir()
    (tmp_path / "original" / "train.py").write_text(TRAINER)
    done = run("migrate", tmp_path / "original", "-q", "-o", tmp_path / "out")
    assert "iters_per_epoch=len(" in (tmp_path / "out" / "train.py").read_text(), done.stderr
    report = verify_script(tmp_path / "original", tmp_path / "out", ["train.py"], timeout=300)
    assert report.ok and report.iterations == 6, "\n".join(report.lines())


OWN_ITERATOR = """
import chainer
import chainer.links as L
import numpy as np
from chainer import training
from chainer.training import extensions


class Strides(chainer.dataset.Iterator):
    # two examples that are half the data apart; three steps are an epoch, whatever the size of the data

    def __init__(self, dataset):
        self.dataset, self.batch_size, self.iteration, self.epoch, self.is_new_epoch = dataset, 2, 0, 0, False

    def __next__(self):
        self.iteration += 1
        self.is_new_epoch = self.iteration % 3 == 0
        self.epoch += self.is_new_epoch
        half = len(self.dataset) // 2
        return [self.dataset[self.iteration % half], self.dataset[half + self.iteration % half]]

    next = __next__

    @property
    def epoch_detail(self):
        return self.iteration / 3

    @property
    def previous_epoch_detail(self):
        return (self.iteration - 1) / 3


rng = np.random.RandomState(3)
data = chainer.datasets.TupleDataset(rng.rand(20, 5).astype("f"), rng.randint(0, 3, 20).astype("i"))
model = L.Classifier(L.Linear(5, 3))
optimizer = chainer.optimizers.SGD(0.5)
optimizer.setup(model)
updater = training.updaters.StandardUpdater(Strides(data), optimizer)
trainer = training.Trainer(updater, (2, "epoch"))
trainer.extend(extensions.LogReport(trigger=(1, "epoch")))
trainer.run()
"""


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside"])
def test_an_iterator_of_the_program_counts_as_it_does(tmp_path: Path, beside: bool) -> None:
    """Whatever another program of the tree reads its data through."""
    (tmp_path / "original").mkdir()
    (tmp_path / "original" / "strides.py").write_text(OWN_ITERATOR)
    if beside:
        (tmp_path / "original" / "train.py").write_text(TRAINER)
    done = run("migrate", tmp_path / "original", "-q", "-o", tmp_path / "out")
    assert (tmp_path / "out" / "strides.py").is_file(), done.stderr
    report = verify_script(tmp_path / "original", tmp_path / "out", ["strides.py"], timeout=300)
    assert report.ok and report.iterations == 6, "\n".join(report.lines())


SETTINGS = """
from chainer import optimizers

FIRST = optimizers.Adam(0.01)
SECOND = optimizers.Adam(0.02)
"""

LATE = """
import importlib
import sys

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

settings = importlib.import_module(sys.argv[1])
wide, narrow = L.Linear(5, 4), L.Linear(4, 2)
settings.SECOND.setup(narrow)
settings.FIRST.setup(wide)
x, t = np.random.RandomState(3).rand(6, 5).astype("f"), np.array([0, 1, 0, 1, 1, 0], "i")
for i in range(3):
    loss = F.softmax_cross_entropy(narrow(F.tanh(wide(x))), t)
    wide.cleargrads()
    narrow.cleargrads()
    loss.backward()
    settings.FIRST.update()
    settings.SECOND.update()
"""


@pytest.mark.parametrize("style", ["native", "faithful"])
def test_optimizers_that_are_made_early_count_when_they_are_set_up(tmp_path: Path, style: str) -> None:
    """In whatever order they were made: weights are exchanged by these numbers."""
    (tmp_path / "original").mkdir()
    (tmp_path / "original" / "settings.py").write_text(SETTINGS)
    (tmp_path / "original" / "late.py").write_text(LATE)
    done = run("migrate", tmp_path / "original", "-q", "--style", style, "-o", tmp_path / "out")
    assert (tmp_path / "out" / "late.py").is_file(), done.stderr
    report = verify_script(tmp_path / "original", tmp_path / "out", ["late.py", "settings"], timeout=300)
    assert report.ok and report.iterations == 3, "\n".join(report.lines())


SHUFFLED = """
import chainer
import chainer.links as L
import numpy as np
from chainer import training
from chainer.training import extensions

rng = np.random.RandomState(3)
x, t = rng.rand(12, 5).astype("f"), rng.randint(0, 3, 12).astype("i")
model = L.Classifier(L.Linear(5, 3))
optimizer = chainer.optimizers.SGD(0.5)
optimizer.setup(model)
train = chainer.iterators.SerialIterator(chainer.datasets.TupleDataset(x, t), 4)
test = chainer.iterators.SerialIterator(chainer.datasets.TupleDataset(x[:5], t[:5]), 2, repeat=False)
trainer = training.Trainer(training.updaters.StandardUpdater(train, optimizer), (3, "epoch"))
trainer.extend(extensions.Evaluator(test, model))
trainer.extend(extensions.LogReport())
trainer.run()
"""


def test_an_evaluator_of_what_is_shuffled_gets_one_order_on_both_sides(tmp_path: Path) -> None:
    """Chainer draws one when an iterator is made and another when it is reset before it is used; a loader draws one."""
    (tmp_path / "original").mkdir()
    (tmp_path / "original" / "shuffled.py").write_text(SHUFFLED)
    done = run("migrate", tmp_path / "original", "-q", "-o", tmp_path / "out")
    assert "DataLoader(" in (tmp_path / "out" / "shuffled.py").read_text(), done.stderr
    report = verify_script(tmp_path / "original", tmp_path / "out", ["shuffled.py"], timeout=300)
    assert report.ok and report.iterations == 9, "\n".join(report.lines())
