"""chainer.functions.rnn: sequences of different lengths, and dropout with the same masks."""

import chainer
import chainer.functions as F
import numpy as np
import pytest
import torch
from chainer.functions.rnn import n_step_rnn as chainers
from chainer.links.rnn import n_step_rnn as chainers_links

from chainer2torch.compat.variable import modes
from chainer2torch.compat.functions import recurrent
from tests.support.differential import check, check_raises

_KINDS = {"lstm": 4, "gru": 3, "rnn": 1}


@pytest.mark.parametrize(
    "c, x", [((4, 3), (4, 12)), ((4, 3), (2, 12)), ((4, 3), (0, 12)), ((2, 3, 5), (2, 12, 5)), ((1, 1), (1, 4))]
)
def test_lstm(c, x):
    rng = np.random.RandomState(0)
    check(F.lstm, recurrent.lstm, [rng.randn(*c), rng.randn(*x)], double_backward=len(c) == 2 and x[0] == c[0])


def test_slstm():
    check(F.slstm, recurrent.slstm, ["f32[4,3]", "f32[4,3]", "f32[4,12]", "f32[4,12]"], double_backward=True)


@pytest.mark.parametrize("children", [1, 2, 3])
def test_tree_lstm(children):
    check(F.tree_lstm, recurrent.tree_lstm, ["f32[4,3]"] * children + [f"f32[4,{3 * (3 + children)}]"])


@pytest.mark.parametrize(
    "name, inputs",
    [
        ("lstm", ["f32[2,3]", "f32[3,12]"]),
        ("lstm", ["f32[2,3]", "f32[2,11]"]),
        ("lstm", ["f32[2,3]", "f32[2,8]"]),
        ("slstm", ["f32[2,3]", "f32[2,3]", "f32[2,12]", "f32[2,8]"]),
        ("tree_lstm", ["f32[2,3]", "f32[2,13]"]),
    ],
)
def test_errors_stay_errors(name, inputs):
    check_raises(getattr(F, name), getattr(recurrent, name), inputs)


def _inputs(kind, directions, layers, lengths, n_in=4, units=3):
    """(hx[, cx], ws, bs, xs) with `lengths[t]` sequences at time t."""
    rng = np.random.RandomState(0)
    gates = _KINDS[kind]
    state = rng.randn(layers * directions, lengths[0], units)
    ws = [
        [rng.randn(units, size) for size in [n_in if layer == 0 else units * directions] * gates + [units] * gates]
        for layer in range(layers)
        for _ in range(directions)
    ]
    bs = [[rng.randn(units) for _ in range(2 * gates)] for _ in ws]
    xs = [rng.randn(n, n_in) for n in lengths]
    return [state, *([rng.randn(*state.shape)] if kind == "lstm" else []), ws, bs, xs]


@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.parametrize("bi", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("lengths", [[3, 2, 2, 1], [2, 2], [1]])
def test_n_step(kind, bi, layers, lengths):
    name = f"n_step_{'bi' if bi else ''}{kind}"
    check(
        lambda *args: getattr(F, name)(layers, 0.0, *args),
        lambda *args: getattr(recurrent, name)(layers, 0.0, *args),
        _inputs(kind, 2 if bi else 1, layers, lengths),
        strided=False,
    )


@pytest.mark.parametrize("bi", [False, True])
def test_n_step_rnn_with_relu(bi):
    name = "n_step_birnn" if bi else "n_step_rnn"
    check(
        lambda *args: getattr(F, name)(2, 0.0, *args, activation="relu"),
        lambda *args: getattr(recurrent, name)(2, 0.0, *args, activation="relu"),
        _inputs("rnn", 2 if bi else 1, 2, [3, 1]),
        strided=False,
    )


class _Masks:
    """The same sequence of dropout masks for both sides."""

    def __init__(self):
        self.rng = np.random.RandomState(5)
        self.drawn = 0

    def __call__(self, shape, ratio):
        self.drawn += 1
        return (self.rng.rand(*shape) >= ratio) / (1 - ratio)


@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.parametrize("bi", [False, True])
@pytest.mark.parametrize("train", [True, False])
def test_dropout_between_the_layers(kind, bi, train, monkeypatch):
    name = f"n_step_{'bi' if bi else ''}{kind}"
    masks = {"chainer": [], "torch": []}

    def chainers_dropout(x, ratio=0.5):
        return x * masks["chainer"][-1](x.shape, ratio).astype(x.dtype) if chainer.config.train else x

    def torchs_dropout(x, p=0.5, training=True):
        return x * torch.from_numpy(masks["torch"][-1](x.shape, p)).to(x.dtype) if training else x

    monkeypatch.setattr(chainers.dropout, "dropout", chainers_dropout)
    monkeypatch.setattr(recurrent.F, "dropout", torchs_dropout)

    def in_chainer(*args):
        masks["chainer"].append(_Masks())
        return getattr(F, name)(3, 0.4, *args)

    def in_torch(*args):
        masks["torch"].append(_Masks())
        return getattr(recurrent, name)(3, 0.4, *args)

    inputs = _inputs(kind, 2 if bi else 1, 3, [3, 2, 1])
    with chainer.using_config("train", train), modes.using_train(train):
        check(in_chainer, in_torch, inputs, strided=False)
    assert masks["torch"][-1].drawn == masks["chainer"][-1].drawn == (6 * (2 if bi else 1) if train else 0)


def test_training_can_be_said_explicitly():
    args = [torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in _inputs("rnn", 1, 2, [3])]
    hx, ws, bs, xs = args
    ws, bs = ([[torch.from_numpy(w) for w in layer] for layer in part] for part in (ws, bs))
    xs = [torch.from_numpy(x) for x in xs]
    quiet = recurrent.n_step_rnn(2, 0.5, hx, ws, bs, xs, training=False)[1][0]
    assert torch.equal(quiet, recurrent.n_step_rnn(2, 0.0, hx, ws, bs, xs)[1][0])
    assert not torch.equal(quiet, recurrent.n_step_rnn(2, 0.5, hx, ws, bs, xs)[1][0])


def test_n_step_refuses_inputs_of_another_size():
    inputs = _inputs("rnn", 1, 1, [2])
    inputs[-1] = [np.zeros((2, 5))]
    check_raises(
        lambda *args: F.n_step_rnn(1, 0.0, *args),
        lambda *args: recurrent.n_step_rnn(1, 0.0, *args),
        inputs,
        torch_error=(ValueError,),
    )
    check_raises(
        lambda *args: F.n_step_rnn(1, 0.0, *args, "elu"),
        lambda *args: recurrent.n_step_rnn(1, 0.0, *args, "elu"),
        _inputs("rnn", 1, 1, [2]),
        torch_error=(ValueError,),
    )


@pytest.mark.parametrize("inv", [False, True])
@pytest.mark.parametrize("order", [[2, 0, 3, 1], np.array([3, 2, 1, 0], "i"), []])
def test_lists_are_put_in_an_order(order, inv):
    items = ["a", "b", "c", "d"][: len(order)]
    assert recurrent.permutate_list(items, order, inv) == chainers_links.permutate_list(items, order, inv)
