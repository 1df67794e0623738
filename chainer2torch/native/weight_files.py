"""Files of weights: what ``torch.save(model.state_dict(), path)`` wrote."""

from __future__ import annotations

import pickle
from typing import Any

import torch


def load_state(file: Any) -> Any:
    """``torch.load`` for ``load_state_dict``; a file that Chainer wrote raises, and says how to convert it.

    Source: chainer.serializers.load_npz.
    """
    try:
        return torch.load(file, map_location="cpu", weights_only=True)
    except (RuntimeError, pickle.UnpicklingError) as error:
        raise ValueError(f"{file} is no file of torch.save; `chainer2torch weights` converts Chainer's") from error
