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


def test_numpy_draws_in_scripts_that_need_a_gpu():
    cupy = host_cupy.module("cupy")
    cupy._computes_ = cupy._draws_ = True
    np.random.seed(5)
    cupy.random.seed(7)  # CuPy's own, which is not NumPy's
    drawn = cupy.random.uniform(0, 1, 3, dtype=np.float32)
    np.random.seed(5)
    assert drawn.dtype == np.float32 and (drawn == np.random.uniform(0, 1, 3).astype(np.float32)).all()


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


def test_vision_models_come_without_what_they_would_download(monkeypatch):
    from chainer.links.model.vision import resnet, vgg

    from chainer2torch.native import vision_models
    from chainer2torch.verify.worker import chainer_legacy, torch_models

    monkeypatch.setattr(vgg, "_retrieve", vgg._retrieve)
    monkeypatch.setattr(resnet, "_retrieve", resnet._retrieve)
    chainer_legacy.no_downloads()
    assert resnet._retrieve(50, "weights.npz", "no.caffemodel", "the model") == "the model"
    assert vgg._retrieve("weights.npz", "no://where", "the model") == "the model"
    monkeypatch.setattr(vision_models, "load_vision_weights", vision_models.load_vision_weights)
    torch_models._no_downloads(vision_models)
    torch_models._no_downloads(vision_models)
    vision_models.load_vision_weights(None, "auto", "weights.npz")
    with pytest.raises(FileNotFoundError):
        vision_models.load_vision_weights(None, "no_such.npz", "weights.npz")


def test_helpers_may_lie_in_a_package():
    from chainer2torch.verify.worker import torch_models

    assert torch_models._helpers("net") == ["chainer_compat"]
    assert torch_models._helpers("a.b.net") == ["chainer_compat", "a.chainer_compat", "a.b.chainer_compat"]
