"""One order of examples for both sides: the declared differences ``shuffle-order`` and ``batch-geometry``.

The native style reads data through ``torch.utils.data.DataLoader``, which draws its orders from PyTorch's generator and
ends an epoch with a short batch. Chainer's iterators draw from NumPy's and fill the last batch from the next epoch. For
a comparison Chainer's iterators end their epochs as a loader does, and both sides get the orders that this module
draws: for the first, second, ... thing of a length that is shuffled, and for each of its epochs.

Written for Python 3.6 and newer, with NumPy and the standard library only.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import contextlib

import numpy

from . import wire


class Orders(object):
    """The orders of all that is shuffled in one run."""

    def __init__(self, seed):
        self.seed = seed
        self.restart()

    def restart(self):
        """Forgets all things: the program begins again."""
        self._numbers = {}  # by length: how many things of it there are
        self._known = {}  # of each thing, by its id, itself, its number, and the epochs that it has had
        self._waiting = {}  # by the id of a thing: the order that it has got and not used yet

    def know(self, thing, length):
        """Gives a thing its number, in the order in which they are made."""
        if id(thing) not in self._known:
            number = self._numbers.get(length, 0)
            self._numbers[length] = number + 1
            self._known[id(thing)] = [thing, number, 0]

    def ahead(self, thing, length):
        """The order of the epoch that a thing comes to: the same one until some of it is used, as after a ``reset``."""
        found = self._waiting.get(id(thing))
        if found is None or len(found) != length:
            found = self._waiting[id(thing)] = self.next(thing, length)
        return found

    def use(self, order):
        """Examples are taken in an order that a thing has got."""
        self._waiting = {key: waiting for key, waiting in self._waiting.items() if waiting is not order}

    def next(self, thing, length):
        """The order of the next epoch of a thing: a permutation of ``range(length)``."""
        self.know(thing, length)
        _, number, epoch = self._known[id(thing)]
        self._known[id(thing)][2] += 1
        seed = wire.seed_of("{}/{}/{}/{}".format(self.seed, length, number, epoch))
        return numpy.random.RandomState(seed).permutation(length)


@contextlib.contextmanager
def chainer_loads(seed, whole=False):
    """:func:`chainer_as_a_loader` for the time of a block, which gets the orders: in a process of many programs."""
    from chainer.iterators import ShuffleOrderSampler, _statemachine
    from chainer.training import StandardUpdater

    order, step, made = ShuffleOrderSampler.__call__, _statemachine.iterator_statemachine, StandardUpdater.__init__
    orders = Orders(seed)
    chainer_as_a_loader(seed, orders, whole)
    try:
        yield orders
    finally:
        ShuffleOrderSampler.__call__, _statemachine.iterator_statemachine = order, step
        StandardUpdater.__init__ = made


class _Whole(int):
    """The size of batches of an iterator that leaves the short last one of an epoch out."""


def chainer_as_a_loader(seed, orders=None, whole=False):
    """Chainer's iterators take these orders and end an epoch with a short batch. What it cannot change, as texts.

    ``whole``: those of an updater that gets several leave that batch out, as loaders with ``drop_last`` do; "all":
    those of every updater.
    """
    try:
        from chainer.iterators import _statemachine
        from chainer.iterators import ShuffleOrderSampler
    except ImportError:
        from . import old_iterators

        old_iterators.read_as_a_loader(orders or Orders(seed))
        if whole:
            _leave_out_short_batches(always=whole == "all")
        return []
    orders = orders or Orders(seed)

    def order(self, current_order, current_position):
        return orders.ahead(self, len(current_order))

    def step(state, batch_size, repeat, order_sampler, dataset_len):
        if not repeat and state.epoch > 0:
            return state, None
        n = dataset_len if state.order is None else len(state.order)
        if repeat and n == 0:
            raise ValueError("Epoch size must be positive for an iterator that repeats.")
        every = numpy.arange(n, dtype=numpy.intp) if state.order is None else state.order
        stop = min(state.current_position + batch_size, n)
        indices = every[state.current_position : stop]
        if state.order is not None:
            orders.use(state.order)
        following, ends = state.order, stop + (batch_size if isinstance(batch_size, _Whole) else 1) > n
        if ends and following is not None:
            following = order_sampler(following, state.current_position)
        position = 0 if ends else stop
        return _statemachine.IteratorState(position, state.epoch + ends, bool(ends), following), indices

    ShuffleOrderSampler.__call__ = order
    _statemachine.iterator_statemachine = step
    if whole:
        _leave_out_short_batches(always=whole == "all")
    return []


def count_batches():
    """How far an epoch is counts batches, as a manager of pytorch-pfn-extras does, where an updater says it.

    A trigger at three quarters of an epoch looks at it; a short last batch is one of them.
    """
    from chainer.training import StandardUpdater

    before = vars(StandardUpdater)

    def is_of_chainer(iterator):  # a program's own iterator stays what it is, on both sides
        return type(iterator).__module__.startswith("chainer.")

    def counted(name, back):
        known = before[name].fget

        def detail(self):
            iterator = self._iterators.get("main")
            size, data = getattr(iterator, "batch_size", None), getattr(iterator, "dataset", None)
            if not is_of_chainer(iterator) or not size or data is None or self.iteration < back:
                return known(self)
            batches = len(data) // size if isinstance(size, _Whole) else -(-len(data) // size)
            return (self.iteration - back) / float(max(batches, 1))

        return property(detail)

    for name, back in (("epoch_detail", 0), ("previous_epoch_detail", 1)):
        setattr(StandardUpdater, name, counted(name, back))


def _leave_out_short_batches(always=False):
    """Iterators that an updater gets with others, and that repeat, give whole batches only; ``always``: alone, too."""
    from chainer.training import StandardUpdater

    make = StandardUpdater.__init__

    def made(self, iterator, *args, **kwargs):
        several = list(iterator.values()) if isinstance(iterator, dict) else [iterator]
        for each in several if always or len(several) > 1 else ():
            if getattr(each, "_repeat", getattr(each, "repeat", False)) and hasattr(each, "batch_size"):
                each.batch_size = _Whole(each.batch_size)
                if hasattr(each, "_prefetch_loop"):  # of a MultiprocessIterator
                    each._prefetch_loop.batch_size = each.batch_size
        make(self, iterator, *args, **kwargs)

    StandardUpdater.__init__ = made
