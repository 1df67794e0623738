"""Dtypes of computations with arrays of an array module: the same values and dtypes as NumPy's."""

import numpy as np
import pytest
import torch

from tests.support.both_sides import both

_SETUP = """
def f():
    x = chainer.Variable(np.array([[1., -2., 3.], [4., 5., -6.]], 'f'))
    xp = chainer.backend.get_array_module(x)
    i = xp.array([1, -2, 7], 'i')
    b = xp.array([True, False, True])
    g = xp.array([1.5, -2.5, 3.5], 'f')
    d = g.astype('d')
    table = json.loads('{}')
    perhaps, hosts = table.get('k', i), table.get('k', np.array([1, -2, 7], 'i'))
"""
_EXPRESSIONS = (
    """
b * 1.5 | b / 2 | b / b | 1 - b | b - b.astype('i') | i - b | b.mean() | b.sum() | b - d
xp.array([1, 0]) / xp.array([0, 0]) | xp.array([1, 2]) / 4 | xp.array([[1, 2], [3, 4]]).mean()
xp.array((1, 2.5)) / 2
xp.array([True, False]) / 2 | xp.array(3) / 2 | xp.array([1, 2.5]) * 2 | 0.5 * xp.array([3, 4])
x.array.dot(i) | i.dot(x.array.T) | b.dot(g) | g.dot(b) | x.array.dot(d) | d.dot(x.array.T)
i.dot(xp.array([1, 2, 3]))
x.array @ np.eye(3) | np.eye(2) @ x.array | x.array @ np.eye(3, dtype='f') | np.ones(2) @ x.array
perhaps @ x.array.T | x.array @ perhaps | x.array @ hosts | hosts @ x.array.T
perhaps * x.array[0] | g - perhaps | x.array + hosts | hosts / g | perhaps ** g
x.array @ d | x.array @ i | i @ x.array.T | x.array @ g | d @ b | g.dot(2) | g.dot(2.5) | i.dot(2)
i / 2 | i // 2 | i // -2 | i % -3 | i ** 2 | g % -2 | g // i | (0 < i) & (i < 5) | i * 0.5
i + g | i.mean() | i.std()
xp.power(i, 2) | xp.mean(i) | xp.sum(b) | xp.arange(0, 1, .1) | g.astype('i')
g.astype('i') / 2 | xp.sum(b, axis=0) / 3
""".strip()
    .replace("\n", " | ")
    .split(" | ")
)


@pytest.fixture(scope="module")
def results():
    lines = "".join(f"    yield {expression}\n" for expression in _EXPRESSIONS)
    with np.errstate(all="ignore"):
        original, migrated = both(f"import json\n{_SETUP}{lines}")
        return list(original["f"]()), list(migrated["f"]())


@pytest.mark.parametrize("place", range(len(_EXPRESSIONS)), ids=_EXPRESSIONS)
def test_an_expression(results, place):
    expected, got = results[0][place], results[1][place]
    assert isinstance(got, torch.Tensor)
    np.testing.assert_allclose(got.numpy(), expected, rtol=1e-6)
    assert got.numpy().dtype == expected.dtype


def test_a_dtype_that_is_not_known_is_not_guessed(migrate):
    """The number is made for a gradient: it has the dtype of the other, whatever that is."""
    code = migrate("""
import chainer
import numpy as np
def f(x):
    return chainer.Variable(np.array(0, dtype=x.dtype)), chainer.Variable(np.array([1, 2], x.dtype))
""").code
    assert code.count("compat.variable(") == 2


@pytest.mark.parametrize("way", ["w", "json.loads('{}').get('k', w)", "[w][0]"])
def test_weights_in_lists_that_are_perhaps_of_the_host_are_tensors(way):
    original, migrated = both(f"""
import json
def f():
    w = np.arange(9, dtype='f').reshape(3, 3) / 9
    v = {way}
    x = chainer.Variable(w)
    return F.n_step_rnn(1, 0., x[None, :1], [[v[:3], v[:3]]], [[v[0], v[0]]], [x])[1][0]
""")
    np.testing.assert_allclose(migrated["f"]().detach().numpy(), original["f"]().array, rtol=1e-5)
