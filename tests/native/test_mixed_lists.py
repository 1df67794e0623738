"""A model that is given one list of arrays and of lists of arrays: torch.as_tensor takes no such list for an item."""

import numpy as np
import torch

from tests.support.native_snippets import run

PROGRAM = """
import chainer.links as L


class Model(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(5, 2, initialW=np.arange(10, dtype='f').reshape(5, 2))

    def __call__(self, sample):
        words, lengths, targets = sample
        h = self.embed(self.xp.concatenate(words, axis=0))
        return F.sum(h) * float(np.concatenate(lengths).sum()) + len(targets)


def run(xs):
    words = [np.array([0, 1], np.int32), np.array([2, 3, 4], np.int32)]
    lengths = [np.array([len(w)], np.int32) for w in words]
    targets = np.zeros(3, np.int32)
    sample = [words, lengths, targets]
    return Model()(sample)
"""


def test_lists_and_arrays_in_one_list() -> None:
    theirs, ours, code = run(PROGRAM)
    assert isinstance(ours, torch.Tensor), code
    np.testing.assert_allclose(ours.detach().numpy(), theirs.array, rtol=1e-6)
