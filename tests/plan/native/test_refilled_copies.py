"""Copies of links that are filled anew, where the first values are lines of a constructor."""

import pytest

from chainer2torch.engine import migrate_source
from chainer2torch.plan.options import Options

PROGRAM = """
import chainer
import chainer.links as L

class Block(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(3, 3{values})

block = Block()
other = {call}
"""
OWN = ", initialW=chainer.initializers.Normal(0.3)"


def states(call: str, values: str, style: str = "native") -> set[str]:
    result = migrate_source(PROGRAM.format(call=call, values=values), options=Options(style=style))
    return {s.state for s in result.sites if s.symbol in ("chainer.Link.copy", "chainer.Link.repeat")}


@pytest.mark.parametrize("call", ["block.copy('init')", "block.copy(mode='init')", "block.repeat(2)", "block.copy(m)"])
def test_a_copy_with_new_values_is_for_review_where_the_project_gives_its_own(call: str) -> None:
    assert states(call, OWN) == {"review"}
    assert states(call, "") == {"exact"}
    assert states(call, OWN, "faithful") == {"exact"}  # there layers keep their initializers


@pytest.mark.parametrize(
    "call", ["block.copy()", "block.copy('copy')", "block.repeat(2, mode='copy')", "L.Linear(3, 3).repeat(2)"]
)
def test_copies_of_values_are_exact(call: str) -> None:
    assert states(call, OWN) == {"exact"}
