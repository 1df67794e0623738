"""Converters that ask for the number of a GPU: the library's updaters give it, the program's own a torch.device."""

import re
import sys
import types
from unittest import mock

import pytest

from chainer2torch.vendor import compat_file
from tests.support.native_snippets import migrated, run

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


THROUGH = """
def to_device(x, device=None):
    if device is None:
        return x
    if TEST:
            return x
    return cuda.to_gpu(x, device)


def moved_all(items, device=None):
    if isinstance(items, tuple):
        return tuple([moved_all(item, device) for item in items])
    return to_device(items, device=device)


def convert(batch, device):
    return [moved_all(x, device) for x in batch]
"""


def test_functions_that_a_converter_hands_its_device() -> None:
    start, end = PROGRAM.index("def convert"), PROGRAM.index("class Updater")
    program = PROGRAM[:start] + THROUGH.lstrip() + "\n\n" + PROGRAM[end:]
    assert converter("device < 0", program=program) == "device.type == 'cpu'"
    assert converter("device < 0", "to_device(data, gpu)", program=program) == "compat.get_device(device).type == 'cpu'"
    assert converter("device < 0", "to_device(data)", program=program) == "compat.get_device(device).type == 'cpu'"
    alone = program.replace("moved_all(x, device) for", "moved_all(x, 0) for")
    assert converter("device < 0", program=alone) == "device < 0"


LIBRARY = """
import numpy as np
import chainer.links as L
from chainer import cuda, training
from chainer.training import extensions


class Ones(chainer.dataset.Iterator):
    epoch, is_new_epoch, epoch_detail = 0, False, 0.0

    def __next__(self):
        return np.ones((2, 3), 'f')


HOSTS = []


def convert(batch, device):
    if TEST:
        HOSTS.append('host')
    return batch, batch


def run(xs, gpu=-1):
    model = L.Classifier(L.Linear(3, 3), chainer.functions.mean_squared_error)
    model.compute_accuracy = False
    optimizer = chainer.optimizers.SGD()
    optimizer.setup(model)
    updater = UPDATER(Ones(), optimizer, converter=convert, device=DEVICE)
    trainer = training.Trainer(updater, (2, 'iteration'))
    trainer.run()
    return HOSTS
"""
OWN = """
class Own(training.StandardUpdater):
    def update_core(self):
        batch = self.converter(self.get_iterator('main').next(), self.device)
        self.get_optimizer('main').update(self.get_optimizer('main').target, *batch)


"""


@pytest.mark.parametrize("device", ["-1", "gpu", "chainer.get_device(gpu)"])
def test_who_gives_it(device: str) -> None:
    program = LIBRARY.replace("UPDATER", "training.StandardUpdater").replace("DEVICE", device)
    theirs, ours, _ = run(program.replace("TEST", "device < 0"))
    assert theirs == ours == ["host", "host"]


def test_the_number_of_the_library_stays() -> None:
    program = LIBRARY.replace("UPDATER", "training.StandardUpdater").replace("DEVICE", "-1")
    assert "    if device < 0:" in migrated(program.replace("TEST", "device < 0")).code


def test_both_may_use_it() -> None:
    program = (
        LIBRARY.replace("UPDATER", "training.StandardUpdater").replace("DEVICE", "-1").replace("TEST", "device < 0")
    )
    program = program.replace("def run", f"{OWN.strip()}\n\n\ndef run")
    program = program.replace("return HOSTS", "Own(Ones(), optimizer, converter=convert, device=-1).update()")
    assert "    if compat.get_device(device).type == 'cpu':" in migrated(program).code


HOLDERS = """
import numpy as np
import chainer.links as L
from chainer import training
from chainer.training import extensions


class Updater(training.StandardUpdater):
    def update_core(self):
        batch = self.converter(self.get_iterator('main').next(), self.device)
        print('step on', 'gpu' if self.device >= 0 else 'cpu')
        optimizer = self.get_optimizer('main')
        optimizer.update(optimizer.target, *batch)


class Evaluator(extensions.Evaluator):
    def evaluate(self):
        print('test on', 'cpu' if 0 > self.device else 'gpu')
        return super().evaluate()


@training.make_extension()
def preview(trainer):
    updater = trainer.updater
    print(updater.device != -1, trainer.updater.device <= -1)


class Numbered(training.StandardUpdater):
    def __init__(self, gpu, **kwargs):
        super().__init__(**kwargs)
        self.gpu = gpu

    def update_core(self):
        print(self.gpu >= 0)


def main(gpu=-1):
    data = [(np.ones(3, 'f'), np.int32(1)) for _ in range(2)]
    model = L.Classifier(L.Linear(3, 2))
    optimizer = chainer.optimizers.SGD()
    optimizer.setup(model)
    updater = Updater(chainer.iterators.SerialIterator(data, 2), optimizer, device=gpu)
    trainer = training.Trainer(updater, (1, 'epoch'))
    trainer.extend(preview, trigger=(1, 'iteration'))
    trainer.extend(Evaluator(chainer.iterators.SerialIterator(data, 2, False, False), model, device=gpu))
    trainer.run()


main()
"""


def test_what_asks_an_updater_or_an_evaluator_for_its_device(capsys: pytest.CaptureFixture[str]) -> None:
    """Up to version 5 it was the number, so nothing of Chainer 7 can say this."""
    result = migrated(HOLDERS)
    assert "print(self.gpu >= 0)" in result.code
    compat = types.ModuleType("chainer_compat")
    exec(compat_file.build(result.helpers, style="native"), compat.__dict__)
    with mock.patch.dict(sys.modules, chainer_compat=compat):
        exec(result.code, {"__name__": "migrated"})
    assert capsys.readouterr().out.splitlines() == ["step on cpu", "test on cpu", "False True"]
