"""What was an array in Chainer's program leaves as one: text, other libraries, pickles, NumPy's generators."""
import textwrap

import numpy as np
import pytest
import torch

from chainer2torch.compat.dispatch import to_host
from chainer2torch.engine import migrate_source

HEAD = """
import json
import math
import pickle
import cv2
import somewhere
import numpy as np
from PIL import Image
import chainer
import chainer.functions as F
import chainer.links as L


class M(chainer.Chain):
    def __call__(self, x):
        return F.tanh(x)


def f(x, g, n, model=M()):
    rng = np.random.RandomState(0)
    y = F.softmax(model(chainer.Variable(x)))
"""


@pytest.mark.parametrize("before, after", [
    ("cv2.imwrite('a.png', y.data[0] * 255)", "cv2.imwrite('a.png', (y.detach()[0] * 255).cpu().numpy())"),
    ("Image.fromarray(y.array)", "Image.fromarray(y.detach().cpu().numpy())"),
    ("pickle.dump((y.data, {'a': y.array, 'n': n}), g)",
     "pickle.dump((y.detach().cpu().numpy(), {'a': y.detach().cpu().numpy(), 'n': n}), g)"),
    ("rng.choice(3, p=y.data[0])", "rng.choice(3, p=y.detach()[0].cpu().numpy())"),
    ("np.random.choice(3, p=y.data[0])", "np.random.choice(3, p=y.detach()[0].cpu().numpy())"),
    ("print(n, y.data)", "print(n, y.detach().cpu().numpy())"),
    ("str(y.data)", "str(y.detach().cpu().numpy())"),
    ("'%s %d' % (y.data, n)", "'%s %d' % (y.detach().cpu().numpy(), n)"),
    ("'{} {}'.format(y.data, n)", "'{} {}'.format(y.detach().cpu().numpy(), n)"),
    ("f'{y.data} {n}'", "f'{y.detach().cpu().numpy()} {n}'"),
    # numbers are written the same way
    ("'%f' % y.data[0, 0]", "'%f' % y.detach()[0, 0]"),
    ("'{:.3f}'.format(y.data[0, 0])", "'{:.3f}'.format(y.detach()[0, 0])"),
    ("f'{y.data[0, 0]:.3f}'", "f'{y.detach()[0, 0]:.3f}'"),
    ("math.sqrt(y.data[0, 0])", "math.sqrt(y.detach()[0, 0])"),
    # Variables, values of other kinds, functions that are not known
    ("print(y)", "print(y)"),
    ("print(x, n)", "print(x, n)"),
    ("n(y.data)", "n(y.detach())"),
    ("somewhere.loss(y.data)", "somewhere.loss(y.detach())"),
])
def test_arrays_leave_as_arrays(before, after):
    code = migrate_source(f"{HEAD}    {before}\n").code
    assert code.splitlines()[-1].strip() == after


def test_a_sum_that_starts_from_zero():
    code = migrate_source(HEAD + textwrap.indent(textwrap.dedent("""
        total = 0
        for i in range(n):
            total += F.sum(y).data * len(y)
        print('mean', total / 7)
    """), "    ")).code
    assert "print('mean', compat.to_host(total / 7))" in code


def test_to_host():
    x = torch.arange(3.0, requires_grad=True)
    assert isinstance(to_host(x * 2), np.ndarray) and to_host(x * 2).tolist() == [0, 2, 4]
    assert to_host(0) == 0 and to_host("a") == "a"
