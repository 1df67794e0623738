"""Parameters that some calls give an array and others a Variable: what tells the two apart is asked about."""

import pytest

from chainer2torch.engine import Options, migrate_source

PROGRAM = """
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np


def f(p):
    {body}


net = L.Linear(3, 2)
y = net(np.ones((2, 3), 'f'))
f(y)
{more}
"""


@pytest.mark.parametrize(
    ("body", "asked"),
    [
        ("return p * 2 if isinstance(p, chainer.Variable) else p * 3", True),
        ("return p * 3 if isinstance(p, np.ndarray) else p * 2", True),
        ("return p * 3 if type(p) is np.ndarray else p * 2", True),
        ("assert not isinstance(p, chainer.Variable); return p", True),
        ("return F.relu(chainer.Variable(p) if isinstance(p, np.ndarray) else p)", False),
        ("return F.relu(p if isinstance(p, chainer.Variable) else chainer.Variable(p))", False),
        ("return (p.array if isinstance(p, chainer.Variable) else p).sum()", False),
    ],
)
@pytest.mark.parametrize("style", ["native", "faithful"])
def test_a_class_is_asked_about_where_both_come(body, asked, style):
    for more, expected in (("f(y.array)", asked), ("", False)):
        source = PROGRAM.format(body=body, more=more)
        sites = migrate_source(source, options=Options(style=style)).sites
        assert any(s.state == "review" for s in sites) == expected, more


def test_a_test_for_arrays_tells_what_takes_gradients_from_what_does_not():
    source = PROGRAM.format(body="return p * 3 if isinstance(p, np.ndarray) else p * 2", more="f(y.array)")
    assert "not compat.is_variable(p)" in migrate_source(source, options=Options(style="native")).code
