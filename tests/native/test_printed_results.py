"""Results of an array module's functions, and of methods of arrays, as texts: those of NumPy's arrays."""

import re

import numpy as np
import pytest

from tests.support.native_snippets import run

WRITES = """
import contextlib
import io
import pprint


def run(xs):
    y = chainer.functions.tanh(chainer.Variable(xs[0]))
    rows = [(i, y.array[0, i], y.array[0]) for i in range(2)]
    total = 0
    for row in y.array:
        total += row.sum()
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        {line}
    return out.getvalue()
"""


@pytest.mark.parametrize(
    "line",
    [
        "print(*rows[0])",
        "for row in rows: print('row', *row)",
        "print(*y.array[0], sep=', ')",
        "print(*y.shape, *[1, 2])",
        "pprint.pprint({'a': y.array[0], 'b': [float(y.array[0, 1]), y.shape]})",
        "print(pprint.pformat([y.array.max(), y.array[0]]))",
        "print(abs(total), -total, abs(total - 1))",
    ],
)
def test_what_is_written_item_by_item_looks_as_in_chainer(line: str) -> None:
    theirs, ours, _ = run(WRITES.format(line=line))
    assert "tensor" not in ours
    numbers = [[float(v) for v in re.findall(r"-?[0-9]+\.?[0-9]*", text)] for text in (theirs, ours)]
    np.testing.assert_allclose(*numbers, rtol=1e-4)
    assert len(ours.split()) == len(theirs.split())


PROGRAM = """
def run(xs):
    a = chainer.functions.matmul(chainer.Variable(xs[0].T), chainer.Variable(xs[0])).array
    a = a + chainer.backend.get_array_module(a).eye(2, dtype='f')
    xp = chainer.backend.get_array_module(a)
    {lines}
    return {texts}, {sums}
"""


@pytest.mark.parametrize(
    ("lines", "value"),
    [
        ("pass", "a.trace(); xp.trace(a)"),
        ("pass", "xp.count_nonzero(a); xp.count_nonzero(a > 1)"),
        ("pass", "xp.linalg.matrix_rank(a); xp.linalg.matrix_rank(xp.zeros((2, 2), 'f'))"),
        ("h, e = xp.histogram(a, bins=2)", "h; e"),
        ("s, d = xp.linalg.slogdet(a)", "s; d"),
        ("w, v = xp.linalg.eigh(a)", "w; abs(v)"),
        ("u, s, v = xp.linalg.svd(a)", "abs(u); s"),
        ("q, r = xp.linalg.qr(a)", "abs(q); abs(r)"),
    ],
)
def test_texts_are_those_of_arrays(lines: str, value: str) -> None:
    parts = [part.strip() for part in value.split(";")]
    texts = ", ".join(f"str({part})" for part in parts)
    sums = ", ".join(f"float(({part}).sum())" for part in parts)
    theirs, ours, _ = run(PROGRAM.format(lines=lines, texts=f"[{texts}]", sums=f"[{sums}]"))
    for a, b in zip(theirs[0], ours[0], strict=True):
        assert "tensor" not in b and len(a.split()) == len(b.split())
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-5)
