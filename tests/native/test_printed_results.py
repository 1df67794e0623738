"""Results of an array module's functions, and of methods of arrays, as texts: those of NumPy's arrays."""

import numpy as np
import pytest

from tests.support.native_snippets import run

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
