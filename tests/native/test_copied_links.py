"""A parameter gets another array while a copy of its link shares the old one: for a person to look at."""

import pytest

from tests.support.native_snippets import migrated, run

PROGRAM = """
def run(xs):
    net = chainer.Chain(l=chainer.links.Linear(3, 2))
    other = {copy}
    {assign}
    return float(np.abs(net.l.W.array).sum()), float(np.abs(other.l.W.array).sum())
"""
ASSIGNED = (
    "other.l.W.array = np.zeros((2, 3), 'f')",
    "net.l.W.data = np.zeros((2, 3), 'f')",
    "for p in net.params(): p.array = np.zeros_like(p.array)",
)


@pytest.mark.parametrize("assign", ASSIGNED)
def test_the_other_one_has_the_new_array_in_chainer_only(assign: str) -> None:
    theirs, ours, code = run(PROGRAM.format(copy="net.copy()", assign=assign))
    assert theirs == (0, 0) and 0 in ours and ours != theirs
    assert "C2T300" in code and "shares its parameters' arrays" in code


@pytest.mark.parametrize("assign", ASSIGNED[1:])
@pytest.mark.parametrize("copy", ["net", "net.copy(mode='copy')", "net.copy('init')"])
def test_links_that_share_nothing_need_no_look(assign: str, copy: str) -> None:
    sites = migrated(PROGRAM.format(copy=copy, assign=assign)).sites
    assert {site.state for site in sites if site.symbol in ("chainer.Variable.data", "chainer.Variable.array")} == {
        "exact"
    }
