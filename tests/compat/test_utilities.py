"""chainer.utils and the small names at the top of Chainer, against Chainer's own."""

import io
import os
import warnings
from typing import Any

import chainer
import numpy as np
import pytest
import torch
from chainer import utils
from chainer.utils import argument

from chainer2torch.compat.functions import own_functions, windows
from chainer2torch.compat.utils import utilities as compat
from chainer2torch.native import keywords

BOTH = pytest.mark.parametrize("api", ["chainer", "compat"])


def named(api: str, name: str) -> Any:
    places = (argument, utils, chainer, utils.type_check) if api == "chainer" else (compat, own_functions)
    return next(getattr(place, name) for place in places if hasattr(place, name))


@pytest.mark.parametrize("value", [3.5, np.float32(2), True, np.arange(3.0), np.ones(()), 2])
@pytest.mark.parametrize("dtype", [None, np.float32, "int64"])
def test_force_array(value: Any, dtype: Any) -> None:
    expected, found = utils.force_array(value, dtype), compat.force_array(value, dtype)
    assert type(found) is type(expected) and found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_force_array_of_tensors() -> None:
    x = torch.arange(3.0)
    assert compat.force_array(x) is x
    assert compat.force_array(x, np.float64).dtype == torch.float64
    assert compat.force_array(x, torch.int32).dtype == torch.int32


@pytest.mark.parametrize("value", [3.5, np.arange(3.0), np.arange(3.0, dtype="f")])
def test_force_type(value: Any) -> None:
    dtype = np.dtype("f")
    expected, found = utils.force_type(dtype, value), compat.force_type(dtype, value)
    assert type(found) is type(expected) and found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    assert compat.force_type(dtype, torch.arange(3)).dtype == torch.float32


@pytest.mark.parametrize("shape", [(2, 3, 4), (3, 1), (1, 4), (4,), (1, 1, 1), ()])
def test_sum_to(shape: tuple[int, ...]) -> None:
    x = np.random.RandomState(0).randn(2, 3, 4)
    expected = utils.sum_to(x, shape)
    for found in (compat.sum_to(x, shape), compat.sum_to(torch.as_tensor(x), shape).numpy()):
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("function", ["get_conv_outsize", "get_deconv_outsize"])
def test_outsizes(function: str) -> None:
    for size in (5, 8, 11):
        for k, s, p, d in [(1, 1, 0, 1), (3, 2, 1, 1), (2, 3, 1, 2), (4, 2, 0, 1)]:
            for cover_all in (False, True):
                expected = getattr(utils, function)(size, k, s, p, cover_all, d)
                assert getattr(windows, function)(size, k, s, p, cover_all, d) == expected


@BOTH
def test_tempdir(api: str) -> None:
    with named(api, "tempdir")(prefix="c2t") as path:
        assert os.path.isdir(path) and os.path.basename(path).startswith("c2t")
        with open(os.path.join(path, "file"), "w"):
            pass
    assert not os.path.exists(path)
    with named(api, "tempdir")(ignore_errors=True) as path:
        os.rmdir(path)
    with pytest.raises(OSError), named(api, "tempdir")() as path:
        os.rmdir(path)


@BOTH
def test_parse_kwargs(api: str) -> None:
    parse_kwargs = named(api, "parse_kwargs")

    def function(**kwargs: Any) -> Any:
        return parse_kwargs(kwargs, ("a", 1), ("b", None), old="`old` is not supported any more")

    assert function() == (1, None)
    assert function(b=3) == (1, 3)
    with pytest.raises(TypeError, match=r"^function\(\) got unexpected keyword argument\(s\) 'c', 'd'$"):
        function(a=1, d=4, c=5)
    with pytest.raises(ValueError, match="^`old` is not supported any more$"):
        function(old=4, c=5)


def test_the_short_parse_kwargs() -> None:
    def function(**kwargs: Any) -> Any:
        return keywords.parse_kwargs(kwargs, ("a", 1), ("b", None), old="`old` is not supported any more")

    assert (function(), function(b=3)) == ((1, None), (1, 3))
    with pytest.raises(TypeError, match="^unexpected argument 'd'$"):
        function(a=1, d=4)
    with pytest.raises(ValueError, match="^`old` is not supported any more$"):
        function(old=4, c=5)


