"""What goes through the layers of a recurrent link, which torch holds stacked, is left to a person."""

import pytest

from tests.support.native_snippets import migrated

PROGRAM = """
def run(xs):
    rnn = chainer.links.NStepLSTM(2, 3, 4, 0.)
    others = chainer.ChainList(rnn)
    return {used}
"""
NAME, LSTM = "chainer.links.NStep.", "chainer.links.NStepLSTM."


@pytest.mark.parametrize(
    "used",
    [
        "rnn[0]",
        "rnn.ws",
        "rnn.b1",
        "[l for l in rnn]",
        "list(rnn)",
        "list(enumerate(rnn))",
        "len(rnn)",
        "[*rnn]",
        "dict(zip('ab', rnn))",
    ],
)
def test_a_walk_over_its_layers(used: str) -> None:
    sites = [site for site in migrated(PROGRAM.format(used=used)).sites if site.symbol.startswith((NAME, LSTM))]
    assert [site.state for site in sites] == ["manual"]


@pytest.mark.parametrize("used", ["others.ws", "list(others)", "len(others)", "[l for l in others]", "others[0]"])
def test_what_holds_such_a_link_is_gone_through(used: str) -> None:
    assert not [site for site in migrated(PROGRAM.format(used=used)).sites if site.symbol.startswith(NAME)]
