"""Second derivatives of every function, method and operator, in both frameworks, wherever Chainer has them."""

import pytest

from tests.support import adversary

# What Chainer itself refuses to differentiate twice: nobody's program depends on it.
OLD_STYLE = "an old-style Function"
REFUSED = {
    "as_strided": "not implemented",
    "batch_renormalization": OLD_STYLE,
    "connectionist_temporal_classification": OLD_STYLE,
    "decorrelated_batch_normalization": "not implemented",
    "decov": OLD_STYLE,
    "deformable_convolution_2d_sampler": OLD_STYLE,
    "fixed_decorrelated_batch_normalization": "not implemented",
    "forget": "computes twice already",
    "hinge": OLD_STYLE,
    "local_response_normalization": "not implemented",
    "roi_average_align_2d": OLD_STYLE,
    "roi_average_pooling_2d": OLD_STYLE,
    "roi_max_align_2d": OLD_STYLE,
    "roi_max_pooling_2d": OLD_STYLE,
    "roi_pooling_2d": "not implemented",
    "softmax_cross_entropy": "only with enable_double_backprop",
    "spatial_transformer_grid": OLD_STYLE,
    "spatial_transformer_sampler": OLD_STYLE,
    "tree_lstm": OLD_STYLE,
}
# Where Chainer's second derivative is wrong; the row's note says so.
WRONG_IN_CHAINER = {"local_convolution_2d"}
EXAMPLES = [
    (name, index)
    for name, row in sorted(adversary.RULES.rows.items())
    if name.startswith(("chainer.functions.", "chainer.Variable.")) and name.count(".") == 2
    for index in range(len(row.examples))
]


@pytest.fixture(scope="module")
def outcomes():
    """What came of each example: the difference, None (nothing to differentiate twice) or Chainer's error."""
    found = {}
    for name, index in EXAMPLES:
        try:
            found[name, index] = adversary.second_derivatives(adversary.RULES.rows[name], index)
        except (RuntimeError, NotImplementedError) as error:
            found[name, index] = error
    return found


def test_they_are_equal(outcomes):
    different = {key: outcome for key, outcome in outcomes.items() if isinstance(outcome, str) and outcome}
    assert {name.rsplit(".", 1)[1] for name, _ in different} == WRONG_IN_CHAINER, different
    assert sum(outcome == "" for outcome in outcomes.values()) > 450


def test_what_chainer_refuses(outcomes):
    refused = {
        name.rsplit(".", 1)[1]: outcome for (name, _), outcome in outcomes.items() if isinstance(outcome, Exception)
    }
    assert set(refused) == set(REFUSED), refused
    for name, error in refused.items():
        assert ("old style" in str(error)) is (REFUSED[name] == OLD_STYLE), (name, error)


def test_a_wrong_second_derivative_is_found(monkeypatch):
    row = adversary.RULES.rows["chainer.functions.sigmoid"]
    assert adversary.second_derivatives(row, 0) == ""
    # the value and the first derivative are right
    code = """
import torch

def run(x):
    y = torch.sigmoid(x).detach()
    return y + (x - x.detach()) * y * (1 - y)
"""
    monkeypatch.setattr(adversary, "_migrate", lambda source, hints: (code, "", None))
    assert "second derivative by x" in adversary.second_derivatives(row, 0)
