"""Arrays of NumPy that are written into what only its names tell for a part of a layer: `net.bn.avg_mean[:] = a`."""

import numpy as np
import pytest

from tests.support.native_snippets import run

PROGRAM = """
import chainer.links as L
class Own(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.bn = L.BatchNormalization(3)
            self.fc = L.Linear(3, 3, initialW=0.5)

def change(dst, src, values):
    {line}

def run(xs):
    dst, src = Own(), Own()
    src.bn.avg_mean[...] = 4
    src.fc.b.array[...] = 2
    table = dict(change=change)
    table['change'](*eval('(dst, src, np.arange(3).astype("f"))'))
    with chainer.using_config('train', False):
        y = dst.fc(dst.bn(chainer.Variable(np.arange(6).astype('f').reshape(2, 3))))
    return y.array, dst.bn.avg_mean, dst.fc.b.array
"""


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("dst.bn.avg_mean[:] = np.arange(3)", "dst.bn.running_mean[:] = torch.as_tensor(np.arange(3))"),
        ("dst.bn.avg_mean[1:] = values[1:]", "dst.bn.running_mean[1:] = torch.as_tensor(values[1:])"),
        ("dst.bn.avg_mean[:] = src.bn.avg_mean", "dst.bn.running_mean[:] = src.bn.running_mean"),
        ("dst.bn.avg_mean += values", "dst.bn.running_mean += torch.as_tensor(values)"),
        ("dst.bn.avg_mean[0] = 3", "dst.bn.running_mean[0] = 3"),
        ("dst.fc.b.data[...] = values", "torch.as_tensor(values)"),
        ("dst.fc.b.array[1] = src.fc.b.array[0]", "[1] = src.fc.bias."),
        ("dst.fc.b.data += values", "torch.as_tensor(values)"),
    ],
)
def test_they_become_tensors(line, written):
    theirs, ours, code = run(PROGRAM.format(line=line))
    for one, other in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(np.asarray(one), other.detach().numpy(), rtol=1e-5)
    assert written in code, code
