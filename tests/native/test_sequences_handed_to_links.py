"""``xp.concatenate(words)`` of a link's parameter: a caller that nobody sees may hand over a list of arrays."""

import numpy as np

from tests.support.native_snippets import run

PROGRAM = """
import chainer.links as L


class Part(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(5, 2, initialW=np.arange(10, dtype='f').reshape(5, 2))

    def __call__(self, words, chars):
        xp = chainer.cuda.get_array_module(words[0])
        batch = xp.concatenate(words, axis=0)
        return F.sum(self.embed(self.xp.array(batch)))


class Whole(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.part = Part()

    def __call__(self, *args):
        words, chars = args[:2]
        return self.part(words, chars)


class Trainer:
    def __init__(self, model):
        self.model = model

    def process(self, columns):
        forward = self.model if callable(self.model) else self.model.forward
        return forward(*columns)


def run(xs):
    words = [np.array([0, 1], np.int32), np.array([2, 3, 4], np.int32)]
    return Trainer(Whole()).process(eval('words', {'words': (words, 3)}))
"""


def test_a_list_of_arrays_of_the_host() -> None:
    theirs, ours, code = run(PROGRAM)
    np.testing.assert_allclose(ours.detach().numpy(), theirs.array, rtol=1e-6)
