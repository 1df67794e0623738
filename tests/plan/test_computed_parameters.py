"""A link that keeps what is computed from a parameter: no optimizer gets the parameter, and that is said."""

import pytest

from chainer2torch.engine import migrate_source
from chainer2torch.plan.options import Options

HEAD = """
import numpy as np
import chainer
import chainer.functions as F


class Net(chainer.Link):
    def __init__(self, n):
        super().__init__()
        with self.init_scope():
            self.W = {value}

    def forward(self, x):
        return F.matmul(x, self.W)
"""


def states(value: str, style: str) -> list[tuple[str, str]]:
    result = migrate_source(HEAD.replace("{value}", value), options=Options(style=style))
    assert result.error is None
    return [(site.symbol, site.state) for site in result.sites if site.symbol.endswith(".Parameter")]


@pytest.mark.parametrize("style", ["native", "faithful"])
@pytest.mark.parametrize(
    "value",
    [
        "chainer.Parameter(np.ones((2, 2), 'f')).reshape(n, n)",
        "F.reshape(chainer.Parameter(np.ones(4, 'f')), (n, n))",
        "F.broadcast_to(chainer.Parameter(np.ones((2, 2), 'f')), (n, n))",
        "2 * chainer.Parameter(np.ones((2, 2), 'f'))",
        "-chainer.Parameter(np.ones((2, 2), 'f'))[:, ::-1]",
    ],
)
def test_it_is_left_to_a_person(value: str, style: str) -> None:
    assert states(value, style) == [("chainer.Parameter", "review")]


@pytest.mark.parametrize("style", ["native", "faithful"])
@pytest.mark.parametrize(
    "value", ["chainer.Parameter(np.ones((2, 2), 'f'))", "chainer.Parameter(np.eye(2, dtype='f') * 3)"]
)
def test_a_parameter_itself_is_not(value: str, style: str) -> None:
    assert states(value, style) == [("chainer.Parameter", "exact")]
