"""The iterators of Chainers before 5, which count by themselves, read data as those of today do for a comparison."""

import types

import chainer
import numpy
import pytest

from chainer2torch.verify.worker import batch_order, old_iterators


class Serial:
    """What a ``SerialIterator`` of Chainer 1 has: a constructor that calls ``reset``, and counters of its own."""

    def __init__(self, dataset, batch_size, repeat=True, shuffle=True):
        self.dataset, self.batch_size, self._repeat, self._shuffle = dataset, batch_size, repeat, shuffle
        self.reset()

    def reset(self):
        raise AssertionError("replaced")

    __next__ = next = reset

    def __iter__(self):
        return self

    @property
    def epoch_detail(self):
        return self.epoch + self.current_position / len(self.dataset)


class Several(Serial):
    """A ``MultiprocessIterator``, whose constructor would start processes."""

    def __init__(self, dataset, batch_size, repeat=True, shuffle=True, n_processes=None):
        raise AssertionError("replaced")


@pytest.fixture
def old(monkeypatch):
    """An old ``chainer.iterators``, whose two classes read in given orders."""
    iterators = types.SimpleNamespace(SerialIterator=type("SerialIterator", (Serial,), dict(vars(Serial))))
    iterators.MultiprocessIterator = type("MultiprocessIterator", (Several,), {})
    monkeypatch.setattr(old_iterators, "chainer", types.SimpleNamespace(iterators=iterators))
    old_iterators.read_as_a_loader(batch_order.Orders(3))
    return iterators


def seen(iterator, count):
    found = []
    for _ in range(count):
        batch = next(iterator, None)
        found.append((batch, iterator.epoch, iterator.is_new_epoch, iterator.current_position, iterator.epoch_detail))
    return found


@pytest.mark.parametrize("size, batch", [(5, 2), (6, 3), (4, 4), (3, 7), (1, 1)])
@pytest.mark.parametrize("repeat", [True, False])
@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("kind", ["SerialIterator", "MultiprocessIterator"])
def test_batches_and_counters_are_those_of_todays(old, size, batch, repeat, shuffle, kind):
    examples = [(i, str(i)) for i in range(size)]
    ours = getattr(old, kind)(examples, batch, repeat, shuffle)
    with batch_order.chainer_loads(3):
        theirs = chainer.iterators.SerialIterator(examples, batch, repeat, shuffle)
        assert seen(ours, 7) == seen(theirs, 7)
        ours.reset()
        theirs.reset()
        assert seen(ours, 2) == seen(theirs, 2)


def test_what_reading_draws_in_processes_depends_on_the_example(old):
    class Drawn:
        def __len__(self):
            return 4

        def __getitem__(self, index):
            return index, numpy.random.rand()

    first, second = ([next(old.MultiprocessIterator(Drawn(), 4, shuffle=shuffle))] for shuffle in (False, True))
    assert sorted(second[0]) == first[0]


def test_a_short_last_batch_may_be_left_out(old):
    ours = old.SerialIterator(list(range(5)), 2, shuffle=False)
    ours.batch_size = batch_order._Whole(2)
    assert [next(ours) for _ in range(4)] == [[0, 1], [2, 3], [0, 1], [2, 3]]
    assert ours.epoch == 2
