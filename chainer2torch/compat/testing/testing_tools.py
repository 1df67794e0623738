"""More of what Chainer offers to tests: random numbers that are fixed, requirements, patches, saving and loading."""

from __future__ import annotations

import contextlib
import functools
import os
import random
import re
import types
import unittest
import unittest.mock
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from chainer2torch.compat.serializers.hdf5_files import load_hdf5, save_hdf5
from chainer2torch.compat.serializers.serializers import load_npz, save_npz
from chainer2torch.compat.testing.testing import ParameterizedTests, left_out
from chainer2torch.compat.utils.utilities import tempdir


@contextlib.contextmanager
def assert_warns(expected: Any) -> Iterator[None]:
    """Raises AssertionError unless the block gives such a warning. Source: chainer.testing.assert_warns."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    if not any(isinstance(w.message, expected) for w in caught):
        raise AssertionError(f"{getattr(expected, '__name__', expected)} not triggered")


def with_requires(*requirements: str) -> Callable[[Any], Any]:
    """Skips a test unless all requirements (``'numpy>=1.10'``) are installed. Source: chainer.testing.with_requires."""
    return unittest.skipIf(not _are_installed(requirements), "requires: " + ",".join(requirements))


def without_requires(*requirements: str) -> Callable[[Any], Any]:
    """Skips a test if all requirements are installed. Source: chainer.testing.without_requires."""
    return unittest.skipIf(_are_installed(requirements), "requires: " + ",".join(requirements))


def _are_installed(requirements: tuple[str, ...]) -> bool:
    import importlib.metadata

    from packaging.requirements import Requirement  # pytest needs it, too

    for text in requirements:
        requirement = Requirement(text)
        if requirement.marker is not None and not requirement.marker.evaluate():
            continue
        try:
            version = importlib.metadata.version(re.sub(r"[-_.]+", "-", requirement.name))
        except importlib.metadata.PackageNotFoundError:
            return False
        if not requirement.specifier.contains(version, prereleases=True):
            return False
    return True


class _FixedRandom:
    """The random numbers of tests: fixed between the outermost set-up and its tear-down."""

    depth: int = 0
    kept: Any = None

    def set_up(self) -> None:
        if self.depth == 0:
            self.kept = random.getstate(), np.random.get_state(), torch.get_rng_state()
            if bool(int(os.environ.get("CHAINER_TEST_RANDOM_NONDETERMINISTIC", "0"))):
                np.random.seed()
                torch.seed()
            else:
                np.random.seed(100)
                torch.manual_seed(100)
        self.depth += 1

    def tear_down(self) -> None:
        self.depth -= 1
        if self.depth == 0:
            python, numpy, of_torch = self.kept
            random.setstate(python)
            np.random.set_state(numpy)
            torch.set_rng_state(of_torch)


_fixed = _FixedRandom()


def fix_random(*, setup_method: str = "setUp", teardown_method: str = "tearDown") -> Callable[[Any], Any]:
    """Decorator of a test method, a test class or its parameterization: NumPy's and torch's generators start anew.

    They have their states again afterwards. Source: chainer.testing.fix_random.
    """

    def decorate(test: Any) -> Any:
        if isinstance(test, types.FunctionType) and test.__name__.startswith("test_"):

            @functools.wraps(test)
            def fixed_test(self: Any, *args: Any, **kwargs: Any) -> None:
                _fixed.set_up()
                try:
                    test(self, *args, **kwargs)
                finally:
                    _fixed.tear_down()

            return fixed_test
        if not isinstance(test, (ParameterizedTests, type)):
            return left_out(test)
        for case in test.cases if isinstance(test, ParameterizedTests) else [test]:
            _fix_class(case, setup_method, teardown_method)
        return test

    return decorate


def _fix_class(case: Any, setup_method: str, teardown_method: str) -> None:
    if not (hasattr(case, setup_method) and hasattr(case, teardown_method)):
        left_out(case)  # its base was not migrated: each object of the class raises
        return
    set_up, tear_down = getattr(case, setup_method), getattr(case, teardown_method)

    @functools.wraps(set_up)
    def fixed_set_up(self: Any) -> None:
        _fixed.set_up()
        set_up(self)

    @functools.wraps(tear_down)
    def fixed_tear_down(self: Any) -> None:
        try:
            tear_down(self)
        finally:
            _fixed.tear_down()

    setattr(case, setup_method, fixed_set_up)
    setattr(case, teardown_method, fixed_tear_down)


def generate_seed() -> int:
    """A seed from NumPy's generator, for tests under :func:`fix_random`.

    Raises:
        AssertionError: the random numbers are not fixed.
    Source: chainer.testing.generate_seed.
    """
    assert _fixed.depth > 0, "generate_seed needs fix_random"
    return int(np.random.randint(0xFFFFFFFF))


def generate_matrix(shape: tuple[int, ...], dtype: Any = float, *, singular_values: Any) -> np.ndarray:
    """A random matrix (or stack of matrices) with the given singular values, an array of NumPy.

    Args:
        shape: (..., M, N).
        dtype: floating or complex.
        singular_values: real, not negative, can be broadcast to (..., min(M, N)).
    Raises:
        ValueError: fewer than two axes, or a negative singular value.
        TypeError: another dtype, or singular values that are not real.
    Source: chainer.testing.generate_matrix.
    """
    if len(shape) <= 1:
        raise ValueError(f"a matrix has two axes or more, not the shape {shape}")
    dtype = np.dtype(dtype)
    values = np.asarray(singular_values)
    if dtype.kind not in "fc" or not np.isrealobj(values) or values.dtype.kind == "O":
        raise TypeError(f"dtype {dtype} or singular values of {values.dtype} are not supported")
    if (values < 0).any():
        raise ValueError("singular values are not negative")
    values = np.broadcast_to(values, (*shape[:-2], min(shape[-2:])))
    if 0 in shape:
        return np.empty(shape, dtype=dtype)
    matrix = np.random.randn(*shape)
    if dtype.kind == "c":
        matrix = matrix + 1j * np.random.randn(*shape)
    left, _, right = np.linalg.svd(matrix, full_matrices=False)
    product: np.ndarray = ((left * values[..., None, :]) @ right).astype(dtype)
    return product


def patch(target: str, *args: Any, **kwargs: Any) -> Any:
    """``mock.patch`` whose mock calls the original (or ``wraps``). Source: chainer.testing.patch.

    Raises:
        RuntimeError: the package of ``target`` is not imported.
    """
    if "wraps" in kwargs:
        wraps = kwargs.pop("wraps")
    else:
        wraps = _find(target)
    return unittest.mock.patch(target, *args, wraps=wraps, **kwargs)


def _find(target: str) -> Any:
    import sys

    package, *names = target.split(".")
    found: Any = sys.modules.get(package)
    if found is None:
        raise RuntimeError(f"{package} is not imported")
    for name in names:
        found = getattr(found, name)
    return found


def save_and_load(
    src: Any, dst: Any, filename: str, saver: Callable[[str, Any], Any], loader: Callable[[str, Any], Any]
) -> None:
    """``saver(path, src)``, then ``loader(path, dst)``, in a directory that is removed.

    Source: chainer.testing.save_and_load.
    """
    with tempdir() as directory:
        path = os.path.join(directory, filename)
        saver(path, src)
        loader(path, dst)


def save_and_load_npz(src: Any, dst: Any) -> None:
    """Copies a module's state by an npz file. Source: chainer.testing.save_and_load_npz."""
    save_and_load(src, dst, "tmp.npz", save_npz, load_npz)


def save_and_load_hdf5(src: Any, dst: Any) -> None:
    """Copies a module's state by an HDF5 file. Source: chainer.testing.save_and_load_hdf5."""
    save_and_load(src, dst, "tmp.h5", save_hdf5, load_hdf5)
