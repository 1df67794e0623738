"""Iterators without ``repeat`` that a program treats as Python's own: ``iter(DataLoader(...))`` is one."""

import numpy as np
import pytest

from chainer2torch.engine import Options, migrate_source
from tests.support.native_programs import both

PROGRAM = """
import itertools
import copy
import chainer
from chainer import iterators


def show(batch):
    return [int(x) for x in batch]


def run(data):
    it = iterators.SerialIterator(data, 5, repeat=False, shuffle=False)
    found = []
BODY
    return found
"""
DRAWN = {
    "until it stops": """
while True:
    try:
        batch = it.next()
    except StopIteration:
        break
    found.append(show(batch))
""",
    "two loops, the second of which has nothing": """
for batch in it:
    found.append(show(batch))
for batch in it:
    found.append(show(batch))
""",
    "one batch, then the others": """
found.append(show(next(it)))
found.append([show(batch) for batch in it])
it.finalize()
""",
    "beside something shorter": """
for name, batch in zip('a', it):
    found.append((name, show(batch)))
found.append(list(map(show, it)))
""",
    "a part, then the rest": """
found += [show(batch) for batch in itertools.islice(it, 2)]
found.append(show(it.__next__()))
found += [show(batch) for batch in list(it)]
""",
    "behind its end": """
found += [show(it.next()), show(it.next()), show(it.next())]
try:
    it.next()
except StopIteration:
    found.append('end')
""",
    "counted by another loop": """
for i, batch in enumerate(it):
    found.append((i, show(batch)))
    if i == 1:
        break
found.append([show(batch) for batch in it])
""",
}


def program(body, source=PROGRAM):
    return source.replace("BODY", "\n".join("    " + line for line in body.strip().splitlines()))


@pytest.mark.parametrize("body", DRAWN.values(), ids=DRAWN)
def test_it_gives_what_is_left(body):
    theirs, ours, code = both(program(body), head="")
    assert "it = iter(DataLoader(data, 5, collate_fn=list))" in code and "compat" not in code, code
    for size in (11, 15):
        data = np.arange(size)
        assert ours["run"](data) == theirs["run"](data), code


DIRECT = """
from chainer import iterators


def run(data):
    found = []
    for size in (3, 4):
        batches = list(iterators.SerialIterator(data, size, repeat=False, shuffle=False))
        found += batches + [list(b) for b in tuple(iterators.MultithreadIterator(data, size, False, False, 1))]
    found += [b for pair in zip('ab', iterators.SerialIterator(data, 2, False, False)) for b in pair]
    return found
"""


def test_what_is_walked_over_where_it_is_made_is_a_loader():
    theirs, ours, code = both(DIRECT, head="")
    assert "batches = list(DataLoader(data, size, collate_fn=list))" in code, code
    assert "zip('ab', DataLoader(data, 2, collate_fn=list))" in code and "compat" not in code and "iter(" not in code
    assert ours["run"](list(range(10))) == theirs["run"](list(range(10)))


@pytest.mark.parametrize(
    "body",
    [
        "found += [show(b) for b in copy.copy(it)] + [show(it.next())]",  # a copy of it goes on by itself
        "found.append(show(it.next()))\nit.reset()\nfound.append(show(it.next()))",
        "found.append(show(it.next()))\nfound.append(it.epoch)",
        "found.append(show(it.next()))\nfound.append(len(it.dataset))",
        "draw = it.next\nfound.append(show(draw()))",
    ],
)
def test_one_that_is_asked_for_more_keeps_its_counters(body):
    code = migrate_source(program(body), options=Options(style="native")).code
    assert "it = compat.Batches(DataLoader(data, 5, collate_fn=list)" in code, code


def test_a_function_of_chainercvs_that_walks_over_it():
    source = program(
        "values = apply_to_iterator(model.predict, it)[1]", "from chainercv.utils import apply_to_iterator\n" + PROGRAM
    )
    code = migrate_source(source.replace("run(data)", "run(data, model)"), options=Options(style="native")).code
    assert "it = iter(DataLoader(data, 5, collate_fn=list))" in code
    assert "values = compat.apply_to_iterator(model.predict, it)[1]" in code


EVALUATED = """
import copy
import chainer
from chainer import iterators
from chainer.training import extensions
from chainercv.utils import apply_to_iterator


class Scores(extensions.Evaluator):
    def __init__(self, iterator, target):
        super().__init__(iterator, target)

    def evaluate(self):
        it = copy.copy(self._iterators['main'])
        target = self._targets['main']
        _, values, _ = apply_to_iterator(target.predict, it)
        return {'sum': sum(values[0])}


def run(data, model):
    return Scores(iterators.SerialIterator(data, 5, REPEATshuffle=False), model)
"""


def test_what_walks_over_the_copy_of_an_evaluators_iterator_takes_a_loader():
    code = migrate_source(EVALUATED.replace("REPEAT", "repeat=False, "), options=Options(style="native")).code
    assert "Scores(DataLoader(data, 5, collate_fn=list), model)" in code
    assert "compat.apply_to_iterator(target.predict, it)" in code


def test_an_iterator_without_an_end_is_no_loader_there():
    text = "from chainercv.utils import apply_to_iterator\nfrom chainer import iterators\n\n\ndef run(data, f):\n"
    text += "    it = iterators.SerialIterator(data, 5, shuffle=False)\n    return apply_to_iterator(f, it)\n"
    code = migrate_source(text, options=Options(style="native")).code
    assert "it = DataLoader" not in code and "iter(DataLoader" not in code, code
