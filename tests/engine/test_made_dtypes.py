"""Arrays that NumPy makes of numbers, beside a Variable: they count as ones of its dtype, in PyTorch as well."""

import sys
from unittest import mock

import numpy as np
import pytest
import torch

from chainer2torch.analysis.kinds import NONE, Const, HostArray, Lst, Scalar, Tensor, Tup
from chainer2torch.analysis.models import made_dtypes
from chainer2torch.engine import Options, migrate_source
from tests.support.native_programs import helpers

MODEL = """
import chainer
import chainer.links as L
import numpy as np


class Model(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(3, 3)

    def __call__(self, x):
        xp = {module}
        h = self.l(x)
        a = {array}
        return h * a, a + h, h - a
"""
ARRAYS = [
    "xp.full(h.shape, np.inf)", "xp.full((3,), 0.5)", "xp.full((3, 3), 2)", "xp.full(shape=(3,), fill_value=0.5)",
    "xp.full((3,), [0.5, 1., 2.])", "xp.expand_dims(xp.full(h.shape, .5), 0)[0]", "xp.tri(3)", "xp.diag([1., 2., 3.])",
    "xp.where(xp.arange(3) > 1, 0.5, 1.)", "xp.repeat(0.5, 3)", "xp.sqrt(xp.arange(3))", "xp.tile([0.5], 3)",
    "xp.broadcast_to(0.5, (3, 3))", "xp.power(0.5, xp.arange(3))", "xp.maximum(xp.arange(3), 0.5)",
    "xp.clip(xp.arange(3), 0.5, 1.5)", "xp.interp([0.1, .2, .3], [0., 1.], [0., 1.])",
    "xp.nan_to_num(xp.full(3, .5))", "xp.atleast_2d(xp.full(3, .5))", "xp.moveaxis(xp.full((3, 3), .5), 0, 1)",
    "xp.rollaxis(xp.full((3, 3), .5), 1)", "xp.einsum('ij->i', xp.ones((3, 3)))", "xp.kron(xp.ones(3), xp.ones(1))",
]  # fmt: skip


@pytest.mark.parametrize("module", ["self.xp", "np"])
@pytest.mark.parametrize("array", ARRAYS)
def test_arrays_of_numbers_beside_variables(array: str, module: str) -> None:
    source = MODEL.format(module=module, array=array if module == "self.xp" else array.replace("xp.", "np."))
    theirs: dict = {"__name__": "original"}
    exec(source, theirs)
    x = np.random.RandomState(0).randn(3, 3).astype("f")
    model = theirs["Model"]()
    result = migrate_source(source, options=Options(style="native"))
    ours: dict = {"__name__": "migrated"}
    with mock.patch.dict(sys.modules, {"chainer_compat": helpers(result)}):
        exec(result.code, ours)
        migrated = ours["Model"]()
        with torch.no_grad():
            migrated.l.weight.copy_(torch.from_numpy(model.l.W.array))
            migrated.l.bias.copy_(torch.from_numpy(model.l.b.array))
        found = migrated(torch.from_numpy(x))
    for want, got in zip(model(x), found, strict=True):
        assert got.dtype == torch.float32, result.code
        np.testing.assert_allclose(got.detach().numpy(), want.array, rtol=1e-5)


_VALUES = [
    (0.5, Const(0.5)),
    (2, Const(2)),
    (True, Scalar("bool")),
    (np.arange(3), HostArray(1, "int64")),
    (np.arange(3, dtype="i"), HostArray(1, "int32")),
    (np.ones(3), HostArray(1, "float64")),
    (np.ones(3, "f"), HostArray(1, "float32")),
    ([1.0, 2.0, 3.0], Lst(Scalar("float"))),
    ([1, 2, 3], Tup((Const(1), Const(2), Const(3)))),
]
_NAMES = sorted(made_dtypes._FLOATING | {n for n, count in made_dtypes._KEEPING.items() if count == 2})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", _NAMES)
def test_what_numpy_makes_of_two(name: str) -> None:
    """Wherever a dtype is said, NumPy gives it."""
    for value, kind in _VALUES:
        for other, second in _VALUES:
            function = getattr(np, name)
            args = (value, other) if not isinstance(function, np.ufunc) or function.nin == 2 else (value,)
            said = made_dtypes.made_dtype(name, [kind, second][: len(args)], {})
            try:
                made = function(*args)
            except (TypeError, ValueError, IndexError):
                continue
            assert said is None or np.asarray(made).dtype == said, (name, args, said)


def test_what_is_not_known_says_nothing() -> None:
    unknown = [HostArray(1, None), Tensor(1), Tensor(1, "float64"), Scalar("str"), NONE]
    assert [made_dtypes.made_dtype("multiply", [Const(0.5), kind], {}) for kind in unknown[:4]] == [None] * 4
    assert made_dtypes.made_dtype("argmax", [HostArray(1, "float64")], {}) is None
    assert made_dtypes.made_dtype("tri", [Const(3)], {"dtype": Const("f")}) is None
