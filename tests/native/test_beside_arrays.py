"""Arrays of the host beside expressions that are Variables: their dtype is the Variable's, also in float64."""

import numpy as np
import pytest

from tests.support.native_snippets import migrated, run

PROGRAM = """
def run(xs):
    x = F.sigmoid(F.cast(chainer.Variable(xs[0]), {{'a': '{dtype}'}}['a']))
    m = np.full(xs[0].shape, 1 / 3.)
    made = [F.exp(x) * m, m * F.exp(x), m - F.exp(x), m / F.exp(x), F.exp(x) / (1. - m), m ** F.exp(x), m + F.exp(x)]
    return [v.array for v in made]
"""


@pytest.mark.parametrize(("dtype", "rtol"), [("f", 1e-6), ("d", 1e-14)])
def test_an_array_takes_the_dtype_of_the_expression_beside_it(dtype, rtol):
    theirs, ours, code = run(PROGRAM.format(dtype=dtype))
    assert "default_dtype" not in code, code
    for expected, found in zip(theirs, ours, strict=True):
        assert np.asarray(found).dtype == expected.dtype == np.dtype(dtype)
        np.testing.assert_allclose(found, expected, rtol=rtol)


ITEMS = """
def run(xs):
    out = {{'y': F.sigmoid(F.cast(chainer.Variable(np.arange(3.)), {{'a': '{dtype}'}}['a']))}}
    w = np.full(3, 1 / 3., '{other}')
    return [v.array for v in (out['y'] * w, w - out['y'], F.exp(out['y']) / w.sum(), [w.sum() * F.exp(out['y'])][0])]
"""


@pytest.mark.parametrize(("dtype", "rtol"), [("f", 1e-6), ("d", 1e-14)])
@pytest.mark.parametrize("other", ["f", "d"])
def test_items_and_single_numbers(dtype, rtol, other):
    theirs, ours, code = run(ITEMS.format(dtype=dtype, other=other))
    assert "default_dtype" not in code and ".to(out['y'])" in code, code
    for expected, found in zip(theirs, ours, strict=True):
        assert np.asarray(found).dtype == expected.dtype == np.dtype(dtype)
        np.testing.assert_allclose(found, expected, rtol=rtol)


def test_where_no_name_is_possible_a_person_is_asked():
    text = "def f(x):\n    x = chainer.Variable(x)\n    return [F.exp(x) * np.full(3, 1 / 3.) for _ in range(2)]\n"
    assert any(site.state == "review" and "default dtype" in site.message for site in migrated(text).sites)


BATCHES = """
from chainer.dataset import convert


def between(batch, y):
    x = convert.concat_examples(batch, -1)
    e = np.random.RandomState(0).uniform(0, 1, (len(batch), 1))
    return [x * e - y, y / (1 + e - x), y * (x - e), (x + e) / y]


def run(xs):
    y = F.sigmoid(F.cast(chainer.Variable(xs[0]), {{'a': '{dtype}'}}['a']))
    return [v.array for v in between([np.arange(y.shape[1], dtype='f') + i for i in range(len(y))], y)]
"""


@pytest.mark.parametrize(("dtype", "rtol"), [("f", 1e-6), ("d", 1e-14)])
def test_a_batch_beside_an_array_of_float64_is_such_an_array(dtype, rtol):
    """A converter gives one array or a tuple of them; what is computed with is one, and a Variable keeps its dtype."""
    theirs, ours, code = run(BATCHES.format(dtype=dtype))
    for expected, found in zip(theirs, ours, strict=True):
        assert np.asarray(found).dtype == expected.dtype == np.dtype(dtype), code
        np.testing.assert_allclose(found, expected, rtol=rtol)


LOADED = """
import os


class Net(chainer.Chain):
    def __init__(self, scale=0.25):
        super().__init__()
        self.scale = scale

    def noise(self, x, near, d):
        v = chainer.Variable(d)
        eps = self.scale * near
        return [F.transpose(eps * F.transpose(v)), eps - F.exp(v), eps ** F.exp(v), F.exp(v) / eps{last}]

    def handed(self, x, near, d):
        return self.noise(x, near, d)


class Updater(chainer.training.StandardUpdater):
    def update_core(self):
        batch, index = self.get_iterator('main').next()
        x = chainer.Variable(self.converter(batch, self.device))
        self.get_optimizer('main').target.handed(x, index, batch)


def run(xs):
    near = np.load(os.environ['NEAR'] + '.npy')
    x = np.ones((2, 2), '{dtype}')
    return [v.array for v in Net().handed(x, near[np.random.RandomState(0).permutation(2)], x / 3)]
"""


@pytest.mark.parametrize(("dtype", "rtol"), [("f", 1e-6), ("d", 1e-14)])
def test_what_may_be_an_array_stands_before_an_expression(dtype, rtol, tmp_path, monkeypatch):
    """It is read first, and made a tensor of the dtype of what is computed behind it."""
    np.save(tmp_path / "near.npy", np.full((2, 2), 1 / 3.0))
    monkeypatch.setenv("NEAR", str(tmp_path / "near"))
    theirs, ours, code = run(LOADED.format(dtype=dtype, last=""))
    for expected, found in zip(theirs, ours, strict=True):
        assert np.asarray(found).dtype == expected.dtype == np.dtype(dtype), code
        np.testing.assert_allclose(found, expected, rtol=rtol)
    assert "compat.beside(eps, y := torch.exp(v)) ** y" in code, code


def test_an_operator_without_such_a_form_is_a_question():
    found = [
        s.message for s in migrated(LOADED.format(dtype="f", last=", eps @ F.exp(v)")).sites if s.state == "review"
    ]
    assert sum("the other side may be a Variable" in message for message in found) == 1, found
