"""Signatures that a program asks links for are those of `forward`: torch's `__call__` takes anything."""

import numpy as np
import pytest

from chainer2torch.engine import migrate_source
from chainer2torch.plan.options import Options
from tests.support.native_snippets import migrated, run

PROGRAM = """
import inspect
import chainer.links as L

class Block(chainer.Chain):
    def __init__(self):
        super().__init__(l=L.Linear(2, 2, initialW=0.5))

    def __call__(self, x, scale=1):
        return self.l(x) * scale

class Plain(Block):
    def __call__(self, x):
        return self.l(x) + 1

class Net(chainer.Chain):
    def __init__(self):
        super().__init__(a=Block(), b=Plain())
        self.blocks = [self.a, self.b]

    def __call__(self, x):
        for block in self.blocks:
            x = block(x, scale=3) if ASKED else block(x)
        return x

def run(xs):
    net = Net()
    text = list(inspect.signature(net.a.__call__).parameters)
    return net(xs[0]), text
"""
ASKED = [
    "'scale' in inspect.signature(block).parameters",
    "'scale' in inspect.getfullargspec(block).args",
    "'scale' in inspect.getfullargspec(block.__call__)[0]",
    "'scale' in block.__call__.__code__.co_varnames",
]


@pytest.mark.parametrize("asked", ASKED)
def test_a_link_of_the_project_is_asked_what_forward_takes(asked):
    (theirs, their_text), (ours, our_text), code = run(PROGRAM.replace("ASKED", asked))
    np.testing.assert_allclose(ours.detach().numpy(), theirs.array)
    assert our_text == their_text == ["x", "scale"] and "block.forward" in code


@pytest.mark.parametrize(
    "use",
    [
        "def ask(part):\n    return inspect.signature(part)",
        "def ask(n):\n    return [inspect.getfullargspec(f) for f in (L.Linear(n, 2), F.relu)]",
    ],
)
def test_what_may_be_a_link_is_marked(use):
    result = migrated("import inspect\nimport chainer.links as L\n" + use + "\n")
    assert any(site.state == "review" and site.symbol.startswith("inspect.") for site in result.sites), result.code


def test_a_function_is_asked_as_it_was():
    result = migrated("import inspect\ndef own(a, b):\n    return a\nnames = inspect.signature(own)\n")
    assert not [site for site in result.sites if site.symbol.startswith("inspect.")]


def test_two_questions_about_one_name_stay_two() -> None:
    """Python dropped ``getargspec``, and a link is asked for its ``forward``: a second run changes neither marker."""
    text = """
import inspect

def run(blocks, x):
    for block in blocks:
        if "scale" in inspect.getargspec(block)[0]:
            x = block(x, scale=F.relu(x))
    return x
"""
    code = migrated(text).code
    markers = [line for line in code.splitlines() if "# TODO" in line]
    assert len(markers) == 2 and all(": inspect.getargspec: " in line for line in markers), code
    again = migrate_source(code, options=Options(style="native"))
    assert again.code == code
