"""Functions of array modules for which torch has no form: NumPy's on the host, and the module is a device. Run beside
Chainer."""

import numpy as np
import pytest

from tests.support.native_snippets import migrated, run

USES = [
    "xp.split(y, [1], axis=1)",
    "xp.median(y, axis=1)",
    "xp.percentile(y, 30)",
    "xp.unravel_index(y.argmax(), y.shape)",
    "xp.take(y, xp.array([0, 1, 1]))",
    "xp.random.gamma(2.0, size=(2, 3))",
    "xp.random.gumbel(*y.shape)",
    "xp.clip(held['y'], 0.0, held['y'].max())",
    "xp.sort(held['y'])",
    "y.take([1, 0], axis=1), y.sum(axis=held['axis'])",
    "xp.interp(y, xp.array([-1.0, 1.0]), xp.array([0.0, 2.0]))",
]
PROGRAM = """
def run(xs):
    np.random.seed(0)
    x = chainer.Variable(xs[0])
    y = x.array
    held = {{'y': y, 'axis': 1}}
    xp = chainer.backend.get_array_module(x)
    zeros = xp.zeros(2, 'f')
    return zeros, {use}
"""


def flat(values):
    return [v for value in values for v in (flat(value) if isinstance(value, (list, tuple)) else [np.asarray(value)])]


@pytest.mark.parametrize("use", USES)
def test_it_computes_what_numpy_does(use):
    theirs, ours, code = run(PROGRAM.format(use=use))
    for a, b in zip(flat(theirs), flat(ours), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-6)
        assert a.dtype == b.dtype
    assert "device = x.device" in code and "array_module" not in code


@pytest.mark.parametrize("use", ["xp.put(y, [0], 3)", "xp.fill_diagonal(y, 3)"])
def test_what_writes_keeps_the_array_module(use):
    assert "xp = compat.array_module(x)" in migrated(PROGRAM.format(use=use)).code


MAKER = """
class Noise:
    def __init__(self, xp, size=3):
        self.xp = xp
        self.size = size

    def make(self, n):
        xp = self.xp
        return xp.random.normal(size=(n, self.size)).astype(xp.float32)

class Louder(Noise):
    pass

def run(xs):
    np.random.seed(0)
    x = chainer.Variable(xs[0])
    return Noise(x.xp).make(2), Louder(chainer.cuda.get_array_module(x), size=2).make(1)
"""


def test_a_module_that_a_constructor_is_given():
    theirs, ours, code = run(MAKER)
    for a, b in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(b, a)
    assert "def __init__(self, device, size=3):" in code and "self.device = device" in code
    assert "Noise(x.device)" in code and "Louder(x.device, size=2)" in code


@pytest.mark.parametrize(
    "other", ["KINDS = {'a': Noise}", "def other(anything):\n    return Noise(anything)", "NUMPYS = Noise(np)"]
)
def test_a_class_that_may_be_made_otherwise_keeps_its_modules(other):
    code = migrated(MAKER + other + "\n").code
    assert "def __init__(self, xp, size=3):" in code or "NUMPYS = Noise(torch.device('cpu'))" in code


MODEL = """
def overlap(a, b):
    xp = chainer.cuda.get_array_module(a)
    return xp.maximum(a, b) + xp.zeros(2, 'f')

def mixed(a, b):
    return overlap(a, b) * 2

class Net(chainer.Chain):
    def forward(self, given):
        return mixed(given['x'], given['y'])

    def _left(self, z):
        xp = chainer.cuda.get_array_module(z)
        return xp.ones(3, 'f')

def run(xs):
    return Net()({{'x': xs[0], 'y': xs[1]}}),
{other}
"""


def test_what_only_models_call_gets_tensors():
    theirs, ours, code = run(MODEL.format(other=""))
    np.testing.assert_allclose(ours[0], theirs[0])
    assert "torch.zeros(2, dtype=torch.float32, device=a.device)" in code and "array_module" not in code


