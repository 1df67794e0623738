"""Learning rates at every iteration beside Chainer's shift extensions; a model's mode inside and after a block."""

import threading
import types

import chainer
import numpy as np
import pytest
import torch
from chainer.training import extensions
from torch import nn
from torch.optim.lr_scheduler import ExponentialLR, LambdaLR, MultiStepLR, PolynomialLR, StepLR

from chainer2torch.native.modes import evaluating, in_mode
from tests.support.native_programs import both

LR = 0.3
# the extension, the scheduler over an optimizer whose rate is LR
SHIFTS = {
    "LinearShift": (
        lambda: extensions.LinearShift("lr", (0.3, 0.1), (5, 25)),
        lambda o: LambdaLR(o, lambda t: (0.3 + min(max((t - 5) / (25 - 5), 0), 1) * (0.1 - 0.3)) / LR),
    ),
    "LinearShift from another value": (
        lambda: extensions.LinearShift("lr", (0.01, 0.2), (0, 20)),
        lambda o: LambdaLR(o, lambda t: (0.01 + min(t / 20, 1) * (0.2 - 0.01)) / LR),
    ),
    "ExponentialShift": (lambda: extensions.ExponentialShift("lr", 0.9), lambda o: ExponentialLR(o, 0.9)),
    "ExponentialShift, init": (
        lambda: extensions.ExponentialShift("lr", 0.9, init=0.6),
        lambda o: LambdaLR(o, lambda t: 0.6 * 0.9**t / LR),
    ),
    "ExponentialShift, target": (
        lambda: extensions.ExponentialShift("lr", 0.9, target=0.05),
        lambda o: LambdaLR(o, lambda t: max(0.9**t, 0.05 / LR)),
    ),
    "ExponentialShift, growing": (
        lambda: extensions.ExponentialShift("lr", 1.1, target=0.9),
        lambda o: LambdaLR(o, lambda t: min(1.1**t, 0.9 / LR)),
    ),
    "InverseShift": (
        lambda: extensions.InverseShift("lr", 0.1, 0.75),
        lambda o: LambdaLR(o, lambda t: (1 + 0.1 * t) ** -0.75),
    ),
    "InverseShift, target": (
        lambda: extensions.InverseShift("lr", 0.1, 0.75, target=0.1),
        lambda o: LambdaLR(o, lambda t: max((1 + 0.1 * t) ** -0.75, 0.1 / LR)),
    ),
    "PolynomialShift": (lambda: extensions.PolynomialShift("lr", 0.9, 30), lambda o: PolynomialLR(o, 30, 0.9)),
    "PolynomialShift, target": (
        lambda: extensions.PolynomialShift("lr", 2, 60, target=0.1),
        lambda o: LambdaLR(o, lambda t: max(max(1 - t / 60, 0) ** 2, 0.1 / LR)),
    ),
    "WarmupShift": (
        lambda: extensions.WarmupShift("lr", 0.03, 10, 0.3),
        lambda o: LambdaLR(o, lambda t: (0.03 + min(t / 10, 1) * (0.3 - 0.03)) / LR),
    ),
    "MultistepShift": (
        lambda: extensions.MultistepShift("lr", 0.1, [5, 20], LR),
        lambda o: MultiStepLR(o, [5, 20], 0.1),
    ),
    "StepShift": (lambda: extensions.StepShift("lr", 0.5, 7), lambda o: StepLR(o, 7, 0.5)),
    "StepShift, target": (
        lambda: extensions.StepShift("lr", 0.5, 7, target=0.05),
        lambda o: LambdaLR(o, lambda t: max(0.5 ** (t // 7), 0.05 / LR)),
    ),
}


@pytest.mark.parametrize("name", SHIFTS)
def test_rates_are_chainers_at_every_step(name):
    make_theirs, make_ours = SHIFTS[name]
    theirs = chainer.optimizers.SGD(LR)
    trainer = types.SimpleNamespace(updater=types.SimpleNamespace(get_optimizer=lambda _: theirs))
    ours = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=LR)
    extension, scheduler = make_theirs(), make_ours(ours)
    extension.initialize(trainer)
    rates = []
    for _ in range(40):
        rates.append((theirs.lr, ours.param_groups[0]["lr"]))
        ours.step()  # the update happens with this rate; the extension and the scheduler come after it
        extension(trainer)
        scheduler.step()
    expected, found = np.array(rates).T
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)
    assert len(set(expected)) > 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop, self.frozen = nn.Dropout(0.5), nn.BatchNorm1d(3).eval()


def test_evaluating_gives_every_module_its_mode_back():
    net, other = Net(), Net().eval()
    with evaluating(net, other):
        assert not any(module.training for module in net.modules())
    assert net.training and net.drop.training and not net.frozen.training and not other.training
    with pytest.raises(KeyError), evaluating(net):
        raise KeyError
    assert net.drop.training and not net.frozen.training


def test_evaluating_is_using_config_and_keeps_gradients():
    x = np.ones((2, 4), "f")
    with chainer.using_config("train", False):
        expected = chainer.functions.dropout(x, 0.5).array
    net = Net()
    with evaluating(net):
        y = net.drop(torch.tensor(x, requires_grad=True))
    np.testing.assert_array_equal(y.detach().numpy(), expected)
    assert y.requires_grad


class _Parts(nn.Module):
    """Calls a dropout that it has registered, and one that it has not."""

    def __init__(self):
        super().__init__()
        self.named = nn.Dropout(0.5)
        self.hidden = [nn.Dropout(0.5)]

    def forward(self, x):
        return self.hidden[0](self.named(x))


@pytest.mark.parametrize("train", [True, False, 0])
def test_in_mode_switches_the_models_and_all_that_is_called(train):
    parts, other, untouched = _Parts(), nn.Dropout(0.5), nn.Dropout(0.5)
    other.training = parts.hidden[0].training = not train
    untouched.training = not train
    with pytest.raises(KeyError), in_mode(train, parts):
        assert parts.named.training is bool(train)
        parts(other(torch.ones(3)))
        assert parts.hidden[0].training is other.training is bool(train)
        with in_mode(not train):
            other(torch.ones(3))
            assert other.training is not bool(train)
        assert other.training is bool(train) and untouched.training is not bool(train)
        raise KeyError
    assert parts.training and parts.named.training, "as before"
    assert other.training is parts.hidden[0].training is not bool(train)
    other(torch.ones(3))
    assert other.training is not bool(train), "the hook is gone"


def test_in_mode_leaves_the_calls_of_other_threads_alone():
    net, seen = nn.Dropout(0.5), []

    def call():
        net(torch.ones(3))
        seen.append(net.training)

    with in_mode(False):
        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
    assert seen == [True]


def test_in_mode_is_using_config():
    ours, theirs = nn.Dropout(0.5), chainer.functions.dropout
    x = np.ones((4, 5), "f")
    for train in (False, True):
        with in_mode(train), chainer.using_config("train", train):
            a, b = ours(torch.from_numpy(x)).numpy(), theirs(x).array
        assert (a == x).all() == (b == x).all() == (not train)


ASKING = """
class Data(chainer.dataset.DatasetMixin):
    def __len__(self):
        return 3

    def get_example(self, i):
        return np.full(3, 5 if chainer.config.train else 2, 'f')


class Noisy(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.norm = L.BatchNormalization(3)

    def __call__(self, x):
        return F.dropout(self.norm(x), 0.5)

    def predicted(self, data, mode):
        with chainer.using_config('train', mode), chainer.no_backprop_mode():
            return self(data[0][None]).array, float(data[0][0])


def run():
    model, data = Noisy(), Data()
    model.norm.avg_mean[...] = 1
    found = [model.predicted(data, False), float(data[0][0])]
    with chainer.using_config('train', False):
        found.append((float(data[1][0]), model.predicted(data, False)))
        with chainer.using_config('train', True):
            found.append(float(data[1][0]))
        found.append((float(data[1][0]), model(data[2][None]).array))
    return [*found, float(data[0][0]), data[0][0] == (5 if chainer.config.train else 2)]
"""


def test_a_block_gives_its_mode_to_what_asks_the_thread_too():
    """Named models and what is called have the mode of the block, and so has a data set that asks for it."""
    theirs, ours, code = both(ASKING)
    assert "compat.in_mode(" in code and "eval_mode" not in code and "using_train" not in code
    for found, expected in zip(ours["run"](), theirs["run"](), strict=True):
        for one, other in zip(np.ravel(_flat(found)), np.ravel(_flat(expected)), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6)


def _flat(values):
    if isinstance(values, tuple):
        return np.concatenate([_flat(value) for value in values])
    return np.ravel(values.detach().numpy() if isinstance(values, torch.Tensor) else values)


CHOSEN = """
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(3, 2, initialW=1)
            self.bn = L.BatchNormalization(2)

    def forward(self, x):
        return self.bn(self.l(x))


def apply(model, x, train):
    with chainer.using_config('enable_backprop', False), chainer.using_config('train', train):
        if train is None:
            raise ValueError
        return model(x)


def run():
    model, found = Net(), []
    x = np.arange(12, dtype='f').reshape(4, 3) ** 2
    for train in (0, True, False, 1, None):
        try:
            found.append(apply(model, x, train).array)
        except ValueError:
            pass
        found.append(model(x).array + 0)
        found.append(model.bn.avg_mean + 0)
    return [float(value.sum()) for value in found]
"""


def test_a_block_of_a_mode_that_only_the_run_tells_is_the_models_own_switch():
    theirs, ours, code = both(CHOSEN)
    assert "    model.train(bool(train))\n" in code and "in_mode" not in code, code
    np.testing.assert_allclose(ours["run"](), theirs["run"](), rtol=1e-4)
