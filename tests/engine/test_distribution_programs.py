"""Programs that read the parameters of distributions, and that register divergences of their own."""

import numpy as np
import pytest

from tests.support.both_sides import both


def same(original, migrated):
    assert len(original) == len(migrated)
    for theirs, ours in zip(original, migrated, strict=True):
        theirs = getattr(theirs, "array", theirs)
        ours = ours.detach().numpy() if hasattr(ours, "detach") else ours
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def test_parameters_are_read():
    original, migrated = both("""
        from chainer import distributions as D
        loc = chainer.Variable(np.array([[1], [2]], 'f'))
        n = D.Normal(loc, log_scale=np.array([[.1, .2, .3]], 'f'))
        b = D.Bernoulli(p=np.array([.2, .7], 'f'))
        c = D.Independent(D.Categorical(logit=np.array([[.2, .7]], 'f')))
        loss = F.sum(n.loc * n.scale) + F.sum(b.logit) + F.sum(c.distribution.log_p)
        loss.backward()
        out = [loss.array, loc.grad, n.loc.shape, n.log_scale.array, b.p.array, c.reinterpreted_batch_ndims]
        """)
    same(original["out"], migrated["out"])


@pytest.mark.parametrize("api", ["chainer", "chainer.distribution"])
def test_own_divergence(api):
    original, migrated = both(f"""
        class Point({api}.Distribution):
            def __init__(self, place):
                self.place = place
        @{api}.register_kl(Point, chainer.distributions.Normal)
        def point_to_normal(point, normal):
            return -normal.log_prob(point.place)
        normal = chainer.distributions.Normal(np.zeros(2, 'f'), scale=np.ones(2, 'f'))
        out = [{api}.kl_divergence(Point(np.array([1, 2], 'f')), normal)]
        try:
            {api}.kl_divergence(normal, Point(np.array([1, 2], 'f')))
        except KeyError:
            out.append(1)
        """)
    assert len(original["out"]) == 2
    same(original["out"], migrated["out"])
