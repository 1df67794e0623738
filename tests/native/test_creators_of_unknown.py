"""``features[name].creator`` of what nobody knows is marked, unless the project has a class with such an attribute."""

import pytest

from chainer2torch.engine import migrate_source

_ASKS = "import chainer.functions as F\n\ndef show(table):\n    return [table[key].creator for key in table], F.relu\n"
_OWN = "\nclass Post:\n    def __init__(self, who):\n        self.creator = who\n"


@pytest.mark.parametrize(("text", "marked"), [(_ASKS, True), (_ASKS + _OWN, False)])
def test_creators_of_unknown_values_are_marked(text, marked):
    sites = [site for site in migrate_source(text).sites if site.symbol == "?.creator"]
    assert [site.state for site in sites] == ["review"] * marked
