"""Functions that a program chooses by their names."""

from __future__ import annotations

import inspect
from typing import Any

import chainer
import chainer.functions as F
import numpy as np
import pytest
import torch

from chainer2torch.compat.functions.functions_by_name import FunctionsByName
from chainer2torch.vendor.compat_file import build
from tests.support.both_sides import both

NAMES = [name for name in vars(FunctionsByName) if not name.startswith("_")]
# one line each, which every project gets: somebody may choose them on the command line
SHORT = set("elu identity leaky_relu log_softmax relu relu6 selu sigmoid softmax softplus tanh".split())
NEEDS = {"maxout": (2,), "prelu": (np.float32([0.2, 0.3, 0.1, 0.5]),), "swish": (np.float32([1, 2, 0.5, 1]),)}


@pytest.mark.parametrize("dtype, shape", [("f4", (3, 4)), ("f8", (2, 4, 3))])
@pytest.mark.parametrize("name", NAMES)
def test_a_function_under_its_name_computes_the_same(name: str, dtype: str, shape: tuple[int, ...]) -> None:
    data = np.random.RandomState(0).randn(*shape).astype(dtype)
    arguments = [a.astype(dtype) if isinstance(a, np.ndarray) else a for a in NEEDS.get(name, ())]
    x, y = chainer.Variable(data), torch.tensor(data, requires_grad=True)
    with chainer.using_config("train", name != "rrelu"):
        theirs = getattr(F, name)(x, *arguments)
    ours = getattr(FunctionsByName, name)(
        y,
        *(torch.tensor(a) if isinstance(a, np.ndarray) else a for a in arguments),
        **({"training": False} if name == "rrelu" else {}),
    )
    np.testing.assert_allclose(ours.detach(), theirs.array, rtol=1e-5, atol=1e-6)
    weight = np.random.RandomState(1).randn(*theirs.shape).astype(dtype)
    F.sum(theirs * weight).backward()
    (ours * torch.tensor(weight)).sum().backward()
    np.testing.assert_allclose(y.grad, x.grad, rtol=1e-5, atol=1e-6)


def test_the_names_are_those_of_the_activation_functions() -> None:
    package = "chainer.functions.activation."
    activations = {
        name for name, value in vars(F).items() if inspect.isfunction(value) and value.__module__.startswith(package)
    }
    of_state = {"lstm", "slstm", "tree_lstm"}  # which are no function of one value
    assert set(NAMES) == activations - of_state | {"identity"}


@pytest.mark.parametrize("name", ["dropout", "max_pooling_2d", "softmax_cross_entropy"])
def test_other_names_are_errors(name: str) -> None:
    with pytest.raises(AttributeError, match=name):
        getattr(FunctionsByName, name)


def test_a_network_whose_activation_has_a_name() -> None:
    original, migrated = both(
        """
        def act(x, name):
            return getattr(F, name)(x) * 2
        x = chainer.Variable(np.linspace(-3, 3, 12, dtype='f').reshape(3, 4))
        values = [act(x, name) for name in ('relu', 'tanh', 'log_softmax')]
        """,
        left=["chainer.functions"],
    )
    for theirs, ours in zip(original["values"], migrated["values"], strict=True):
        np.testing.assert_allclose(ours.detach(), theirs.array, rtol=1e-6, atol=1e-6)
    assert "getattr(compat.FunctionsByName, name)(x)" in migrated["__code__"]
    assert "import chainer\n" not in migrated["__code__"]


@pytest.mark.parametrize("said, kept", [(("relu",), set()), (("maxout", "hard_sigmoid"), {"maxout", "hard_sigmoid"})])
def test_a_project_gets_the_functions_that_its_texts_name(said: tuple[str, ...], kept: set[str]) -> None:
    text = build(["FunctionsByName"], style="native", said=said)
    values: dict[str, Any] = {}
    exec(text, values)
    table = values["FunctionsByName"]
    assert {name for name in vars(table) if name[0] != "_"} == SHORT | kept
    assert "named_" not in text and ("amax" in text) == ("maxout" in kept)
    with pytest.raises(NotImplementedError, match="crelu"):
        getattr(table, "crelu", None)  # Chainer has it: nothing may go on without
    assert getattr(table, "dropout", None) is None
    assert "maxout" in build(["FunctionsByName"], style="native", said=(), settings=["maxout"])
