"""Which calls of chainer.functions native output may write as plain torch: every claim of plain_calls.toml is run.

Values and gradients of both sides on each input, in float32 and float64 where Chainer takes it, also where one side
raises. An input that Chainer refuses says nothing. docs/native-helpers.md holds the table that `table` makes.
"""

import dataclasses
import math
import warnings
from pathlib import Path

import chainer.functions
import numpy as np
import pytest
import torch

try:
    import tomllib
except ImportError:  # Python 3.10
    import tomli as tomllib

from chainer2torch.native import functions as compat
from tests.support import differential

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "native-helpers.md"
EQUAL, OR_RAISES, RAISES, DIFFERS = "equal", "equal or raises", "raises", "differs"


@dataclasses.dataclass
class Call:
    section: str
    before: str
    after: str
    verdict: str
    given: list
    where: str = ""
    grad: bool = True


CALLS = [Call(**row) for row in tomllib.loads(Path(__file__).with_name("plain_calls.toml").read_text())["call"]]


def array(value):
    """A list of numbers is an array; a text, or a list of texts, is drawn."""
    if isinstance(value, dict):
        ((dtype, values),) = value.items()
        return np.array(values, dtype)
    if isinstance(value, list) and not isinstance(value[0], str):
        return np.array(value, "f4")
    return value


def sides(call, names):
    """Both sides as functions of the inputs, compiled from the very texts of the table."""
    arguments = ", ".join(names)
    theirs = eval(f"lambda {arguments}: {call.before}", {"F": chainer.functions})
    space = {"F": torch.nn.functional, "torch": torch, "math": math, "compat": compat}
    return theirs, eval(f"lambda {arguments}: {call.after}", space)


def outcome(call, given):
    """equal, differs, raises (torch), or "refused" where Chainer raises; over all float types that Chainer takes."""
    theirs, ours = sides(call, given)
    inputs = [array(value) for value in given.values()]
    found = set()
    for dtype in differential.FLOATS:
        drawn = differential._cast(differential.draw(inputs, np.random.RandomState(0)), dtype)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                theirs(*differential.to_chainer(drawn))
            except Exception:
                continue
            try:
                ours(*differential.to_torch(drawn))
            except (RuntimeError, ValueError, IndexError, TypeError):
                found.add(RAISES)
                continue
            try:
                differential.check(theirs, ours, inputs, dtypes=(dtype,), strided=False, grad=call.grad)
                found.add(EQUAL)
            except AssertionError:
                found.add(DIFFERS)
    return worst(found) if found else "refused"


def worst(outcomes):
    return next(name for name in (DIFFERS, RAISES, EQUAL) if name in outcomes)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call.before} -> {call.after}")
def test_verdict(call):
    outcomes = [outcome(call, given) for given in call.given]
    expected = RAISES if call.verdict == OR_RAISES else call.verdict
    assert worst(set(outcomes)) == expected, outcomes
    assert (EQUAL in outcomes) or call.verdict in (DIFFERS, RAISES)
    assert call.where or call.verdict == EQUAL, "say where"


def table():
    """The table of the document, from the claims."""
    rows = ["| Chainer | torch | | |", "|---|---|---|---|"]
    rows += [f"| `{call.before}` | `{call.after}` | {call.verdict} | {call.where} |" for call in CALLS]
    return "\n".join(rows)


def test_the_document_shows_the_claims():
    assert table() in DOCUMENT.read_text(encoding="utf-8")


def test_the_comparison_can_fail():
    wrong = Call("", "F.relu(x)", "F.leaky_relu(x)", EQUAL, [{"x": "f32[3,4]"}])
    assert outcome(wrong, wrong.given[0]) == DIFFERS
    gradient = Call("", "F.relu(x)", "F.relu(x).detach() + 0 * x", EQUAL, [{"x": "f32[3,4]"}])
    assert outcome(gradient, gradient.given[0]) == DIFFERS
    refused = Call("", "F.relu(x, 1, 2)", "F.relu(x)", EQUAL, [])
    assert outcome(refused, {"x": "f32[3,4]"}) == "refused"


def test_dropout_with_mask_draws_as_chainer_does():
    torch.manual_seed(0)
    x = torch.ones(200, 100, dtype=torch.float64)
    y, mask = compat.dropout_with_mask(x, 0.3)
    assert sorted(set(mask.flatten().tolist())) == pytest.approx([0, 1 / 0.7])
    _, theirs = chainer.functions.dropout(x.numpy(), 0.3, return_mask=True)
    assert (mask == 0).double().mean().item() == pytest.approx((theirs == 0).mean(), abs=0.02)
    assert torch.equal(y, mask)
    with chainer.using_config("train", False):
        assert chainer.functions.dropout(x.numpy(), 0.3, return_mask=True)[1] is None
    assert compat.dropout_with_mask(x, training=False) == (x, None)


@pytest.mark.parametrize(
    "function, shapes",
    [
        (lambda x: compat.maximum_along(x, 1), [(3, 4)]),
        (lambda x: compat.max_pool_covering(x, 2, 3), [(1, 2, 7, 7)]),
        (lambda c, x: compat.lstm(c, x), [(2, 3), (2, 12)]),
    ],
)
def test_helpers_compile(function, shapes):
    inputs = [torch.randn(shape) for shape in shapes]
    compiled = torch.compile(function, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(*inputs), function(*inputs))


@pytest.mark.parametrize("shape", [(5, 4), (2, 4, 3, 3), (2, 4, 6), (1, 4, 2, 2)])
def test_batch_normalization_layers_keep_chainers_running_statistics(shape):
    """nn.BatchNorm*(eps=2e-5, momentum=1 - decay): outputs, and running values after three batches, in both modes."""
    rng = np.random.RandomState(0)
    theirs = chainer.links.BatchNormalization(4, decay=0.8, dtype=np.float64)
    layer = {2: torch.nn.BatchNorm1d, 3: torch.nn.BatchNorm1d, 4: torch.nn.BatchNorm2d}[len(shape)]
    ours = layer(4, eps=2e-5, momentum=1 - 0.8).double()
    for _ in range(3):
        x = rng.randn(*shape) * 2 + 1
        np.testing.assert_allclose(ours(torch.tensor(x)).detach().numpy(), theirs(x).array, atol=1e-12)
    np.testing.assert_allclose(ours.running_mean.numpy(), theirs.avg_mean, rtol=1e-10)
    np.testing.assert_allclose(ours.running_var.numpy(), theirs.avg_var, rtol=1e-10)
    with chainer.using_config("train", False):
        np.testing.assert_allclose(ours.eval()(torch.tensor(x)).detach().numpy(), theirs(x).array, atol=1e-12)
