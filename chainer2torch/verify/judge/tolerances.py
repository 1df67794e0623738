"""How close two results must be, by dtype: ``|a - b| <= atol + rtol * |b|``, as in ``torch.testing``."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Tolerance:
    """Relative and absolute tolerance."""

    rtol: float
    atol: float

    def __str__(self) -> str:
        return f"rtol {self.rtol:g}, atol {self.atol:g}"


# float32: the frameworks sum in different orders, so errors of some hundred roundings are normal in reductions.
# float64: the same sums leave no room for a difference of meaning, which is far above.
DEFAULT = {"float16": Tolerance(1e-2, 1e-3), "float32": Tolerance(1e-4, 1e-5), "float64": Tolerance(1e-8, 1e-10)}
EXACT = Tolerance(0.0, 0.0)

# Where float32 differs and float64 is equal: so far (of an array's largest value) may float32 be from float64, or so
# many times as far as Chainer's own float32 is, which measures how much the terms cancel.
ROUNDING = 1e-3
# Gradients jump: a unit whose input is within rounding of zero (relu) or of another (max pooling) may switch, and what
# it contributes comes or goes, everywhere behind it. Chainer's own worst gradient measures that for the whole pass, up
# to a tenth (GoogLeNet with batch normalization, 224 x 224: both frameworks' worst is 5e-2 away from float64).
ROUNDING_OF_GRADIENTS = 1e-2
ROUNDING_MOST = 0.1
# A gradient that is zero but for rounding in Chainer's float32, too: of the largest gradient of the case.
ROUNDING_OF_ZERO = 1e-5
ROUNDING_RATIO = 4.0
# Of an array's largest value, where Chainer's float64 is all that there is to compare with.
ROUNDING_STRICT = 2e-5

# Losses of a training script, iteration by iteration: each carries the roundings of all iterations before it.
SCRIPT_RTOL = 1e-4
SCRIPT_ATOL = 1e-6
# The float64 pass of a script: rounding starts a billion times smaller, and training may amplify it so far.
DOUBLE_RTOL = 1e-6
DOUBLE_ATOL = 1e-9

# Means and variances of random samples: this many standard errors apart is not chance (about 1 in 10**9).
MOMENT_SIGMAS = 6.0
# The same for the gap between two cumulative frequencies, in units of sqrt(1/n + 1/m): 2 exp(-2 k**2) is 5 in 10**11.
KS_LIMIT = 3.5
# A sample smaller than this proves nothing.
MOMENT_SAMPLES = 1000
# Initial weights: over so many builds of a link, if they are so many values together.
INITIAL_BUILDS = 24
INITIAL_SAMPLES = 100


def for_dtype(dtype: str, rtol: float | None = None, atol: float | None = None) -> Tolerance:
    """The tolerance of a dtype; ``rtol`` and ``atol`` replace its parts. Integers and booleans must be equal."""
    base = DEFAULT.get(dtype, EXACT)
    if base is EXACT:
        return base
    return Tolerance(base.rtol if rtol is None else rtol, base.atol if atol is None else atol)


def table() -> str:
    """The default tolerances in one line, for the foot of a report."""
    return "; ".join(f"{dtype}: {tolerance}" for dtype, tolerance in DEFAULT.items())


# Below this part of what rounding may leave of a gradient, the float64 one is zero.
ZERO = 1e-4
# How much more of it another formula of the same value may leave (the variance of values that are all equal).
ROUNDING_OF_FORMULA = 10
