"""NumPy's functions of which only this is known: they return an array, or a number of NumPy's.

Rank and dtype are left open. The functions whose results are known better stand in numpy_functions.py and
numpy_shapes.py. Source: the functions of NumPy 2, each called (tests/engine/test_numpy_results.py), and the older names
of some of them, which NumPy 2 has dropped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chainer2torch.analysis.kinds import UNKNOWN, HostArray, Kind, Lst, Tensor, Tup, options

# of what is handed to them they make an array, where that is one, or holds arrays
_OF_ARRAYS = frozenset(
    """
    acos acosh angle arccosh arcsinh arctan2 arctanh argpartition around asarray_chkfinite asin asinh atan atan2
    atanh average bitwise_and bitwise_count bitwise_invert bitwise_left_shift bitwise_not bitwise_or
    bitwise_right_shift bitwise_xor block cbrt choose column_stack compress concat conj conjugate convolve copysign
    corrcoef correlate cross cumproduct cumulative_prod cumulative_sum deg2rad degrees diag diagflat digitize
    ediff1d exp2 extract fabs fix float_power fmod gcd heaviside histogram_bin_edges hypot i0 imag in1d inner
    intersect1d invert isclose iscomplex isin isneginf isposinf isreal kron lcm ldexp left_shift lexsort logaddexp
    logaddexp2 matrix_transpose matvec median msort nan_to_num nanargmax nanargmin nancumprod nancumsum nanmax
    nanmean nanmedian nanmin nanpercentile nanprod nanquantile nanstd nansum nanvar nextafter packbits partition
    percentile permute_dims poly polyadd polyder polyint polymul polysub polyval positive pow product ptp quantile
    rad2deg radians ravel_multi_index real real_if_close reciprocal resize right_shift roots round round_ row_stack
    searchsorted select setdiff1d setxor1d sinc sort_complex spacing take_along_axis trace trapezoid trapz
    trim_zeros union1d unpackbits unwrap vecdot vecmat linalg.cond linalg.cross linalg.det linalg.diagonal
    linalg.eigvals linalg.eigvalsh linalg.inv linalg.matrix_norm linalg.matrix_power linalg.matrix_transpose
    linalg.norm linalg.outer linalg.pinv linalg.solve linalg.svdvals linalg.tensordot linalg.trace linalg.vecdot
    linalg.vector_norm linalg.cholesky random.chisquare random.exponential random.f random.gamma random.geometric
    random.gumbel random.laplace random.logistic random.lognormal random.normal random.pareto random.poisson
    random.power random.randint random.rayleigh random.standard_gamma random.standard_t random.triangular
    random.uniform random.vonmises random.wald random.weibull random.zipf random.binomial random.beta fft.fft
    fft.fft2 fft.fftn fft.fftshift fft.hfft fft.ifft fft.ifft2 fft.ifftn fft.ifftshift fft.ihfft fft.irfft
    fft.irfft2 fft.irfftn fft.rfft fft.rfft2 fft.rfftn
    """.split()
)
# of an array they make so many, in a tuple
_TUPLES = {
    "divmod": 2,
    "frexp": 2,
    "histogram": 2,
    "histogram2d": 3,
    "linalg.eig": 2,
    "linalg.eigh": 2,
    "linalg.qr": 2,
    "linalg.slogdet": 2,
    "linalg.svd": 3,
    "modf": 2,
}
_COUNTS = frozenset({"count_nonzero", "linalg.matrix_rank"})  # a number of Python's at times, an array on a device
_ONE_AT_TIMES = frozenset({"compute_uv", "mode"})  # with these, one array may come back
# they make an array of anything
_ALWAYS = frozenset(
    """
    atleast_1d atleast_2d atleast_3d bartlett blackman frombuffer fromfunction fromiter geomspace hamming
    hanning indices kaiser tri vander fft.fftfreq fft.rfftfreq random.dirichlet random.multinomial
    random.multivariate_normal
    """.split()
)
# the position of `size`, with which they make an array
_SIZES = {
    "random.chisquare": 1,
    "random.f": 2,
    "random.hypergeometric": 3,
    "random.logseries": 1,
    "random.lognormal": 2,
    "random.negative_binomial": 2,
    "random.pareto": 1,
    "random.power": 1,
    "random.random_integers": 2,
    "random.ranf": 0,
    "random.rayleigh": 1,
    "random.sample": 0,
    "random.standard_cauchy": 0,
    "random.standard_exponential": 0,
    "random.standard_gamma": 1,
    "random.standard_t": 1,
    "random.triangular": 3,
    "random.vonmises": 2,
    "random.wald": 2,
    "random.weibull": 1,
    "random.zipf": 1,
}
# they make an array of a list of numbers, too, where others give one number
_OF_NUMBERS = frozenset({"diag", "diagflat", "kron", "nan_to_num"})
# two arrays are one result, and several are a list
_ONE_EACH = frozenset({"atleast_1d", "atleast_2d", "atleast_3d"})


def result(name: str, args: Sequence[Kind], keywords: Mapping[str, Kind]) -> Kind:
    """What ``numpy.<name>(...)`` returns: an array, or nothing that is known."""
    if name in _ONE_EACH and len(args) != 1 or {"return_indices", "full"} & keywords.keys():
        return UNKNOWN
    given = [*args, *keywords.values()]
    if name in _TUPLES and any(map(holds_arrays, given)):
        return UNKNOWN if _ONE_AT_TIMES & keywords.keys() else Tup((HostArray(),) * _TUPLES[name])
    if name in _COUNTS and any(map(holds_arrays, given)):
        return HostArray(0 if name == "count_nonzero" and len(given) == 1 else None, "int64")
    at = _SIZES.get(name)
    made = (
        name in _ALWAYS
        or name in _OF_ARRAYS
        and any(map(holds_arrays, given))
        or name in _OF_NUMBERS
        and isinstance(given[0] if given else None, (Lst, Tup))
        or at is not None
        and ("size" in keywords or len(args) > at)
    )
    return HostArray() if made else UNKNOWN


def holds_arrays(kind: Kind) -> bool:
    """Whether a value is an array, or a list or tuple with arrays in it."""
    if isinstance(kind, Lst):
        return holds_arrays(kind.element)
    if isinstance(kind, Tup):
        return any(map(holds_arrays, kind.items))
    return all(isinstance(one, (HostArray, Tensor)) for one in options(kind))
