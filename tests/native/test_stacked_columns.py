"""Columns that nobody slices are a StackDataset of torch's."""

import pytest

from chainer2torch.engine import migrate_sources
from tests.support.native_snippets import HEAD, RULES, migrated, run

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


KEPT = """
class Pairs(object):
    def __init__(self, rows):
        self.dataset = chainer.datasets.TupleDataset(rows, list(range(len(rows))))
        self.it = chainer.iterators.SerialIterator(self.dataset, 4, repeat=False, shuffle=False)

    def batches(self):
        return [[(x.tolist(), int(i)) for x, i in batch] for batch in self.it]

    def last(self):
        return self.dataset[len(self.dataset) - 1][0].tolist()

class Other(object):
    def __init__(self, rows):
        self.dataset = [list(row) for row in rows]

    def half(self):
        return self.dataset[:2]

def run(xs):
    rows = np.arange(12, dtype='f').reshape(6, 2)
    pairs = Pairs(rows)
    return [pairs.batches(), pairs.last(), [list(map(float, row)) for row in Other(rows).half()]]
"""
ANYTHING = {
    "a slice": ("def last(self):", "def some(self):\n        return self.dataset[1:3]\n\n    def last(self):"),
    "somebody's": ("def run(xs):", "def few(pairs):\n    return pairs.dataset[1:3]\n\ndef run(xs):"),
    "an heir's": (
        "class Other(object):",
        "class Sliced(Pairs):\n    def some(self):\n        return self.dataset[1:3]\n\nclass Other(object):",
    ),
    "another name": ("return self.dataset[len", "data = self.dataset\n        return data[len"),
    "by its text": ("def run(xs):", "def few(pairs):\n    return getattr(pairs, 'dataset')[1:3]\n\ndef run(xs):"),
    "by a text of a list": (
        "def run(xs):",
        "def few(pairs, names=['dataset']):\n    return [getattr(pairs, n)[1:3] for n in names]\n\ndef run(xs):",
    ),
    "of the iterator": (
        "def last(self):",
        "def some(self):\n        return self.it.dataset[1:3]\n\n    def last(self):",
    ),
}


def test_an_attribute_that_is_asked_for_single_examples():
    theirs, ours, code = run(KEPT)
    assert "self.dataset = torch.utils.data.StackDataset(" in code or "self.dataset = StackDataset(" in code
    assert theirs == ours


def test_a_key_of_text_is_no_slice_of_a_dataset_of_columns():
    text = "\ndef shown(coco):\n    coco.dataset['images'] = []\n    return coco.dataset['images']\n"
    theirs, ours, code = run(KEPT + text)
    assert "StackDataset(rows" in code and theirs == ours


@pytest.mark.parametrize("use", ANYTHING)
def test_an_attribute_that_may_be_sliced_keeps_the_helper(use):
    theirs, ours, code = run(KEPT.replace(*ANYTHING[use]))
    assert "TupleDataset(rows" in code and "StackDataset(rows" not in code, code
    assert theirs == ours


def test_the_options_of_a_program_are_no_datasets():
    text = """
import argparse

def options(line):
    parser = argparse.ArgumentParser()
    parser.add_argument('--dataset', default='voc')
    args = parser.parse_args(line)
    return [args.dataset, {'voc': 20}[args.dataset]]
"""
    theirs, ours, code = run(KEPT + text)
    assert "StackDataset(rows" in code and theirs == ours


OTHER_FILE = """
from pairs import Pairs

def few(pairs):
    READ

def some(rows):
    return few(Pairs(rows))
"""


@pytest.mark.parametrize(
    ("read", "is_plain"),
    [
        ("return pairs.dataset[0]", True),
        ("return {'dataset': len(pairs.dataset)}", True),
        ("return pairs.dataset[1:3]", False),
        ("return getattr(pairs, 'dataset')[1:3]", False),
    ],
)
def test_other_files_may_ask_for_slices(read, is_plain):
    files = {"pairs.py": HEAD + KEPT, "other.py": OTHER_FILE.replace("READ", read)}
    code = migrate_sources(files, rules=RULES)["pairs.py"].code
    assert ("StackDataset(rows" in code) is is_plain, code
