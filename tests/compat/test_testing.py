"""The helpers for tests against chainer.testing's own."""

import sys
import types
import unittest
from typing import Any

import numpy as np
import pytest
import torch
from chainer import testing
from chainer.testing import attr, condition

from chainer2torch.compat.testing import testing as compat
from chainer2torch.native import testing as native

BOTH = pytest.mark.parametrize("api", [testing, compat], ids=["chainer", "compat"])


@pytest.mark.parametrize(
    "parameter",
    [
        {"a": [1, 2], "b": ["x"]},
        {"b,a": [(1, 2), (3, 4)], "c": [None]},
        {},
        [[{"a": 1}, {"a": 2}], [{"b": 3}]],
    ],
)
def test_product(parameter: Any) -> None:
    assert compat.product(parameter) == testing.product(parameter)


@BOTH
@pytest.mark.parametrize("bad", [3, [1, 2], ({"a": 1},)])
def test_product_refuses(api: Any, bad: Any) -> None:
    with pytest.raises(TypeError):
        api.product(bad)


def test_product_dict_and_names() -> None:
    parts = [{"a": 1}, {"a": 2, "b": 3}], [{"b": 4}, {"c": 5}]
    assert compat.product_dict(*parts) == testing.product_dict(*parts)
    for names, values in [("a", [1, (2, 3)]), ("a,b", [(1, 2), (3, 4)])]:
        assert compat.from_pytest_parameterize(names, values) == testing.from_pytest_parameterize(names, values)


@BOTH
def test_assert_allclose(api: Any) -> None:
    x = np.array([1.0, 2.0])
    api.assert_allclose(x, x + 1e-6)
    with pytest.raises(AssertionError):
        api.assert_allclose(x, x + 1e-3)
    api.assert_allclose(x, x + 1e-3, atol=1e-2, rtol=0)
    with pytest.raises(AssertionError):
        api.assert_allclose(x, x + 1e-3, atol=0, rtol=1e-4)


def test_assert_allclose_of_tensors() -> None:
    compat.assert_allclose(torch.ones(2, requires_grad=True), np.ones(2))
    with pytest.raises(AssertionError):
        compat.assert_allclose(torch.ones(2), torch.zeros(2))


def run_class(decorate: Any, name: str) -> list[tuple[str, Any]]:
    """Defines a test class in a module of its own, decorated; runs what the module then holds."""
    seen: list[tuple[str, Any]] = []
    module = types.ModuleType(name)
    sys.modules[name] = module
    try:

        class Case(unittest.TestCase):
            a: Any
            b = "default"

            def test_it(self) -> None:
                seen.append((type(self).__name__, (self.a, self.b)))

        Case.__module__ = name
        module.Case = decorate(Case)  # type: ignore[attr-defined]
        suite = unittest.defaultTestLoader.loadTestsFromModule(module)
        result = unittest.TestResult()
        suite.run(result)
        assert result.wasSuccessful()
        return sorted((n, str(v)) for n, v in seen)
    finally:
        del sys.modules[name]


@pytest.mark.parametrize("method", ["parameterize", "twice", "parameterize_pytest", "named"])
def test_parameterize(method: str) -> None:
    def decorator(api: Any) -> Any:
        if method == "parameterize_pytest":
            return api.parameterize_pytest("a,b", [(1, 2), (3, 4)])
        if method == "twice":
            return lambda cls: api.parameterize({"a": 1}, {"a": 2})(api.parameterize({"b": 5}, {"b": 6})(cls))
        if method == "named":  # classes, functions and long texts have names of their own
            return api.parameterize({"b": np.float32, "a": "x" * 200}, {"a": len, "b": np.dtype("f")}, {"a": [1.5]})
        return api.parameterize(*testing.product({"a": [1, 2], "b": [3, 4]}))

    expected = run_class(decorator(testing), "c2t_chainer_case")
    assert expected
    assert run_class(decorator(compat), "c2t_compat_case") == expected
    if method != "parameterize_pytest":
        assert run_class(decorator(native), "c2t_native_case") == expected


def outcomes(api: Any, pattern: str, decorate: str, times: int) -> tuple[bool, int]:
    """Whether a test passes that succeeds and fails as the pattern says, and after how many trials."""
    calls: list[int] = []

    class Case(unittest.TestCase):
        def test_it(self) -> None:
            calls.append(1)
            self.assertEqual(pattern[len(calls) - 1], "+")

    Case.test_it = getattr(api, decorate)(times)(Case.test_it)  # type: ignore[method-assign]
    result = unittest.TestResult()
    Case("test_it").run(result)
    return result.wasSuccessful(), len(calls)


@pytest.mark.parametrize("pattern", ["+++", "-++", "--+", "---", "+-+"])
@pytest.mark.parametrize("decorate", ["retry", "repeat"])
def test_conditions(pattern: str, decorate: str) -> None:
    expected = outcomes(condition, pattern, decorate, 3)
    assert outcomes(compat, pattern, decorate, 3) == expected
    if decorate == "retry":
        assert outcomes(native, pattern, decorate, 3) == expected


def test_a_trial_that_skips_skips_the_test() -> None:
    class Case(unittest.TestCase):
        runs = 0
        torn = 0

        def tearDown(self) -> None:
            Case.torn += 1

        def test_it(self) -> None:
            Case.runs += 1
            if Case.runs == 1:
                raise ValueError
            self.skipTest("no")

    Case.test_it = native.retry(3)(Case.test_it)  # type: ignore[method-assign]
    result = unittest.TestResult()
    Case("test_it").run(result)
    assert len(result.skipped) == 1 and (Case.runs, Case.torn) == (2, 3)


def test_at_least() -> None:
    for pattern in ("++--", "+-+-", "-+-+", "---+"):
        found = []
        for api in (condition, compat):

            class Two:
                at_least = staticmethod(lambda times, api=api: api.repeat_with_success_at_least(times, 2))

            found.append(outcomes(Two, pattern, "at_least", 4))
        assert found[0] == found[1]


def test_marks() -> None:
    def marks(decorate: Any) -> list[str]:
        def test_function() -> None:
            pass

        return [m.name for m in decorate(test_function).pytestmark]

    assert marks(compat.needs_gpu) == marks(attr.gpu) == ["gpu"]
    assert marks(compat.slow) == marks(attr.slow) == ["slow"]
    assert "gpu" in marks(compat.needs_gpus(2)) and "gpu" in marks(attr.multi_gpu(2))


def test_run_module_does_nothing_on_import() -> None:
    compat.run_module("some.module", __file__)
