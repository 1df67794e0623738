"""``self.bn(x, test=test)`` of version 1 in native style: each call puts its layer into the mode that it names."""

import chainer
import chainer.links as L
import numpy as np
import pytest
import torch

from chainer2torch.engine import Options, migrate_source
from tests.support.native_programs import helpers

SOURCE = """
import chainer
import chainer.functions as F
import chainer.links as L

class Net(chainer.Chain):
    def __init__(self):
        super().__init__(bn=L.BatchNormalization(3))
        self.noise = True

    def __call__(self, x, test=False):
        return self.bn(x, test=test)
"""


def code_of(source: str) -> str:
    result = migrate_source(source, options=Options(style="native", chainer_version=1))
    assert result.error is None
    return result.code


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("test=test", "self.bn.train(not test)(x)"),
        ("test=not self.noise", "self.bn.train(self.noise)(x)"),
        ("test=not test", "self.bn.train(bool(test))(x)"),
        ("test=False", "self.bn.train(True)(x)"),
    ],
)
def test_the_mode_of_a_call(given: str, written: str) -> None:
    assert f"return {written}\n" in code_of(SOURCE.replace("test=test", given, 1).replace("test=False):", "test):"))


def test_training_and_testing_in_turn() -> None:
    result = migrate_source(SOURCE, options=Options(style="native", chainer_version=1))
    space = {"compat": helpers(result), "__name__": "migrated"}
    exec(compile(result.code.replace("import chainer_compat as compat\n", ""), "<migrated>", "exec"), space)
    ours, theirs = space["Net"](), L.BatchNormalization(3, eps=2e-5)
    theirs.avg_var[...] = ours.bn.running_var.numpy()  # zeros in version 1
    rng = np.random.RandomState(0)
    for test in (False, True, False, False, True):
        x = rng.randn(8, 3).astype(np.float32) * 3 + 1
        with chainer.using_config("train", not test):
            want = theirs(x).array
        np.testing.assert_allclose(ours(torch.as_tensor(x), test).detach().numpy(), want, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(ours.bn.running_mean.numpy(), theirs.avg_mean, rtol=1e-5)


@pytest.mark.parametrize(
    "other",
    [
        "    def other(self, x):\n        return self.bn(x)\n",
        "    def other(self, x):\n        return self['bn'](x)\n",
        "    def other(self, x):\n        return [link(x) for link in self.children()]\n",
        "    def other(self):\n        return self.bn\n",
        "class Other(Net):\n    def other(self, x):\n        return self.bn(x)\n",
        "net = Net()\nprint(net.bn(x))\n",
    ],
)
def test_a_call_that_leaves_the_mode_to_the_layer(other: str) -> None:
    assert "compat.call_in_mode(self.bn, not test, x)" in code_of(SOURCE + other)


def test_another_class_has_a_layer_of_that_name() -> None:
    other = SOURCE.partition("class")[2].replace(" Net", "class Other").replace("self.bn(x, test=test)", "self.bn(x)")
    assert "self.bn.train(not test)(x)" in code_of(SOURCE + other)
