"""An updater that fills its optimizers in a loop: which these are is not seen, and the program keeps its own form."""

import pytest

from chainer2torch.engine import Options, migrate_source

PROGRAM = """
import chainer
import chainer.links as L
from chainer import training


class Up(training.StandardUpdater):
    def __init__(self, it, first, opts, device=None):
        self._iterators = {'main': it}
        self._optimizers = {}
        self._optimizers['first'] = first
        FILL
        self.converter = chainer.dataset.concat_examples
        self.iteration = 0

    def update_core(self):
        for opt in self._optimizers.values():
            opt.update()


def main(data):
    first = chainer.optimizers.SGD()
    first.setup(L.Linear(4, 3))
    opts = []
    for n in (2, 3):
        opt = chainer.optimizers.SGD()
        opt.setup(L.Linear(3, n))
        opts.append(opt)
    it = chainer.iterators.SerialIterator(data, 2)
    trainer = training.Trainer(Up(it, first, opts), (2, 'epoch'))
    trainer.run()
"""


@pytest.mark.parametrize(
    "fill",
    [
        "for i in range(len(opts)):\n            self._optimizers[str(i)] = opts[i]",
        "for i, opt in enumerate(opts):\n            self._optimizers['opt%d' % i] = opt",
        "self._optimizers.update((str(i), opt) for i, opt in enumerate(opts))",
    ],
)
def test_optimizers_that_are_not_seen_keep_the_trainer(fill):
    """The whole project failed with an internal error."""
    result = migrate_source(PROGRAM.replace("FILL", fill), options=Options(style="native"))
    assert result.error is None, result.error
    assert "compat.Trainer(Up(it, first, opts)" in result.code, result.code
