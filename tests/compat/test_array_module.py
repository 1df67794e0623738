"""The array module against NumPy: every name, over dtypes, axes, empty arrays and views with other strides."""

import copy
import itertools

import numpy as np
import pytest
import torch

from chainer2torch.compat.backend.array_dtypes import astype, numpy_dtype, result_dtype, tensor_from, torch_dtype
from chainer2torch.compat.backend import array_module as long_module
from chainer2torch.compat.backend.array_module import _ON_HOST, _RANDOM, array_dot
from chainer2torch.compat.backend.array_ufuncs import _UFUNCS
from chainer2torch.native import array_module as short_module
from chainer2torch.native import arrays as short_arrays

XP = long_module.array_module("cpu")


@pytest.fixture(autouse=True, params=[long_module, short_module], ids=["compat", "native"])
def module(request, monkeypatch):
    """Each test is run with the array modules of both styles."""
    monkeypatch.setitem(globals(), "XP", request.param.array_module("cpu"))
    return request.param


DTYPES = ["float32", "float64", "int32", "int64", "uint8", "bool"]
pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:.*degrees of freedom"),
]


def draw(shape, dtype="float32", seed=0):
    """An array with positive and negative values, zeros, ties; NaN and infinities if it is floating."""
    random = np.random.RandomState(seed)
    x = (random.randint(-3, 4, size=shape) * 0.5).astype(dtype) if dtype != "bool" else random.rand(*shape) > 0.5
    return np.asarray(x)


def both(x):
    """A NumPy array as a tensor, with its own strides where tensors can have them."""
    if isinstance(x, np.ndarray):
        return torch.from_numpy(x) if all(s >= 0 for s in x.strides) else XP.array(x)
    return type(x)(both(i) for i in x) if isinstance(x, (list, tuple)) else x


def same(actual, expected, rtol=1e-6):
    """Values and dtypes are equal; parts of lists and tuples, too."""
    if isinstance(expected, (list, tuple)):
        assert len(actual) == len(expected)
        for a, e in zip(actual, expected, strict=True):
            same(a, e, rtol)
        return
    if isinstance(expected, (np.ndarray, np.generic)):
        assert isinstance(actual, torch.Tensor)
        dtype = np.dtype("int64") if expected.dtype == np.uint64 else expected.dtype
        assert numpy_dtype(actual.dtype) == dtype
        tolerance = {"rtol": rtol, "atol": 1e-7} if dtype.kind == "f" else {"rtol": 0, "atol": 0}
        np.testing.assert_allclose(actual.numpy(), expected, **tolerance)
        assert tuple(actual.shape) == expected.shape
    else:
        assert actual == expected and type(actual) is type(expected)


def compare(name, *args, **kwargs):
    """Runs a function of NumPy and ours; errors must be on both sides."""

    def find(module):
        for part in name.split("."):
            module = getattr(module, part)
        return module

    try:
        expected = find(np)(*args, **kwargs)
    except (ValueError, IndexError, TypeError):
        with pytest.raises((ValueError, IndexError, TypeError, RuntimeError)):
            find(XP)(*both(args), **kwargs)
        return
    same(find(XP)(*both(args), **kwargs), expected, 1e-5 if name in _UFUNCS else 1e-6)


_UNARY = sorted(n for n in _UFUNCS if getattr(np, n).nin == 1)
_BINARY = sorted(n for n in _UFUNCS if getattr(np, n).nin == 2)
_SPECIAL = np.array([-np.inf, -1.5, -0.5, -0.0, 0.0, 0.5, 1.5, 2.5, np.inf, np.nan])


def _supported(name, *dtypes):
    # float16, which NumPy gives for functions of 8-bit integers, is compared coarsely elsewhere
    try:
        return getattr(np, name)(*[np.ones(1, d) for d in dtypes]).dtype.name in (*DTYPES, "int8", "int16")
    except TypeError:
        return None


@pytest.mark.parametrize("name", _UNARY)
def test_unary(name):
    for dtype in DTYPES:
        supported = _supported(name, dtype)
        if supported is None:
            with pytest.raises(TypeError):
                getattr(XP, name)(torch.ones(1, dtype=torch_dtype(dtype)))
        elif supported:
            compare(name, draw((3, 4), dtype))
            compare(name, draw((4, 3), dtype).T)
            compare(name, draw((0, 3), dtype))
            compare(name, draw((5,), dtype)[::-1])
            if dtype.startswith("float"):
                compare(name, _SPECIAL.astype(dtype))


