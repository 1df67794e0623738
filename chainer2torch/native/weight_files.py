"""Files of weights: what ``torch.save(model.state_dict(), path)`` wrote."""

from __future__ import annotations

from typing import Any

import torch


def save_state(file: Any, obj: Any) -> None:
    """Writes the state_dict of a model or an optimizer. Source: chainer.serializers.save_npz as a value."""
    torch.save(obj.state_dict(), file)


def load_state(file: Any, obj: Any) -> None:
    """Gives a model or an optimizer the state_dict in a file. Source: chainer.serializers.load_npz as a value."""
    obj.load_state_dict(torch.load(file, map_location="cpu"))


def state_part(file: Any, path: str) -> dict[str, Any]:
    """What a file of ``torch.save`` has below a path of Chainer's, for ``load_state_dict``: 'predictor/fc/'.

    'updater/model:main/predictor/' is that part of the model in a trainer's snapshot. Raises KeyError where there is
    nothing. Source: chainer.serializers.load_npz with ``path``.
    """
    state, path = torch.load(file, map_location="cpu"), path.strip("/")
    if path.startswith("updater/model:"):
        name, _, path = path.removeprefix("updater/model:").partition("/")
        state = state["models"][name]
    start = path.replace("/", ".") + "." * bool(path)
    part = {key.removeprefix(start): value for key, value in state.items() if key.startswith(start)}
    if not part:
        raise KeyError(path)
    return part
