"""Triggers that a program hands an object of its own in the place of a Trainer: a manager is asked for other things."""

from chainer2torch.engine import Options, migrate_source

_PROGRAM = """
from chainer import training
from chainer.training import triggers

class Stub({base}):
    def __init__(self):
        self.updater = self
        self.iteration = 0

trigger = triggers.IntervalTrigger(2, 'iteration')
table = {{'get': training.get_trigger((2, 'iteration'))}}
stub = Stub()
print(trigger(stub), [table[k](stub) for k in table])
print(len(repr(stub)), str(stub))
"""


def _marked(base: str, style: str) -> list[int]:
    sites = migrate_source(_PROGRAM.format(base=base), options=Options(style=style)).sites
    return [site.line for site in sites if site.state == "review" and "stands in for a Trainer" in site.message]


def test_a_stand_in_for_a_trainer_is_marked() -> None:
    assert _marked("object", "native") == [13, 13]


def test_what_helpers_take_is_not() -> None:
    assert _marked("object", "faithful") == []
    assert _marked("training.Trainer", "native") == []


def test_a_mock_in_the_place_of_a_trainer_is_marked() -> None:
    for made in ("mock.MagicMock()", "mock.Mock(updater=None)"):
        text = (
            _PROGRAM.format(base="object")
            .replace("Stub()", made)
            .replace("import training", "import training\nfrom unittest import mock", 1)
        )
        sites = migrate_source(text, options=Options(style="native")).sites
        assert [site.line for site in sites if "stands in for a Trainer" in site.message] == [14], made
