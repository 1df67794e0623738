"""Runs the original under Chainer and the migrated code under PyTorch, and compares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chainer2torch.verify.models.verify_models import verify_models
    from chainer2torch.verify.rules.verify_rules import verify_rules
    from chainer2torch.verify.worker_process import DeviceError, WorkerError
    from chainer2torch.verify.script.verify_script import verify_script

__all__ = ["DeviceError", "WorkerError", "verify_models", "verify_rules", "verify_script"]

_ROOMS = {
    "verify_models": "models.verify_models",
    "verify_rules": "rules.verify_rules",
    "verify_script": "script.verify_script",
    "DeviceError": "worker_process",
    "WorkerError": "worker_process",
}


def __getattr__(name: str) -> Any:
    """Imports the rooms when they are used: the command line starts without NumPy."""
    if name not in _ROOMS:
        raise AttributeError(name)
    import importlib

    return getattr(importlib.import_module(f"chainer2torch.verify.{_ROOMS[name]}"), name)
