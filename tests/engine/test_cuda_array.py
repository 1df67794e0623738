"""``isinstance(x, cuda.ndarray)``, in all the ways to name CuPy's array: a tensor on a GPU."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from chainer2torch.compat.backend.devices import CudaArray
from chainer2torch.engine import Options, migrate_source

HEAD = "import numpy as np\nimport cupy\nimport chainer\nfrom chainer import cuda\n"


@pytest.mark.parametrize(
    "name",
    [
        "cuda.ndarray",
        "chainer.cuda.ndarray",
        "chainer.backends.cuda.ndarray",
        "cuda.cupy.ndarray",
        "cupy.ndarray",
        "cupy.core.core.ndarray",
        "cupy.core.ndarray",
    ],
)
@pytest.mark.parametrize("test", ["{}", "(np.ndarray, {})"])
def test_the_class_is_one_of_tensors_on_a_gpu(name: str, test: str) -> None:
    result = migrate_source(f"{HEAD}def f(x):\n    return isinstance(x, {test.format(name)})\n")
    assert f"return isinstance(x, {test.format('compat.CudaArray')})" in result.code
    assert [site.symbol for site in result.sites if site.state == "review"] == ["chainer.backends.cuda.ndarray"]
    assert not any(site.state == "manual" for site in result.sites)
    assert "import chainer\n" not in result.code and "import cupy" not in result.code


@pytest.mark.parametrize("use", ["cuda.ndarray((2, 3))", "x.__class__ == cuda.ndarray"])
def test_other_uses_of_the_class_are_left(use: str) -> None:
    result = migrate_source(f"{HEAD}def f(x):\n    return {use}\n")
    assert f"return {use}" in result.code
    assert [site.state for site in result.sites] == ["manual"]


def test_nothing_on_the_cpu_is_one() -> None:
    for value in (torch.ones(2), np.ones(2), 1.0, None, torch.nn.Parameter(torch.ones(2))):
        assert not isinstance(value, CudaArray)


@pytest.mark.parametrize("function", ["is_ideep_available", "should_use_ideep"])
def test_ideep_is_never_there(function: str) -> None:
    arguments = "" if function == "is_ideep_available" else "'>=auto'"
    head = "import chainer\nfrom chainer.backends import intel64\n"
    result = migrate_source(f"{head}if intel64.{function}({arguments}):\n    a = 1\nelse:\n    a = 2\n")
    assert result.code.strip().endswith("a = 2") and "a = 1" not in result.code
    assert {site.state for site in result.sites} == {"exact"}


@pytest.mark.parametrize("use", ["type(x) is cuda.ndarray", "cuda.ndarray == type(x)"])
def test_compared_types_ask_for_the_class(use: str) -> None:
    result = migrate_source(f"{HEAD}def f(x):\n    return {use}\n")
    assert "    return isinstance(x, compat.CudaArray)\n" in result.code
    native = migrate_source(f"{HEAD}def f(x):\n    return {use}\n", options=Options(style="native"))
    assert "    return isinstance(x, torch.Tensor) and x.is_cuda\n" in native.code
