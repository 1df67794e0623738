"""What is said of functions of NumPy, each called: an array, or a number of NumPy's."""

import warnings

import numpy as np

from chainer2torch.analysis.kinds import UNKNOWN, HostArray, Lst, Scalar, Tensor
from chainer2torch.analysis.models import numpy_results
from chainer2torch.engine import migrate_source
from chainer2torch.plan.options import Options

X = np.arange(1, 10, dtype="f").reshape(3, 3) / 10 + np.eye(3, dtype="f")
N = np.array([2, 0, 1])
CALLS = [
    (X,),
    (X, X),
    (X, N),
    (X, 1),
    (N,),
    (N, N),
    (N, N, N),
    ([X, X],),
    (N, [X, X, X]),
    (X > 1,),
    ([X > 1], [X]),
    (4,),
]
CALLS += [(5, [0.5, 0.5]), (X[0], X), (X, 0, 1), ([N, N], (3, 3)), ((2, 3),), (1, 2), (X, N[None], 1), (1, 2, 3)]
CALLS += [
    (0.5, 3),
    (3, 0.5, 4),
    (3, 4, 5, 6),
    (3, 2),
    (X, 0.5),
    (X, X > 1, [1, 2]),
    (N.astype("uint8"),),
    (iter([1.0, 2.0]), "f"),
    (lambda i, j: i + j, (2, 3)),
    (b"ab", "b"),
]
NAMES = sorted(numpy_results._OF_ARRAYS | numpy_results._ALWAYS | numpy_results._SIZES.keys())


def function(name):
    found = np
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def results(name):
    """What a function gives for those calls of which something is said."""
    for given in CALLS:
        kinds = [HostArray() if isinstance(one, np.ndarray) else Scalar("int") for one in given]
        kinds = [Lst(HostArray()) if isinstance(one, list) else kind for one, kind in zip(given, kinds)]
        if numpy_results.result(name, kinds, {}) != UNKNOWN:
            try:
                yield function(name)(*given)
            except Exception:  # noqa: S112 - this call is none of the function's
                continue


def test_an_array_or_a_number_comes_back():
    missing = {name for name in NAMES if function(name) is None}
    assert missing <= _DROPPED
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {name: list(results(name)) for name in NAMES if name not in missing}
    assert [name for name, given in found.items() if not given] == []
    assert {
        name for name, given in found.items() if not all(isinstance(one, (np.ndarray, np.generic)) for one in given)
    } == set()


_DROPPED = {"cumproduct", "in1d", "msort", "product", "round_", "row_stack", "trapz", "random.random_integers"}


def test_so_many_arrays_or_numbers_come_back():
    for name, count in numpy_results._TUPLES.items():
        found = [one for one in results(name) if isinstance(one, tuple)]
        assert found and all(len(one) == count for one in found), name
        assert all(isinstance(part, (np.ndarray, np.generic)) for one in found for part in one), name
    for name in numpy_results._COUNTS:
        assert all(np.asarray(one).dtype == np.int64 for one in results(name)), name
    assert numpy_results.result("linalg.svd", [HostArray()], {"compute_uv": Scalar("bool")}) == UNKNOWN
    assert numpy_results.result("linalg.svd", [Scalar("float")], {}) == UNKNOWN


def test_what_holds_no_array_says_nothing():
    for given in ([Scalar("float")], [Lst(Scalar("int"))], [UNKNOWN], []):
        assert numpy_results.result("median", given, {}) == UNKNOWN
    assert numpy_results.result("median", [Tensor()], {}) == HostArray()
    assert numpy_results.result("intersect1d", [HostArray()], {"return_indices": Scalar("bool")}) == UNKNOWN


def test_a_model_gets_a_tensor_of_such_an_array():
    source = "import numpy as np\nimport chainer.links as L\nnet = L.Linear(3, 2)\n"
    source += "def f(s):\n    return net(np.atleast_2d(np.asarray(s, dtype='f')))\n"
    code = migrate_source(source, options=Options(style="native")).code
    assert "torch.as_tensor(np.atleast_2d(np.asarray(s, dtype='f')))" in code
