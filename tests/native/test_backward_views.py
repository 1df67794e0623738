"""Host arrays that run backwards, handed over through parameters, lists and tables: copied, as PyTorch takes none."""

import pytest

from chainer2torch.engine import migrate_source
from chainer2torch.plan.options import Options

HEAD = "import numpy as np\nimport chainer\nimport chainer.links as L\nx = np.ones((2, 3), 'f')\nnet = L.Linear(3, 2)\n"


def code(body):
    return migrate_source(HEAD + body, options=Options(style="native")).code


@pytest.mark.parametrize(
    ("body", "copied"),
    [
        ("def f(v):\n    return net(v)\nf(x[::-1])\n", "f(x[::-1].copy())"),
        ("def f(*v, k=0):\n    return net(k)\nf(k=x[::-1])\n", "f(k=x[::-1].copy())"),
        ("f = lambda v: net(v)\ny = x[::-1]\nf(y)\n", "f(y.copy())"),
        ("class A:\n    def __call__(self, v):\n        return net(v)\nA()(x[:, ::-1])\n", "A()(x[:, ::-1].copy())"),
        ("b = [v[::-1] for v in (x, x)]\n", "b = [v[::-1].copy() for v in (x, x)]"),
        ("b = {'a': x[::-1], 'b': x}\n", "{'a': x[::-1].copy(), 'b': x}"),
        ("b = []\nb.append(np.flip(x, 0))\n", "b.append(np.flip(x, 0).copy())"),
        (
            "class A:\n    def __call__(self, v):\n        return v[:, ::-1]\nnet(A()(x))\n",
            "net(torch.as_tensor(A()(x).copy()))",
        ),
    ],
)
def test_what_is_handed_over_is_copied(body, copied):
    assert copied in code(body)


@pytest.mark.parametrize(
    "body",
    [
        "def f(v):\n    v[0] = 1\n    return net(v)\nf(x[::-1])\n",
        "def f(v):\n    v += 1\n    return net(v)\nf(x[::-1])\n",
        "def f(v):\n    return len(v)\nf('abc'[::-1])\nf([1, 2][::-1])\n",
        "b = np.stack([x[::-1], x])\n",
        "b = np.array([[x[0, ::-1], x[0]]])\n",
        "for v in (x[::-1],):\n    v[0] = 1\n",
        "def f(v):\n    return v\nf(x[::2])\n",
    ],
)
def test_what_may_be_written_into_and_what_libraries_read_is_not(body):
    assert ".copy()" not in code(body)
