"""Datasets, splits and batches beside Chainer's."""

import copy

import chainer
import numpy as np
import pytest
import torch
from chainer import datasets
from chainer.iterators import ShuffleOrderSampler, _statemachine
from torch.utils.data import DataLoader, TensorDataset

from chainer2torch.native import data
from chainer2torch.vendor import compat_file
from chainer2torch.vendor.said import words
from chainer2torch.verify.worker import batch_order

N = 23
VALUES = np.arange(N) * 10


def values(parts):
    return [[int(part[i]) for i in range(len(part))] for part in parts]


def flat(splits):
    return [part for pair in splits for part in pair]


@pytest.mark.parametrize("seed", [0, 5])
def test_splits_hold_chainers_examples_in_chainers_order(seed):
    order = np.random.RandomState(seed).permutation(N)
    pairs = [
        (datasets.split_dataset(VALUES, 8), data.split_dataset(VALUES, 8)),
        (datasets.split_dataset(VALUES, 8, order), data.split_dataset(VALUES, 8, order)),
        (datasets.split_dataset_random(VALUES, 8, seed), data.split_dataset_random(VALUES, 8, seed)),
        (datasets.split_dataset_n(VALUES, 4), data.split_dataset_n(VALUES, 4)),
        (datasets.split_dataset_n_random(VALUES, 4, seed), data.split_dataset_n_random(VALUES, 4, seed)),
        (
            flat(datasets.get_cross_validation_datasets(VALUES, 4)),
            flat(data.cross_validation_splits(VALUES, 4)),
        ),
        (
            flat(datasets.get_cross_validation_datasets_random(VALUES, 5, seed)),
            flat(data.cross_validation_splits(VALUES, 5, order)),
        ),
    ]
    for theirs, ours in pairs:
        assert values(theirs) == values(ours)
        assert len(theirs) == len(ours)


@pytest.mark.parametrize("at", [-1, N + 1])
def test_a_split_outside_of_the_dataset_raises_on_both_sides(at):
    for split in (datasets.split_dataset, data.split_dataset):
        with pytest.raises(ValueError):
            split(VALUES, at)


def test_random_splits_without_a_seed_follow_no_global_seed():
    """Chainer makes a RandomState of its own, so np.random.seed does not fix it; nor does it here."""
    found = []
    for split in (datasets.split_dataset_random, data.split_dataset_random):
        np.random.seed(0)
        one = values(split(VALUES, 12))
        np.random.seed(0)
        found.append(one != values(split(VALUES, 12)))
    assert found == [True, True]


def test_subsets_go_into_a_loader():
    table = TensorDataset(torch.arange(N), torch.arange(N) * 10)
    train, rest = data.split_dataset_random(table, 16, 0)
    (x, t) = next(iter(DataLoader(train, 16)))
    assert torch.equal(t, x * 10) and len(rest) == N - 16


@pytest.mark.parametrize("index", [slice(1, 3), slice(None, None, -2), slice(30, None), [0, 2], np.array([1, -1])])
def test_slices_of_parts_are_lists_of_examples(index):
    """Subset alone asks its dataset for all of them at once: a list cannot answer, and a table gives its columns."""
    rows = [(i, str(i)) for i in range(N)]
    pairs = [
        (rows, rows),
        (datasets.TupleDataset(VALUES, rows), data.TupleDataset(VALUES, rows)),
        (datasets.ConcatenatedDataset(rows, rows), data.ConcatenatedDataset(rows, rows)),
    ]
    for theirs, ours in pairs:
        for one, other in zip(datasets.split_dataset_random(theirs, 8, 0), data.split_dataset_random(ours, 8, 0)):
            assert other[index] == one[index]
            assert other[-1] == one[-1]


@pytest.mark.parametrize("batch_size", [4, 20])
def test_counters_are_chainers_where_the_batch_divides_the_dataset(batch_size):
    examples = np.arange(20)
    theirs = chainer.iterators.SerialIterator(examples, batch_size, shuffle=False)
    ours = data.Batches(DataLoader(examples, batch_size))
    for _ in range(2):
        for _ in range(12):
            assert list(theirs.next()) == ours.next().tolist()
            assert (ours.epoch, ours.is_new_epoch) == (theirs.epoch, theirs.is_new_epoch)
            assert ours.epoch_detail == pytest.approx(theirs.epoch_detail, abs=1e-12)
        theirs.reset()
        ours.reset()


