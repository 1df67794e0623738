"""Persistent values: what a link saves beside its parameters."""

from typing import Any

import numpy as np
import torch
import torch.nn as nn


def add_persistent(module: nn.Module, name: str, value: Any) -> None:
    """Sets a value that is saved and loaded with the module: arrays and tensors as buffers, others as they are.

    A name that is taken raises AttributeError. Source: chainer.Link.add_persistent.
    """
    if hasattr(module, name):
        raise AttributeError(f"cannot register a new persistent value {name}: attribute exists")
    setattr(module, name, value)
    register_persistent(module, name)


def register_persistent(module: nn.Module, name: str) -> None:
    """Makes an attribute a value that is saved and loaded with the module; a parameter then is none any more.

    An attribute that does not exist raises AttributeError. Source: chainer.Link.register_persistent.
    """
    if not hasattr(module, name):
        raise AttributeError(f"cannot register non-existent attribute {name} as a persistent value")
    value = getattr(module, name)
    if isinstance(value, (np.ndarray, torch.Tensor)):
        if name not in module._buffers:
            delattr(module, name)
            module.register_buffer(name, torch.as_tensor(value).detach())
        return
    names = module.__dict__.setdefault("_chainer_persistent", [])
    if not names:
        module.register_state_dict_post_hook(_save_persistent)
        module.register_load_state_dict_pre_hook(_load_persistent)
    if name not in names:
        names.append(name)


def _save_persistent(module: nn.Module, state_dict: dict[str, Any], prefix: str, local_metadata: Any) -> None:
    for name in module.__dict__["_chainer_persistent"]:
        value = getattr(module, name)
        if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
            value = torch.from_numpy(value.copy())  # torch.load takes no array of NumPy
        state_dict[prefix + name] = value.item() if isinstance(value, np.generic) else value


def _load_persistent(
    module: nn.Module,
    state_dict: dict[str, Any],
    prefix: str,
    local_metadata: Any,
    strict: bool,
    missing_keys: list[str],
    unexpected_keys: list[str],
    error_msgs: list[str],
) -> None:
    for name in module.__dict__["_chainer_persistent"]:
        if prefix + name in state_dict:
            value, held = state_dict.pop(prefix + name), getattr(module, name)
            setattr(
                module, name, value.cpu().numpy() if isinstance(held, np.ndarray) and torch.is_tensor(value) else value
            )
        elif strict:
            missing_keys.append(prefix + name)
