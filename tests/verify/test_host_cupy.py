"""A script that imports CuPy for `get_array_module` alone runs where none is installed."""

import subprocess
import sys

import numpy as np
import pytest

from chainer2torch.verify.worker import host_cupy


def test_what_the_cpu_asks_cupy_for():
    cupy = host_cupy.module("cupy")
    x = np.arange(3)
    assert cupy.get_array_module(x) is np and cupy.asnumpy(x) is x and not isinstance(x, cupy.ndarray)


def test_all_else_raises_where_it_is_used():
    cupy = host_cupy.module("cupy")
    zeros = cupy.zeros
    with pytest.raises(RuntimeError, match="cupy.zeros is needed here"):
        zeros(3)


def test_numpy_computes_where_models_are_compared():
    cupy = host_cupy.module("cupy")
    cupy._computes_ = True
    assert cupy.zeros is np.zeros and not isinstance(np.ones(1), cupy.core.core.ndarray)
    with cupy.cuda.Device(0) as device, pytest.raises(RuntimeError, match="cupy.random.normal is needed here"):
        device.use()
        cupy.random.normal()


def test_it_is_imported_behind_chainer():
    lines = [
        "import sys",
        "sys.path_importer_cache.clear()",
        "from chainer2torch.verify.worker import host_cupy",
        "host_cupy.install()",
        "import cupy as cp",
        "print(cp.get_array_module(1).__name__)",
    ]
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=False)
    assert done.stdout.strip() in ("numpy", "cupy") and not done.stderr
