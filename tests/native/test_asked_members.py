"""``hasattr(x, name)`` and ``getattr(x, name)`` of members that only Chainer's objects have."""

import pytest

from tests.support.native_snippets import migrated, run

OWN = """
class Holder:
    def __init__(self):
        self.array = 3

    def cleargrads(self):
        return 4


def run(xs):
    x = chainer.Variable(xs[0])
    link = chainer.links.Linear(2, 2)
    opt = chainer.optimizers.SGD(0.1).setup(link)
    held = Holder()
    values = [x, link, opt, held]
    return {asked}
"""


@pytest.mark.parametrize(
    "asked",
    [
        "[hasattr(x, n) for n in ('shape', 'no_such_name')], hasattr(x, 'array'), hasattr(x, 'creator')",
        "hasattr(link, 'cleargrads'), hasattr(link, 'xp'), hasattr(link, 'no_such_name'), hasattr(link, 'children')",
        "hasattr(opt, 'target'), hasattr(opt, 'lr'), hasattr(opt, 'no_such_name')",
        "hasattr(held, 'array'), hasattr(held, 'cleargrads'), getattr(held, 'array', 5), getattr(held, 'xp', 5)",
        "hasattr(chainer.functions, 'average'), hasattr(chainer, 'no_such_name')",
        "hasattr(chainer, 'global_config'), hasattr(chainer.links, 'Highway'), hasattr(chainer.Variable, 'xp')",
        "float(getattr(x, 'array', None).sum()), float(getattr(x * 2, 'data').sum())",
    ],
)
def test_the_answer_is_that_of_chainer(asked: str) -> None:
    theirs, ours, _ = run(OWN.format(asked=asked))
    assert theirs == ours


@pytest.mark.parametrize(
    ("asked", "marked"),
    [
        ("hasattr(values[0], 'array')", True),
        ("getattr(values.pop(), 'cleargrads', None)", True),
        ("getattr(link, 'cleargrads')()", True),
        ("setattr(x, 'array', xs[1])", True),
        ("hasattr(values[0], 'shape')", False),
        ("getattr(values.pop(), 'read', None)", False),
        ("getattr(np, 'array')(3)", False),
    ],
)
def test_what_is_not_known_is_for_a_person(asked: str, marked: bool) -> None:
    sites = migrated(OWN.replace("values = [", "values = eval('[]') or [").format(asked=asked)).sites
    assert any(site.code == "C2T390" and site.state == "review" for site in sites) is marked


GIVEN = """
class Net(chainer.Chain):
    def forward(self, x):
        {asked}
        return F.relu(x), found


def run(xs):
    return [Net()(x)[1] for x in (xs[0], chainer.Variable(xs[0]))]
"""


@pytest.mark.parametrize(
    "asked",
    [
        "found = hasattr(x, 'unchain_backward')",
        "if len(x) > 5: x = F.relu(x)\n        found = hasattr(x, 'xp')",
        "found = getattr(x, 'array', None) is None",
        "found = hasattr(x * 2, 'xp')",
    ],
)
def test_what_a_model_is_handed_may_be_an_array_in_chainer(asked: str) -> None:
    """It has none of these then: a silent True would be wrong."""
    program = GIVEN.format(asked=asked)
    theirs, _, _ = run(program)
    assert theirs in ([False, True], [True, False])
    assert [site.state for site in migrated(program).sites if site.code == "C2T390"] == ["review"]
