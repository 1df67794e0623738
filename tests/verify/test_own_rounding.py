"""What rounding decides on Chainer's own side is no difference of the migration."""

import numpy as np
import pytest

from chainer2torch.verify.judge.outcome import FAILED, PASSED, UNVERIFIED, Outcome, Pair
from chainer2torch.verify.models import own_rounding
from tests.support.model_batch import verify

NET = """
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np


class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__()
        with self.init_scope():
            self.a = L.Linear(64, 64)

    def forward(self, x):
        h = F.sin(self.a(x) * 10000)  # so much depends on the last bit
        return F.exp(chainer.Variable(np.zeros((4, 64), dtype=np.float32))) * h  # Chainer refuses float64 here
"""
PORT = """
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(64, 64)

    def forward(self, x):
        h = torch.sin(self.a(x) * 10000)
        return torch.exp(torch.zeros(4, 64)) * h
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    ports = {"same": PORT, "scale": PORT.replace("* h", "* 1.5 * h"), "sign": PORT.replace("* h", "* -h")}
    model = {None: ("Net", [], {"x": "f32[4,64]"})}
    return verify(tmp_path_factory.mktemp("own"), NET, ports, model, modes=["eval"])


def test_what_chainer_does_not_repeat_is_not_verified_without_float64(results):
    status, text = results["same"]
    assert status != FAILED and "rounding decides what differs, and no float64 pass could show more" in text, text
    assert "Chainer from itself by" in text


@pytest.mark.parametrize("name", ["scale", "sign"])
def test_what_is_farther_away_differs(results, name):
    assert results[name][0] == FAILED, results[name][1]


def _judged(double, differing, own, failures=1):
    single = Outcome(Pair("m-train@float32", "net:A", "", "", "", dtype="float32"), FAILED, ["out differs"])
    single.failures, single.differing = failures, dict.fromkeys(differing, "out differs")
    other = Outcome(Pair("m-train@float64", "net:A", "", "", "", dtype="float64"), double)
    expected = {"out": np.float32([1.0, 0.5]), "step/1/out": np.float32([1.0, 0.5])}
    actual = {name: values + np.float32(0.1) for name, values in expected.items()}
    nudged = {name: values + np.float32(own) for name, values in expected.items()}
    asked = []

    def again(ids):
        asked.extend(ids)
        return {"m-train@float32": nudged}

    own_rounding.explain([single, other], lambda name: expected, lambda name: actual, again)
    return single, asked


@pytest.mark.parametrize(
    "double, own, status",
    [
        (PASSED, 0.02, PASSED),
        (UNVERIFIED, 0.02, UNVERIFIED),
        (PASSED, 0.0, FAILED),
        (PASSED, 0.001, FAILED),
        (FAILED, 0.02, FAILED),
    ],
)
def test_float64_and_chainers_own_distance_decide(double, own, status):
    single, asked = _judged(double, ["out"], own)
    assert single.status == status and single.rounded == (status == PASSED)
    assert bool(asked) == (double != FAILED), "Chainer runs again only where that could decide"


def test_all_that_differs_has_to_be_values():
    assert _judged(PASSED, ["out"], 0.02, failures=2)[0].status == FAILED
    assert _judged(PASSED, ["out", "gone"], 0.02, failures=2)[0].status == FAILED


SAID = ["each layer is equal: 7 of 7 outputs", "each layer's are equal: 7 of 7 layers"]


@pytest.mark.parametrize(
    ("double", "said", "changes", "passes"),
    [
        (PASSED, SAID, {}, True),
        (FAILED, SAID, {}, False),
        (UNVERIFIED, SAID, {}, False),
        (PASSED, SAID[:1], {}, False),  # nothing came back
        (PASSED, SAID, {"failures": 2}, False),  # something else than a value
        (PASSED, SAID, {"raised": True}, False),
        (PASSED, SAID, {"differing": {"init/model/W": "differs"}}, False),
    ],
)
def test_where_each_layer_is_equal_by_itself_only_rounding_is_left(double, said, changes, passes):
    single = Outcome(Pair("m-eval@float32", "net:N", "float32", "", "", dtype="float32"), FAILED, [""], compared=1)
    single.failures, single.differing = 1, {"grad/x0/0": "differs"}
    for name, value in changes.items():
        setattr(single, name, value)
    other = Outcome(Pair("m-eval@float64", "net:N", "float64", "", "", dtype="float64"), double, [], compared=1)
    own_rounding.by_layers(single, other, said)
    assert (single.status == PASSED and single.rounded and not single.reasons) is passes
    assert bool(single.notes) is passes


def _judged_double(differing, own, far=0.1, failures=None):
    outcome = Outcome(Pair("m-train@float64", "net:A", "", "", "", dtype="float64"), FAILED, ["differs"])
    outcome.differing = dict.fromkeys(differing, "differs")
    outcome.failures = len(differing) if failures is None else failures
    names = ["out", "grad/x", "pgrad/zero", "step/1/out", "step/2/out"]
    expected = {name: np.float64([1.0, 0.5]) for name in names}
    expected["pgrad/zero"] = np.float64([1e-9, 3e-10])
    actual = {name: values + far * values for name, values in expected.items()}
    nudged = {name: values + own * values for name, values in expected.items()}
    asked = []

    def again(ids):
        asked.extend(ids)
        return {"m-train@float64": nudged}

    own_rounding.explain_doubles([outcome], lambda name: expected, lambda name: actual, again)
    return outcome, asked


@pytest.mark.parametrize(
    ("differing", "own", "far", "status"),
    [
        (["grad/x"], 1e-8, 1e-7, PASSED),  # no other formula is so near
        (["grad/x"], 0.02, 0.1, UNVERIFIED),
        (["grad/x"], 1e-9, 1e-7, FAILED),  # Chainer repeats it
        (["grad/x"], 0.0, 1e-7, FAILED),
        (["pgrad/zero"], 0.5, 0.9, PASSED),  # a sum that cancels
        (["step/2/out"], 0.02, 0.1, PASSED),  # the step before it is equal
        (["step/1/out"], 0.02, 0.1, UNVERIFIED),
        (["step/1/out", "step/2/out"], 0.02, 0.1, UNVERIFIED),
        (["out"], 0.02, 0.1, FAILED),
        (["out", "grad/x"], 1e-8, 1e-7, UNVERIFIED),  # layers that normalize over few values amplify it
        (["out"], 1e-9, 1e-7, FAILED),
        (["out"], 1e-4, 1e-5, FAILED),  # what differs by more than that is looked at by a person
    ],
)
def test_float64_is_asked_whether_chainer_repeats_it(differing, own, far, status):
    outcome, asked = _judged_double(differing, own, far)
    assert outcome.status == status and outcome.rounded == (status == PASSED)
    assert bool(asked) == ("out" not in differing or far <= 1e-6), "Chainer runs again only where that could decide"


def test_float64_that_differs_by_more_than_values_is_not_asked():
    assert _judged_double(["grad/x"], 1e-8, 1e-7, failures=2)[1] == []


@pytest.mark.parametrize(("is_late", "status"), [(True, UNVERIFIED), (False, FAILED)])
def test_without_time_to_ask_chainer_nothing_is_known(is_late, status):
    outcome = Outcome(Pair("m-train@float64", "net:A", "", "", "", dtype="float64"), FAILED, ["differs"])
    outcome.differing, outcome.failures = {"grad/x": "differs"}, 1
    own_rounding.explain_doubles([outcome], lambda _: {}, lambda _: {}, lambda ids: {}, lambda: is_late)
    assert outcome.status == status and outcome.is_undecided is is_late
