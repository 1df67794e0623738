"""What some call of the program gives a list, and no more is known of: it is no tensor, and `xp.array` makes one."""

import numpy as np
import pytest

from tests.support.native_snippets import run

PROGRAM = """
import chainer.links as L

class Padded(chainer.Chain):
    swapped = False

    def __init__(self):
        super().__init__(embed=L.EmbedID(5, 3, initialW=np.arange(15, dtype='f').reshape(5, 3)))

    def __call__(self, batch, other):
        batch = self.xp.array(batch)
        other = self.xp.{function}(other)
        return F.sum(self.embed(batch)[:, 0]) + F.sum(self.embed(other[:, :-1]) ** 2)

class Swapped(Padded):
    swapped = True

    def __call__(self, words, others):
        total = 0
        for word, other in zip(words, others):
            total += F.sum(self.embed(self.xp.array(word))) - F.sum(self.embed(self.xp.array(other)))
        return total

def run(xs):
    found = []
    for kind in ("padded", "swapped"):
        Model = Padded if kind == "padded" else Swapped
        model = Model()
        optimizer = chainer.optimizers.SGD(0.0)
        optimizer.setup(model)
        data = [np.array([i % 3, 1, 4], np.int32) for i in range(6)]
        batches = [data[i:i + 2] for i in range(0, 6, 2)]
        if Model.swapped:
            batches = [np.array(batch).T for batch in batches]
        for batch in batches:
            model.cleargrads()
            loss = model(batch, batch)
            loss.backward()
            optimizer.update()
            found.append(float(loss.array))
        found.append(float(np.abs(model.embed.W.grad).sum()))
    return found
"""


@pytest.mark.parametrize("function", ["array", "asarray"])
def test_a_batch_that_is_a_list_in_one_call_is_no_tensor(function):
    theirs, ours, code = run(PROGRAM.format(function=function))
    np.testing.assert_allclose(ours, theirs)
    assert "batch.to(" not in code and "compat.as_tensor(batch, " in code
