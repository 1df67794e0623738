"""Runs the original under Chainer and the migrated code under PyTorch, and compares."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chainer2torch.verify.models import verify_models
    from chainer2torch.verify.rules import verify_rules
    from chainer2torch.verify.run import DeviceError, WorkerError
    from chainer2torch.verify.script import verify_script

__all__ = ["DeviceError", "WorkerError", "verify_models", "verify_rules", "verify_script"]

_ROOMS = {"verify_models": "models", "verify_rules": "rules", "verify_script": "script", "DeviceError": "run",
          "WorkerError": "run"}


def __getattr__(name: str) -> Any:
    """Imports the rooms when they are used: the command line starts without NumPy."""
    if name not in _ROOMS:
        raise AttributeError(name)
    import importlib
    return getattr(importlib.import_module(f"chainer2torch.verify.{_ROOMS[name]}"), name)
