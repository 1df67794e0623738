"""Of a model that differs each layer is told that differs by itself, with Chainer's outputs of those before it."""

import numpy as np
import pytest

from chainer2torch.verify.judge.outcome import FAILED
from chainer2torch.verify.models.aligned_layers import back_by_themselves, by_themselves
from chainer2torch.verify.worker import aligned
from tests.support.model_batch import module_of, verify

NET = """
import chainer
import chainer.functions as F
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__()
        with self.init_scope():
            self.a = L.Linear(4, 6)
            self.bn1 = L.BatchNormalization(6)
            self.b = L.Linear(6, 6)
            self.bn2 = L.BatchNormalization(6)
            self.c = L.Linear(6, 3)

    def forward(self, x):
        batch, length, units = x.shape
        h = self.a(x.reshape(batch * length, units))
        h = F.relu(self.bn1(h))
        h = self.bn2(self.b(h))
        return self.c(F.relu(h))
"""
PORT = """
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 6)
        self.bn1 = nn.BatchNorm1d(6, eps=2e-5)
        self.b = nn.Linear(6, 6)
        self.bn2 = nn.BatchNorm1d(6, eps=2e-5)
        self.c = nn.Linear(6, 3)

    def forward(self, x):
        h = self.a(x.transpose(0, 1)).transpose(0, 1).reshape(-1, 6)
        h = torch.relu(self.bn1(h))
        h = self.bn2(self.b(h))
        return self.c(torch.relu(h))
"""
VARIANTS = {
    "equal": (PORT, []),
    "two": (PORT.replace("torch.relu(self", "torch.tanh(self").replace("torch.relu(h)", "torch.tanh(h)"), ["/b", "/c"]),
    "eps": (PORT.replace("self.bn2 = nn.BatchNorm1d(6, eps=2e-5)", "self.bn2 = nn.BatchNorm1d(6, eps=0.1)"), ["/bn2"]),
    "first": (
        PORT.replace("return self.c", "h = 2 * h\n        return self.c").replace("x.tr", "(1.1 * x).tr"),
        ["/a", "/c"],
    ),
}


def verified(folder, ports):
    """Compares each of the ports with NET; a table of names keeps layers of one shape in their order."""
    names = {f"{module_of(name)}:Net": None for name in ports}
    table = "".join(f'[tool.chainer2torch.verify.names."{name}"]\n"a" = "a"\n' for name in names)
    return verify(
        folder,
        NET,
        {name: text for name, (text, _) in ports.items()},
        {None: ("Net", [], {"x": "f32[5,3,4]"})},
        pyproject=table,
        modes=["train"],
    )


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return verified(tmp_path_factory.mktemp("aligned"), VARIANTS)


@pytest.mark.parametrize("name", VARIANTS)
def test_each_layer_that_differs_by_itself_is_named_and_no_other(results, name):
    status, text = results[name]
    lines = [line for line in text.splitlines() if "differ by themselves" in line]
    wrong = VARIANTS[name][1]
    assert (status == FAILED) == bool(lines) == bool(wrong), text
    for line in lines:
        for layer in ("/a", "/bn1", "/b", "/bn2", "/c"):
            assert (f"{layer} (" in line) == (layer in wrong), line
        assert f"{6 - len(wrong)} of 6 outputs are equal" in line


# what is wrong in the backward pass alone: the text, and what is said of it
BACK = {
    "equal": (PORT, ""),
    "scaled": (
        PORT.replace("h = self.bn2(self.b(h))", "h.register_hook(lambda g: 2 * g)\n        h = self.bn2(self.b(h))"),
        "what comes back to /bn1 (",
    ),
    "frozen": (
        PORT.replace("\n    def forward", "        self.c.weight.requires_grad_(False)\n\n    def forward"),
        "/c (",
    ),
    "own": (PORT.replace("self.b(h)", "h @ (0.5 * (w := self.b.weight) + 0.5 * w.detach()).T + self.b.bias"), "/b ("),
    "momentum": (PORT.replace("self.bn2 = nn.BatchNorm1d(6, ", "self.bn2 = nn.BatchNorm1d(6, momentum=0.3, "), ""),
}


@pytest.fixture(scope="module")
def back(tmp_path_factory):
    return verified(tmp_path_factory.mktemp("back"), BACK)


@pytest.mark.parametrize("name", BACK)
def test_each_layer_that_differs_by_itself_in_the_backward_pass_is_named_and_no_other(back, name):
    status, text = back[name]
    lines = [line for line in text.splitlines() if "differ by themselves in the backward pass:" in line]
    said = BACK[name][1]
    assert (status == FAILED) == (name != "equal"), text
    assert bool(lines) == bool(said), text
    for line in lines:
        assert said in line and line.count("what comes back") + line.count("the gradient of") == 1, line


def test_values_that_no_output_shows_are_named(back):
    assert "the running values differ of /bn2/avg_mean (" in back["momentum"][1]
    assert "/bn2/avg_var (" in back["momentum"][1] and "/bn1" not in back["momentum"][1].splitlines()[0]
    assert "no gradient reaches, unlike Chainer's (frozen, or cut off) /c/W (" in back["frozen"][1]


def test_chainers_values_are_laid_out_as_the_port_has_them():
    rng = np.random.RandomState(0)
    array = rng.randn(6, 5).astype("f")  # (batch * length, units)
    like = (array + 1e-3).reshape(2, 3, 5).transpose(1, 0, 2)
    np.testing.assert_array_equal(aligned._laid_out(array, like), array.reshape(2, 3, 5).transpose(1, 0, 2))
    np.testing.assert_array_equal(aligned._laid_out(array.ravel(), array[0][:1].repeat(30)), array.ravel())


def test_what_is_said():
    calls = [{"path": "/a", "key": "call/0", "line": "n.py:3"}, {"path": "/", "key": "call/1", "line": ""}]
    a = {"call/0": np.ones(3, "f"), "call/1/0": np.ones(2, "f")}
    assert by_themselves(calls, a, {}) == []
    same = {f"sync/{name}": array for name, array in a.items()}
    assert by_themselves(calls, a, same) == [
        "given Chainer's outputs of the layers before it, each layer is equal: 2 of 2 outputs are equal"
    ]
    other = {**same, "sync/call/1/0": np.zeros(2, "f")}
    assert by_themselves(calls, a, other) == [
        "given Chainer's outputs of the layers before it, these differ by themselves: the model's own output (largest "
        "error 1); 1 of 2 outputs are equal"
    ]


@pytest.mark.parametrize(("off", "told"), [(1e-4, []), (0.5, ["W"])])
def test_a_gradient_of_terms_that_cancel_is_equal_where_float64_is(off, told):
    """A sum of thousands of terms: of its largest value float32 loses little, of one near zero anything."""
    weight = np.array([200.0, 0.01], dtype="f")
    key, cotangent = "back/link/0/l", np.ones((2, 2), dtype="f")
    calls = [{"key": "link/0/l", "path": "/l", "line": ""}]
    expected = {key: cotangent, "pgrad/model/l/W": weight}
    actual = {f"sync/{key}": cotangent, "sync/pgrad/model/l/W": weight + np.float32(off)}
    (line,) = back_by_themselves(calls, expected, actual, rounded=True)
    assert ("the gradient of W" in line) is bool(told)
    (line,) = back_by_themselves(calls, expected, actual)
    assert "the gradient of W" in line
