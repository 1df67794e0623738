"""Objects of Chainer's function classes: the function itself, where a program does nothing but call them."""

from __future__ import annotations

import pytest

from chainer2torch.engine import migrate_source
from chainer2torch.plan.options import Options

HEAD = """
import chainer
import chainer.links as L
from chainer.functions.activation.relu import ReLU
from chainer.functions.pooling.average_pooling_2d import AveragePooling2D


class Tower(chainer.Chain):
    def __init__(self, parts):
        super().__init__()
        self.parts = parts

    def __call__(self, x):
        for name, f in self.parts:
            x = CALLED
        return x


tower = Tower([('a', ReLU()), ('b', AveragePooling2D(3, 1, 1))])
"""


def _code(called: str, more: str = "") -> str:
    return migrate_source(HEAD.replace("CALLED", called) + more, options=Options(style="native")).code


def test_an_object_that_is_called_is_a_function() -> None:
    code = _code("f(x)")
    assert "('a', F.relu), ('b', functools.partial(compat.average_pooling_2d, ksize=3, stride=1, pad=1))" in code
    assert "FunctionObject" not in code


def test_the_first_result_of_one_input_is_that_of_a_call() -> None:
    code = _code("f.apply((x,))[0]")
    assert "            x = f(x)\n" in code and "FunctionObject" not in code


@pytest.mark.parametrize(
    ("called", "more"),
    [
        ("f.apply((x, x))[0]", ""),
        ("f.apply((x,))", ""),
        ("f(x) if isinstance(f, ReLU) else x", ""),
        ("f.apply((x,))[0]", "\n\nclass Own(chainer.FunctionNode):\n    pass\n"),
    ],
)
def test_elsewhere_it_stays_an_object(called: str, more: str) -> None:
    assert "compat.FunctionObject(F.relu)" in _code(called, more)


def test_options_that_are_the_functions_own_defaults_are_not_said() -> None:
    code = _code("f(x)", "\nfrom chainer.functions.activation.elu import ELU\nfs = [ELU(), ELU(0.3)]\n")
    assert "fs = [F.elu, functools.partial(F.elu, alpha=0.3)]" in code
    code = _code("f(x)", "\nfrom chainer.functions.activation.leaky_relu import LeakyReLU\nf = LeakyReLU()\n")
    assert "f = functools.partial(F.leaky_relu, negative_slope=0.2)" in code
