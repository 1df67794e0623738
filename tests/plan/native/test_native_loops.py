"""Hand-written loops over iterators in native style, run beside Chainer with one order of the examples.

The batch size divides the data sets, but for one test: what a short last batch does is the difference
``batch-geometry``.
"""

import pytest

from tests.support.native_programs import check, migrated

PROGRAM = """
def train(model):
    rng = np.random.RandomState(0)
    xs, ts = rng.randn(12, 3).astype('f'), rng.randint(0, 2, 12).astype('i')
    data = chainer.datasets.TupleDataset(xs, ts)
    it = iterators.{make}
    test_it = iterators.SerialIterator(data, 4, repeat=False, shuffle=False)
    optimizer = optimizers.Adam(alpha=0.1)
    optimizer.setup(model)
    log = []
    n_epoch = 3

    def step(x, t):
        loss = F.softmax_cross_entropy(model(x), t)
        optimizer.target.cleargrads()
        loss.backward()
        optimizer.update()
        log.append(float(loss.array))

{loop}
    return log
"""
SERIAL = "SerialIterator(data, 4)"


def run(loop: str, make: str = SERIAL) -> str:
    lines = ["    " + line if line.strip() else line for line in loop.strip("\n").splitlines()]
    return check(PROGRAM.format(make=make, loop="\n".join(lines)))


FOR_LOOPS = {
    "a batch, then its parts": """
while it.epoch < n_epoch:
    batch = it.next()
    x, t = concat_examples(batch)
    step(x, t)
""",
    "on a device": """
while it.epoch < 3:
    batch = it.next()
    x, t = concat_examples(batch, -1)  # on the CPU
    step(x, t)
    if it.is_new_epoch:
        # once an epoch
        log.append(it.epoch)
""",
    "a number of a device": """
gpu = int('-1')
while it.epoch < n_epoch:
    x, t = chainer.dataset.concat_examples(it.next(), gpu)
    step(x, t)
""",
    "a device": """
device = chainer.get_device(-1)
while it.epoch < n_epoch:
    batch = it.next()
    x, t = chainer.dataset.convert.concat_examples(batch, device)
    step(x, t)
""",
    "in one statement": """
while it.epoch < n_epoch:
    x, t = concat_examples(it.next())
    step(x, t)
    if it.is_new_epoch:
        log.append(it.epoch)
        optimizer.alpha *= 0.5
""",
    "a list of examples": """
while it.epoch < n_epoch:
    batch = it.next()
    x = chainer.Variable(np.array([example[0] for example in batch]))
    t = chainer.Variable(np.array([example[1] for example in batch]))
    step(x, t)
""",
    "its length is asked for": """
while it.epoch < n_epoch:
    batch = it.next()
    x, t = concat_examples(batch)
    step(x, t)
    log.append(len(batch))
""",
    "on several lines": """
while it.epoch < n_epoch:
    # the next ones
    x, t = concat_examples(it.next())
    for i in range(2):
        if i > 5:
            break
        step(x,
             t)

    if it.is_new_epoch:
        for i in range(2):
            log.append(
                it.epoch)
""",
    "an evaluation in between": """
while it.epoch < n_epoch:
    x, t = concat_examples(it.next())
    step(x, t)
    if it.is_new_epoch:
        test_it.reset()
        for batch in test_it:
            x, t = concat_examples(batch)
            log.append(float(F.accuracy(model(x), t).array))
""",
    "something behind the epoch": """
while it.epoch < n_epoch:
    x, t = concat_examples(it.next())
    if it.is_new_epoch:
        log.append(it.epoch)
    step(x, t)
""",
    "it goes on": """
while it.epoch < n_epoch:
    x, t = concat_examples(it.next())
    step(x, t)
    if not it.is_new_epoch:
        continue
    log.append(it.epoch)
""",
    "the last round of some epochs": """
while it.epoch < n_epoch:
    batch = it.next()
    # a smaller rate
    if it.epoch % 2 == 0 and it.is_new_epoch:
        optimizer.alpha *= 0.5
        log.append(optimizer.alpha)
    x, t = concat_examples(batch, -1)
    step(x, t)
    if it.is_new_epoch:
        log.append(it.epoch)
""",
    "a rate before each batch": """
count = 0
while it.epoch < n_epoch:
    if count % 2:
        optimizer.alpha = 0.1 / (1 + count)
    batch = it.__next__()
    x, t = concat_examples(batch)
    step(x, t)
    count += 1
    if not it.is_new_epoch:
        continue
    # at the end of an epoch
    for i in range(2):
        if i:
            continue
        log.append(it.epoch)
    count = 0
""",
    "a round that is left out": """
while it.epoch < n_epoch:
    x, t = concat_examples(next(it))
    if it.is_new_epoch:
        continue
    step(x, t)
    log.append(float(not it.is_new_epoch))
    log.append(len(it.dataset) / it.batch_size)
""",
    "an evaluation that runs for ever": """
while it.epoch < n_epoch:
    x, t = concat_examples(it.next())
    step(x, t)
    if it.is_new_epoch:
        while True:
            test_batch = test_it.next()
            x, t = concat_examples(test_batch)
            log.append(float(F.accuracy(model(x), t).array))
            if test_it.is_new_epoch:
                test_it.reset()
                break
""",
}


