"""Sums that a loop adds arrays to, gradients behind ``backward()`` and lists of arrays, as they are written out."""

import pytest

from tests.support.native_snippets import migrated, run

SUMS = """
def run(xs):
    said = []
    for epoch in range(2):
        total, count = 0, 0
        kept = 0.0
        shown = []
        for x in xs:
            loss = F.max(chainer.Variable(x))
            total += loss.data * len(x)
            kept -= loss.array
            count += len(x)
            shown.append(loss.data)
            said.append('so far %s' % total)
        mean = total / count
        said.append('{} {}'.format(mean, kept * 2))
        said.append(str(np.mean(shown)) + ' ' + str(np.max(shown)))
    return said
"""


def test_sums_are_written_as_arrays() -> None:
    theirs, ours, code = run(SUMS)
    assert ours == theirs
    assert "to_host" not in code and "to_cpu" not in code, code
    assert "shown.append(loss.detach().cpu().numpy())" in code and "str(np.mean(shown))" in code
    assert "mean.cpu().numpy()" in code and "'so far %s' % total.cpu().numpy()" in code


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "            total += loss.data * len(x)",
            "            if count:\n                total += loss.data * len(x)",
        ),
        ("        mean = total / count", "        mean = total / count if count else 0"),
        ("        mean = total / count", "        total = 0\n        mean = total / count"),
    ],
)
def test_what_may_be_a_number_still_is_asked(old: str, new: str) -> None:
    assert old in SUMS
    theirs, ours, code = run(SUMS.replace(old, new))
    assert ours == theirs and "mean.cpu()" not in code


SCALED = """
def told(xs, accuracy=0.5):
    first = '{}'.format(accuracy)
    accuracy = mean_of(xs)
    return first


def mean_of(xs):
    total = 0.
    for x in xs:
        total += F.max(chainer.Variable(x)).data
    mean = total / len(xs)
    return mean


def run(xs):
    said = []
    for epoch in range(2):
        total = 0.
        for x in xs:
            total += F.max(chainer.Variable(x)).data
        total /= len(xs)
        total *= 100
        said.append('{}'.format(total))
    accuracy = mean_of(xs)
    said.append('mean {}'.format(accuracy))
    accuracy = mean_of(xs[:1])
    said.append('mean {}'.format(accuracy))
    return said
"""


def test_a_scaled_sum_and_what_a_function_returns_of_one_are_arrays() -> None:
    theirs, ours, code = run(SCALED)
    assert ours == theirs
    assert "'{}'.format(total.cpu().numpy())" in code and code.count("'mean {}'.format(accuracy.cpu().numpy())") == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    return mean\n", "    return mean if len(xs) > 1 else 0.5\n"),
        ("    return mean\n", "    if len(xs) == 1:\n        return 0.5\n    return mean\n"),
        ("    accuracy = mean_of(xs[:1])", "    accuracy = 0.25"),
        ("    accuracy = mean_of(xs)\n", "    said.append(told(xs))\n    accuracy = mean_of(xs)\n"),
        ("    for x in xs:\n        total +=", "    for x in xs:\n        if len(xs) > 1:\n            total +="),
    ],
)
def test_what_a_function_may_return_as_a_number_is_asked(old: str, new: str) -> None:
    assert old in SCALED
    theirs, ours, code = run(SCALED.replace(old, new, 1))
    assert ours == theirs and "accuracy.cpu()" not in code[: code.index("def run")]
    assert "accuracy.cpu()" not in code or "told(xs)" in code


def test_a_sum_that_begins_anew_behind_its_scale_is_asked() -> None:
    theirs, ours, code = run(SCALED.replace("        total *= 100\n", "        total = 0\n        total *= 100\n"))
    assert ours == theirs and "'{}'.format(total.cpu()" not in code


GRADIENTS = """
def run(xs):
    x = chainer.Variable(xs[0])
    w = chainer.Variable(xs[1])
    y = F.sum(x * w)
    before = str(x.grad)
    y.backward()
    said = [before, str(x.grad), '%s' % w.grad]
    x.cleargrad()
    return said + [str(x.grad)]
"""


def test_gradients_behind_backward_are_arrays() -> None:
    theirs, ours, code = run(GRADIENTS)
    assert ours == theirs
    assert "str(x.grad.cpu().numpy()), '%s' % w.grad.cpu().numpy()" in code
    assert code.count("str(compat.to_host(x.grad))") == 2


def test_lists_that_hold_something_else_are_not_taken_apart() -> None:
    code = migrated("def f(xs):\n    a = [F.sum(xs[0]).data]\n    a.append([1, 2])\n    return np.asarray(a)\n").code
    assert "for array in" not in code
