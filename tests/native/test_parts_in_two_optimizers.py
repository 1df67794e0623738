"""A link that sets up an optimizer with a part of itself, where a program sets up another one with the whole link."""

import textwrap

import pytest

from chainer2torch.engine import Options, migrate_sources

NET = """
import chainer
import chainer.links as L
from chainer import optimizers


class Net(chainer.Chain):
    def __init__(self, n):
        super(Net, self).__init__(a=L.Linear(n, n))
        critic = L.Linear(n, 1)
        KEPT
        self.opt = optimizers.Adam(alpha=5e-5)
        self.opt.setup(PART)


class Heir(Net):
    pass
"""
TRAIN = """
from chainer import optimizers
from net import Heir, Net


def main():
    model = MODEL(3)
    opt = optimizers.SGD()
    opt.setup(WHOLE)
"""


def states(kept: str = "pass", part: str = "self.a", model: str = "Net", whole: str = "model") -> set[str]:
    """The states of the places in the link's file where an optimizer gets its model."""
    sources = {
        "net.py": textwrap.dedent(NET).replace("KEPT", kept).replace("PART", part),
        "train.py": textwrap.dedent(TRAIN).replace("MODEL", model).replace("WHOLE", whole),
    }
    results = migrate_sources(sources, options=Options(style="native"))
    found = results["net.py"] if isinstance(results, dict) else results[0]
    return {site.state for site in found.sites if "one that was set up last" in site.message}


@pytest.mark.parametrize(
    ("kept", "part"),
    [
        ("pass", "self.a"),
        ("self.add_link('critic', critic)", "critic"),
        ("self.critic = critic", "critic"),
        ("setattr(self, 'critic', critic)", "critic"),
    ],
)
@pytest.mark.parametrize("model", ["Net", "Heir"])
def test_a_part_and_the_whole_link(kept: str, part: str, model: str) -> None:
    assert states(kept, part, model) == {"review"}


def test_what_meets_no_other_optimizer() -> None:
    assert not states("pass", "critic")  # it is no part of the link
    assert not states("self.critic = critic", "critic", whole="chainer.links.Linear(3, 3)")
