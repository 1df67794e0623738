"""Arrays that are made for a Variable: PyTorch makes the tensor, unless NumPy alone can say what is in it."""

import pytest

from tests.support.native_snippets import migrated


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("np.zeros((n, 3), dtype=np.float32)", "torch.zeros((n, 3), dtype=torch.float32)"),
        ("np.ones(3)", "torch.ones(3, dtype=torch.float64)"),
        ("np.array([n, 2], 'i')", "torch.tensor([n, 2], dtype=torch.int32)"),
        ("np.array([[1.5], [2]]).astype('f')", "torch.tensor([[1.5], [2]], dtype=torch.float32)"),
        ("np.full((2, n), 3, dtype='f')", "torch.full((2, n), 3, dtype=torch.float32)"),
        # what is in the list is not known, or other arrays are; so is the dtype, for callers that nobody sees
        ("np.array(u, dtype='f')", "torch.from_numpy(np.array(u, dtype='f'))"),
        ("np.zeros(3, d)", "torch.from_numpy(np.zeros(3, d))"),
        # random numbers stay NumPy's
        ("np.random.rand(3).astype('f')", "torch.from_numpy(np.random.rand(3).astype('f'))"),
        # two casts, and another order
        ("np.ones(3, 'd').astype('f')", "torch.from_numpy(np.ones(3, 'd').astype('f'))"),
        ("np.ones(3, 'f', order='F')", "torch.from_numpy(np.ones(3, 'f', order='F'))"),
    ],
)
def test_forms(before: str, after: str) -> None:
    source = f"def f(u, d=np.float32, n=2):\n    return F.relu(chainer.Variable({before}))\n\n\nf(json.load(g))\n"
    assert f"return F.relu({after})" in migrated(source).code


def test_arrays_of_others_stay() -> None:
    """An array that has a name may be written to later, and the Variable with it."""
    source = "def f():\n    a = np.zeros(3, 'f')\n    x = chainer.Variable(a)\n    a[0] = 1\n    return F.relu(x)\n"
    assert "x = torch.from_numpy(a)" in migrated(source).code
