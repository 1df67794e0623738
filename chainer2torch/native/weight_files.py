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


def state_part(file: Any, path: str) -> dict[str, Any]:
    """What a file of ``torch.save`` has below a path of Chainer's, for ``load_state_dict``: 'predictor/fc/'.

    'updater/model:main/predictor/' is that part of the model in a trainer's snapshot. Raises KeyError where there is
    nothing. Source: chainer.serializers.load_npz with ``path``.
    """
    state, path = load_state(file), path.strip("/")
    if path.startswith("updater/model:"):
        name, _, path = path.removeprefix("updater/model:").partition("/")
        state = state["models"][name]
    start = path.replace("/", ".") + "." * bool(path)
    part = {key.removeprefix(start): value for key, value in state.items() if key.startswith(start)}
    if not part:
        raise KeyError(path)
    return part
