"""Gradients of Chainer's that are NaN where PyTorch has a number: no difference, and not equal."""

import numpy as np
import pytest

from chainer2torch.verify.judge.compare import compare_arrays
from chainer2torch.verify.judge.no_numbers import take_back
from chainer2torch.verify.judge.outcome import FAILED, UNVERIFIED, Outcome, Pair
from chainer2torch.verify.judge.verdict import note

NAN = np.array([np.nan, 1, 2], np.float32)
ZERO = np.array([0, 1, 2], np.float32)


@pytest.mark.parametrize(
    "expected, actual, status",
    [
        ({"pgrad/model/W": NAN}, {"pgrad/model/W": ZERO}, UNVERIFIED),
        ({"pgrad/model/W": NAN, "step/1/out": NAN}, {"pgrad/model/W": ZERO, "step/1/out": ZERO}, UNVERIFIED),
        # what the model gives, numbers beside it, NaN of PyTorch alone
        ({"out": NAN}, {"out": ZERO}, FAILED),
        ({"pgrad/model/W": NAN, "out": ZERO}, {"pgrad/model/W": ZERO, "out": ZERO + 1}, FAILED),
        ({"pgrad/model/W": NAN}, {"pgrad/model/W": ZERO + 1}, FAILED),
        ({"pgrad/model/W": ZERO}, {"pgrad/model/W": NAN}, FAILED),
        ({"step/1/out": NAN}, {"step/1/out": ZERO}, FAILED),
    ],
)
def test_only_gradients_of_chainers_that_are_no_numbers_are_taken_back(expected, actual, status):
    outcome = Outcome(Pair("m", "net:Net", "float32", "", ""))
    for name in expected:
        note(outcome, compare_arrays(name, expected[name], actual[name]))
    assert outcome.status == FAILED
    take_back(outcome, expected, actual)
    assert outcome.status == status
