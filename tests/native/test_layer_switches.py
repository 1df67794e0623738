"""``block.train = False`` on a layer of Chainer's own, which had that switch up to version 1.24."""

import sys
from unittest import mock

import chainer
import numpy as np
import torch

from chainer2torch import migrate_source
from tests.support.native_programs import helpers

PROGRAM = """
import chainer
import chainer.functions as F
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__(
            block=L.InceptionBN(3, 2, 2, 4, 2, 4, 'avg', 2),
            norm=L.BatchNormalization(12),
        )
        self._train = True

    @property
    def train(self):
        return self._train

    @train.setter
    def train(self, value):
        self._train = value
        self.block.train = value

    def __call__(self, x):
        return self.norm(self.block(x), test=not self.train)
"""
SIGN = "\n\ndef read(x):\n    return chainer.Variable(x, volatile=True)\n"


def migrated(text):
    result = migrate_source(text)
    assert result.error is None, result.error
    return result


def close(ours: torch.Tensor, theirs: chainer.Variable) -> None:
    np.testing.assert_allclose(ours.detach().numpy(), theirs.array, rtol=1e-4, atol=1e-4)


def test_the_mode_of_the_block_follows_the_switch_of_the_model() -> None:
    result = migrated(PROGRAM + SIGN)
    assert "self.block.train(value)" in result.code and "block.train_" not in result.code
    assert not any(site.state == "review" and "sets the mode" in site.message for site in result.sites)
    names: dict = {}
    with mock.patch.dict(sys.modules, chainer_compat=helpers(result)):
        exec(compile(result.code, "<migrated>", "exec"), names)
    ours, theirs = names["Net"](), chainer.links.InceptionBN(3, 2, 2, 4, 2, 4, "avg", 2)
    for module in ours.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.fill_(0.3)
    x = np.random.RandomState(0).randn(4, 3, 5, 5).astype("f")
    for name, layer in theirs.namedlinks(skipself=True):
        module = ours.block.get_submodule(name[1:])
        if isinstance(layer, chainer.links.Convolution2D):
            module.weight.data.copy_(torch.from_numpy(layer.W.array))
        else:
            layer.avg_mean[...] = 0.3
    ours.train_ = False  # as the script does it, around its validation
    with chainer.using_config("train", False):
        close(ours.block(torch.from_numpy(x)), theirs(x))
    ours.train_ = True
    close(ours.block(torch.from_numpy(x)), theirs(x))


def test_where_nothing_tells_the_version_it_is_asked_and_later_files_keep_an_attribute() -> None:
    unsure = migrated(PROGRAM)
    assert "self.block.train(value)" in unsure.code and "read as version 1 of Chainer" in unsure.code
    later = migrated(PROGRAM.replace(", test=not self.train", "") + "\nchainer.global_config.autotune = True\n")
    assert "self.block.train_ = value" in later.code


def test_a_read_and_an_assignment_of_two() -> None:
    read = migrated(PROGRAM.replace("return self._train", "return self.block.train") + SIGN)
    assert "return self.block.training" in read.code
    two = migrated(PROGRAM.replace("self._train = value\n        self.block", "self._train = self.block") + SIGN)
    assert "self.block.train = value" in two.code and "write `.train(value)`" in two.code


def test_so_has_a_zoneout_lstm() -> None:
    code = migrated("import chainer.links as L\nl = L.StatefulZoneoutLSTM(3, 3)\nl.train = False\n").code
    assert "l.train(False)" in code and "read as version 1" in code, code
