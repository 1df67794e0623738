"""``isinstance(x, np.ndarray)`` and ``dtype=x.dtype`` of what nobody knows, which may be an array of a model."""

import numpy as np
import pytest

from tests.support.native_snippets import migrated, run

PROGRAM = """
def kind_of(link, name):
    value = getattr(link, name)
    if isinstance(value, np.ndarray):
        return value.shape, np.frombuffer(bytes(8), dtype=value.dtype).dtype
    return type(value).__name__


def run(xs):
    link = chainer.links.BatchNormalization(3)
    link.add_persistent('seen', np.zeros(4, np.float64))
    link.count = 3
    link.mask = np.ones(2, 'f')
    return [kind_of(link, name) for name in ('avg_mean', 'seen', 'count', 'mask')]
"""


def test_arrays_of_a_model_are_asked_as_in_chainer() -> None:
    theirs, ours, code = run(PROGRAM.replace("'avg_mean'", "'seen'"))
    assert theirs == ours and theirs[0] == ((4,), np.dtype("float64"))
    assert "isinstance(value, (np.ndarray, torch.Tensor))" in code and "C2T320" in code


@pytest.mark.parametrize("test", ["assert isinstance(value, np.ndarray)", "value = np.asarray([name])"])
def test_what_tells_by_itself_is_not_marked(test: str) -> None:
    program = PROGRAM.replace("if isinstance(value, np.ndarray):", f"{test}\n    if name:")
    assert not [site for site in migrated(program).sites if site.symbol == "numpy.ndarray"]
