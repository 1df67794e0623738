"""What brings an array to the host if it is on a GPU: behind it stands an array of NumPy's, in both frameworks."""

import numpy as np
import pytest

from tests.support.native_snippets import migrated, run

PROGRAM = """
from chainer import cuda

def fetched(x):
    if {test}:
        {body}
    return x

def run(xs):
    return fetched(xs[0]), fetched(3)
"""


@pytest.mark.parametrize("body", ["x = cuda.to_cpu(x)", "return cuda.to_cpu(x)"])
@pytest.mark.parametrize("test", ["isinstance(x, cuda.ndarray)", "cuda.available and isinstance(x, cuda.ndarray)"])
def test_an_array_is_one_of_numpys_behind_it(test, body):
    theirs, ours, code = run(PROGRAM.format(test=test, body=body))
    assert type(ours[0]) is type(theirs[0]) is np.ndarray and ours[1] == theirs[1] == 3
    np.testing.assert_array_equal(ours[0], theirs[0])
    assert "if isinstance(x, torch.Tensor):" in code and "x.cpu().numpy()" in code and "compat" not in code


@pytest.mark.parametrize(
    ("test", "body"),
    [
        ("isinstance(x, cuda.ndarray)", "x = cuda.to_cpu(x) * 2"),
        ("isinstance(x, cuda.ndarray)", "y = cuda.to_cpu(x)"),
        ("isinstance(x, cuda.ndarray) and x.ndim", "x = cuda.to_cpu(x)"),
        ("isinstance(x, cuda.ndarray)", "x = F.relu(x)"),
    ],
)
def test_what_does_more_asks_for_the_gpu(test, body):
    code = migrated(PROGRAM.format(test=test, body=body)).code
    on_gpu = "isinstance(x, torch.Tensor) and x.is_cuda"
    assert f"if {test.replace('isinstance(x, cuda.ndarray)', f'({on_gpu})' if ' and ' in test else on_gpu)}:" in code


@pytest.mark.parametrize(
    ("test", "text"),
    [
        ("not isinstance(x, cuda.ndarray)", "not (isinstance(x, torch.Tensor) and x.is_cuda)"),
        ("isinstance(x, cuda.ndarray) == True", "(isinstance(x, torch.Tensor) and x.is_cuda) == True"),
        ("isinstance(x, (int, cuda.ndarray))", "isinstance(x, (int, compat.CudaArray))"),
        ("isinstance(f(x), cuda.ndarray)", "isinstance(f(x), compat.CudaArray)"),
    ],
)
def test_the_question_in_other_expressions(test, text):
    assert f"if {text}:" in migrated(PROGRAM.format(test=test, body="y = 1")).code


def test_a_variable_goes_on_as_it_is():
    program = PROGRAM.format(test="isinstance(x, cuda.ndarray)", body="x = cuda.to_cpu(x)")
    program = program.replace("fetched(3)", "1").replace("fetched(xs[0])", "fetched(chainer.Variable(xs[0]))")
    assert "x.is_cuda" in migrated(program).code


def test_cupys_own_name_of_the_class():
    for name in ("cuda.cupy.ndarray", "cuda.cupy.core.ndarray", "cuda.cupy.core.core.ndarray"):
        code = migrated(PROGRAM.format(test=f"isinstance(x, {name})", body="x = cuda.to_cpu(x)")).code
        assert "if isinstance(x, torch.Tensor):" in code
