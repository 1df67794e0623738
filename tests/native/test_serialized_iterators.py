"""What is written of an iterator by hand, under Chainer's keys, and read again: of the short iterators, too."""

import pytest

from tests.support.native_snippets import run

PROGRAM = """
from chainer import iterators, serializers

def run(xs):
    np.random.seed(0)
    it = iterators.SerialIterator(list(range(5)), 2, OPTIONS)
    for _ in range(3):
        it.next()
    s = serializers.DictionarySerializer()
    WRITE
    found = {key.lstrip('/'): np.asarray(value).tolist() for key, value in s.target.items()}
    other = iterators.SerialIterator(list(range(5)), 2, OPTIONS)
    it = other
    s = serializers.NpzDeserializer(s.target)
    READ
    return [found, other.epoch, other.current_position, other.is_new_epoch, other.previous_epoch_detail, other.next()]
"""


def _run(options, write, read, size=5):
    program = PROGRAM.replace("OPTIONS", options).replace("WRITE", write).replace("READ", read)
    return run(program.replace("range(5)", f"range({size})"))[:2]


@pytest.mark.parametrize("options", ["shuffle=False", "shuffle=True", "repeat=True, shuffle=None"])
def test_an_iterator_is_written_under_chainers_keys(options):
    theirs, ours = _run(options, "it.serialize(s)", "it.serialize(s)")
    assert len(ours[0]) == (4 if options == "shuffle=False" else 5)
    assert ours == theirs


@pytest.mark.parametrize(("write", "read"), [("s['it'].save(it)", "s['it'].load(it)"), ("s.save(it)", "s.load(it)")])
def test_an_iterator_that_is_saved_goes_on_where_it_was(write, read):
    theirs, ours = _run("shuffle=False", write, read, 4)  # a loader of torch's makes short batches else
    assert ours[1:] == theirs[1:] and theirs[1] == 1
