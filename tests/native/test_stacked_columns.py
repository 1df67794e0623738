"""Columns that nobody slices are a StackDataset of torch's."""

import pytest

from tests.support.native_snippets import migrated, run

PROGRAM = """
def run(xs):
    rows = np.arange(12, dtype='f').reshape(6, 2)
    data = chainer.datasets.TupleDataset(rows, [0, 1, 2, 3, 4, 5], np.arange(6, dtype='i'))
    found = [len(data)]
    USE
    return found
"""
PLAIN = {
    "an item": "found.append([np.asarray(part).tolist() for part in data[2]])",
    "the last one": "found.append([np.asarray(part).tolist() for part in data[-1]])",
    "a loop": "for x, a, b in data:\n        found.append((x.tolist(), int(a), int(b)))",
    "a comprehension": "found += [(x.tolist(), int(a), int(b)) for x, a, b in data]",
    "a range": "for i in range(len(data)):\n        found.append(int(data[i][1]))",
    "an iterator": "it = chainer.iterators.SerialIterator(data, 4, repeat=False, shuffle=False)\n"
    "    found += [[[np.asarray(part).tolist() for part in one] for one in batch] for batch in it]",
    "threads": "it = chainer.iterators.MultithreadIterator(data, 4, repeat=False, shuffle=False)\n"
    "    found += [[int(one[2]) for one in batch] for batch in it]",
}
ELSEWHERE = {
    "a slice": "found.append([[np.asarray(part).tolist() for part in one] for one in data[1:4]])",
    "an unknown index": "index = eval('slice(1, 3)')\n    found.append(len(data[index]))",
    "a function": "found.append(len(shown(data)))",
    "another name": "other = data\n    found.append(len(other[1:4]))",
    "a list": "found.append(len([data][0][1:4]))",
    "a converter": "it = chainer.iterators.SerialIterator(data, 4, repeat=False, shuffle=False)\n"
    "    found.append(len(it.dataset[1:3]))",
}
SHOWN = "\ndef shown(data):\n    return data[1:4]\n"


@pytest.mark.parametrize("use", PLAIN)
def test_single_examples(use):
    theirs, ours, code = run(PROGRAM.replace("USE", PLAIN[use]))
    assert "StackDataset(rows, " in code and "compat.TupleDataset" not in code
    assert theirs == ours


@pytest.mark.parametrize("use", ELSEWHERE)
def test_what_may_be_sliced_keeps_the_helper(use):
    theirs, ours, code = run(SHOWN + PROGRAM.replace("USE", ELSEWHERE[use]))
    assert "compat.TupleDataset(rows, " in code or "compat.faithful_TupleDataset(rows, " in code
    assert theirs == ours


def test_a_dataset_of_the_module_that_another_file_may_take():
    text = "data = chainer.datasets.TupleDataset([1], [2])\nprint(data[0])\n"
    assert "StackDataset([1], [2])" in migrated(text).code
