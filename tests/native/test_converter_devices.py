"""Converters that ask for the number of a GPU get a torch.device from the updaters and evaluators of the output."""

import re

import pytest

from tests.support.native_snippets import migrated

PROGRAM = """
import chainer.links as L
from chainer import cuda, training
from chainer.training import extensions


def convert(batch, device):
    def moved(x):
        if TEST:
            return x
        return cuda.to_gpu(x, device)
    if device is None:
        return batch
    return [moved(x) for x in batch]


class Updater(training.StandardUpdater):
    def update_core(self):
        xs = self.converter(self.get_iterator('main').next(), self.device)
        optimizer = self.get_optimizer('main')
        optimizer.update(optimizer.target, xs)


def main(gpu, data):
    model = L.Classifier(L.Linear(3, 2))
    optimizer = chainer.optimizers.SGD()
    optimizer.setup(model)
    updater = Updater(chainer.iterators.SerialIterator(data, 2), optimizer, converter=convert, device=gpu)
    trainer = training.Trainer(updater, (1, 'epoch'))
    MORE
    trainer.run()
"""


def converter(test: str, more: str = "pass", program: str = PROGRAM) -> str:
    code = migrated(program.replace("TEST", test).replace("MORE", more)).code
    return re.search(r"if (.*):\n            return x", code)[1]  # type: ignore[index]


@pytest.mark.parametrize("test", ["device < 0", "device <= -1", "device == -1", "0 > device", "-1 == device"])
def test_whether_there_is_none(test: str) -> None:
    assert converter(test) == "device.type == 'cpu'"


@pytest.mark.parametrize("test", ["device >= 0", "device > -1", "device != -1", "0 <= device"])
def test_whether_there_is_one(test: str) -> None:
    assert converter(test) == "device.type != 'cpu'"


def test_who_calls_it_may_give_a_number() -> None:
    assert converter("device < 0", "print(convert(data, gpu))") == "compat.get_device(device).type == 'cpu'"


@pytest.mark.parametrize("test", ["device < 1", "len(x) < 0", "device == 0"])
def test_other_comparisons_stay(test: str) -> None:
    assert converter(test) == test


def test_numbers_of_other_functions_stay() -> None:
    assert converter("device < 0", program=PROGRAM.replace("converter=convert, ", "")) == "device < 0"
    swapped = PROGRAM.replace("def convert(batch, device)", "def convert(device, batch)")
    assert converter("device < 0", program=swapped) == "device < 0"
