"""``self.deconv.outsize = (h, w)`` behind the constructor: every version's deconvolution heeds it."""

import sys
import types
from unittest import mock

import pytest
import torch

from chainer2torch.engine import migrate_source
from chainer2torch.plan.options import Options
from chainer2torch.vendor import compat_file, said

PROGRAM = """
import chainer
import chainer.links as L

class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__(d=L.Deconvolution2D(2, 1, 3, stride=2, pad=1MORE))

    def __call__(self, x, shape):
        self.d.outsize = shape[-2:]
        return self.d(x)
"""


@pytest.mark.parametrize("more", ["", ", wscale=1", ", bias=1"])
@pytest.mark.parametrize("version", [1, 7])
def test_the_size_is_that_which_was_set(version, more):
    if version == 7 and more:
        pytest.skip("an argument of version 1")
    text = PROGRAM.replace("MORE", more)
    result = migrate_source(text, options=Options(style="native", chainer_version=version, chainer_minor=20))
    compat = types.ModuleType("chainer_compat")
    helpers = compat_file.build(result.helpers, style="native", said=said.words(result.code))
    exec(compile(helpers, "<helpers>", "exec"), compat.__dict__)
    ours: dict = {}
    with mock.patch.dict(sys.modules, chainer_compat=compat):
        exec(compile(result.code, "<migrated>", "exec"), ours)
        net = ours["Net"]()
        sizes = [tuple(net(torch.zeros(1, 2, 4, 4), size).shape[2:]) for size in ((1, 1, 8, 8), (1, 1, 7, 7))]
    assert sizes == [(8, 8), (7, 7)], result.code
