"""``def f(x: cupy.ndarray)``: an array of CuPy's in an annotation is a tensor, as an array of Chainer's is."""

import pytest

from tests.support.native_snippets import migrated, run

PROGRAM = """
{line}
from typing import Optional, Union

class Run(object):
    def __init__(self, gpu):
        self.xp = np
        if gpu >= 0:
            self.xp = {cupy}

    def step(self, x: {cupy}.ndarray, t: np.ndarray, u: Optional[{cupy}.ndarray] = None) -> Union[{cupy}.ndarray, None]:
        y: {cupy}.ndarray = F.relu(self.xp.asarray(x))
        return y.data

def run(xs):
    return Run(-1).step(xs[0], None)
"""


@pytest.mark.parametrize(
    ("line", "cupy"),
    [
        ("from chainer import cuda", "cuda.cupy"),
        ("from chainer.cuda import cupy", "cupy"),
        ("import cupy as cp", "cp"),
    ],
)
def test_arrays_of_cupy_in_annotations(line: str, cupy: str) -> None:
    source = PROGRAM.format(line=line, cupy=cupy)
    out = migrated(source).code
    assert out.count(": torch.Tensor") == 2 and "Optional[torch.Tensor]" in out and "Union[torch.Tensor, None]" in out
    assert "t: np.ndarray" in out


def test_arrays_of_chainer_in_annotations() -> None:
    theirs, ours, out = run("""
from chainer import cuda

def step(x: cuda.ndarray) -> cuda.ndarray:
    return F.relu(x).data

def run(xs):
    return float(step(xs[0]).sum())
""")
    assert theirs == pytest.approx(ours) and "def step(x: torch.Tensor) -> torch.Tensor:" in out