def test_the_words_of_older_versions() -> None:
    """They set the iterator back by its attributes, of which Chainer 7 lets nobody set the epoch: not executed."""
    words = "test_it.epoch = 0; test_it.current_position = 0; test_it.is_new_epoch = False".split("; ")
    older = f"\n{' ' * 16}".join([*words, "test_it._pushed_position = None"])
    now, then = FOR_LOOPS["an evaluation that runs for ever"], "test_it.reset()"
    texts = [
        PROGRAM.format(make=SERIAL, loop=now.replace(then, word).replace("\n", "\n    ")) for word in (then, older)
    ]
    assert migrated(texts[0]).code == migrated(texts[1]).code


@pytest.mark.parametrize("loop", FOR_LOOPS.values(), ids=FOR_LOOPS)
@pytest.mark.parametrize("make", [SERIAL, "SerialIterator(data, 4, shuffle=False)"])
def test_for_loops(loop: str, make: str) -> None:
    code = run(loop, make)
    assert ("in it:" in code or "in enumerate(it):" in code) and "while" not in code and ".next()" not in code, code
    assert ("shuffle=True" in code) == (make == SERIAL) and "and (i + 1" not in code


HANDED = """
def run(it, n_epoch, step, log):
    while it.epoch < n_epoch:
        batch = it.next()
        x, t = concat_examples(batch)
        step(x, t)
        if it.is_new_epoch:
            log.append(it.epoch)

"""
CALLS = """
if n_epoch == 3:
    run(it, n_epoch, step, log)
else:
    run(it, 2, step, log)
"""


def test_a_loop_in_a_function_that_is_called_once() -> None:
    lines = [f"    {line}" for line in CALLS.strip().splitlines()]
    code = check(HANDED + PROGRAM.format(make=SERIAL, loop="\n".join(lines)))
    assert "for epoch in range(1, n_epoch + 1):\n        for x, t in it:" in code, code
    again = HANDED + PROGRAM.format(make=SERIAL, loop="    run(it, 1, step, log)\n    run(it, 3, step, log)")
    assert "compat.Batches(" in check(again)


def test_one_name_for_the_batches_of_two_loops() -> None:
    code = run("""
while it.epoch < n_epoch:
    batch = it.next()
    x, t = concat_examples(batch)
    step(x, t)
    if it.is_new_epoch:
        for batch in test_it:
            x, t = concat_examples(batch)
            log.append(float(F.accuracy(model(x), t).array))
        test_it.reset()
""")
    assert "for x, t in it:" in code and "for x, t in test_it:" in code


BATCHES = {
    "iterations": """
for i in range(7):
    x, t = concat_examples(it.next())
    step(x, t)
    log.append(it.epoch)
""",
    "the epoch in every round": """
while it.epoch < n_epoch:
    x, t = concat_examples(it.next())
    step(x, t)
    log.append(it.epoch_detail)
""",
    "it leaves the loop": """
while it.epoch < n_epoch:
    x, t = concat_examples(it.next())
    step(x, t)
    if it.is_new_epoch and it.epoch > 1:
        break
""",
    "for": """
for batch in it:
    x, t = concat_examples(batch)
    step(x, t)
    if it.epoch >= 2:
        break
""",
    "the iterator is asked before": """
while it.epoch < n_epoch:
    log.append(it.epoch)
    x, t = concat_examples(it.next())
    step(x, t)
""",
    "the data are changed before": """
while it.epoch < n_epoch:
    data.first = 2
    x, t = concat_examples(it.next())
    step(x, t)
""",
    "what the batch was": """
x = data[0][0][None]
while it.epoch < n_epoch:
    log.append(float(x.sum()))
    x, t = concat_examples(it.next())
    step(x, t)
""",
    "next": """
for i in range(7):
    batch = next(it)
    x, t = concat_examples(batch)
    step(x, t)
    log += [len(it.dataset), it.batch_size, it.is_new_epoch]
it.finalize()
""",
    "it begins anew": """
for i in range(7):
    x, t = concat_examples(it.next())
    step(x, t)
    if i == 4:
        it.reset()
    log.append(it.epoch_detail)
""",
    "two loops, one behind the other": """
while it.epoch < 1:
    x, t = concat_examples(it.next())
    step(x, t)
while it.epoch < n_epoch:
    x, t = concat_examples(it.next())
    step(x, t)
""",
}


