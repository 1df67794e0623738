"""unchain_backward() in the native style: both programs are run, and their gradients are equal."""

import numpy as np
import pytest
import torch

from chainer2torch.native.graphs import backward_until
from tests.support.native_snippets import migrated, run

RNN = """
class RNN(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.w = chainer.Parameter(np.array([[0.5, -0.3], [0.2, 0.9]], 'f'))
        self.h = None

    def __call__(self, x):
        self.h = F.tanh(x if self.h is None else x + F.matmul(self.h, self.w))
        return self.h


def run(xs):
    model = RNN()
    found = []
    loss = 0
    for i, x in enumerate(xs):
        loss += F.sum(model(x) ** 2)
        if i % 2 == 1:
            model.cleargrads()
            loss.backward()
            loss.unchain_backward()
            found.append(np.array(model.w.grad))
            loss = 0
    return found
"""
GOES_ON = RNN.replace("loss = 0\n    return", "loss.data.fill(0)\n    return")  # `loss += ...` reads what was cut
STACKED = RNN.replace("return self.h\n", "y, self.h = self.h, F.stack([self.h])[0]\n        return y\n")
BEHIND = RNN.replace("return self.h\n", "y, self.h = self.h, F.matmul(self.h, self.w)\n        return y\n")
CRITIC = """
def run(xs):
    g = chainer.Parameter(np.array([[1.0, 2.0]], 'f'))
    d = chainer.Parameter(np.array([[3.0, -1.0]], 'f'))
    fake = xs[0] * g
    score = F.sum(F.tanh(fake * d))
    loss_gen = -score
    loss_dis = score + F.sum(xs[1] * d ** 2)
    g.cleargrad()
    d.cleargrad()
    loss_gen.backward()
    fake.unchain_backward()
    d.cleargrad()
    LINE
    loss_dis.backward()
    return [np.array(g.grad), np.array(d.grad)]
"""
SUMMED = """
def run(xs):
    w = chainer.Parameter(np.array([[1.0, 2.0]], 'f'))
    v = chainer.Parameter(np.array([[3.0, 2.0]], 'f'))
    total = F.sum(w ** 2)
    loss = F.sum(F.tanh(xs[0] * v))
    total += loss
    loss.unchain_backward()
    total += 1
    total.backward()
    return [np.array(w.grad), np.array(v.grad is None)]
"""
LATER = """
def run(xs):
    w = chainer.Parameter(np.array([[1.0, 2.0]], 'f'))
    h = xs[0] * w
    h.unchain_backward()
    h = F.tanh(h * w)
    w.cleargrad()
    F.sum(h).backward()
    return [np.array(w.grad)]
"""


@pytest.mark.parametrize(
    ("program", "written"),
    [
        (RNN, "compat.detach_states(loss, model)"),
        (STACKED, "compat.detach_states(loss, model)"),
        (GOES_ON, "loss = loss.detach()"),
        (CRITIC.replace("    LINE\n", ""), "compat.backward_until(loss_dis, fake)"),
        (
            CRITIC.replace("LINE", "loss_dis += F.sum((fake * d) ** 2)"),
            "compat.backward_until(loss_dis, fake_with_graph)",
        ),
        (LATER, "h = h.detach()"),
        (SUMMED, "compat.backward_until(total, loss)"),
    ],
    ids=["state", "stacked_state", "sum_goes_on", "critic", "critic_again", "name", "sum_of_others"],
)
def test_gradients_are_chainers(program, written):
    theirs, ours, code = run(program)
    assert written in code and "unchain" not in code and "compat.live" not in code
    for expected, found in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_a_state_that_parameters_made_behind_the_loss_is_not_cut_there():
    """Chainer goes on to learn from it, which PyTorch cannot: the graph is freed."""
    with pytest.raises(RuntimeError, match="second time"):
        run(BEHIND)


def test_the_cut_matters():
    """Without it the gradients are others: the programs above would notice."""
    theirs, _, _ = run(CRITIC.replace("    LINE\n", ""))
    without, _, _ = run(CRITIC.replace("    LINE\n", "").replace("    fake.unchain_backward()\n", ""))
    assert not np.allclose(theirs[0], without[0])


@pytest.mark.parametrize(
    "program",
    [
        "def run(h):\n    h.unchain_backward()\n    return F.tanh(h)\n",  # whoever holds it is not seen here
        "class A:\n    def run(self, x):\n        self.h = F.tanh(x)\n        self.h.unchain_backward()\n",
    ],
)
def test_what_is_not_understood_keeps_the_long_helper(program):
    assert "compat.unchain_backward" in migrated(program).code


def test_models_of_functions_inside_are_not_named():
    code = migrated(NESTED).code
    assert "compat.detach_states(loss, model)" in code


