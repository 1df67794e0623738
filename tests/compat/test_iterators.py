"""Iterators against Chainer's: the same batches and the same counters for the same NumPy seed."""

import chainer
import numpy as np
import pytest

from chainer2torch.compat.dataset import iterators as compat
from chainer2torch.compat.dataset.multiprocess_iterator import MultiprocessIterator

COUNTERS = ("epoch", "is_new_epoch", "epoch_detail", "previous_epoch_detail", "current_position")


def trace(iterator, steps):
    rows = []
    for _ in range(steps):
        try:
            batch = iterator.next()
        except StopIteration:
            batch = "stop"
        rows.append((batch, *(getattr(iterator, name) for name in COUNTERS)))
    return rows


@pytest.mark.parametrize("size, batch_size", [(10, 5), (10, 3), (5, 2), (3, 7), (1, 1)])
@pytest.mark.parametrize("repeat", [True, False])
@pytest.mark.parametrize("shuffle", [None, True, False])
@pytest.mark.parametrize("name, options", [("SerialIterator", {}), ("MultithreadIterator", {"n_threads": 2})])
def test_same_batches_and_counters(name, options, size, batch_size, repeat, shuffle):
    rows = []
    for module in (chainer.iterators, compat):
        np.random.seed(3)
        iterator = getattr(module, name)(list(range(size)), batch_size, repeat=repeat, shuffle=shuffle, **options)
        first = trace(iterator, 7)
        iterator.reset()
        rows.append(first + trace(iterator, 3))
        iterator.finalize()
    assert rows[0] == rows[1]


@pytest.mark.parametrize("repeat", [True, False])
@pytest.mark.parametrize("shuffle", [True, False])
def test_multiprocess_gives_the_batches_of_the_serial_iterator(repeat, shuffle):
    rows = []
    for cls, options in (
        (chainer.iterators.SerialIterator, {}),
        (MultiprocessIterator, {"n_processes": 2, "n_prefetch": 2}),
    ):
        np.random.seed(3)
        iterator = cls(np.arange(10) * 2, 4, repeat=repeat, shuffle=shuffle, **options)
        rows.append(trace(iterator, 7))
        iterator.finalize()
    assert rows[0] == rows[1]


def test_multiprocess_state_is_that_of_the_last_batch_and_torch_seed_stays():
    import torch

    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    np.random.seed(0)
    iterator = MultiprocessIterator(list(range(10)), 3, n_processes=1, n_prefetch=3)
    iterator.next()
    state = iterator.state_dict()
    following = [iterator.next() for _ in range(2)]
    np.random.seed(1)
    other = MultiprocessIterator(list(range(10)), 3, n_processes=1)
    other.load_state_dict(state)
    assert [other.next() for _ in range(2)] == following
    assert torch.equal(torch.rand(1), expected)


def test_for_loop_without_repeat_ends():
    batches = list(compat.SerialIterator(list(range(5)), 2, repeat=False, shuffle=False))
    assert batches == [[0, 1], [2, 3], [4]]


class Reversed(compat.OrderSampler):
    def __call__(self, current_order, current_position):
        return np.arange(len(current_order))[::-1].copy()


def test_order_sampler():
    rows = [
        trace(module.SerialIterator(list(range(5)), 2, order_sampler=Reversed()), 4)
        for module in (chainer.iterators, compat)
    ]
    assert rows[0] == rows[1]
    assert rows[0][0][0] == [4, 3]


@pytest.mark.parametrize("module", [chainer.iterators, compat])
def test_errors(module):
    with pytest.raises(ValueError, match="order_sampler"):
        module.SerialIterator([1], 1, shuffle=True, order_sampler=Reversed())
    with pytest.raises(ZeroDivisionError):
        module.SerialIterator([], 1).next()


def test_random_state_of_the_sampler():
    rows = []
    for module in (chainer.iterators, compat):
        sampler = module.ShuffleOrderSampler(np.random.RandomState(5))
        rows.append(trace(module.SerialIterator(list(range(6)), 4, order_sampler=sampler), 5))
    assert rows[0] == rows[1]


def test_state_is_chainers():
    """A state that Chainer saved goes on with Chainer's batches."""
    np.random.seed(2)
    theirs = chainer.iterators.SerialIterator(list(range(7)), 3)
    theirs.next()
    serializer = chainer.serializers.DictionarySerializer()
    theirs.serialize(serializer)
    np.random.seed(9)
    ours = compat.SerialIterator(list(range(7)), 3)
    ours._load_chainer_entries(serializer.target)
    assert ours._chainer_entries().keys() == serializer.target.keys()
    assert [getattr(ours, name) for name in COUNTERS] == [getattr(theirs, name) for name in COUNTERS]
    np.random.seed(4)
    expected = trace(theirs, 4)
    np.random.seed(4)
    assert trace(ours, 4) == expected


def test_state_with_a_missing_key_names_it():
    ours = compat.SerialIterator(list(range(7)), 3)
    entries = ours._chainer_entries()
    del entries["epoch"]
    with pytest.raises(KeyError, match="epoch"):
        ours.load_state_dict(entries)
