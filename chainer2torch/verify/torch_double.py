"""The float64 pass of a script under PyTorch: parameters, batches and the inputs of modules are float64."""
from typing import Any

import torch


def install() -> None:
    """Makes float64 the dtype of new parameters, and casts tensors made from float32 arrays and modules' inputs."""
    torch.set_default_dtype(torch.float64)
    from_numpy = torch.from_numpy
    torch.from_numpy = lambda array: double(from_numpy(array))  # type: ignore[assignment]
    torch.nn.modules.module.register_module_forward_pre_hook(lambda module, args: double(args))


def double(value: Any) -> Any:
    """``value`` with float32 tensors in it as float64."""
    if type(value) in (list, tuple):
        return type(value)(double(item) for item in value)
    if isinstance(value, torch.Tensor) and value.dtype == torch.float32:
        return value.double() if not value.is_leaf or not value.requires_grad else value
    return value
