"""Models of millions of values within a budget: what is left out of the comparison is said, and faults are found."""

import numpy as np
import pytest
import torch

from chainer2torch.verify.models.entries import ModelEntry
from chainer2torch.verify.models.setting import Setting
from chainer2torch.verify.models.verify_models import verify_models
from chainer2torch.verify.worker import torch_cheap, wire

CHAINER = """
import chainer
import chainer.functions as F
import chainer.links as L


class Wide(chainer.Chain):
    def __init__(self):
        super().__init__(a=L.Linear(6, 2100), b=L.Linear(2100, 2100), c=L.Linear(2100, 3))
        with self.init_scope():
            self.bn = L.BatchNormalization(2100)

    def __call__(self, x):
        return self.c(F.dropout(F.relu(self.bn(self.b(self.a(x)))), 0.3))
"""
TORCH = """
import torch
import torch.nn as nn
import torch.nn.functional as F


class Wide(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(6, 2100), nn.Linear(2100, 2100), nn.Linear(2100, 3)
        self.bn = nn.BatchNorm1d(2100, eps=2e-5)

    def forward(self, x):
        return self.c(F.dropout(F.relu(self.bn(self.b(self.a(x)))), 0.3, self.training))
"""
FAULTS = {
    "as it is": ("", ""),
    "a factor": ("return self.c(", "return 1.001 * self.c("),
    "cut off": ("F.relu(self.bn(self.b(self.a(x))))", "F.relu(self.bn(self.b(self.a(x).detach())))"),
    "another gradient": ("self.b(self.a(x))", "(self.b(self.a(x)) * 0.5 + 0.5 * self.b(self.a(x)).detach())"),
    "eps": ("eps=2e-5", "eps=1e-3"),
    "no dropout": ("self.training", "False"),
}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    root = tmp_path_factory.mktemp("large")
    src, out = root / "src", root / "out"
    for folder in (src, out):
        folder.mkdir()
    entries = []
    for number, (right, wrong) in enumerate(FAULTS.values()):
        assert right in TORCH
        (src / f"net{number}.py").write_text(CHAINER)
        (out / f"net{number}.py").write_text(TORCH.replace(right, wrong) if right else TORCH)
        # the size is that of its parameters, as a search would find it
        entries.append(
            ModelEntry(
                f"net{number}:Wide", [], {}, {"x0": "f32[4,6]"}, ["train", "eval"], inferred=True, size=4_400_000
            )
        )
    return verify_models(src, out, entries=entries, steps=1, timeout=300, budget=280)


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_compared_of_large_arrays_shows_the_faults(report, fault):
    row = f"net{list(FAULTS).index(fault)}:Wide"
    assert (report.classes()[row] == "proved") == (fault == "as it is"), report.lines(verbose=True)
    outcomes = [outcome for outcome in report.outcomes if outcome.pair.row == row]
    assert any(
        "arrays of parameters and gradients 250,000 values were compared" in n for o in outcomes for n in o.notes
    )
    float64 = [outcome for outcome in outcomes if outcome.pair.dtype == "float64"]
    assert len(outcomes) - len(float64) == 2 and (fault == "as it is" or float64)


def test_without_a_budget_everything_is_compared(tmp_path):
    entry = ModelEntry("net:Wide", [], {}, {"x0": "f32[4,6]"}, ["train", "eval"], size=5_000_000, seconds=3.0)
    setting = Setting(tmp_path, tmp_path)
    assert setting.most_of(entry) == 0 and setting.limits(entry) == []
    assert all(setting.is_differentiated(entry, mode) for mode in entry.modes)
    setting = Setting(tmp_path, tmp_path, end=0.0)
    assert setting.most_of(entry) == 250_000 and setting.is_differentiated(entry, "train")
    assert not setting.is_differentiated(entry, "eval")
    (said,) = setting.limits(entry)
    assert "no step of gradient descent" in said and "no gradients were compared in mode eval" in said


def test_a_sample_is_the_same_of_both_layouts():
    array = np.arange(3000.0).reshape(50, 60)
    assert wire.sample(array, 0) is array and wire.sample(array, 3000) is array
    some = wire.sample(array, 500)
    assert some.shape == (500,) and np.array_equal(some, wire.sample(np.asfortranarray(array), 500))
    assert len(set(some // 60)) > 45 and len(set(some % 60)) > 55  # of nearly all rows and columns


def test_large_parameters_are_not_drawn_and_all_else_is():
    with torch_cheap.cheap_first_values():
        large, small = torch.nn.Linear(400, 400), torch.nn.Linear(4, 4)
        assert torch.randn(200_000).abs().sum() > 0 and torch.empty(200_000).normal_().abs().sum() > 0
    assert large.weight.abs().sum() == 0 and small.weight.abs().sum() > 0
    assert torch.nn.Linear(400, 400).weight.abs().sum() > 0