@pytest.mark.parametrize("loop", BATCHES.values(), ids=BATCHES)
def test_the_other_shapes(loop: str) -> None:
    code = run(loop, "SerialIterator(data, 4, shuffle=False)")
    assert "it = compat.Batches(" in code


@pytest.mark.parametrize(
    ("make", "workers"),
    [
        ("MultiprocessIterator(data, 4, n_processes=2)", "num_workers=2"),
        ("MultithreadIterator(data, 4, n_threads=1)", "num_workers=1"),
        ("MultithreadIterator(data, 4)", "num_workers=torch.get_num_threads()"),
    ],
)
def test_workers(make: str, workers: str) -> None:
    assert workers in run(FOR_LOOPS["in one statement"], make.replace("4", "4, shuffle=False", 1))


@pytest.mark.parametrize(
    ("option", "workers"),
    [
        ("'-j', '--n-jobs', type=int", "args.n_jobs or torch.get_num_threads()"),
        ("'--jobs', '-j', dest='n_jobs', type=int, default=None", "args.n_jobs or torch.get_num_threads()"),
        ("'--n-jobs', type=int, default=1", "args.n_jobs"),
        ("'--n-jobs', type=int, required=True", "args.n_jobs"),
        ("'n_jobs', type=int", "args.n_jobs"),
    ],
)
def test_options_that_may_be_left_out(option: str, workers: str) -> None:
    """A loader takes no None, where Chainer asks the machine for a number."""
    code = check(f"""
        import argparse


        def train(model):
            parser = argparse.ArgumentParser()
            parser.add_argument({option})
            asked = ['--n-jobs', '1'] if {"required" in option} else ['1'] if {option[1] == "n"} else []
            args = parser.parse_args(asked)
            data = [np.full(3, i, 'f') for i in range(5)]
            it = iterators.MultithreadIterator(data, 2, repeat=False, shuffle=False, n_threads=args.n_jobs)
            return [float(x.sum()) for batch in it for x in batch]
    """)
    assert f"num_workers={workers}, collate_fn" in code, code


def test_an_evaluation_in_a_function() -> None:
    code = check("""
        def evaluate(model, iterator, device):
            total = 0
            iterator.reset()
            for batch in iterator:
                x, t = concat_examples(batch, device)
                total += float(F.accuracy(model(x), t).array) * len(t)
            return total / len(iterator.dataset)


        def train(model):
            rng = np.random.RandomState(0)
            xs, ts = rng.randn(10, 3).astype('f'), rng.randint(0, 2, 10).astype('i')
            data = chainer.datasets.TupleDataset(xs, ts)
            test_iter = iterators.SerialIterator(data, 4, repeat=False, shuffle=False)
            return [evaluate(model, test_iter, -1), evaluate(model, test_iter, -1)]
    """)
    assert "for x, t in iterator:" in code and "reset" not in code
    assert "len(iterator.dataset)" in code


@pytest.mark.parametrize("again", ["", "tested = it.epoch\n"])
def test_two_iterators_that_meet_in_a_function(again: str) -> None:
    loop = f"""
def run_epoch(batches, train):
    total = 0.
    for batch in batches:
        x, t = concat_examples(batch, -1)
        if train:
            step(x, t)
        else:
            total += float(F.softmax_cross_entropy(model(x), t).array) * len(t)
    return total

for epoch in range(2):
    it = iterators.SerialIterator(data, 4, repeat=False, shuffle=False)
    test_it = iterators.SerialIterator(data, 6, repeat=False, shuffle=False)
    run_epoch(it, True)
    {again}
    log.append(run_epoch(test_it, False))
"""
    code = run(loop)
    assert ("for x, t in batches:" in code) == (not again) and "for batch in batches:" in code or not again


def test_copies() -> None:
    code = check("""
        import copy

        def train(model):
            xs = np.arange(24, dtype='f').reshape(8, 3)
            test_iter = iterators.SerialIterator(xs, 4, repeat=False, shuffle=False)
            log = []
            for i in range(2):
                it = copy.copy(test_iter)
                for batch in it:
                    x = concat_examples(batch)
                    log.append(float(F.sum(model(x)).array))
            return log
    """)
    assert "it = test_iter" in code and "for x in it:" in code


