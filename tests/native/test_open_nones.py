"""An argument that every caller in sight leaves at None is not ignored for the others: a notebook may give it."""

import numpy as np
import pytest
import torch

from tests.support.native_programs import both, migrated

HEAD = """\
import chainer
import chainer.functions as F
import numpy as np
from chainer import cuda
"""
FUNCTION = """
def run(x, given=None):
    x, t = chainer.Variable(x), np.array([0, 1], 'i')
    return {call}
def main(x):
    return run(x)
"""
METHOD = """
class Taker(object):
    def take(self, x, *, given=None):
        x, t = chainer.Variable(x), np.array([0, 1], 'i')
        return {call}
def run(x, given=None):
    if given is None:
        return Taker().take(x)
    return Taker().take(x, given=given)
"""
ATTRIBUTE = """
class Taker(object):
    def __init__(self, given=None):
        self.given = given
    def take(self, x):
        x, t = chainer.Variable(x), np.array([0, 1], 'i')
        return {call}
def run(x, *given):
    taker = Taker()
    for value in given:
        setattr(taker, 'given', value)
    return taker.take(x)
"""
CALLS = [
    ("F.squeeze(x[:, None], given)", 1, (2, 1)),
    ("F.cumsum(x, given)", 1, (2, 3)),
    ("F.cumprod(x, axis=given)", 1, (2, 3)),
    ("F.repeat(x, 2, given)", 0, (2, 3)),
    ("F.prod(x, given)", 1, (2, 3)),
    ("F.logsumexp(x, given)", 1, (2, 3)),
    ("F.average(x, weights=given)", np.float32([[1, 2, 3], [4, 5, 6]]), (2, 3)),
    ("F.pad_sequence([x[0], x[1]], given)", 5, (2, 3)),
    ("F.embed_id(t, x, given)", 1, (2, 3)),
    ("F.accuracy(x, np.array([2, 1], 'i'), given)", 1, (2, 3)),
    ("F.max_pooling_1d(x[None], 2, stride=given)", 1, (2, 5)),
    ("F.average_pooling_1d(x[None], 2, given)", 1, (2, 5)),
]


@pytest.mark.parametrize("form", [FUNCTION, METHOD, ATTRIBUTE])
@pytest.mark.parametrize(("call", "value", "shape"), CALLS)
def test_another_caller_is_heard(form, call, value, shape):
    call = call.replace("given", "self.given") if form == ATTRIBUTE else call
    theirs, ours, code = both(form.format(call=call), HEAD)
    x = np.arange(1, 1 + np.prod(shape), dtype="f").reshape(shape)
    for given in ((), (value,)):
        expected = theirs["run"](x, *given).array
        tensors = [torch.as_tensor(v) if isinstance(v, np.ndarray) else v for v in given]
        found = ours["run"](x, *tensors)
        np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-6, err_msg=code)
    assert expected.shape != theirs["run"](x).shape or not np.array_equal(expected, theirs["run"](x).array)


CLOSED = [
    "def _run(x, given=None):\n    return F.squeeze(x, given)\ndef main(x):\n    return _run(x)",
    "def main(x):\n    def run(x, given=None):\n        return F.squeeze(x, given)\n    return run(x)",
    "def run(x, given=None):\n    if given is None:\n        return F.squeeze(x, given)\n    return x\nrun(None)",
    "def run(x, given=None):\n    if given is not None:\n        return x\n    return F.squeeze(x, given)\nrun(None)",
    "def run(x, given=None):\n    given = None\n    return F.squeeze(x, given)\nrun(None)",
    "def run(x):\n    given = None\n    return F.squeeze(x, given)",
]


@pytest.mark.parametrize("program", CLOSED)
def test_what_nobody_else_can_give_is_left_out(program):
    assert "torch.squeeze(x)" in migrated(program, HEAD).code


@pytest.mark.parametrize(
    ("value", "form"),
    [("F.relu(x).array", ".cuda(device)"), ("x", "torch.as_tensor(x, device='cuda' if device is None else device)")],
)
def test_a_move_goes_where_its_caller_says(value, form):
    code = migrated(f"def send(x, device=None):\n    return cuda.to_gpu({value}, device)\n", HEAD).code
    assert form in code
