"""What PyTorch refuses or answers otherwise about gradients and parameters, where the function itself shows it."""

import textwrap

import pytest

from tests.generated import judge, printed_judge, values

NEW = [
    "print(sum(1 for q in m.params() if q.grad is not None))",
    "print(m.fc.W.grad)",
    "for name, q in sorted(m.namedparams()):\n    print(name, q.grad)",
    "print({n: q.grad.copy() for n, q in m.namedparams()}['/fc/b'])",
    "opt = optimizers.SGD(0.1)\nopt.setup(m)\nprint(m.fc.b.grad)",
    "F.sum(m(xs)).backward()\nprint(m.fc.b.grad)",
    "m.zerograds()\nprint(m.fc.b.grad)",
]
CLEARED = [
    "m.cleargrads()\nF.sum(m(xs)).backward()\nprint(m.fc.b.grad)",
    "m.zerograds()\nF.sum(m(xs)).backward()\nprint(m.fc.b.grad)",
    "optimizers.SGD(0.1).setup(m).update(lambda: F.sum(m(xs)))\nprint(m.fc.b.grad)",
]
WITHOUT_GRAPH = [
    "with chainer.no_backprop_mode():\n    y = F.sum(m(xs))\ny.backward()",
    "with chainer.using_config('enable_backprop', False):\n    y = F.sum(m(xs))\n    y.backward()",
    "y = F.sum(chainer.Variable(xs))\ny.backward()",
    "y = F.sum(m(xs).data) * 2\ny.backward()",
    "def step(train):\n    with chainer.using_config('enable_backprop', train):\n        y = F.sum(m(xs))\n"
    "    y.backward()\nstep(False)",
]
WITH_GRAPH = [
    "y = chainer.Variable(np.zeros((), 'f'))\nfor _ in range(2):\n    y += F.sum(m(xs))\ny.backward()",
    "with chainer.no_backprop_mode():\n    with chainer.force_backprop_mode():\n        y = F.sum(m(xs))\ny.backward()",
    "x = chainer.Variable(xs)\ny = F.sum(x * 2)\ny.backward()\nprint(x.grad)",
    "y = F.sum(m(xs).data + m(xs))\ny.backward()",
    "with chainer.no_backprop_mode():\n    y = m(xs)\nz = F.sum(y.data * m(xs))\nz.backward()",
    "for train in (True, False):\n    with chainer.using_config('enable_backprop', train):\n        y = F.sum(m(xs))\n"
    "    if train:\n        y.backward()",
]
WHOLE = [
    "m.fc.b.array = np.arange(3)",
    "m.fc.b.data = m(xs).array.argmax(axis=0)",
    "for p in m.params():\n    p.data = np.zeros(p.shape, 'i')",
]


def verdict(body, cleared=""):
    lines = f"m = Net()\n{cleared}{body}\nprint('end')\n"
    return printed_judge.judged(values.HEAD + textwrap.indent(lines, "    "))


@pytest.mark.parametrize("body", NEW)
def test_gradients_of_a_new_model_are_marked(body):
    found, _, text = verdict(body)
    assert found in (judge.MARKED, judge.LEFT) and "new model" in text, text


@pytest.mark.parametrize("body", CLEARED)
def test_gradients_that_were_cleared_are_not(body):
    found, detail, text = verdict(body)
    assert found == judge.SAME and "TODO" not in text, f"{detail}\n{text}"


@pytest.mark.parametrize("body", WITHOUT_GRAPH)
def test_backward_without_a_graph_is_marked(body):
    found, _, text = verdict(body, "m.cleargrads()\n")
    assert found == judge.LEFT and "is in no graph" in text, text


@pytest.mark.parametrize("body", WITH_GRAPH)
def test_backward_with_a_graph_is_not(body):
    found, detail, text = verdict(body, "m.cleargrads()\n")
    assert found == judge.SAME and "is in no graph" not in text, f"{detail}\n{text}"


@pytest.mark.parametrize("body", WHOLE)
def test_whole_numbers_in_a_parameter_are_marked(body):
    found, _, text = verdict(body)
    assert found == judge.LEFT and "refuse these whole ones" in text, text