def test_a_short_last_batch_ends_the_epoch():
    """The declared difference batch-geometry: 8, 8, 4 | 8, 8, 4 where Chainer has 8, 8, 8 | 8, 8."""
    batches = data.Batches(DataLoader(np.arange(20), 8))
    found = [(len(next(batches)), batches.is_new_epoch, batches.epoch) for _ in range(6)]
    assert found == [(8, False, 0), (8, False, 0), (4, True, 1)] + [(8, False, 1), (8, False, 1), (4, True, 2)]


def test_batches_shuffle_anew_and_all_come_once_an_epoch():
    torch.manual_seed(0)
    batches = data.Batches(DataLoader(np.arange(20), 5, shuffle=True))
    epochs = [[value for _ in range(4) for value in next(batches).tolist()] for _ in range(2)]
    assert sorted(epochs[0]) == sorted(epochs[1]) == list(range(20)) and epochs[0] != epochs[1]


def seen(iterator, count):
    """The next batches, with all counters behind each of them."""
    found = []
    for _ in range(count):
        batch = next(iterator, None)
        counts = iterator.epoch, iterator.is_new_epoch, iterator.current_position
        found.append((batch, *counts, iterator.epoch_detail, iterator.previous_epoch_detail))
    return found


@pytest.fixture
def short_epochs(monkeypatch):
    """Chainer ends its epochs with a short batch: the declared difference batch-geometry."""
    monkeypatch.setattr(_statemachine, "iterator_statemachine", _statemachine.iterator_statemachine)
    monkeypatch.setattr(ShuffleOrderSampler, "__call__", ShuffleOrderSampler.__call__)
    assert batch_order.chainer_as_a_loader(0) == []


@pytest.mark.parametrize("size, batch", [(5, 2), (6, 3), (4, 4), (3, 7), (1, 1), (7, 3)])
@pytest.mark.parametrize("repeat", [True, False])
@pytest.mark.parametrize("workers", [0, 1])
def test_batches_count_as_chainers_iterators(short_epochs, size, batch, repeat, workers):
    examples = [(i, str(i)) for i in range(size)]
    theirs = chainer.iterators.SerialIterator(examples, batch, repeat, shuffle=False)
    ours = data.Batches(DataLoader(examples, batch, num_workers=workers, collate_fn=list), repeat)
    expected = seen(theirs, 7)
    assert seen(ours, 7) == expected
    theirs.reset()
    ours.reset()
    assert seen(ours, 2) == seen(theirs, 2)
    assert (ours.dataset, ours.batch_size, ours.repeat) == (theirs.dataset, theirs.batch_size, theirs.repeat)
    ours.finalize()


@pytest.mark.parametrize("draw", [1, 2, 4])
def test_a_copy_and_a_saved_state_go_on_where_the_iterator_was(short_epochs, draw):
    theirs = chainer.iterators.SerialIterator(list(range(7)), 3, shuffle=False)
    ours = data.Batches(DataLoader(list(range(7)), 3, collate_fn=list))
    seen(ours, draw)
    seen(theirs, draw)
    other = data.Batches(DataLoader(list(range(7)), 3, collate_fn=list))
    other.load_state_dict(ours.state_dict())
    copied, expected = copy.copy(ours), seen(copy.copy(theirs), 4)
    assert seen(copied, 4) == seen(other, 4) == seen(ours, 4) == expected


def test_a_batch_size_cannot_be_set():
    """Chainer's iterators would go on with batches of that size."""
    with pytest.raises(AttributeError):
        data.Batches(DataLoader(np.arange(4), 2)).batch_size = 3


