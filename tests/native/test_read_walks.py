"""Walks over the links of a Sequential: those that only read them leave its layers known."""

import numpy as np
import pytest

from tests.support.native_snippets import migrated, run

NET = """
import chainer.links as L

def first(x, y):
    return F.concat((x, y), axis=1)

def soft_copy(target, source):
    BODY

def run(xs):
    net = chainer.Sequential(first, L.Linear(None, 3, initialW=0.5), F.relu, L.Linear(None, 2, initialW=0.25))
    y = net(xs[0], xs[0])
    soft_copy(net, net)
    return [np.array(y.array), np.array(net(xs[0], xs[0]).array)]
"""
LOOKED_UP = """
    targets = dict(target.namedlinks())
    for name, link in source.namedlinks():
        if isinstance(link, L.BatchNormalization):
            bn = targets[name]
            bn.avg_mean[...] *= 0.5
            bn.avg_mean[...] += 0.5 * link.avg_mean
"""


ARRAYS = """
    for link in list(source.links()):
        if isinstance(link, L.Linear):
            link.b.array[...] = 2
"""


@pytest.mark.parametrize("body", [LOOKED_UP, ARRAYS])
def test_what_reads_links_and_writes_arrays_leaves_the_layers_known(body):
    theirs, ours, code = run(NET.replace("BODY", body.strip()))
    assert "nn.LazyLinear(2)" in code and "compat.LazyLinear(2)" not in code
    np.testing.assert_allclose(theirs[0], ours[0], rtol=1e-6)
    np.testing.assert_allclose(theirs[1], ours[1], rtol=1e-6)


@pytest.mark.parametrize(
    "body",
    [
        "assert [link for link in source.children() if link is not target] == []",
        "links = dict(source.namedlinks())\n    return links['/0']",
        "for link in source.children():\n        target(link.W)",
        "for link in source.children():\n        link(target)",
        "for link in source.children():\n        link.forward(target)",
        "for name, link in source.namedlinks():\n        kept = link\n    return kept(target)",
        "links = dict(source.namedlinks())\n    return links['/1'](target)",
        "links = dict(source.namedlinks())\n    return [link(target) for link in links.values()]",
        "links = list(source.links())\n    return links[1](target)",
        "return [f(target) for f in [link for link in source.children()]]",
        "return source.children()",
        "for link in source.children():\n        globals()['kept'] = link.parts[0]",
    ],
)
def test_links_that_go_on_may_be_called(body):
    code = migrated(NET.replace("BODY", body)).code
    assert "compat.LazyLinear(2)" in code and "nn.LazyLinear(2)" not in code.replace("compat.LazyLinear(2)", "")
