"""ChainerCV's crops that keep boxes in sight: NumPy arrays, drawn from Python's generator."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import numpy as np

from chainer2torch.compat.chainercv.boxes import bbox_iou


def random_crop_with_bbox_constraints(
    img: np.ndarray,
    bbox: np.ndarray,
    min_scale: float = 0.3,
    max_scale: float = 1,
    max_aspect_ratio: float = 2,
    constraints: Iterable[tuple[float | None, float | None]] | None = None,
    max_trial: int = 50,
    return_param: bool = False,
) -> Any:
    """One of several crops of an image (C, H, W), drawn at random: the whole, and one for each constraint.

    A constraint is the least and the most that a crop may overlap with the boxes (R, 4), each None for any; one that no
    crop of ``max_trial`` keeps is left out.

    Returns:
        The crop; with ``return_param`` also a dict of ``constraint``, ``y_slice`` and ``x_slice``.
    Source: chainercv.links.model.ssd.random_crop_with_bbox_constraints.
    """
    if constraints is None:
        constraints = (*((least, None) for least in (0.1, 0.3, 0.5, 0.7, 0.9)), (None, 1))
    height, width = img.shape[1:]
    choices: list[dict[str, Any]] = [{"constraint": None, "y_slice": slice(0, height), "x_slice": slice(0, width)}]
    for least, most in constraints if len(bbox) else ():
        bounds = (0 if least is None else least, 1 if most is None else most)
        for _ in range(max_trial):
            scale = random.uniform(min_scale, max_scale)
            low, high = max(1 / max_aspect_ratio, scale**2), min(max_aspect_ratio, 1 / scale**2)
            ratio = np.sqrt(random.uniform(low, high))
            tall, wide = int(height * scale / ratio), int(width * scale * ratio)
            top, left = random.randrange(height - tall), random.randrange(width - wide)
            overlap = bbox_iou(bbox, np.array([[top, left, top + tall, left + wide]]))
            if bounds[0] <= overlap.min() and overlap.max() <= bounds[1]:
                slices = {"y_slice": slice(top, top + tall), "x_slice": slice(left, left + wide)}
                choices.append({"constraint": bounds, **slices})
                break
    chosen = random.choice(choices)
    cut = img[:, chosen["y_slice"], chosen["x_slice"]]
    return (cut, chosen) if return_param else cut
