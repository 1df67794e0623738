"""A value by which `chainer.grad` is asked requires its gradient, also where its graph was cut: both frameworks run."""

import numpy as np
import pytest

from chainer2torch.engine import migrate_source
from tests.support.both_sides import both

PENALTY = """
net = L.Linear(3, 1, initialW=np.arange(3, dtype="f").reshape(1, 3) + 1)
maker = L.Linear(2, 3, initialW=np.arange(6, dtype="f").reshape(3, 2) - 2)
real = chainer.as_variable(np.arange(6, dtype="f").reshape(2, 3))
noise = np.ones((2, 2), dtype="f")


def penalty(cut):
    net.cleargrads()
    fake = maker(noise)
    if cut:
        fake.unchain_backward()
    middle = 0.25 * real + 0.75 * fake
    gradient, = chainer.grad([F.tanh(net(middle))], [middle], enable_double_backprop=True)
    loss = F.sum(gradient ** 2)
    loss.backward()
    return loss, net.W.grad


out = [penalty(cut) for cut in (False, True)]
"""


def test_the_penalty_of_a_gradient():
    original, migrated = both(PENALTY, left=["chainer.Variable.unchain_backward"])
    for ours, theirs in zip(original["out"], migrated["out"], strict=True):
        np.testing.assert_allclose(theirs[0].detach().numpy(), ours[0].array, rtol=1e-5)
        np.testing.assert_allclose(np.asarray(theirs[1]), np.asarray(ours[1]), rtol=1e-5)
    assert "(0.25 * real + 0.75 * fake).requires_grad_()" in migrated["__code__"]


@pytest.mark.parametrize(
    ("made", "says_so"),
    [
        ("net(x)", False),  # its graph goes to the parameters
        ("e * net(x) + x", False),
        ("e * y + x", False),
        ("e * y.array + x", True),
        ("e * x", True),
        ("y", False),
        ("chainer.Variable(x.array)", True),  # as every Variable of which a gradient is asked
    ],
)
def test_only_what_may_have_no_graph_says_so(made, says_so):
    code = migrate_source(
        "import chainer\nimport chainer.functions as F\nimport chainer.links as L\n\n"
        "net = L.Linear(3, 1)\n\n\ndef f(x, e):\n    y = net(x)\n"
        f"    m = {made}\n    return chainer.grad([F.exp(m)], [m])\n",
        hints={"f.x": "tensor rank 2", "f.e": "tensor rank 2"},
    ).code
    line = next(line for line in code.splitlines() if line.startswith("    m = "))
    assert ("requires_grad_" in line or "compat.variable" in line) is says_so, line


def test_without_a_graph_a_model_gives_none():
    code = migrate_source(
        "import chainer\nimport chainer.links as L\n\nnet = L.Linear(3, 1)\n\n\ndef f(x):\n"
        "    with chainer.no_backprop_mode():\n        y = net(x)\n"
        "    m = y * 2\n    return chainer.grad([m * m], [m])\n",
        hints={"f.x": "tensor rank 2"},
    ).code
    assert "m = (y * 2).requires_grad_()" in code
