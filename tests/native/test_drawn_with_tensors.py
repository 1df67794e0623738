"""`xp.random.choice(n, p=tensor)` is NumPy's own call on the host; arrays that only a GPU is sent stay arrays."""

import numpy as np
import pytest

from tests.support.native_snippets import run

PROGRAM = """
from chainer import cuda
def run(xs):
    p = F.softmax(chainer.Variable(np.arange(8).reshape(2, 4).astype('d')))
    xp = cuda.get_array_module(p.array)
    np.random.seed(3)
    return {call}
"""
_CALLS = {
    "[int(xp.random.choice(4, p=row)) for row in p.array]": "np.random.choice(4, p=row.cpu().numpy())",
    "xp.zeros(4)[xp.random.choice(4, p=p.array[0])]": "np.random.choice(4, p=p.detach()[0].cpu().numpy())",
    "xp.random.choice(4, size=3, p=p.array[0]) + xp.arange(3)": "torch.as_tensor(np.asarray(np.random.choice(4, size=3",
    "xp.random.choice(p.array[0], 3) * p.array[1, :3]": "np.random.choice(p.detach()[0].cpu().numpy(), 3)",
    "xp.random.normal(p.array, 2) * p.array": "np.random.normal(p.detach().cpu().numpy(), 2)",
    "xp.random.multinomial(5, p.array[0])": "np.random.multinomial(5, p.detach()[0].cpu().numpy())",
}


@pytest.mark.parametrize("call", _CALLS)
def test_numpy_draws_by_tensors(call):
    theirs, ours, code = run(PROGRAM.format(call=call))
    np.testing.assert_allclose(np.asarray(theirs), np.asarray(ours), rtol=1e-6)
    assert _CALLS[call] in code and "with_numpy" not in code, code


SENT = """
from chainer import cuda
def repeated(mask, n, gpu=-1):
    if gpu >= 0:
        mask = cuda.to_gpu(mask)
    xp = np if gpu < 0 else cuda.cupy
    return xp.repeat(mask, n, axis=0)

def run(xs):
    return repeated(np.arange(6).reshape(2, 3), eval('2'))
"""


def test_an_array_that_only_a_gpu_is_sent():
    theirs, ours, code = run(SENT)
    np.testing.assert_array_equal(theirs, ours.numpy())
    assert "torch.repeat_interleave(torch.as_tensor(mask, device=" in code, code
