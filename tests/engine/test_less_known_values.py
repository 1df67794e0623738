"""Values of which less is known: None at times, what iterators of one's own give, modules under a second name."""

import pytest

from chainer2torch.engine import migrate_source
from chainer2torch.plan.options import Options

HEAD = """
import numpy as np
import chainer
import chainer.functions as F
v = chainer.Variable(np.ones((2, 3), 'f'))
"""


def code(body):
    return migrate_source(HEAD + body, options=Options(style="native")).code


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("z = None\nif len(v) > 2:\n    z = v.array\nprint(z)\n", "print(compat.to_host(z))"),
        ("z = None if len(v) > 2 else v.array[0, 0]\nprint('%s' % z, z)\n", "'%s' % compat.to_host(z)"),
        ("print(None if len(v) > 2 else v.array)\n", "print(None if len(v) > 2 else v.detach().cpu().numpy())"),
        (
            "def f(x):\n    if x:\n        return 1, None\n    return 2, v.array[0][0]\na, z = f(0)\nprint(a, z)\n",
            "print(a, compat.to_host(z))",
        ),
        ("z = None\nz = v.array\nprint(z)\n", "print(z.cpu().numpy())"),
        (
            "z = None\nfor w in v:\n    if z is None or len(w) > 2:\n        z = w.array\nprint(z)\n",
            "print(z.cpu().numpy())",
        ),
    ],
)
def test_none_is_written_as_it_was(body, line):
    assert line in code(body)


def test_signs_keep_what_both_callers_give():
    text = code(
        "def f(d):\n    return np.max(abs(d), axis=(0, 1)), np.mean(-d, axis=(0, 1))\nf(v.array)\nf(np.ones((2, 3)))\n"
    )
    assert "np.max(compat.to_host(abs(d)), axis=(0, 1)), np.mean(compat.to_host(-d), axis=(0, 1))" in text


def test_an_array_beside_either_is_a_tensor():
    text = code("def f(d):\n    return F.relu(np.zeros((2, 3), 'f') + 2 * d)\nf(v.array)\nf(np.ones((2, 3)))\n")
    assert "torch.as_tensor(np.zeros((2, 3), 'f')) + 2 * d" in text
    text = code("def f(d):\n    return np.zeros((2, 3), 'f') + 2 * d\nf(v.array)\nf(np.ones((2, 3)))\n")
    assert "return np.zeros((2, 3), 'f') + compat.to_host(2 * d)" in text


OWN_ITERATORS = """
class Yields:
    def __iter__(self):
        for _ in range(2):
            yield [v.array]
class Itself:
    def __iter__(self):
        return self
    def __next__(self):
        return v.array
class Chainers(chainer.dataset.Iterator):
    def next(self):
        return [v.array, v.array]
class Lists:
    def __iter__(self):
        return iter([v.array])
for a in Yields():
    print(a[0])
for b in Itself():
    print(b)
for c in Chainers():
    print(c[1])
for d in Lists():
    print(d)
"""


def test_what_iterators_of_ones_own_give_is_written_as_it_was():
    text = code(OWN_ITERATORS)
    assert all(f"print({value}.cpu().numpy())" in text for value in ("a[0]", "b", "c[1]", "d")), text


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("F = chainer.functions\nG = chainer.links\ny = F.relu(v)\nm = G.Linear(2, 3)\n", "nn.functional.relu(v)"),
        ("t = chainer.training\ne = t.extensions\nx = e.LogReport()\n", "x = extensions.LogReport()"),
    ],
)
def test_a_module_under_a_second_name_goes_as_an_import_does(body, line):
    text = code(body)
    assert line in text and "import chainer\n" not in text and "= chainer." not in text


def test_a_second_name_that_is_still_needed_stays():
    text = code("O = chainer.functions\ny = O.relu(O.no_such_function(v))\n")
    assert "O = chainer.functions\n" in text and "(O.no_such_function(v))" in text
    assert text.count("# TODO(chainer2torch C2T090)") == 1


def test_values_of_tables_in_which_arrays_stand_beside_other_things():
    text = code(
        "d = {'a': v.array, 'n': 1, 's': 'x', 'z': None, 'l': [2]}\n"
        "for k in sorted(d):\n    print(k, d[k])\n"
        "for k, w in sorted(d.items()):\n    print('%s %s' % (k, w))\n"
        "e = {'n': 1, 's': 'x', 'z': None, 'l': [2]}\n"
        "for k, w in e.items():\n    print(k, w, e[k])\n"
    )
    assert "print(k, compat.shown(d[k]))" in text and "'%s %s' % (k, compat.shown(w))" in text
    assert "print(k, w, e[k])" in text


def test_arrays_are_swapped_in_one_assignment():
    text = code("p, old = chainer.Parameter(np.ones(3, 'f')), {}\np.array, old[0] = old[0], p.array.copy()\n")
    assert "p.data, old[0] = old[0], p.detach().clone()" in text


def test_gradients_with_a_graph_are_detached_where_they_are_written():
    body = "w = chainer.Variable(np.ones(3, 'f'))\ny = F.sum(w ** 2)\ny.backward({})\nprint(w.grad.sum(axis=0))\n"
    assert "print(w.grad.sum(0).detach().cpu().numpy())" in code(body.format("enable_double_backprop=True"))
    assert "print(w.grad.sum(0).cpu().numpy())" in code(body.format(""))


def test_arrays_of_a_model_that_nobody_knows():
    """`model(x).array` that is compared, and gradients of its layers: what is computed of them are arrays."""
    code = migrate_source(
        HEAD
        + """
def work(model, x):
    slopes = model.fc.W.grad
    high = model(x).array > 0.1
    assert model(x).array is not None
    return slopes.std(), set(high.sum(axis=1)), high.astype('f')
"""
    ).code
    assert "slopes.std(correction=0)" in code
    assert "set(high.sum(1).tolist())" in code
    assert "high.to(torch.float32)" in code
