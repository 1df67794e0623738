"""``chainer.Chain(l1=..., l2=...)`` as an nn.ModuleDict: its layers stay under each other."""

import textwrap

import numpy as np
import pytest

from chainer2torch.engine import Options, migrate_source
from tests.support.native_programs import both

LAYOUTS = {
    """\
    model = chainer.Chain(l1=L.EmbedID(3, 4),
                          l2=L.EmbedID(4, 2))  # two
    """: """\
    model = nn.ModuleDict(dict(l1=nn.Embedding(3, 4),
                               l2=nn.Embedding(4, 2)))  # two
    """,
    """\
    model = chainer.FunctionSet(
        l1=L.EmbedID(3, 4),  # first
        l2=L.EmbedID(4, 2),
    )
    """: """\
    model = nn.ModuleDict(dict(
        l1=nn.Embedding(3, 4),  # first
        l2=nn.Embedding(4, 2),
    ))
    """,
    """\
    model = chainer.Chain(
        l1=L.EmbedID(3, 4)).to_gpu()
    """: """\
    model = nn.ModuleDict(dict(
        l1=nn.Embedding(3, 4))).cuda()
    """,
    "model = chainer.Chain(l1=L.EmbedID(3, 4))\n": "model = nn.ModuleDict(dict(l1=nn.Embedding(3, 4)))\n",
}


@pytest.mark.parametrize("source", LAYOUTS)
def test_layout(source):
    head = "import chainer\nimport chainer.links as L\n\n"
    result = migrate_source(head + textwrap.dedent(source), options=Options(style="native"))
    assert result.code.partition("\n\n")[2] == textwrap.dedent(LAYOUTS[source])


@pytest.mark.parametrize("call", ["chainer.Chain()", "chainer.Chain(**links)", "chainer.FunctionSet(**f())"])
def test_what_may_be_empty_is_no_dictionary(call):
    """One without layers counts as false."""
    code = migrate_source(f"import chainer\nmodel = {call}\n", options=Options(style="native")).code
    assert "compat.Chain(" in code


RESHAPED = """
model = chainer.Chain(l1=L.Linear(6, 3), l2=L.Linear(3, 3))


def run(x, n, shape):
    a = model.l1(chainer.Variable(x.reshape(1, 6)))
    b = model.l1(chainer.Variable(x.reshape((1, n))))
    c = model.l1(chainer.Variable(x.reshape(1, 2, 3)))
    d = model.l1(chainer.Variable(x.reshape(*shape)))
    e = model.l1(x.reshape(1, 6))
    return [h.shape for h in (a, b, c, d, e)]
"""


def test_what_is_reshaped_to_two_axes_in_plain_sight_is_not_flattened():
    theirs, ours, code = both(RESHAPED)
    given = np.arange(6, dtype="f"), 6, (1, 3, 2)
    assert [tuple(s) for s in ours["run"](*given)] == theirs["run"](*given)
    assert code.count("torch.flatten(") == 3, code
