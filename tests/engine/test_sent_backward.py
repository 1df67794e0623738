"""A value that nobody knows, and that goes backward: a Variable."""

from __future__ import annotations

from chainer2torch.engine import migrate_source
from chainer2torch.plan.options import Options

TEXT = """
import chainer
import numpy as np
from models import net


def train(x, optimizer):
    loss = net(x)
    loss.backward(ARGUMENT)
    optimizer.update()
    print(loss.data)
    return float(loss.data)


def other(x):
    loss = net(x)
    print(loss.data)
"""


def _code(text: str) -> str:
    return migrate_source(text, options=Options(style="native")).code


def test_a_loss_is_known_by_its_backward() -> None:
    code = _code(TEXT.replace("ARGUMENT", ""))
    assert "print(loss.detach().cpu().numpy())" in code and "return loss.item()" in code
    assert code.count("print(loss.data.cpu().numpy())") == 1  # by its name in the other function


def test_an_object_of_the_program_with_such_a_method_may_be_meant() -> None:
    own = "\n\nclass Step:\n    def backward(self):\n        return 1\n"
    assert "loss.item()" not in _code(TEXT.replace("ARGUMENT", "") + own)
    assert "loss.item()" not in _code(TEXT.replace("ARGUMENT", "(0,), x"))
    assert "loss.item()" in _code(TEXT.replace("ARGUMENT", "") + own.replace("(self)", "(self, gy)"))