@BOTH
def test_kwargs_checks(api: str) -> None:
    named(api, "check_unexpected_kwargs")({"a": 1}, b="no b")
    with pytest.raises(ValueError, match="no a"):
        named(api, "check_unexpected_kwargs")({"a": 1}, a="no a")
    named(api, "assert_kwargs_empty")({})
    with pytest.raises(TypeError, match=r"got unexpected keyword argument\(s\) 'a'"):
        named(api, "assert_kwargs_empty")({"a": 1})


@BOTH
def test_experimental(api: str, monkeypatch: pytest.MonkeyPatch) -> None:
    experimental = named(api, "experimental")
    with pytest.warns(FutureWarning, match=r"^my\.f is experimental\. The interface can change in the future\.$"):
        experimental("my.f")
    if api == "chainer":
        monkeypatch.setattr(chainer, "disable_experimental_feature_warning", True)
    else:
        assert not compat.experimental_warning_is_disabled()
        compat.disable_experimental_warning(True)
        assert compat.experimental_warning_is_disabled()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            experimental("my.f")
    finally:
        compat.disable_experimental_warning(False)


@pytest.mark.parametrize(
    ("arrays", "tensors"),
    [
        ([], []),
        ([None], [None]),
        ([np.ones(2)], [torch.ones(2)]),
        ([np.ones(2), None], [torch.ones(2), None]),
        ([np.ones(2), 3.0], [torch.ones(2), 3.0]),
        ([[1.0]], [[1.0]]),
        ([np.ones(2), np.ones(1)], [torch.ones(2), np.ones(1)]),
    ],
)
def test_is_arrays_compatible(arrays: list[Any], tensors: list[Any]) -> None:
    assert compat.is_arrays_compatible(tensors) == chainer.is_arrays_compatible(arrays)


def test_is_arrays_compatible_of_two_devices() -> None:
    assert not compat.is_arrays_compatible([torch.ones(2), torch.ones(2, device="meta")])


@pytest.mark.parametrize("options", [None, {}, {"verbosity_level": 0}])
def test_static_graph(options: Any) -> None:
    """A static chain gives what the function gives, in both."""
    x = np.random.RandomState(0).randn(3, 4).astype("f")

    def decorate(decorator: Any) -> Any:
        return decorator if options is None else decorator(**options)

    class Chainer(chainer.Chain):
        @decorate(chainer.static_graph)
        def __call__(self, x: Any) -> Any:
            return chainer.functions.tanh(x) * 2

    class Torch(torch.nn.Module):
        @decorate(compat.static_graph)
        def forward(self, x: Any) -> Any:
            return torch.tanh(x) * 2

    calls = []

    @compat.static_code
    def count(step: int) -> int:
        calls.append(step)
        return step

    @chainer.static_code
    def chainer_count(step: int) -> None:
        calls.append(step)

    model, module = Chainer(), Torch()
    for step in range(3):
        expected = model(chainer.Variable(x + step)).array
        assert count(step) == step
        np.testing.assert_allclose(module(torch.as_tensor(x + step)).numpy(), expected, rtol=1e-6)
    chainer_count(7)
    assert calls == [0, 1, 2, 7]


def test_print_runtime_info() -> None:
    out = io.StringIO()
    compat.print_runtime_info(out)
    assert f"PyTorch: {torch.__version__}" in out.getvalue() and "NumPy" in out.getvalue()


@BOTH
def test_check_names(api: str) -> None:
    check = utils.type_check._argname if api == "chainer" else own_functions.check_names
    error = utils.type_check.InvalidType if api == "chainer" else own_functions.InvalidType
    check((1, 2), ("x", "y"))
    with pytest.raises(error):
        check((1, 2), ("x",))


@pytest.mark.parametrize("shapes", [[(2, 3)], [(2, 3), (3,)], [(2, 1), (1, 4), ()], [(2, 3), (2,)], [(2,), (3,)]])
def test_expect_broadcast_shapes(shapes: list[tuple[int, ...]]) -> None:
    raised = []
    for module in (utils.type_check, own_functions):
        try:
            if module is own_functions:
                own_functions.expect_broadcast_shapes(*shapes)
            else:
                with utils.type_check.light_mode:
                    utils.type_check.expect_broadcast_shapes(*shapes)
            raised.append(False)
        except module.InvalidType:
            raised.append(True)
    assert raised[0] == raised[1]