def test_counted_copied_and_drawn() -> None:
    code = run(
        """
import copy
batch = 0
for i in range(7):
    batch = it.next() if i % 2 else next(it)
    x, t = concat_examples(batch)
    step(x, t)
it.finalize()
for i, batch in enumerate(test_it):
    x, t = concat_examples(batch)
    log.append(i * float(F.sum(model(x)).array))
test_it.reset()
for pair in enumerate(test_it):
    log += [pair[0], len(pair[1])]
more = iterators.SerialIterator(data, 3, repeat=False, shuffle=False)
for _ in range(2):
    for batch in copy.copy(more):
        x, t = concat_examples(batch)
        log.append(float(F.sum(model(x)).array))
whole = iterators.SerialIterator(data, 12, repeat=False, shuffle=False)
log += [len(batch) for batch in whole]
counted = iterators.SerialIterator(data, 4, shuffle=False)
counted.next()
copied = copy.copy(counted)
log += [float(x[0][0][0]) for x in (copied.next(), copied.next(), counted.next())]
log += [copied.epoch, counted.epoch]
idle = iterators.SerialIterator(data, 4, shuffle=False)
""",
        SERIAL.replace("4", "4, shuffle=False"),
    )
    assert "it = compat.endless(DataLoader(data, 4, collate_fn=list))" in code
    assert "batch = next(it) if i % 2 else next(it)" in code and "in enumerate(test_it):" in code
    assert "for x, t in more:" in code and "whole = DataLoader(data, 12, collate_fn=list)" in code
    assert "copied = copy.copy(counted)" in code and "idle = DataLoader(data, 4)" in code


SHORT = """
def train(model):
    data = np.arange(30, dtype='f').reshape(10, 3)
    it = iterators.SerialIterator(data, 4, shuffle=False)
    sizes = []
    while it.epoch < 2:
        x = concat_examples(it.next())
        sizes.append(len(x))
    return sizes
"""


def test_a_short_last_batch_is_a_declared_difference() -> None:
    site = next(s for s in migrated(SHORT).sites if s.symbol.endswith("SerialIterator"))
    assert (site.state, site.difference) == ("close", "batch-geometry")
    with pytest.raises(AssertionError):
        check(SHORT)
    check(SHORT.replace("arange(30", "arange(24").replace("(10, 3)", "(8, 3)"))


DRAWN = {
    "given away": "it = iterators.SerialIterator([1, 2], 1)\nprint(it)\nit.next()",
    "an unknown repeat": "def f(repeat):\n    it = iterators.SerialIterator([1, 2], 1, repeat=repeat)\n    it.next()",
    "its position": "it = iterators.SerialIterator([1, 2], 1)\nit.next()\nprint(it.current_position)",
    "its end": "it = iterators.SerialIterator([1, 2], 1, repeat=False)\nit.next()\nprint(it.epoch)",
    "read again": (
        "it = iterators.SerialIterator([1], 1, repeat=False)\nfor a in it:\n    it.epoch\nfor b in it:\n    pass"
    ),
}


@pytest.mark.parametrize("body", DRAWN.values(), ids=DRAWN)
def test_what_is_not_understood_is_drawn_one_batch_at_a_time(body: str) -> None:
    assert "it = compat.Batches(DataLoader(" in migrated(body).code


TESTED = """
    class Mine(chainer.dataset.Iterator):
        def __next__(self):
            raise StopIteration


    def main_of(iterator):
        if isinstance(iterator, chainer.dataset.Iterator):
            iterator = {'main': iterator}
        return iterator


    def train(model):
        found = []
        for it in (iterators.SerialIterator([1, 2], 1), Mine(), {'main': 3}, [1]):
            found.append(float(isinstance(main_of(it), dict)))
        return found
"""


def test_a_test_for_iterators_knows_all_that_they_become() -> None:
    assert "isinstance(iterator, (DataLoader, compat.Batches, compat.Iterator))" in check(TESTED)


LONG = {
    "a sampler": "it = iterators.SerialIterator([1, 2], 1, order_sampler=lambda a, b: a)\nit.next()",
    "a sampler by position": "it = iterators.SerialIterator([1, 2], 1, True, None, lambda a, b: a)\nit.next()",
    "a class on it": (
        "class Mine(iterators.SerialIterator):\n    pass\nit = iterators.SerialIterator([1, 2], 1)\nprint(it)"
    ),
    "the class as a value": "make = iterators.SerialIterator\nit = make([1, 2], 1)\nprint(it)",
    "another size": "it = iterators.SerialIterator([1, 2], 1)\nit.batch_size = 2\nprint(it)",
    "its order": "it = iterators.SerialIterator([1, 2], 1)\nprint(it.order_sampler)",
}


@pytest.mark.parametrize("body", LONG.values(), ids=LONG)
def test_what_looks_into_an_iterator_keeps_chainers(body: str) -> None:
    code = migrated(body).code
    assert "compat.SerialIterator" in code and "Batches" not in code
