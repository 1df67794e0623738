"""Decorators of tests."""

from __future__ import annotations

import functools
import sys
import types
import unittest
import warnings
from collections.abc import Callable
from typing import Any


def parameterize(*params: dict[str, Any]) -> Callable[[Any], Any]:
    """Class decorator: a subclass for each dict, with its entries as attributes, in the module of the original.

    It can be applied to the result of another ``parameterize``. Source: chainer.testing.parameterize.
    """

    def decorate(base: Any) -> Any:
        if not isinstance(base, (list, type)):  # what a decorator left that was not migrated
            warnings.warn(f"{base.__name__} was not migrated: the tests below it are not run", stacklevel=2)
            return base
        made = []
        for cls in base if isinstance(base, list) else [base]:
            module = vars(sys.modules[cls.__module__])
            module.pop(cls.__name__, None)
            for i, param in enumerate(params):
                values = {k: staticmethod(v) if isinstance(v, types.FunctionType) else v for k, v in param.items()}
                about = {"__module__": cls.__module__, "__doc__": f"{param}"}
                made.append(type(_class_name(cls, i, param), (cls,), {**values, **about}))
            module.update({case.__name__: case for case in made})
        return made

    return decorate


def _class_name(cls: type, i: int, param: dict[str, Any]) -> str:
    """The name of a case, which holds the values as Chainer's does: ``-k dtype=float32`` finds the same tests."""
    texts = {k: getattr(v, "__name__", None) or repr(v) for k, v in sorted(param.items())}
    words = [f"{k}={t if len(t) <= 100 else t[:48] + '...' + t[-49:]}" for k, t in texts.items()]
    return f"{cls.__name__}_param_{i}_{{{', '.join(words)}}}"


def retry(times: int) -> Callable[[Any], Any]:
    """Decorator of a test method: it passes when one of so many trials does, each with a test case of its own.

    A trial that skips, skips the test. Source: chainer.testing.condition.retry.
    """

    def decorate(method: Any) -> Any:
        @functools.wraps(method)
        def trials(self: Any, *args: Any, **kwargs: Any) -> Any:
            for left in reversed(range(times)):
                case = type(self)(self._testMethodName)
                case.setUp()
                try:
                    return method(case, *args, **kwargs)
                except Exception as error:
                    if isinstance(error, unittest.SkipTest) or not left:
                        raise
                finally:
                    case.tearDown()

        return trials

    return decorate
