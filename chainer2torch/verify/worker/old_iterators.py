"""The iterators of Chainers before 5 read data as a DataLoader does: in given orders, with a short last batch.

These iterators count in their own attributes; later ones share one step and one class of orders, which
``batch_order`` replaces. Written for Python 3.6 and newer, with NumPy, Chainer and the standard library only.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import chainer

from . import lockstep


def read_as_a_loader(orders):
    """Gives ``SerialIterator`` these orders. ``MultiprocessIterator`` reads in this process, which gives the same.

    What reading an example draws depends on the seed and the example there, as in a DataLoader's workers.
    """
    serial = chainer.iterators.SerialIterator
    several = getattr(chainer.iterators, "MultiprocessIterator", ())

    def reset(self):
        self._order = orders.ahead(self, len(self.dataset)) if self._shuffle else None
        self.current_position = self.epoch = 0
        self.is_new_epoch = False
        self._previous_epoch_detail = -1.0

    def following(self):
        if not self._repeat and self.epoch > 0:
            raise StopIteration
        n = len(self.dataset)
        self._previous_epoch_detail = self.epoch + self.current_position / float(n)
        start, stop = self.current_position, min(self.current_position + self.batch_size, n)
        data = lockstep.SeededExamples(self.dataset, orders.seed) if isinstance(self, several) else self.dataset
        if self._order is not None:
            orders.use(self._order)
            batch = [data[index] for index in self._order[start:stop]]
        elif data is self.dataset:
            batch = data[start:stop]
        else:
            batch = [data[index] for index in range(start, stop)]
        # one that leaves a short last batch out has a size of a class of its own
        left_out = self.batch_size if type(self.batch_size) is not int else 1
        self.is_new_epoch = stop + left_out > n
        if self.is_new_epoch and self._order is not None:
            self._order = orders.ahead(self, n)
        self.current_position = 0 if self.is_new_epoch else stop
        self.epoch += self.is_new_epoch
        return batch

    serial.reset, serial.__next__, serial.next = reset, following, following
    if several:
        _in_one_process(several, serial)


def _in_one_process(several, serial):
    def make(self, dataset, batch_size, repeat=True, shuffle=True, *args, **kwargs):
        self.dataset, self.batch_size, self._repeat, self._shuffle = dataset, batch_size, repeat, shuffle
        self.reset()

    several.__init__ = make
    for name in ("__next__", "next", "reset", "serialize", "epoch_detail", "previous_epoch_detail"):
        if name in vars(serial):
            setattr(several, name, vars(serial)[name])
    several.finalize = lambda self: None
    several.__del__ = several.finalize
