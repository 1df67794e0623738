"""The test tools against chainer.testing's own."""

import os
import sys
import types
import unittest
import unittest.mock
import warnings
from typing import Any

import chainer
import numpy as np
import pytest
import torch
from chainer import testing
from chainer.testing import helper, training

from chainer2torch.compat.training import mock_updater
from chainer2torch.compat.utils.not_migrated import not_migrated
from chainer2torch.native import testing as native_testing
from chainer2torch.compat.testing import testing as compat_testing, testing_tools as compat, unary_functions

BOTH = pytest.mark.parametrize("api", [testing, compat], ids=["chainer", "compat"])


@pytest.fixture(autouse=True)
def mock_of_the_standard_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chainer imports the package that Python 2 needed; the standard library holds the same module now."""
    for module, error in ((helper, "_mock_error"), (training, "_error")):
        monkeypatch.setattr(module, "mock", unittest.mock, raising=False)
        monkeypatch.setattr(module, error, None)


@BOTH
def test_assert_warns(api: Any) -> None:
    with api.assert_warns(UserWarning):
        warnings.warn("look", UserWarning, stacklevel=1)
    with api.assert_warns((DeprecationWarning, UserWarning)):
        warnings.warn("look", UserWarning, stacklevel=1)
    with pytest.raises(AssertionError, match="DeprecationWarning"), api.assert_warns(DeprecationWarning):
        warnings.warn("look", UserWarning, stacklevel=1)


@pytest.mark.parametrize("requirement", ["numpy", "numpy>=1.10", "numpy<1.10", "no-such-package", "numpy>=1.0,!=1.2"])
def test_requires(requirement: str) -> None:
    def skipped(api: Any, name: str) -> bool:
        @getattr(api, name)(requirement)
        def test() -> None:
            pass

        return getattr(test, "__unittest_skip__", False)

    for name in ("with_requires", "without_requires"):
        assert skipped(compat, name) == skipped(testing, name)
    assert skipped(compat, "with_requires") != skipped(compat, "without_requires")


def numbers(api: Any, how: str) -> list[Any]:
    """What two tests draw from NumPy's generator."""
    seen: list[Any] = []

    class Case(unittest.TestCase):
        def setUp(self) -> None:
            seen.append(np.random.rand())

        def test_a(self) -> None:
            seen.extend([np.random.rand(), torch.rand(()).item() if api is compat else None])
            if how != "none":
                seen.append(api.generate_seed())

        def test_b(self) -> None:
            seen.append(np.random.randint(100))

    cases: Any = [Case]
    if how == "class":
        made = api.fix_random()(Case)
        cases = [made] if isinstance(made, type) else [c.klass for c in made.cases]
    elif how == "method":
        Case.test_a = api.fix_random()(Case.test_a)  # type: ignore[method-assign]
    for case in cases:
        result = unittest.TestResult()
        unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
        assert result.wasSuccessful(), result.errors
    return seen


@pytest.mark.parametrize("how", ["class", "method"])
def test_fix_random(how: str) -> None:
    found = []
    for api in (testing, compat):
        np.random.seed(7)
        found.append(numbers(api, how))
        after = np.random.rand()
        np.random.seed(7)
        numbers(api, how)
        assert np.random.rand() == after
    assert [n for n in found[0] if n is not None] == [n for i, n in enumerate(found[1]) if found[0][i] is not None]


def test_fix_random_fixes_torch() -> None:
    torch.manual_seed(1)
    state = torch.get_rng_state()
    first = numbers(compat, "class")
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(2)
    assert numbers(compat, "class") == first
    assert numbers(compat, "class") != numbers(compat, "method")


def test_fix_random_of_parameterized_tests() -> None:
    module = types.ModuleType("c2t_fixed")
    sys.modules["c2t_fixed"] = module
    try:

        class Case(unittest.TestCase):
            def test_it(self) -> None:
                compat.generate_seed()

        Case.__module__ = "c2t_fixed"
        cases = compat.fix_random()(compat_testing.parameterize({"a": 1}, {"a": 2})(Case)).cases
    finally:
        del sys.modules["c2t_fixed"]
    for case in cases:
        result = unittest.TestResult()
        unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
        assert result.testsRun == 1 and result.wasSuccessful()


@BOTH
def test_generate_seed_needs_fixed_numbers(api: Any) -> None:
    with pytest.raises(AssertionError):
        api.generate_seed()


@pytest.mark.parametrize(
    ("shape", "dtype", "values"),
    [
        ((3, 4), float, [1.0, 2.0, 3.0]),
        ((2, 4, 3), np.float32, 2.0),
        ((2, 2), np.complex128, [[1, 2]][0]),
        ((0, 3), float, []),
        ((5, 3, 3), "f8", np.arange(15.0).reshape(5, 3)),
    ],
)
def test_generate_matrix(shape: Any, dtype: Any, values: Any) -> None:
    np.random.seed(0)
    expected = testing.generate_matrix(shape, dtype, singular_values=values)
    np.random.seed(0)
    found = compat.generate_matrix(shape, dtype, singular_values=values)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@BOTH
