"""A model that says itself on which devices its parts are is not sent to the updater's device as a whole."""

import pytest

from tests.support.native_snippets import migrated

PROGRAM = """
import argparse
import chainer.links as L
from chainer import training
from chainer.training import extensions


class MLP(chainer.Chain):
    def __init__(self, n):
        super(MLP, self).__init__()
        with self.init_scope():
            self.fc = L.Linear(4, n)

    def __call__(self, x):
        return self.fc(x)


class Net(chainer.Chain):
    def __init__(self, gpu0, gpu1):
        super(Net, self).__init__()
        with self.init_scope():
            self.first = MLP(4)PLACED
            self.second = MLP(3)
    MORE

    def __call__(self, x):
        return self.second(self.first(x))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--gpu0', type=int, default=0)
    parser.add_argument('--gpu1', type=int, default=1)
    args = parser.parse_args()
    model = L.Classifier(Net(args.gpu0, args.gpu1))
    optimizer = chainer.optimizers.Adam()
    optimizer.setup(model)
    train, test = chainer.datasets.get_mnist()
    train_iter = chainer.iterators.SerialIterator(train, 10)
    updater = training.StandardUpdater(train_iter, optimizer, device=args.gpu0)
    trainer = training.Trainer(updater, (2, 'epoch'), out='result')
    trainer.extend(extensions.LogReport())
    trainer.run()
"""


@pytest.mark.parametrize(
    ("placed", "more", "moved"),
    [
        ("", "", True),
        (".to_gpu(gpu1)", "", False),
        ("", "def to_gpu(self, device=None):\n        return super(Net, self).to_gpu(device)", True),
        ("", "def read(self, a):\n        return chainer.cuda.to_gpu(a)", True),
        ("", "def spread(self):\n        self.first.to_device('@cupy:1')", False),
    ],
)
def test_only_a_model_without_places_of_its_own_goes_to_the_device_of_the_updater(
    placed: str, more: str, moved: bool
) -> None:
    code = migrated(PROGRAM.replace("PLACED", placed).replace("MORE", more)).code
    assert ("model.to(device)" in code) == moved, code
    assert "x.to(device)" in code or "compat.to_device" in code, code
