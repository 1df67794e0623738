"""Data sets that a program defines, in native style, beside Chainer."""

import pytest

from tests.support.native_programs import check, migrated

CLASSES = """
class Numbers(chainer.dataset.DatasetMixin):
    \"\"\"Some.\"\"\"

    def __init__(self, n):
        self.values = np.arange(n * 3, dtype='f').reshape(n, 3)

    def __len__(self):
        return len(self.values)

    def get_example(self, i):
        return self.values[i], np.int32(i % 2)


class More(Numbers):
    def get_example(self, i):
        x, t = super(More, self).get_example(i)
        return x + 1, t


"""
TRAIN = """
def train(model):
    it = iterators.SerialIterator(More(8), 4)
    log = [len(More(3)), More(3)[1], Numbers(4).get_example(2)]
    while it.epoch < 2:
        x, t = concat_examples(it.next())
        log.append(float(F.softmax_cross_entropy(model(x), t).array))
    {last}
    return log
"""


def test_they_are_plain_datasets() -> None:
    code = check(CLASSES + TRAIN.format(last=""))
    assert "class Numbers(torch.utils.data.Dataset):" in code or "class Numbers(Dataset):" in code
    assert code.count("def __getitem__(self, i):") == 2 and "super(More, self).__getitem__(i)" in code
    assert "DatasetMixin" not in code and "get_example" not in code


def test_examples_without_lists_are_collated_by_torch() -> None:
    classes = CLASSES.replace("np.int32(i % 2)", "self.labels[i]").replace(
        "    def __len__", "        self.labels = np.zeros(n, dtype='i')\n\n    def __len__", 1
    )
    code = check(classes + TRAIN.format(last="").replace("More(8)", "Numbers(8)"))
    assert "DataLoader(Numbers(8), 4, shuffle=True)\n" in code and "compat" not in code  # int32 labels stay so
    listed = CLASSES.replace("return self.values[i], np", "return list(self.values[i]), np")
    listed = listed.replace("return x + 1, t", "return x, t")
    assert "collate_fn=compat.collate" in check(listed + TRAIN.format(last="").replace("More(8)", "Numbers(8)"))


@pytest.mark.parametrize("last", ["log += More(5)[1:3]", "log += Numbers(5)[[1, 2]]"])
def test_slices_and_lists_keep_the_helper(last: str) -> None:
    code = check(CLASSES + TRAIN.format(last=last))
    assert "class Numbers(compat.DatasetMixin):" in code and "super(More, self).get_example(i)" in code


def test_an_index_of_its_own() -> None:
    body = "class D(chainer.dataset.DatasetMixin):\n    def __getitem__(self, i):\n        return 3\n"
    assert "class D(compat.DatasetMixin):" in migrated(body + "    def get_example(self, i):\n        return i\n").code


FLIPPING = """
class Flipped(chainer.dataset.DatasetMixin):
    def __init__(self, n):
        self.values = np.random.RandomState(1).rand(n, 1, 3).astype('f')

    def __len__(self):
        return len(self.values)

    def get_example(self, i):
        x = self.values[i]
        if i % 2:
            x = x[:, ::-1].transpose(1, 0)
        else:
            x = np.fliplr(x).T
        return x[:, 0], np.int32(i % 2)


def shaken(example):
    x, t = example
    x = x[::-1]
    return x, t


def train(model):
    log = []
    for data in (Flipped(8), chainer.datasets.TransformDataset(Flipped(8), shaken)):
        it = iterators.SerialIterator(data, 4, repeat=False, shuffle=False)
        for batch in it:
            x, t = concat_examples(batch)
            log.append(float(F.softmax_cross_entropy(model(x), t).array))
    return log
"""


def test_examples_may_be_views_that_run_backwards() -> None:
    code = check(FLIPPING)
    assert "DataLoader(" in code and "return x[:, 0].copy(), np.int32(i % 2)" in code and "return x.copy(), t" in code


@pytest.mark.parametrize("value", ["'abc'", "('a', 'b')", "[1, 2]"])
def test_what_is_no_array_is_turned_round_as_it_is(value: str) -> None:
    body = f"class D(chainer.dataset.DatasetMixin):\n    def get_example(self, i):\n        x = {value}\n"
    assert "return x[::-1], i\n" in migrated(body + "        return x[::-1], i\n").code


TRANSFORMED = """
def train(model):
    rng = np.random.RandomState(0)
    data = chainer.datasets.TupleDataset(rng.randn(8, 3).astype('f'), rng.randint(0, 2, 8).astype('i'))
    data = chainer.datasets.TransformDataset(data, lambda example: {example})
    log = []
    it = iterators.SerialIterator(data, 4, repeat=False, shuffle=False)
    for batch in it:
        x, t = concat_examples(batch)
        log.append(float(F.softmax_cross_entropy(model(x), t).array))
    return log
"""


def test_what_a_transform_gives_tells_whether_its_examples_need_a_collation() -> None:
    assert "DataLoader(data, 4)" in check(TRANSFORMED.format(example="(example[0] * 2, example[1])"))
    code = migrated(TRANSFORMED.format(example="(list(example[0]), example[1])")).code
    assert "DataLoader(data, 4, collate_fn=compat.collate)" in code


SHARED = """
import chainermn

def train(model, made=None):
    comm = chainermn.create_communicator('naive')
    if comm.rank == 0:
        train, test = {data}
    else:
        train, test = None, None
    train = chainermn.scatter_dataset(train, comm)
    for batch in iterators.SerialIterator(train, 4, repeat=False, shuffle=False):
        x, t = concat_examples(batch)
    return []
"""


def test_the_share_of_a_process_has_the_examples_of_the_whole() -> None:
    assert "in DataLoader(train, 4):" in migrated(SHARED.format(data="chainer.datasets.get_mnist()")).code
    assert "DataLoader(train, 4, collate_fn=compat.collate)" in migrated(SHARED.format(data="made")).code
