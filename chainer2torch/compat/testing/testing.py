"""What Chainer offers to tests: parameterized test classes, tolerant comparison, tests that may be tried again."""

from __future__ import annotations

import functools
import itertools
import sys
import types
import unittest
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch


def assert_allclose(x: Any, y: Any, atol: float = 1e-5, rtol: float = 1e-4, verbose: bool = True) -> None:
    """Raises AssertionError unless |x - y| <= atol + rtol |y| everywhere; tensors of any device, arrays and numbers.

    Source: chainer.testing.assert_allclose.
    """
    np.testing.assert_allclose(_on_host(x), _on_host(y), atol=atol, rtol=rtol, verbose=verbose)


def _on_host(x: Any) -> Any:
    return x.detach().cpu().numpy() if isinstance(x, torch.Tensor) else np.asarray(x)


def product_dict(*parameters: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every combination of one dict of each argument, merged. Source: chainer.testing.product_dict."""
    return [{k: v for part in parts for k, v in part.items()} for parts in itertools.product(*parameters)]


def from_pytest_parameterize(names: str, values: Sequence[Any]) -> list[dict[str, Any]]:
    """``('a,b', [(1, 2)])`` as ``[{'a': 1, 'b': 2}]``. Source: chainer.testing.from_pytest_parameterize."""
    keys = names.split(",")
    if len(keys) == 1:
        return [{keys[0]: value} for value in values]
    return [dict(zip(keys, value, strict=True)) for value in values]


def product(parameter: dict[str, Any] | list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Every combination of the values of a dict of lists (or of the dicts of a list of lists).

    Raises:
        TypeError: it is neither.
    Source: chainer.testing.product.
    """
    if isinstance(parameter, dict):
        return product_dict(*(from_pytest_parameterize(k, v) for k, v in sorted(parameter.items())))
    if isinstance(parameter, list) and all(isinstance(p, list) for p in parameter):
        return product_dict(*parameter)
    raise TypeError(f"parameter must be a dict or a list of lists of dicts, not {type(parameter).__name__}")


class ParameterizedTests:
    """The test classes that :func:`parameterize` has made of one; the name of the original is bound to this."""

    __test__ = False

    def __init__(self, cases: list[type]):
        self.cases = cases


def parameterize(*params: dict[str, Any]) -> Callable[[Any], Any]:
    """Class decorator: a subclass for each dict, with its entries as attributes, in the module of the original.

    It can be applied to the result of another ``parameterize``. Source: chainer.testing.parameterize.
    """

    def decorate(base: Any) -> Any:
        if not isinstance(base, (ParameterizedTests, type)):
            return left_out(base)
        bases = base.cases if isinstance(base, ParameterizedTests) else [base]
        made = []
        for cls in bases:
            module = sys.modules[cls.__module__]
            if isinstance(base, ParameterizedTests):
                delattr(module, cls.__name__)
            for i, param in enumerate(params):
                values = {k: staticmethod(v) if isinstance(v, types.FunctionType) else v for k, v in param.items()}
                name = _class_name(cls, i, param)
                case = type(name, (cls,), {**values, "__module__": cls.__module__, "__doc__": f"{param}"})
                setattr(module, name, case)
                made.append(case)
        return ParameterizedTests(made)

    return decorate


def left_out(test: Any) -> Any:
    """What a decorator left that was not migrated: a module that has it can be imported, its other tests are run."""
    warnings.warn(f"{test.__name__} was not migrated: the tests below it are not run", stacklevel=3)
    return test


def _class_name(cls: type, i: int, param: dict[str, Any]) -> str:
    """The name of a case, which holds the values as Chainer's does: ``-k dtype=float32`` finds the same tests."""
    texts = {k: getattr(v, "__name__", None) or repr(v) for k, v in sorted(param.items())}
    words = [f"{k}={t if len(t) <= 100 else t[:48] + '...' + t[-49:]}" for k, t in texts.items()]
    return f"{cls.__name__}_param_{i}_{{{', '.join(words)}}}"


def parameterize_pytest(names: str, values: Sequence[Any]) -> Callable[[Any], Any]:
    """:func:`parameterize` in the words of pytest. Source: chainer.testing.parameterize_pytest."""
    return parameterize(*from_pytest_parameterize(names, values))


def repeat_with_success_at_least(times: int, min_success: int) -> Callable[[Any], Any]:
    """Decorator of a test method: it passes when ``min_success`` of up to ``times`` trials do.

    setUp and tearDown run around each trial; a trial that skips, skips the test.
    Source: chainer.testing.condition.repeat_with_success_at_least.
    """

    def decorate(method: Any) -> Any:
        @functools.wraps(method)
        def trials(self: Any, *args: Any, **kwargs: Any) -> None:
            failures: list[Exception] = []
            for trial in range(times):
                other = type(self)(self._testMethodName)
                other.setUp()
                try:
                    method(other, *args, **kwargs)
                except unittest.SkipTest:
                    raise
                except Exception as error:
                    failures.append(error)
                finally:
                    other.tearDown()
                if trial + 1 - len(failures) >= min_success:
                    return
                if len(failures) > times - min_success:
                    raise AssertionError(f"{len(failures)} of {trial + 1} trials failed") from failures[0]

        return trials

    return decorate


def repeat(times: int) -> Callable[[Any], Any]:
    """Decorator: the test must pass ``times`` times in a row. Source: chainer.testing.condition.repeat."""
    return repeat_with_success_at_least(times, times)


def retry(times: int) -> Callable[[Any], Any]:
    """Decorator: the test must pass once in up to ``times`` trials. Source: chainer.testing.condition.retry."""
    return repeat_with_success_at_least(times, 1)


def run_module(name: str, file: str) -> None:
    """Runs the tests of a file when it is called as a script. Source: chainer.testing.run_module."""
    if name == "__main__":
        import pytest

        pytest.main([file, "-vvs", "-x", "--pdb"])


def needs_gpu(test: Any) -> Any:
    """Marks a test that needs a GPU. Source: chainer.testing.attr.gpu."""
    import pytest

    return pytest.mark.gpu(test)


def needs_gpus(count: int) -> Callable[[Any], Any]:
    """Marks a test that needs several GPUs; skips it where there are fewer. Source: chainer.testing.attr.multi_gpu."""
    import pytest

    def decorate(test: Any) -> Any:
        return unittest.skipIf(torch.cuda.device_count() < count, f"{count} GPUs required")(pytest.mark.gpu(test))

    return decorate


def slow(*args: Any, **kwargs: Any) -> Any:
    """Marks a slow test. Source: chainer.testing.attr.slow."""
    import pytest

    return pytest.mark.slow(*args, **kwargs)
