"""What updaters hold: iterators that have two names."""

import pytest
from torch.utils.data import DataLoader

from chainer2torch.native.updaters import BatchUpdater, Updater


def test_a_loader_under_two_names_is_one_iterator():
    loader = DataLoader(list(range(6)), 2, collate_fn=list)
    updater = Updater({"main": loader, "other": loader, "third": DataLoader([7, 8], 2, collate_fn=list)}, {})
    drawn = [updater.get_iterator(name).next() for name in ("main", "other", "main", "third")]
    assert drawn == [[0, 1], [2, 3], [4, 5], [7, 8]]


def test_where_a_loop_hands_the_batches_it_is_refused():
    main, further = (DataLoader(list(range(6)), 2, collate_fn=list) for _ in range(2))
    updater = BatchUpdater({"main": main, "other": main, "third": further, "fourth": further}, {})
    with pytest.raises(ValueError, match="another name"):
        updater.next_batch("other")
    assert [updater.next_batch("third"), updater.next_batch("fourth")] == [[0, 1], [2, 3]]
