"""A class of the program says no name of its base's parameters: ``super().__init__(n_in, n_out, weights)``."""

import sys
import types
from unittest import mock

import numpy as np
import pytest

from chainer2torch.vendor import compat_file
from chainer2torch.vendor.said import words
from tests.support.native_snippets import HEAD, migrated

PROGRAM = """
import chainer.links as L

{made}


def run():
    return [np.array(p.array) for _, p in sorted(made({arguments}).namedparams())]
"""
MADE = [
    "class Own(L.{link}):\n    def __init__(self, a, b, w):\n        super(Own, self).__init__(a, b, w)\nmade = Own",
    "class Own(L.{link}):\n    def __init__(self, a, b, w):\n        L.{link}.__init__(self, a, b, w)\nmade = Own",
    "class Own(L.{link}):\n    def __init__(self, *given):\n        super().__init__(*given)\nmade = Own",
    "def made(*given):\n    return L.{link}(*given)",
]


def both(program: str) -> tuple[list, list, str]:
    """What the original and the migrated program give; its helpers are those that a project gets."""
    theirs: dict = {}
    exec(compile(HEAD + program, "<original>", "exec"), theirs)
    result = migrated(program)
    text = compat_file.build(result.helpers, style="native", said=words(result.code))
    compat = types.ModuleType("chainer_compat")
    exec(compile(text, "<helpers>", "exec"), compat.__dict__)
    ours: dict = {}
    with mock.patch.dict(sys.modules, chainer_compat=compat):
        exec(compile(result.code, "<migrated>", "exec"), ours)
    return theirs["run"](), ours["run"](), text


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("link", ["LSTM", "StatelessLSTM", "GRU", "StatefulGRU"])
def test_parameters_given_by_position_stay(link: str, made: str) -> None:
    program = PROGRAM.format(made=made.format(link=link), arguments="3, 2, 0.25")
    theirs, ours, _ = both(program)
    filled = [sum(np.all(array == 0.25) for array in side) for side in (theirs, ours)]
    assert len(theirs) == len(ours) and filled[0] == filled[1] > 0


def test_parameters_that_nobody_gives_go() -> None:
    made = "class Own(L.LSTM):\n    def __init__(self, a, b):\n        super(Own, self).__init__(a, b)\nmade = Own"
    theirs, ours, text = both(PROGRAM.format(made=made, arguments="3, 2"))
    assert len(theirs) == len(ours) and "lateral_init" not in text


@pytest.mark.parametrize("number", ["np.int64", "np.int32", "int"])
@pytest.mark.parametrize("link", ["NStepLSTM", "NStepBiGRU", "NStepRNNTanh"])
def test_sizes_that_numpy_computed(link: str, number: str) -> None:
    program = f"""
import chainer.links as L


def run():
    link = L.{link}({number}(1), {number}(4), {number}(3), 0.)
    *_, ys = link(*[None] * (2 if 'LSTM' in '{link}' else 1), [np.ones((2, 4), 'f'), np.ones((1, 4), 'f')])
    return [y.shape for y in ys]
"""
    theirs, ours, _ = both(program)
    assert [tuple(shape) for shape in ours] == theirs