def test_transform_dataset():
    calls = []

    def double(example):
        calls.append(int(example))
        return example * 2

    theirs, ours = datasets.TransformDataset(VALUES, double), data.TransformDataset(VALUES, double)
    assert len(ours) == N and not calls
    assert ours[3] == theirs[3] and calls == [30, 30]
    assert next(iter(DataLoader(ours, 4))).tolist() == [0, 20, 40, 60]
    assert ours[1:4] == theirs[1:4]
    part, theirs = data.split_dataset(ours, 3)[1], datasets.split_dataset(theirs, 3)[1]
    assert part[1:] == theirs[1:] and part[[0, 1]] == theirs[[0, 1]]


def test_tuple_dataset():
    columns = [np.arange(6).reshape(3, 2), [4, 5, 6]]
    theirs, ours = datasets.TupleDataset(*columns), data.TupleDataset(*columns)
    assert len(ours) == len(theirs) == 3
    assert [ours[i][1] for i in range(3)] == [theirs[i][1] for i in range(3)]
    assert [(x.tolist(), t) for x, t in ours[1:]] == [(x.tolist(), t) for x, t in theirs[1:]]
    assert ours._datasets[0] is theirs._datasets[0] and ours._datasets[1] == theirs._datasets[1]
    for dataset in (datasets.TupleDataset, data.TupleDataset):
        with pytest.raises(ValueError):
            dataset([1], [2, 3])


def test_tensors_are_stacked_and_keep_their_graph():
    x = torch.ones(3, requires_grad=True)
    (batch,) = data.collate([(x * 2,), (x,)])
    assert batch.shape == (2, 3) and batch.requires_grad


