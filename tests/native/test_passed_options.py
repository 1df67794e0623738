"""Options that come as a dictionary: arrays beside it become tensors, and the short helper has Chainer's options."""

import numpy as np
import pytest

from tests.support.native_snippets import migrated, run

PROGRAM = """
def run(xs):
    t = np.array([{labels}], 'i')
    for given in [dict(), {options}]:
        y = chainer.Variable(xs[0])
        loss = F.{name}(y, t, **given)
        F.sum(loss).backward()
    return loss.array, y.grad
"""
CASES = [
    ("softmax_cross_entropy", "1", "dict()"),
    ("softmax_cross_entropy", "-1", "dict(normalize=False, cache_score=False)"),
    ("softmax_cross_entropy", "1", "dict(reduce='no', class_weight=np.array([1, 3], 'f'))"),
    ("softmax_cross_entropy", "-1", "dict(reduce='no')"),
    ("softmax_cross_entropy", "0", "dict(enable_double_backprop=True)"),
    ("sigmoid_cross_entropy", "[1, -1]", "dict(normalize=False)"),
    ("sigmoid_cross_entropy", "[0, 1]", "dict(reduce='no')"),
    ("hinge", "1", "dict(norm='L2')"),
]


@pytest.mark.parametrize(("name", "labels", "options"), CASES)
def test_values_and_gradients(name, labels, options):
    theirs, ours, code = run(PROGRAM.format(name=name, labels=labels, options=options))
    assert "**" in code
    for one, other in zip(theirs, ours):
        np.testing.assert_allclose(other.detach().numpy(), one, rtol=1e-5, atol=1e-6)


def test_positions_and_shapes_are_no_tensors():
    code = migrated("def f(x, **options):\n    return F.split_axis(x, np.array([1]), **options)\n").code
    assert "as_tensor" not in code
