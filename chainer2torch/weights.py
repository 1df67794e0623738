"""Chainer's weight files (``.npz``) and PyTorch modules: the same code as the helpers that are vendored."""
from chainer2torch.compat.serializers import load_npz, save_npz

__all__ = ["load_npz", "save_npz"]
