"""Arrays of NumPy that meet tensors or modules in the native style: compared, subtracted, handed to a model."""

import numpy as np
import pytest

from tests.support.native_snippets import migrated, run

COMPARED = """
def run(xs):
    labels, scores = np.array([0, 2, 1, 1]), np.array([[3, 1, 2], [1, 2, 4], [0, 1, 0], [5, 1, 1]], 'f')
    y = F.softmax(chainer.Variable(scores))
    predicted = y.array.argmax(axis=1)
    wrong = predicted != labels
    return [np.array(wrong.sum()), np.array((predicted == labels).mean()), np.mean(predicted != labels),
            np.array((scores >= y.array).all()), np.array((y.array < scores).sum())]
"""

HELD = """
class Values(object):
    def __init__(self, values):
        self.values = values

    def advantages(self):
        return self.values - F.broadcast_to(F.max(self.values, axis=1, keepdims=True), self.values.shape)


def run(xs):
    values = np.array([[3, 1, 2], [1, 2, 4]], 'f')
    return [np.array(Values(values).advantages().array), np.array(Values(chainer.Variable(values)).advantages().array)]
"""


@pytest.mark.parametrize("program", [COMPARED, HELD], ids=["compared", "held"])
def test_arrays_meet_tensors(program):
    theirs, ours, _ = run(program)
    for expected, found in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


MOVED = """
def predict(load, gpu):
    x = np.zeros((3, 4), dtype=np.float32)
    if gpu >= 0:
        x = chainer.backends.cuda.to_gpu(x)
    return load()(x)
"""


def test_what_moves_to_a_gpu_is_a_tensor_for_models_nobody_knows():
    assert "return load()(torch.as_tensor(x))" in migrated(MOVED).code
    assert "return load()(x)" in migrated(MOVED.replace("chainer.backends.cuda.to_gpu(x)", "x + 1")).code


TRAINED = """
import chainer.links as L
from chainer import iterators, optimizers, training


def main(x, t):
    model = L.Classifier(L.Linear(3, 2)KEY)
    optimizer = optimizers.Adam()
    optimizer.setup(model)
    data = DATA
    batches = iterators.SerialIterator(data, 2)
    updater = training.StandardUpdater(batches, optimizer)
    trainer = training.Trainer(updater, (1, 'epoch'))
    trainer.run()


main(np.zeros((4, 3), 'f'), np.zeros(4, 'i'))
"""


@pytest.mark.parametrize(
    ("data", "key", "direct"),
    [
        ("chainer.datasets.TupleDataset(x, t)", "", "for x_batch, t_batch in"),
        ("[{'x': a, 't': b} for a, b in zip(x, t)]", ", label_key='t'", "loss = model(**batch)"),
        ("[{'x': a, 't': b} for a, b in zip(x, t)]", "", "loss = model(**batch)"),
        ("chainer.datasets.TupleDataset(t, x)", ", label_key=0", "loss = model(*batch)"),
    ],
)
def test_only_batches_that_are_tuples_are_taken_apart(data, key, direct):
    code = migrated(TRAINED.replace("DATA", data).replace("KEY", key)).code
    assert ("for x_batch, t_batch in" in code) is direct.startswith("for") and direct in code
    assert ("Updater(" in code or "compat.call_with_parts(model, batch)" in code) is not bool(direct)