NESTED = """
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__()
        with self.init_scope():
            self.rnn = L.LSTM(3, 2)

    def forward(self, x):
        return F.sum(self.rnn(x))


def main(batches):
    model = Net()

    def evaluate(batches):
        evaluator = model.copy()
        return [evaluator(x) for x in batches]

    loss = 0
    for x in batches:
        loss += model(x)
    model.cleargrads()
    loss.backward()
    loss.unchain_backward()


main([np.zeros((1, 3), 'f')])
"""


UNPACKED = """
def both(x, g, d):
    fake = x * g
    return fake, F.sum(F.tanh(fake * d))


def run(xs):
    g = chainer.Parameter(np.array([[1.0, 2.0]], 'f'))
    d = chainer.Parameter(np.array([[3.0, -1.0]], 'f'))
    fake, score = both(xs[0], g, d)
    loss_gen = -score
    BEFORE
    g.cleargrad()
    d.cleargrad()
    loss_gen.backward()
    fake.unchain_backward()
    d.cleargrad()
    AFTER
    loss_dis.backward()
    return [np.array(g.grad), np.array(d.grad)]
"""
LOSS = "loss_dis = F.sum(xs[1] * d ** 2) + score"


def test_what_came_with_a_cut_value_goes_backward_twice():
    theirs, ours, code = run(UNPACKED.replace("BEFORE", LOSS).replace("    AFTER\n", ""))
    assert "loss_gen.backward(retain_graph=True)" in code and "compat.backward_until(loss_dis, fake)" in code, code
    for expected, found in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_whether_a_cut_reaches_what_came_with_the_value_is_not_guessed():
    """It was detached as well, so that the loss had no gradient by it."""
    code = migrated(UNPACKED.replace("    BEFORE\n", "").replace("AFTER", LOSS)).code
    assert "score = score.detach()" not in code, code


@pytest.mark.parametrize("steps", [1, 3])
def test_nothing_comes_from_behind_a_cut_on_another_way(steps: int) -> None:
    """A sum over all steps of a recurrent net, cut in the middle: what the first steps added has no graph any more."""

    def run(weight: torch.Tensor, h: torch.Tensor, count: int) -> list[torch.Tensor]:
        states = []
        for _ in range(count):
            h = torch.tanh(weight * h + weight)
            states.append(h)
        return states

    weight = torch.tensor([0.5], requires_grad=True)
    first = run(weight, torch.zeros(1), steps)
    second = run(weight, first[-1].detach(), 2)
    backward_until(sum((h * h).sum() for h in first + second), first[-1], 0)
    found, weight.grad = weight.grad, None
    sum((h * h).sum() for h in run(weight, first[-1].detach(), 2)).backward()
    assert torch.equal(found, weight.grad)


GROWING = """
MADE = {'tanh': eval('lambda: f', {'f': F.tanh})}

def grow(name, x):
    gen = MADE[name]()
    for i in range(3):
        y = gen(x)
        y.unchain_backward()
        x = y.data
    return x

def run(xs):
    return [np.array(grow('tanh', chainer.Variable(xs[0])))]
"""


def test_what_is_called_holds_nothing_where_no_model_has_a_state():
    theirs, ours, code = run(GROWING)
    np.testing.assert_allclose(theirs[0], np.array(ours[0]), rtol=1e-6)
    assert "unchain" not in code and "live" not in code


@pytest.mark.parametrize("behind", ["gen(x).backward()", "opt.update(gen, x)"])
def test_what_is_called_may_hold_something_where_the_function_goes_backward(behind):
    code = migrated(GROWING.replace("        x = y.data\n", f"        x = y.data\n        {behind}\n")).code
    assert "unchain_backward" in code


PUT_AWAY = """
def keep(model, x, held):
    y = model(x)
    {above}
    y.unchain_backward()
    {below}
    return y


def run(xs):
    a, b = chainer.links.Linear(2, 2, initialW=1), chainer.links.Linear(2, 2, initialW=2)
    held = {{}} if 'held[' in {above!r} + {below!r} else []
    keep(a, xs[0], held)
    h = held['y'] if isinstance(held, dict) else held[0]
    a.cleargrads()
    b.cleargrads()
    F.sum(b(h) ** 2).backward()
    return [np.array(b.W.grad), np.array(a.W.grad is None)]
"""


@pytest.mark.parametrize("put", ["held.append(y)", "held['y'] = y", "held.extend([y])"])
def test_a_tensor_that_is_put_away_before_it_is_cut_is_a_question(put):
    """The list has the tensor with its graph: where gradients pass the cut, the helper raises, and none is changed."""
    code = migrated(PUT_AWAY.format(above=put, below="pass")).code
    assert "unchain_backward" in code.split("def run")[0] and "y = y.detach()" not in code
    theirs, ours, code = run(PUT_AWAY.format(above="pass", below=put))
    assert "y = y.detach()" in code
    for expected, found in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(found, expected)
