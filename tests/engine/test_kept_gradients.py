"""Gradients of values in the middle of a graph, which PyTorch keeps only if they are named before backward()."""

import numpy as np
import pytest

from chainer2torch.engine import migrate_source
from tests.support import both_sides

RUN = """
def run(x, w):
    x, w = chainer.Variable(x), chainer.Parameter(w)
    h = F.tanh(x * w)
    both = {{'h': h * 2, 'k': [F.exp(h)]}}
    each = [h * 3, F.sin(h)]
    y = F.sum(both['h'] * both['k'][0]) + F.sum(each[0] * each[1])
    {backward}
    return {read}
"""


@pytest.mark.parametrize(
    "backward, read",
    [
        ("y.backward(retain_grad=True)", "h.grad"),
        ("y.backward(True)", "h.grad, x.grad, w.grad"),
        ("y.backward(retain_grad=True)", "both['h'].grad, both['k'][0].grad"),
        ("y.backward(retain_grad=True, enable_double_backprop=True)", "h.grad_var.array"),
        ("y.backward()", "y.grad is None, x.grad, h.grad is None"),
        ("y.backward(retain_grad=False)", "h.grad is None"),
        ("y.backward(retain_grad=True)", "y.grad"),
        ("y.backward(retain_grad=True)", "tuple(each[i].grad for i in range(2))"),
        ("y.backward(retain_grad=True)", "tuple(each[i].grad * each[0].grad for i in range(2))"),
    ],
)
@pytest.mark.parametrize("shape, dtype", [((3,), "float32"), ((2, 4), "float64")])
def test_gradients_are_kept_as_in_chainer(backward, read, shape, dtype):
    original, migrated = both_sides.both(RUN.format(backward=backward, read=read))
    random = np.random.RandomState(0)
    x, w = random.randn(*shape).astype(dtype), random.randn(*shape).astype(dtype)
    expected, actual = original["run"](x, w), migrated["run"](x.copy(), w.copy())
    for a, b in zip(*(v if isinstance(v, tuple) else (v,) for v in (expected, actual))):
        assert a is not None and b is not None
        np.testing.assert_allclose(np.asarray(b), np.asarray(a), rtol=1e-5)


def test_what_is_named_is_what_is_read():
    code = migrate_source(
        "import chainer\nimport chainer.functions as F\n"
        + RUN.format(backward="y.backward(retain_grad=True)", read="h.grad, w.grad")
    ).code
    assert "    compat.retain_grad(h, w)\n    compat.backward(y, retain_grad=True)\n" in code
    plain = migrate_source(
        "import chainer\nimport chainer.functions as F\n" + RUN.format(backward="y.backward()", read="w.grad")
    ).code
    assert "retain_grad" not in plain and "    y.backward()\n" in plain


def test_items_whose_place_is_not_known_yet_are_asked_for_with_all_others():
    result = migrate_source(
        "import chainer\nimport chainer.functions as F\n\n\ndef f(x):\n    hs = [F.tanh(x), F.sin(x)]\n"
        "    F.sum(hs[0] * hs[1]).backward(retain_grad=True)\n"
        "    for i in range(2):\n        print(hs[i].grad, hs[0].grad)\n"
    )
    assert "    compat.retain_grad(hs)\n" in result.code and "TODO" not in result.code, result.code


def test_gradients_that_are_read_elsewhere_are_said():
    result = migrate_source(
        "import chainer\nimport chainer.functions as F\n\n\nclass A:\n    def f(self, x):\n"
        "        self.h = F.tanh(x)\n        F.sum(self.h).backward(retain_grad=True)\n\n"
        "    def g(self):\n        return self.h.grad\n\n\ndef k():\n    return A().h.grad\n"
    )
    assert "        compat.retain_grad(self.h)\n" in result.code
    assert [(s.line, s.state) for s in result.sites if s.state != "exact"] == [(8, "review")]


@pytest.mark.parametrize(
    "code",
    [
        "for k in [h, y]:\n        print(k.grad)",  # a name that has no value before
        "print(first(h).grad)",  # what a call gives
        "print(CACHE['h'].grad)",  # nothing says that it is here
    ],
)
def test_gradients_beside_those_that_are_named_are_said(code):
    result = migrate_source(
        "import chainer\nimport chainer.functions as F\n\n\ndef f(x, first):\n    h = F.tanh(x)\n"
        f"    y = F.sum(h)\n    y.backward(retain_grad=True)\n    print(h.grad)\n    {code}\n"
    )
    assert "compat.retain_grad(h)" in result.code
    assert [s.state for s in result.sites if s.symbol.endswith(".backward")] == ["review"]


def test_a_name_of_a_comprehension_has_no_value_behind_it():
    original, migrated = both_sides.both(
        """
        def f(link, x):
            y = link(x)
            loss = F.sum(y * y) + sum(F.sum(p ** 2) for p in link.params())
            link.cleargrads()
            loss.backward(retain_grad=True)
            total = y.grad.sum()
            for p in link.params():
                total += p.grad.sum()
            return float(total)

        value = f(L.Linear(3, 2, initialW=1), np.ones((1, 3), 'f'))
    """,
        left=["chainer.Variable.backward"],
    )  # nobody knows that `p` is a parameter
    assert migrated["value"] == original["value"] != 0
