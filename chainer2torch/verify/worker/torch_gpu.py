"""PyTorch's side of ``--device cuda``: no TF32, deterministic algorithms, and facts for the report."""

import os
from typing import Any


def prepare_environment(device: str) -> None:
    """What cuBLAS reads when it starts: call this before torch uses the GPU."""
    if device != "cpu":
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")


def use(device: str) -> None:
    """Makes the device the current one and its arithmetic comparable: float32 is float32, and runs repeat.

    Raises RuntimeError when PyTorch cannot use it.
    """
    if device == "cpu":
        return
    import torch

    if not torch.cuda.is_available():
        raise RuntimeError("PyTorch cannot use a GPU: torch.cuda.is_available() is False")
    torch.cuda.set_device(torch.device(device).index or 0)  # "cuda" has no number, and `set_device` wants one
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    torch.use_deterministic_algorithms(True, warn_only=True)
    set_dtype = torch.set_autocast_dtype  # the declared difference mixed-precision: float32 on both sides
    torch.set_autocast_dtype = lambda device_type, dtype: set_dtype(device_type, torch.float32)


def describe(device: str) -> dict[str, Any]:
    """Versions for the foot of a report."""
    if device == "cpu":
        return {}
    import torch

    return {
        "CUDA of PyTorch": str(torch.version.cuda),
        "cuDNN of PyTorch": str(torch.backends.cudnn.version()),
        "TF32": "off",
        "GPU": torch.cuda.get_device_name(torch.device(device)),
    }


def is_broken(device: str) -> bool:
    """Whether the process can no longer use the GPU: after an assertion in a kernel every later call fails."""
    if device == "cpu":
        return False
    import torch

    try:
        torch.cuda.synchronize()
    except RuntimeError:
        return True
    return False
