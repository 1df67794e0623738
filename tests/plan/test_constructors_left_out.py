"""Classes on a link of Chainer's whose constructor goes past that of the link: what it became is no module then."""

import pytest

from chainer2torch.engine import migrate_source

HEAD = "import chainer\nimport chainer.links as L\n\n\nclass A(L.Linear):\n    def __init__(self, n):\n        "
LEFT_OUT = ["super(L.Linear, self).__init__()", "chainer.Link.__init__(self)", "chainer.Chain.__init__(self)"]
CALLED = ["super(A, self).__init__(n, n)", "super().__init__(n, n)", "L.Linear.__init__(self, n, n)"]


@pytest.mark.parametrize("line", LEFT_OUT)
def test_a_constructor_that_is_left_out_is_marked(line):
    result = migrate_source(HEAD + line + "\n")
    assert ("chainer.links.Linear.__init__", "manual") in {(s.symbol, s.state) for s in result.sites}, result.code


@pytest.mark.parametrize("line", CALLED)
def test_one_that_is_called_is_not(line):
    result = migrate_source(HEAD + line + "\n")
    assert not [s for s in result.sites if s.state == "manual"], result.code


def test_chains_are_no_such_links():
    text = HEAD.replace("L.Linear", "chainer.Chain") + "super(chainer.Chain, self).__init__()\n"
    assert not [s for s in migrate_source(text).sites if s.state == "manual"]