_PAIRS = [
    ("float32", "float32"),
    ("float32", "float64"),
    ("float32", "int64"),
    ("int32", "int64"),
    ("int32", "int32"),
    ("uint8", "int32"),
    ("bool", "bool"),
    ("bool", "float32"),
]


@pytest.mark.parametrize("name", _BINARY)
def test_binary(name):
    for dtypes in _PAIRS:
        supported = _supported(name, *dtypes)
        if supported is None:
            with pytest.raises(TypeError):
                getattr(XP, name)(*[torch.ones(1, dtype=torch_dtype(d)) for d in dtypes])
        elif supported:
            _compare_operands(name, dtypes)


def _compare_operands(name, dtypes):
    x, y = draw((3, 4), dtypes[0]), draw((4,), dtypes[1], 1)
    if name in ("floor_divide", "remainder", "mod", "fmod") and y.dtype.kind in "iub":
        y = np.where(y == 0, np.ones_like(y), y)  # division by zero: an error in torch, a warning and 0 in NumPy
    if "shift" in name:
        y = abs(y)
    compare(name, x, y)
    compare(name, x[:0], y)
    compare(name, x[:, ::-1], y)
    if {"float32", "float64"} >= set(dtypes):
        compare(name, _SPECIAL.astype(dtypes[0])[:, None], _SPECIAL.astype(dtypes[1]))


@pytest.mark.parametrize("name", ["maximum", "minimum", "multiply", "add", "divide", "equal", "greater", "power"])
def test_python_numbers_are_weak(name):
    for dtype, scalar in itertools.product(["float32", "int32", "int64"], [2, 0.5, True]):
        compare(name, draw((3, 4), dtype), scalar)
        compare(name, scalar, abs(draw((3, 4), dtype)))


def test_numbers_alone_stay_numbers():
    assert XP.sqrt(4) == 2.0 and not isinstance(XP.sqrt(4), torch.Tensor)
    with pytest.raises(ValueError, match="negative integer powers"):
        XP.power(torch.tensor([2]), -1)


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "var", "std", "max", "min", "amax", "amin", "all", "any"])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), (1,), ()])
def test_reductions(name, axis):
    if name in ("var", "std") and axis == ():
        axis = 1
    for dtype, keepdims in itertools.product(DTYPES, [False, True]):
        compare(name, draw((2, 3, 4), dtype), axis=axis, keepdims=keepdims)
        compare(name, draw((2, 4, 3), dtype).transpose(0, 2, 1)[::-1], axis=axis, keepdims=keepdims)
        compare(name, draw((2, 0, 4), dtype), axis=axis, keepdims=keepdims)


