"""``chainer.Chain(l1=..., l2=...)`` as an nn.ModuleDict: its layers stay under each other."""

import textwrap

import pytest

from chainer2torch.engine import Options, migrate_source

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