EXAMPLES = {
    "tuples": [(np.full(3, i, "f"), np.int32(i)) for i in range(4)],
    "dicts": [{"x": np.full(3, i, "f"), "t": np.int16(i)} for i in range(4)],
    "arrays": [np.full((2, 2), i, "u1") for i in range(4)],
    "numbers": [1, 2, 3],
    "floats": [0.5, 1.5],
    "lists": [[1, 2], [3, 4], [5, 6]],
    "lists in tuples": [([1.5, 2], 1), ([3.5, 4], 2)],
    "truth values": [True, False],
    "numbers of NumPy": [np.float32(1), np.float32(2)],
    "arrays of labels": [(np.zeros((2, 2), "u1"), np.full((2, 2), i, "i4")) for i in range(3)],
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_collate_stacks_as_concat_examples(name):
    def leaves(batch):
        if isinstance(batch, dict):
            return [leaf for key in sorted(batch) for leaf in leaves(batch[key])]
        return list(batch) if isinstance(batch, tuple) else [batch]

    theirs = leaves(chainer.dataset.concat_examples(EXAMPLES[name]))
    ours = leaves(data.collate(EXAMPLES[name]))
    assert len(theirs) == len(ours)
    for left, right in zip(theirs, ours):
        np.testing.assert_array_equal(left, right.numpy())
        assert left.dtype == right.numpy().dtype


@pytest.mark.parametrize("name", sorted(set(EXAMPLES) - {"lists", "lists in tuples"}))
def test_default_collate_stacks_the_same_where_there_are_no_lists(name):
    ours, plain = data.collate(EXAMPLES[name]), torch.utils.data.default_collate(EXAMPLES[name])
    for left, right in zip(*(list(b.values()) if isinstance(b, dict) else list(b) for b in (ours, plain))):
        assert left.dtype == right.dtype and torch.equal(left, right)


@pytest.mark.parametrize("device", [None, -1, torch.device("cpu"), torch.device("meta")])
def test_collate_a_device(device):
    x, t = data.collate(EXAMPLES["tuples"], device)
    assert x.device == t.device == (device if isinstance(device, torch.device) else torch.device("cpu"))
    assert data.collate(EXAMPLES["dicts"], device)["t"].dtype == torch.int16


def test_collate_leaves_texts_alone():
    texts, numbers = data.collate([("a", 1), ("b", 2)])
    assert list(texts) == ["a", "b"] and numbers.tolist() == [1, 2]


def test_examples_of_different_shapes_raise_without_padding_and_are_filled_with_it():
    examples = [np.arange(3), np.arange(5), np.arange(2)]
    for stack in (chainer.dataset.concat_examples, data.collate):
        with pytest.raises((ValueError, RuntimeError)):
            stack(examples)


SHORT, LONG = np.ones(2, "f"), np.arange(3, dtype="f")
PADDED = {
    "one dimension": ([np.arange(3), np.arange(5), np.arange(2)], -1),
    "two dimensions": ([np.ones((2, 3), "f"), np.ones((4, 1), "f"), np.ones((1, 1), "f")], 2),
    "doubles": ([SHORT.astype("d"), LONG.astype("d")], 0.5),
    "numbers": ([1, 2], 0),
    "a label beside": ([(SHORT, np.int32(1)), (LONG, np.int32(2))], -1),
    "one for each item": ([(SHORT, LONG), (LONG, SHORT)], (0, -1)),
    "none for one item": ([(SHORT, LONG), (LONG, LONG)], (7, None)),
    "dicts": ([{"a": SHORT, "b": 1}, {"a": LONG, "b": 2}], 5),
    "one for each key": ([{"a": SHORT, "b": LONG}, {"a": LONG, "b": SHORT}], {"a": 0, "b": -1}),
}


@pytest.mark.parametrize("name", PADDED)
def test_padding_is_chainers(name):
    examples, padding = PADDED[name]
    theirs = chainer.dataset.concat_examples(examples, padding=padding)
    ours = data.concat_examples(examples, -1, padding)
    pairs = list(zip(theirs, ours)) if isinstance(theirs, tuple) else [(theirs, ours)]
    if isinstance(theirs, dict):
        pairs = [(theirs[key], ours[key]) for key in theirs]
    for left, right in pairs:
        np.testing.assert_array_equal(left, right.numpy())
        assert left.dtype == right.numpy().dtype


@pytest.mark.parametrize("name", EXAMPLES)
def test_concat_examples_is_collate_on_a_device(name):
    expected = data.collate(EXAMPLES[name], -1)
    for found in (data.concat_examples(EXAMPLES[name], device=-1), data.concat_examples(EXAMPLES[name])):
        assert repr(found) == repr(expected)


def test_examples_that_are_tensors_are_filled_too():
    examples = [(torch.ones(2), 1), (torch.zeros(3), 2)]
    assert data.concat_examples(examples, padding=-1)[0].tolist() == [[1, 1, -1], [0, 0, 0]]


@pytest.mark.parametrize(
    ("text", "padded"),
    [
        ("converter(batch, device)", False),
        ("nn.Conv2d(3, 4, 3, padding=1)", False),
        ("F.avg_pool2d(x, 2, padding=1)", False),
        ("self.converter(batch, padding=0)", True),
        ("functools.partial(compat.concat_examples, padding=0)", True),
        ("partial(compat.concat_examples, **options)", True),
        ("compat.concat_examples(batch, device, 0)", True),
        ("compat.concat_examples(*batch)", True),
        ("convert(batch, padding=0)", True),
    ],
)
def test_padding_stays_where_a_converter_may_get_it(text, padded):
    helper = compat_file.build(["concat_examples"], style="native", said=words(text))
    assert ("_filled" in helper) is padded and ("padding=None" in helper) is padded


@pytest.mark.parametrize("around", [lambda dataset: dataset, lambda dataset: data.split_dataset(dataset, 3)[0]])
def test_a_loader_asks_the_class_that_derives_from_a_tuple_dataset(around):
    """StackDataset gives a DataLoader whole batches of its columns: what a subclass does to an example was left out."""

    def scaled(base):
        class Scaled(base):
            def __getitem__(self, index):
                x, t = super().__getitem__(index)
                return 10 * x, t

        return Scaled(np.arange(4, dtype="f"), np.arange(4))

    x, t = next(iter(DataLoader(around(scaled(data.TupleDataset)), 3)))
    theirs = scaled(datasets.TupleDataset)
    expected = chainer.dataset.concat_examples([theirs[i] for i in range(3)])
    assert x.tolist() == list(expected[0]) == [0, 10, 20] and t.tolist() == list(expected[1])