@pytest.mark.parametrize("name", ["argmax", "argmin", "cumsum"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_one_axis(name, dtype, axis):
    compare(name, draw((3, 40), dtype), axis=axis)
    compare(name, draw((3, 40), dtype), axis)
    if name != "cumsum":
        compare(name, draw((0, 3), dtype), axis=0)
        if dtype.startswith("float"):
            compare(name, np.array([[1, np.nan, 3, np.nan]], dtype), axis=axis)


def test_reductions_with_a_dtype_and_special_values():
    x = draw((3, 4))
    compare("sum", x, dtype=np.float64)
    compare("mean", draw((3, 4), "int32"), 1, "f")
    compare("var", x, 1, ddof=1)
    compare("max", np.array([1, np.nan], "f"))
    if isinstance(XP, long_module.ArrayModule):  # NumPy's own number in the native style
        compare("sum", np.float32(3))
    compare("sum", [[1, 2], [3, 4]], 0)


@pytest.mark.parametrize(
    "name, args, kwargs",
    [
        ("zeros", ((2, 3),), {}),
        ("zeros", (3,), {"dtype": "f"}),
        ("ones", ((2,), np.int32), {}),
        ("ones", ([2, 1],), {}),
        ("zeros", (np.int64(3),), {}),
        ("zeros", ((),), {"dtype": np.float32}),
        ("zeros", ((0, 3), "i"), {}),
        ("full", ((2, 3), 7), {}),
        ("full", (3, 0.5), {"dtype": "f"}),
        ("full", ((2,), True), {}),
        ("full", ((2, 2), -1, np.int32), {}),
        ("full", ((2, 2), np.float32(3)), {}),
        ("full", ((2, 3), [1, 2, 3]), {}),
        ("zeros_like", (draw((2, 3)),), {}),
        ("ones_like", (draw((2,), "int32"),), {"dtype": bool}),
        ("full_like", (draw((2,), "int32"), 5), {}),
        ("full_like", (draw((2,), "int32"), 5.7), {}),
        ("zeros_like", ([1, 2],), {}),
        ("arange", (4,), {}),
        ("arange", (1, 7, 2), {"dtype": np.int32}),
        ("arange", (0, 1, 0.25), {}),
        ("arange", (5.0,), {}),
        ("arange", (3,), {"dtype": "f"}),
        ("arange", (5, 0, -2), {}),
        ("arange", (2, 5), {}),
        ("linspace", (0, 1, 5), {}),
        ("linspace", (0, 1), {"num": 4, "endpoint": False}),
        ("linspace", (0, 4, 5), {"dtype": np.int32}),
        ("eye", (3,), {}),
        ("eye", (2, 3, 1), {"dtype": "f"}),
        ("identity", (2,), {"dtype": np.float32}),
        ("array", ([1, 2],), {}),
        ("array", ([[1.0], [2]],), {}),
        ("array", (3,), {}),
        ("array", (2.5, "f"), {}),
        ("array", ([True, False],), {}),
        ("array", ([],), {}),
        ("array", ([1, 2],), {"dtype": np.float32, "ndmin": 2}),
        ("asarray", ([1, 2], "i"), {}),
        ("array", ([[draw((2,)), draw((2,))], [draw((2,)), draw((2,))]],), {}),
        ("array", ([draw((2,)), [1, 2]],), {}),
        ("ascontiguousarray", (draw((3, 2)).T,), {}),
        ("ascontiguousarray", (3.0,), {}),
        ("array", ([draw(()), 3],), {}),
    ],
)
def test_creation(name, args, kwargs):
    compare(name, *args, **kwargs)


def test_array_copies_and_asarray_shares():
    host = np.zeros(3)
    XP.asarray(host)[0] = 1
    XP.array(host)[1] = 1
    assert host.tolist() == [1, 0, 0]
    tensor = torch.zeros(3)
    assert XP.asarray(tensor) is tensor
    XP.array(tensor).fill_(1)
    assert tensor.sum() == 0
    assert XP.empty((2, 3), "i").shape == (2, 3) and XP.empty_like(tensor).dtype == torch.float32
    if isinstance(XP, long_module.ArrayModule):
        assert XP.array(tensor, copy=False) is tensor


_A, _B = draw((2, 3)), draw((2, 3), "float64", 1)


@pytest.mark.parametrize(
    "name, args, kwargs",
    [
        ("concatenate", ([_A, _B],), {}),
        ("concatenate", ((_A, draw((2, 1), "int32")),), {"axis": 1}),
        ("concatenate", ([_A, _B], -1), {}),
        ("concatenate", ([_A, _B[0]],), {"axis": None}),
        ("concatenate", ([_A, draw((0,))],), {}),
        ("concatenate", ([_A, draw((3, 2))],), {}),
        ("concatenate", ([[1, 2], [3]],), {}),
        ("concatenate", ([np.float32(1), np.float32(2)],), {}),
        ("concatenate", ([],), {}),
        ("stack", ([_A, _B],), {}),
        ("stack", ([_A, _A], -1), {}),
        ("stack", ([_A, _A[0]],), {}),
        ("hstack", ([_A, _B],), {}),
        ("hstack", ((_A[0], 3.0),), {}),
        ("vstack", ((_A[0], _B[0]),), {}),
        ("vstack", ([_A, _A[0]],), {}),
        ("split", (draw((6, 2)), 3), {}),
        ("split", (draw((5, 2)), 3), {}),
        ("split", (draw((2, 5)), [1, 3]), {"axis": 1}),
        ("split", (draw((5,)), np.array([2, 2])), {}),
        ("array_split", (draw((5, 2)), 3), {}),
        ("atleast_1d", (3.0,), {}),
        ("atleast_2d", (draw((3,)),), {}),
        ("reshape", (_A, (3, -1)), {}),
        ("reshape", (_A, 6), {}),
        ("ravel", (_A.T,), {}),
        ("transpose", (draw((2, 3, 4)),), {}),
        ("transpose", (draw((2, 3, 4)), (1, 0, 2)), {}),
        ("swapaxes", (draw((2, 3, 4)), 0, -1), {}),
        ("rollaxis", (draw((2, 3, 4)), 2), {}),
        ("rollaxis", (draw((2, 3, 4)), 0, 3), {}),
        ("rollaxis", (draw((2, 3, 4)), 0, -1), {}),
        ("moveaxis", (draw((2, 3, 4)), 0, -1), {}),
        ("expand_dims", (_A, 1), {}),
        ("expand_dims", (_A, -1), {}),
        ("squeeze", (draw((1, 3, 1)),), {}),
        ("squeeze", (draw((1, 3, 1)), 0), {}),
        ("squeeze", (draw((1, 3, 1)), (0, -1)), {}),
        ("squeeze", (_A, 0), {}),
        ("broadcast_to", (_A[0], (4, 3)), {}),
        ("broadcast_to", (_A, (4, 3)), {}),
        ("tile", (_A, 2), {}),
        ("tile", (_A, (2, 1, 3)), {}),
        ("repeat", (_A, 2), {}),
        ("repeat", (_A, 2, 1), {}),
        ("repeat", (_A, [1, 2], 0), {}),
        ("repeat", (_A, [1, 2, 3]), {"axis": 1}),
        ("flip", (_A, 0), {}),
        ("flip", (_A,), {}),
        ("roll", (_A, 1, 1), {}),
        ("roll", (_A, 2), {}),
        ("meshgrid", (_A[0], _A[1, :2]), {}),
        ("meshgrid", (_A[0], _A[1]), {"indexing": "ij"}),
        ("clip", (_A, 0, 1), {}),
        ("clip", (_A, -0.5, None), {}),
        ("clip", (draw((3,), "int32"), 0.5, 2), {}),
        ("clip", (_A, None, _B), {}),
        ("clip", (_A, 1, 0), {}),
        ("clip", (_SPECIAL, -1, 1), {}),
        ("clip", (draw((3,), "uint8"), 1, 2), {}),
        ("where", (_A > 0, _A, _B), {}),
        ("where", (_A > 0, _A, 0), {}),
        ("where", (_A > 0, 1, 0), {}),
        ("where", (_A, 1.5, 0), {}),
        ("where", (_A > 0,), {}),
        ("where", ([True, False], 1, _A[:, :2]), {}),
        ("nonzero", (_A,), {}),
        ("sort", (_A,), {}),
        ("sort", (_A, 0), {}),
        ("sort", (_A, None), {}),
        ("argsort", (draw((3, 5)).argsort().astype("f"),), {}),
        ("argsort", (np.array([[3, 1, 2.0]]), 1), {}),
        ("argsort", (np.array([3, 1, 2.0]), None), {}),
        ("sort", (np.array([2, np.nan, 1]),), {}),
        ("dot", (_A, _B.T), {}),
        ("dot", (_A, _B[0]), {}),
        ("dot", (_A[0], _B[0]), {}),
        ("dot", (_A, 2.0), {}),
        ("dot", (draw((2, 3, 4)), draw((5, 4, 2))), {}),
        ("dot", (draw((2, 3)), draw((2, 3))), {}),
        ("dot", (draw((3,), "int32"), draw((3, 2), "int64")), {}),
        ("matmul", (draw((5, 2, 3)), draw((3, 2))), {}),
        ("inner", (_A, _B), {}),
        ("outer", (_A, _B[0]), {}),
        ("tensordot", (draw((2, 3, 4)), draw((3, 4, 5))), {}),
        ("tensordot", (draw((2, 3, 4)), draw((4, 2)), ((2, 0), (0, 1))), {}),
        ("tensordot", (_A, _B, (1, 1)), {}),
        ("einsum", ("ij,kj->ik", _A, _B), {}),
        ("copy", (_A,), {}),
    ],
)
def test_functions(name, args, kwargs):
    compare(name, *args, **kwargs)


@pytest.mark.parametrize(
    "name, args, kwargs",
    [
        ("unique", (np.array([3, 1, 1]),), {}),
        ("bincount", (np.array([3, 1, 1]),), {"minlength": 6}),
        ("unravel_index", (np.array([3, 1]), (2, 3)), {}),
        ("pad", (_A, ((0, 1), (2, 0)), "constant"), {}),
        ("median", (_A,), {"axis": 0}),
        ("percentile", (_A, 30), {}),
        ("tril", (_A,), {}),
        ("diag", (_A,), {}),
        ("take", (_A, np.array([2, 0])), {"axis": 1}),
        ("allclose", (_A, _A), {}),
        ("array_equal", (_A, _B), {}),
        ("linalg.norm", (_A,), {}),
        ("linalg.norm", (_A, None, 1), {}),
        ("linalg.inv", (np.eye(2) * 4,), {}),
        ("linalg.svd", (_A.astype("d"),), {"full_matrices": False}),
        ("searchsorted", (np.arange(4.0), _B[0]), {}),
        ("isclose", (_A, _B), {}),
        ("count_nonzero", (_A, 1), {}),
        ("nan_to_num", (_SPECIAL,), {}),
        ("cumprod", (_A, 0), {}),
        ("unique", (np.array([3, 1, 1]),), {"return_counts": True}),
        ("append", (_A, _B), {"axis": 0}),
    ],
)
def test_functions_on_the_host(name, args, kwargs):
    expected = np
    for part in name.split("."):
        expected = getattr(expected, part)
    expected, actual = expected(*args, **kwargs), XP
    for part in name.split("."):
        actual = getattr(actual, part)
    actual = actual(*both(args), **kwargs)
    if isinstance(expected, int):
        assert actual == expected
    else:
        same(actual, expected)


@pytest.mark.parametrize("name", sorted(_ON_HOST))
def test_the_names_on_the_host_are_numpys(name):
    if hasattr(np, name):  # in1d left with NumPy 2.4
        assert callable(getattr(XP, name))


@pytest.mark.parametrize(
    "name, args, kwargs",
    [
        ("rand", (2, 3), {}),
        ("randn", (2,), {}),
        ("normal", (0, 2, (2, 3)), {}),
        ("uniform", (), {"low": -1, "size": 3}),
        ("randint", (0, 9, 4), {}),
        ("permutation", (5,), {}),
        ("permutation", (np.arange(4),), {}),
        ("choice", (5, 3), {"replace": False}),
        ("choice", (np.array([1.5, 2.5]), 3), {"p": np.array([0.1, 0.9])}),
        ("random_sample", ((2,),), {}),
        ("standard_normal", ((2, 2),), {}),
        ("gumbel", (), {"size": 3}),
        ("rand", (), {}),
        ("binomial", (1, np.full((2, 3), 0.5)), {}),
        ("uniform", (), {}),
        ("randint", (5,), {}),
    ],
)
def test_random_has_numpys_numbers(name, args, kwargs):
    np.random.seed(3)
    expected = getattr(np.random, name)(*args, **kwargs)
    XP.random.seed(3)
    actual = getattr(XP.random, name)(*both(args), **{k: both(v) for k, v in kwargs.items()})
    if isinstance(expected, np.ndarray):
        same(actual, expected)
    else:
        assert actual == expected and not isinstance(actual, torch.Tensor)


def test_random_as_cupy_has_it():
    np.random.seed(0)
    x = XP.random.randn(2, 3, dtype=np.float32)
    np.random.seed(0)
    assert x.dtype == torch.float32 and np.allclose(x.numpy(), np.random.randn(2, 3).astype("f"))


def test_shuffle_in_place():
    host, tensor = np.arange(12.0).reshape(6, 2), torch.arange(12.0).reshape(6, 2)
    np.random.seed(1)
    np.random.shuffle(host)
    np.random.seed(1)
    XP.random.shuffle(tensor)
    assert tensor.tolist() == host.tolist()
    np.random.seed(1)
    XP.random.shuffle(again := np.arange(12.0).reshape(6, 2))
    assert again.tolist() == host.tolist()
    np.random.seed(1)
    XP.random.shuffle(items := [[2.0 * i, 2.0 * i + 1] for i in range(6)])
    assert items == host.tolist()


@pytest.mark.parametrize(
    "index", [np.array([0, 0, 2]), (slice(None), np.array([1, 1])), 1, (np.array([1, 1]), np.array([0, 0]))]
)
def test_add_at(index):
    host, tensor = draw((3, 4)), torch.from_numpy(draw((3, 4))).T.contiguous().T  # other strides
    np.add.at(host, index, 1.5)
    XP.add.at(tensor, both(index), 1.5)
    assert np.allclose(host, tensor.numpy())
    np.add.at(host, index, host[index] * 2)
    XP.scatter_add(tensor, both(index), tensor[both(index)] * 2)
    assert np.allclose(host, tensor.numpy())


def test_add_at_refuses_what_numpy_refuses():
    if not isinstance(XP, long_module.ArrayModule):
        pytest.skip("NumPy itself adds there")
    with pytest.raises(TypeError):
        XP.add.at(torch.zeros(3, dtype=torch.int64), torch.tensor([0]), 0.5)
    with pytest.raises(AttributeError, match=r"add\.at"):
        XP.maximum.at(torch.zeros(3), torch.tensor([0]), 0.5)


def test_a_name_that_is_not_there_says_so():
    for module, name in ((XP, "vectorize"), (XP.random, "RandomState"), (XP, "ElementwiseKernel"), (XP, "__name__")):
        with pytest.raises(AttributeError):
            getattr(module, name)
    assert not hasattr(XP.linalg, "nonsense")


def test_pythons_own_types_under_numpys_names():
    assert (XP.bool, XP.int, XP.float) == (bool, int, float)
    same(XP.ones(2, dtype=XP.bool), np.ones(2, dtype=bool))
    same(XP.zeros(2, dtype=XP.int), np.zeros(2, dtype=int))
    same(astype(XP.arange(3), XP.float), np.arange(3).astype(float))


def test_constants_and_dtypes():
    for name in ("pi", "e", "inf", "newaxis", "float32", "int64", "uint8", "bool_", "finfo", "integer"):
        assert getattr(XP, name) is getattr(np, name)
    assert XP.isscalar(3) and XP.issubdtype(np.float32, XP.floating) and not XP.issubdtype(np.int32, XP.floating)
    assert np.isnan(XP.nan) and XP.ndarray is torch.Tensor
    assert all(hasattr(np.random, n) or n in ("random_integers", "ranf", "sample") for n in _RANDOM)


def test_which_module(module):
    array_module, ArrayModule, on_cpu = module.array_module, module.ArrayModule, module.on_cpu
    assert array_module(np.zeros(3), 3, None, [1]) is np and array_module() is np
    assert isinstance(array_module(3, torch.zeros(2)), ArrayModule)
    assert array_module(torch.nn.Linear(2, 3)) == array_module(torch.device("cpu")) == array_module(torch.nn.ReLU())
    assert array_module(torch.zeros(2)) == np and array_module(torch.zeros(2)) != array_module("cuda")
    assert array_module(torch.zeros(2, device="meta")).zeros(3).device.type == "meta"
    norm = torch.nn.BatchNorm1d(3, affine=False).to("meta")
    assert array_module(norm).device.type == "meta" and not on_cpu(array_module(norm))
    assert on_cpu(np) and on_cpu(XP) and repr(XP)
    assert XP.get_array_module(torch.zeros(2)) == XP and isinstance(XP.asnumpy(torch.zeros(2)), np.ndarray)


def test_dtypes_in_both_directions():
    for name in (*DTYPES, "float16", "int8", "int16"):
        assert torch_dtype(name) == getattr(torch, name) and numpy_dtype(getattr(torch, name)) == np.dtype(name)
    assert torch_dtype(float) == torch.float64 and torch_dtype("f") == torch_dtype(torch.float32) == torch.float32
    assert result_dtype(torch.zeros(1), torch.zeros(1, dtype=torch.int64)) == torch.float64
    assert result_dtype(torch.zeros(1), 0.5) == torch.float32
    with pytest.raises(TypeError):
        torch_dtype("datetime64")
    with pytest.raises(TypeError):
        tensor_from(np.array(["a"]), torch.device("cpu"))


def test_astype_copies_unless_told():
    x = torch.zeros(3)
    assert astype(x, "f").data_ptr() != x.data_ptr() and astype(x, np.float32, copy=False) is x
    assert astype(np.zeros(2), torch.int32).dtype == np.int32
    same(astype(torch.tensor([-1.7, 1.7]), "i"), np.array([-1.7, 1.7]).astype("i"))


@pytest.mark.parametrize("a, b", [((2, 3), (3, 4)), ((3,), (3,)), ((2, 3), (3,)), ((), (3,)), ((2, 3, 4), (2, 4, 5))])
def test_dot(a, b):
    for dot in (array_dot, short_arrays.array_dot):
        same(dot(torch.from_numpy(draw(a)), torch.from_numpy(draw(b))), np.asarray(draw(a).dot(draw(b))))
        mixed = np.arange(3), np.ones(3, "f")
        same(dot(*map(torch.from_numpy, mixed)), np.asarray(np.dot(*mixed)))
        same(dot(torch.ones(2), [1, 2]), np.asarray(np.dot(np.ones(2, "f"), [1, 2])))


def test_copyto_and_ufunc_of_lists():
    tensor = torch.zeros(2)
    XP.copyto(tensor, np.array([1, 2]))
    assert tensor.tolist() == [1, 2]
    same(XP.add([1, 2], [0.5, 1]), np.add([1, 2], [0.5, 1]))


@pytest.mark.parametrize(
    ("name", "args", "dtype", "into"),
    [
        ("exp", ("f4",), None, "f4"),
        ("exp", ("f4",), None, "f8"),
        ("exp", ("f8",), None, "f4"),
        ("exp", ("f4",), "f8", "f4"),
        ("exp", ("i4",), None, "i4"),
        ("square", ("i4",), None, "f4"),
        ("square", ("i4",), "f8", "f8"),
        ("maximum", ("f4", 0), "f4", "f4"),
        ("maximum", ("f4", "f8"), None, "f4"),
        ("maximum", ("i4", 0.5), None, "i8"),
        ("add", ("i8", "i4"), "f4", "f8"),
        ("add", ("i4", "i4"), "i8", "i4"),
        ("isnan", ("f4",), None, "f4"),
        ("greater", ("f4", 0), None, "?"),
        ("true_divide", ("i4", "i4"), None, "i4"),
        ("add", (1, 2), None, "f4"),
    ],
)
@pytest.mark.parametrize("shape", [(2, 3), (4, 2, 3), (3,), (2, 1)])
def test_results_that_go_into_an_array(name, args, dtype, into, shape):
    """`xp.exp(y, out=y)`: cast as NumPy casts, refused where it refuses."""
    rng = np.random.RandomState(0)
    arrays = [rng.uniform(1, 3, (2, 3)).astype(a) if isinstance(a, str) else a for a in args]
    out, options = np.ones(shape, into), {} if dtype is None else {"dtype": dtype}
    target = torch.from_numpy(out.copy())
    ours = [torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in arrays]
    try:
        expected = getattr(np, name)(*arrays, out=out, **options)
    except (TypeError, ValueError):
        with pytest.raises((TypeError, ValueError)):
            getattr(XP, name)(*ours, out=target, **options)
        return
    assert expected is out and getattr(XP, name)(*ours, out=target, **options) is target
    same(target, out, 1e-6)


def test_results_that_go_into_what_they_are_computed_from():
    y = torch.arange(6.0).reshape(2, 3)
    assert XP.exp(y, out=y) is y and XP.maximum(y, 2, out=(y,), dtype=np.float32) is y
    np.testing.assert_allclose(y.numpy(), np.maximum(np.exp(np.arange(6.0, dtype="f").reshape(2, 3)), 2), rtol=1e-6)
    assert XP.subtract(y[:, 1:], y[:, :-1], out=y[:, 1:]) is not None
    np.testing.assert_allclose(y[0].numpy(), [2, np.e - 2, np.exp(2) - np.e], rtol=1e-5)
    if isinstance(XP, long_module.ArrayModule):
        with pytest.raises(TypeError):
            XP.exp(y, out=np.zeros((2, 3), "f"))


def test_the_short_one_makes_arrays_where_it_is(module):
    """Which it writes into on a GPU, tests/native/test_trimmed_array_module.py says."""
    xp = module.array_module(torch.zeros(2, device="meta"))
    if module is short_module:
        with pytest.raises(AttributeError, match="no counterpart"):
            xp.mgrid  # noqa: B018
    assert xp.zeros(3, "f").device.type == "meta" and xp.reshape(torch.zeros(4), (2, 2)).shape == (2, 2)


def test_own_objects_keep_their_xp():
    own = type("Own", (), {"xp": 3})()
    assert short_module.xp_of(own) == 3 and short_module.xp_of(torch.zeros(1)) == np
    assert copy.deepcopy(short_module.array_module("cpu")) == np