@pytest.mark.parametrize(
    ("shape", "options", "error"),
    [
        ((3,), {"singular_values": 1.0}, ValueError),
        ((3, 3), {"singular_values": -1.0}, ValueError),
        ((3, 3), {"singular_values": 1.0, "dtype": int}, TypeError),
        ((3, 3), {}, TypeError),
        ((3, 3), {"singular_values": 1j}, TypeError),
        ((3, 3), {"singular_values": [1, 2]}, ValueError),
    ],
)
def test_generate_matrix_refuses(api: Any, shape: Any, options: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        api.generate_matrix(shape, **options)


@BOTH
def test_patch(api: Any) -> None:
    with api.patch("os.path.basename") as basename:
        assert os.path.basename("a/b") == "b"
        basename.assert_called_once_with("a/b")
    with api.patch("os.path.basename", wraps=lambda path: "other"):
        assert os.path.basename("a/b") == "other"
    assert os.path.basename("a/b") == "b"
    with pytest.raises(RuntimeError):
        api.patch("no_such_package.name")


def test_save_and_load() -> None:
    source, target = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    compat.save_and_load_npz(source, target)
    assert torch.equal(source.weight, target.weight)

    a, b = chainer.links.Linear(3, 2), chainer.links.Linear(3, 2)
    testing.save_and_load_npz(a, b)
    np.testing.assert_array_equal(a.W.array, b.W.array)


@BOTH
def test_save_and_load_with_functions(api: Any) -> None:
    seen = []

    def look(path: str, obj: str) -> None:
        seen.append((os.path.basename(path), os.path.isdir(os.path.dirname(path)), obj))

    api.save_and_load("source", "target", "name.bin", look, look)
    assert seen == [("name.bin", True, "source"), ("name.bin", True, "target")]


def test_save_and_load_hdf5() -> None:
    pytest.importorskip("h5py")
    source, target = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    compat.save_and_load_hdf5(source, target)
    assert torch.equal(source.weight, target.weight)


def run_mock(api: Any, stop: Any) -> list[Any]:
    """What an extension of such a trainer sees; it writes into the current folder."""
    seen: list[Any] = []
    trainer = api.get_trainer_with_mock_updater(stop, iter_per_epoch=3)

    def look(trainer: Any) -> None:
        updater = trainer.updater
        seen.append(
            (
                updater.iteration,
                updater.epoch,
                round(updater.epoch_detail, 9),
                updater.is_new_epoch,
                round(updater.previous_epoch_detail, 9),
            )
        )

    trainer.extend(look, trigger=(1, "iteration"), name="look")
    trainer.run()
    seen.append(trainer.updater.update_core.call_count)
    return seen


@pytest.mark.parametrize("stop", [(7, "iteration"), (2, "epoch")])
def test_get_trainer_with_mock_updater(tmp_path: Any, stop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    expected = run_mock(testing, stop)
    assert run_mock(mock_updater, stop) == expected
    assert len(expected) > 5


def wrong_gradient(x: Any) -> Any:
    return x.sin().detach() + x * 0


def outcomes_of_unary(api: Any, func: Any, **options: Any) -> dict[str, bool]:
    """By its name, without the values that it was made with: whether each test passes that needs no GPU."""
    module = types.ModuleType("c2t_unary_case")
    sys.modules[module.__name__] = module
    try:
        case = type("TestOf", (unittest.TestCase,), {"__module__": module.__name__})
        api.unary_math_function_unittest(func, **options)(case)
        vars(module).pop("TestOf", None)
        found = {}
        for suite in unittest.defaultTestLoader.loadTestsFromModule(module):
            for test in suite:  # type: ignore[union-attr]
                name = f"{type(test).__name__}.{test._testMethodName}"  # type: ignore[union-attr]
                if name.endswith("_cpu"):
                    result = unittest.TestResult()
                    test.run(result)
                    found[name] = result.wasSuccessful()
        return found
    finally:
        del sys.modules[module.__name__]


@pytest.mark.parametrize("name", ["sin", "square", "wrong", "other", "named"])
def test_unary_math_function_unittest(name: str) -> None:
    def positive(shape: Any, dtype: Any) -> Any:
        return [np.random.uniform(0.5, 1, shape).astype(dtype) for _ in range(3)]

    theirs = {"square": chainer.functions.square, "named": chainer.functions.arctan}.get(name, chainer.functions.sin)
    ours = {"square": torch.square, "wrong": wrong_gradient, "named": torch.arctan}.get(name, torch.sin)
    options: dict[str, Any] = {"make_data": positive} if name == "square" else {"backward_options": {"eps": 1e-3}}
    if name == "other":
        options["func_expected"] = np.cos
    elif name == "wrong":
        options["func_expected"] = np.sin
        theirs = chainer.functions.sin  # its gradient is right: what differs is seen below
    expected = outcomes_of_unary(testing, theirs, **options)
    found = outcomes_of_unary(unary_functions, ours, **options)
    assert len(expected) == 18 and sorted(found) == sorted(expected)
    if name == "wrong":
        assert all(expected.values())
        assert [test for test, passed in found.items() if "_forward_" in test and not passed] == []
        assert not any(passed for test, passed in found.items() if "_backward_" in test and "double" not in test)
        return
    assert found == expected
    assert all(found.values()) is (name != "other")
    with pytest.raises(ValueError):
        unary_functions.unary_math_function_unittest(wrong_gradient)


@pytest.mark.parametrize("scale", [0.01, 0.5])
@pytest.mark.parametrize("wrong", ["value", "gradient"])
def test_tolerances_of_unary_math_function_unittest(scale: float, wrong: str) -> None:
    """Of values and gradients that are wrong by a share: half floats are not asked for as much."""

    def positive(shape: Any, dtype: Any) -> Any:
        return [np.random.uniform(0.5, 1, shape).astype(dtype) for _ in range(3)]

    def expected_values(x: Any, dtype: Any) -> Any:
        return np.sin(x, dtype=dtype) * np.asarray(1 + (scale if wrong == "value" else 0), dtype)

    def theirs(x: Any) -> Any:
        y = chainer.functions.sin(x)
        return y if wrong == "value" else y + (y - y.array) * scale

    def ours(x: Any) -> Any:
        y = torch.sin(x)
        return y if wrong == "value" else y + (y - y.detach()) * scale

    options: dict[str, Any] = {"make_data": positive, "func_expected": expected_values}
    found = outcomes_of_unary(unary_functions, ours, **options)
    assert found == outcomes_of_unary(testing, theirs, **options)
    assert not all(found.values()) and any(found.values())


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_options_of_unary_math_function_unittest(dtype: Any) -> None:
    found = []
    for api, func in ((testing, chainer.functions.sin), (unary_functions, torch.sin)):
        module = types.ModuleType("c2t_options_case")
        sys.modules[module.__name__] = module
        try:
            case = type("TestOf", (unittest.TestCase,), {"__module__": module.__name__})
            api.unary_math_function_unittest(func, double_backward_options={"rtol": 3})(case)
        finally:
            del sys.modules[module.__name__]
        self = types.SimpleNamespace(shape=(2,), dtype=dtype)
        case.setUp(self)
        kinds = (self.forward_options, self.backward_options, self.double_backward_options)
        found.append([{name: options.get(name) for name in ("atol", "rtol", "eps", "dtype")} for options in kinds])
    assert found[0] == found[1]


UNDER_STAND_INS = """
import unittest

left = not_migrated('chainer.testing.inject_backend_tests')
base = not_migrated('chainer.testing.FunctionTestCase')


@parameterize({'n': 1}, {'n': 2})
@fix_random()
@left(None, [{}])
class TestLeft(unittest.TestCase):
    def test(self):
        pass


@parameterize({'n': 1})
@fix_random()
class TestBase(base):
    def setUp(self):
        pass

    def test(self):
        pass


@parameterize({'n': 1}, {'n': 2})
@fix_random()
class TestMigrated(unittest.TestCase):
    def test(self):
        assert self.n in (1, 2)
"""


def test_decorators_above_what_was_not_migrated_let_the_module_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """They raised, and took all tests of the file with them; a warning says whose tests are not run."""
    module = types.ModuleType("c2t_under_stand_ins")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for parameterize in (compat_testing.parameterize, native_testing.parameterize):
        fix_random = (lambda: lambda test: test) if parameterize is native_testing.parameterize else compat.fix_random
        vars(module).update(not_migrated=not_migrated, parameterize=parameterize, fix_random=fix_random)
        with pytest.warns(UserWarning, match="inject_backend_tests was not migrated: the tests below it are not run"):
            exec(compile(UNDER_STAND_INS, "module", "exec"), vars(module))
        cases = [value for name, value in vars(module).items() if name.startswith("TestMigrated_param")]
        results = [unittest.TestLoader().loadTestsFromTestCase(case).run(unittest.TestResult()) for case in cases]
        assert len(cases) == 2 and all(result.wasSuccessful() and result.testsRun == 1 for result in results)
        with pytest.raises(NotImplementedError, match="FunctionTestCase"):
            next(value for name, value in vars(module).items() if name.startswith("TestBase_param"))()
