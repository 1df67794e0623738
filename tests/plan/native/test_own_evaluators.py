"""What an iterator becomes that an evaluator of the project's own takes: a loader only where a walk is all it needs."""

import numpy as np
import pytest

from tests.support.native_programs import both

PROGRAM = """
import copy
import chainer
import numpy as np
from chainer import iterators
from chainer.training import extensions


def batches(iterator):
    while True:
        try:
            yield next(iterator)
        except StopIteration:
            return


class Sums(extensions.Evaluator):
    def evaluate(self):
        iterator = self._iterators['main']
        BODY


class Net(chainer.Chain):
    pass


def run(data):
    evaluator = Sums(iterators.SerialIterator(data, 5, repeat=False, shuffle=False), Net())
    return [evaluator.evaluate() for _ in range(TIMES)]
"""
COPIED = "it = copy.copy(iterator)\n        return "
READ = [
    (COPIED + "[sum(batch) for batch in batches(it)]", 2),
    (COPIED + "[sum(it.next()), sum(it.next()), sum(it.next())]", 2),
    ("return [sum(batch) for batch in batches(copy.copy(iterator))]", 2),
    ("return [sum(batch) for batch in batches(self.get_iterator('main'))]", 1),
]
WALKED = [
    (COPIED + "[sum(batch) for batch in it]", 2),
    (COPIED + "[i + sum(batch) for i, batch in enumerate(it)]", 2),
]


@pytest.mark.parametrize(("body", "times"), READ + WALKED)
def test_both_sides_get_the_same_batches(body, times):
    theirs, ours, code = both(PROGRAM.replace("BODY", body).replace("TIMES", str(times)), head="")
    assert ("(DataLoader(" in code and "Batches(" in code) is ((body, times) in READ)
    data = np.arange(12)
    assert ours["run"](data) == theirs["run"](data)
    assert theirs["run"](data)[0] == ([10, 35, 21] if "enumerate" not in body else [10, 36, 23])
