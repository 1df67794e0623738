"""The parameters of a distribution are Variables, whatever it was made of."""

import numpy as np
import pytest

from tests.support.native_snippets import run

PROGRAM = """
from chainer import distributions as D

def run(xs):
    a = np.abs(xs[0]) + 0.5
    d = D.{made}
    return d.{name}.array.max(axis=1), str(d.{name}.shape)
"""


@pytest.mark.parametrize(
    ("made", "name"),
    [
        ("Normal(a, a)", "loc"),
        ("Normal(a, a)", "scale"),
        ("Normal(a, a)", "log_scale"),
        ("Normal(chainer.Variable(a), log_scale=a)", "scale"),
        ("Categorical(logit=a)", "p"),
        ("Categorical(p=a / a.sum())", "log_p"),
        ("Gamma(a, a)", "theta"),
        ("Bernoulli(logit=a)", "p"),
    ],
)
def test_arrays_of_parameters(made, name):
    theirs, ours, _ = run(PROGRAM.format(made=made, name=name))
    np.testing.assert_allclose(np.asarray(ours[0]), theirs[0], rtol=1e-5)
    assert ours[1] == theirs[1]
