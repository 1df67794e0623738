"""`isinstance(x, chainer.Chain)` of what nobody knows: it is a link of which nothing more is known."""

import numpy as np

from chainer2torch.engine import migrate_source
from tests.support.native_snippets import RULES, migrated, run

PROGRAM = """
import chainer.links as L

class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(1, 2, 1)
            self.bn = L.BatchNormalization(2)

def copyparams(dst, src):
    if isinstance(dst, chainer.Chain):
        for link in dst.children():
            copyparams(link, src[link.name])
    elif isinstance(dst, chainer.ChainList):
        for i, link in enumerate(dst):
            copyparams(link, src[i])
    else:
        dst.copyparams(src)
        if isinstance(dst, L.BatchNormalization):
            dst.avg_mean = src.avg_mean

class Both(chainer.ChainList):
    def __init__(self):
        super().__init__(Net(), L.Linear(2, 2))

class Named(object):
    def copy(self):
        return 'mine'

def copied(items):
    return [item.copy() if isinstance(item, chainer.Link) else item for item in eval('items')]

def run(xs):
    dst, src = Both(), Both()
    for i, p in enumerate(src.params()):
        p.array[...] = i + 1
    src[0].bn.avg_mean[...] = 3
    copyparams(dst, eval('src'))
    link = src[1]
    one, two = copied([link, 5])
    one.b.array[...] = 7
    net = dst[0]
    return [net.conv.W.array, net.bn.gamma.array, net.bn.avg_mean, dst[1].b.array, link.b.array, two, one is link]
"""


def test_links_that_are_asked_for():
    theirs, ours, code = run(PROGRAM)
    for one, other in zip(theirs[:5], ours[:5], strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other.detach()), rtol=1e-6)
    assert theirs[5:] == ours[5:] == [5, False]
    assert "compat.chain_item(src, name)" in code and "compat.name_of" not in code, code


def test_links_of_known_chains_that_are_asked_for():
    known = PROGRAM.replace("eval('src')", "src").replace(
        "            dst.avg_mean = src.avg_mean\n", "            pass\n"
    )
    theirs, ours, code = run(known)
    assert known.count("eval(") == 1
    for at in (0, 1, 3, 4):
        np.testing.assert_allclose(np.asarray(theirs[at]), np.asarray(ours[at].detach()), rtol=1e-6)
    assert "getattr(src, name)" in code, code  # a link that is asked for a name is a Chain


def test_what_stays_chainers_is_asked_for_its_children_as_it_is():
    text = """
from chainer.links import caffe

def copied(model, path):
    theirs = caffe.CaffeFunction(path)
    for name in ['conv1', 'conv2']:
        model[name].copyparams(theirs[name])
        getattr(model, name).W.data = theirs[name].W.data
    return model
"""
    once = migrated(text).code
    assert "theirs[name].W.data" in once, once
    again = migrate_source(once, rules=RULES)  # which looked the children up by name
    assert again.code == once