@pytest.mark.parametrize("other", ["def show(a):\n    return overlap(a, a)", "kept = [mixed]"])
def test_what_others_call_too_may_get_arrays(other):
    assert "xp = compat.array_module(a)" in migrated(MODEL.format(other=other)).code


@pytest.mark.parametrize(
    ("call", "new"),
    [
        ("cuda.zeros((2, 3))", "torch.zeros((2, 3), dtype=torch.float32, device='cuda')"),
        ("cuda.ones(3, np.int32)", "torch.ones(3, dtype=torch.int32, device='cuda')"),
        ("cuda.empty((2,), dtype='d')", "torch.empty((2,), dtype=torch.float64, device='cuda')"),
        ("cuda.full((2,), 3.0)", "compat.with_numpy(np.full, (2,), 3.0, 'float32', device='cuda')"),
    ],
)
def test_arrays_of_version_1(call, new):
    code = migrated(f"from chainer import cuda\nimport chainer.links as L\nx = {call}\n").code
    assert f"x = {new}" in code


ARRAYS = """
def run(xs):
    np.random.seed(0)
    x = chainer.Variable(xs[0])
    y = x.array
    held = {{'y': y, 'n': [y, xs[1]]}}
    xp = chainer.backend.get_array_module(x)
    i = xp.arange(2, dtype=np.int64)
    j = xp.arange(2, dtype='i')
    return {use},
"""


@pytest.mark.parametrize(
    ("use", "new"),
    [
        ("xp.concatenate([y[:, None]] * 3)", "torch.cat([y[:, None]] * 3)"),
        ("xp.stack([y[:, k] for k in range(2)])", "torch.stack([y[:, k] for k in range(2)])"),
        ("xp.concatenate([i, j])", "torch.cat([i, j])"),
        ("xp.concatenate([y[0], *[i, i]])", "compat.same_dtype("),
        ("xp.concatenate(y), xp.stack(y, axis=1)", "torch.cat(tuple(y)), torch.stack(tuple(y), dim=1)"),
        ("xp.concatenate([y[0].astype('d'), i])", "compat.same_dtype("),
        ("xp.concatenate([y[0], i])", "torch.cat(compat.same_dtype([y[0], i]))"),
        (
            "xp.stack([a[0] for a in [y, y.astype('d')]])",
            "torch.stack([a[0] for a in [y, y.to(torch.float64, copy=True)]])",
        ),
        ("xp.argmax(held['y'], axis=1)", "torch.argmax(held['y'], dim=1)"),
        ("xp.sum(held['y'], axis=0)", "torch.sum(held['y'], dim=0)"),
        ("xp.random.choice(5, 3)", "torch.as_tensor(np.asarray(np.random.choice(5, 3)), device="),
        ("xp.eye(3, dtype=xs[3].dtype)", "torch.eye(3, dtype=compat.torch_dtype(xs[3].dtype), device="),
    ],
)
def test_arrays_without_a_helper(use, new):
    program = ARRAYS.format(use=use)
    code = migrated(program).code
    assert new in code
    theirs, ours, _ = run(program)
    for a, b in zip(flat(theirs), flat(ours), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-6)
        assert a.dtype == b.dtype


LIST = """
def run(xs):
    xp = chainer.cuda.get_array_module(chainer.Variable(xs[0]))
    return xp.sum(xs, axis=0)
"""


def test_a_list_where_an_array_is_asked_for_raises():
    with pytest.raises(TypeError):
        run(LIST)


def test_arrays_of_both_sides_in_a_list_become_tensors():
    program = ARRAYS.replace("    return", "    rows = [y[0] if k else np.ones(2, 'f') for k in range(3)]\n    return")
    theirs, ours, code = run(program.format(use="xp.concatenate(rows), xp.stack(rows)"))
    assert "torch.cat([torch.as_tensor(array) for array in rows])" in code, code
    for a, b in zip(flat(theirs), flat(ours), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-6)
