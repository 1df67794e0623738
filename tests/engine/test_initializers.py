"""Initializers with a generator of NumPy's and with a dtype, in both frameworks: the same numbers and dtypes."""

import numpy as np
import pytest
import torch

from tests.support.both_sides import HEAD, both

RANDOM = [
    "Normal",
    "LeCunNormal",
    "GlorotNormal",
    "HeNormal",
    "Uniform",
    "LeCunUniform",
    "GlorotUniform",
    "HeUniform",
    "Orthogonal",
]
PLAIN = [
    "Zero()",
    "One()",
    "NaN()",
    "Constant(3)",
    "Identity(2)",
    "UpsamplingDeconvFilter()",
    "DownsamplingConvFilter()",
]
_HEAD = HEAD + "from chainer import initializers as I\n"


def _values(made, shape):
    original, migrated = both(
        f"""
        def run():
            array = np.zeros({shape}, 'f')
            I.{made}(array)
            link = L.Linear({shape[1]}, {shape[0]}, initialW=I.{made}) if len({shape}) == 2 else None
            return (array, chainer.Parameter(I.{made}, {shape}), link.W if link else 0,
                    I.generate_array(I.{made}, {shape}, np))
    """,
        head=_HEAD,
    )
    for theirs, ours in zip(original["run"](), migrated["run"](), strict=True):
        yield (
            np.asarray(getattr(theirs, "array", theirs)),
            ours.detach().numpy() if isinstance(ours, torch.Tensor) else np.asarray(ours),
        )


@pytest.mark.parametrize("name", RANDOM)
@pytest.mark.parametrize("options", ["1.3, rng=np.random.RandomState(4)", "0.2, rng=np.random.RandomState(5)"])
def test_a_generator_gives_the_same_numbers(name, options):
    for shape in ((5, 3), (4, 4)) if name == "Orthogonal" else ((5, 3), (2, 3, 3, 2)):
        for theirs, ours in _values(f"{name}({options})", shape):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
            assert ours.dtype == theirs.dtype or not theirs.shape


def test_options_beside_a_generator():
    for made in (
        "HeNormal(fan_option='fan_out', rng=np.random.RandomState(1))",
        "Orthogonal(mode='embedding', rng=np.random.RandomState(1))",
    ):
        for theirs, ours in _values(made, (5, 3)):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["np.float64", "'float16'", "'f'"])
@pytest.mark.parametrize("made", [f"{name}(0.5, rng=np.random.RandomState(1))" for name in RANDOM] + PLAIN)
def test_a_dtype_is_that_of_the_parameter(made, dtype):
    made = made[:-1] + (", " if made[-2] != "(" else "") + f"dtype={dtype})"
    shape = (2, 2, 3, 3) if "Filter" in made else (3, 3)
    original, migrated = both(
        f"""
        def run():
            return chainer.Parameter(I.{made}, {shape}), I.generate_array(I.{made}, {shape}, np)

        def other():
            I.{made}(np.zeros({shape}, 'd' if {dtype} != np.float64 else 'f'))
    """,
        head=_HEAD,
    )
    for theirs, ours in zip(original["run"](), migrated["run"](), strict=True):
        theirs = np.asarray(getattr(theirs, "array", theirs))
        assert str(ours.dtype) == f"torch.{theirs.dtype}"
        rounding = 2e-3 if theirs.dtype == np.float16 else 1e-5
        np.testing.assert_allclose(ours.detach().numpy(), theirs, rtol=rounding, atol=rounding)
    for side in (original, migrated):
        with pytest.raises(AssertionError):
            side["other"]()
