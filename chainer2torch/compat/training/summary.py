"""The running means of pytorch-pfn-extras in the layout of Chainer's snapshots."""

from __future__ import annotations

import json
from typing import Any

from pytorch_pfn_extras.reporting import DictSummary, Summary

from chainer2torch.compat.serializers.state_io import StateReader


def serialize_summary(serializer: Any, summary: DictSummary) -> None:
    """Stores or restores a ``DictSummary``, key by key as chainer.DictSummary.serialize does."""
    if hasattr(serializer, "state"):  # that of objects whose state is a state_dict
        if serializer.loads:
            summary.load_state_dict(serializer.state)
        else:
            serializer.state.update(summary.state_dict())
        return
    parts = summary._summaries
    if isinstance(serializer, StateReader):
        parts.clear()
        if "_names" not in serializer:
            return
        for index, name in enumerate(json.loads(serializer("_names", ""))):
            _serialize_one(serializer["_summaries"][str(index)], parts[name])
        return
    serializer("_names", json.dumps(list(parts)))
    for index, part in enumerate(parts.values()):
        part._add_deferred_values()
        _serialize_one(serializer["_summaries"][str(index)], part)


def _serialize_one(serializer: Any, summary: Summary) -> None:
    if isinstance(serializer, StateReader):
        summary._x = float(serializer("_x", 0.0))
        summary._x2 = float(serializer("_x2", 0.0))
        summary._n = int(serializer("_n", 0))
    else:
        for name in ("_x", "_x2", "_n"):
            serializer(name, getattr(summary, name))
