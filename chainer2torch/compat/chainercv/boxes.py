"""ChainerCV's boxes (y_min, x_min, y_max, x_max), points (y, x) and masks: NumPy arrays.

``bbox_iou`` and ``non_maximum_suppression`` take tensors as well. Sources: chainercv.transforms, chainercv.utils.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from chainer2torch.compat.backend.devices import _as_tensor


def flip_bbox(bbox: np.ndarray, size: tuple[int, int], y_flip: bool = False, x_flip: bool = False) -> np.ndarray:
    """The boxes (R, 4) of an image of ``size`` (height, width) after it is flipped.

    Source: chainercv.transforms.flip_bbox.
    """
    flipped: np.ndarray = bbox.copy()
    for axis, wanted in enumerate((y_flip, x_flip)):
        if wanted:
            flipped[:, axis] = size[axis] - bbox[:, axis + 2]
            flipped[:, axis + 2] = size[axis] - bbox[:, axis]
    return flipped


def resize_bbox(bbox: np.ndarray, in_size: Sequence[float], out_size: Sequence[float]) -> np.ndarray:
    """The boxes of an image of ``in_size`` (height, width) after it is resized to ``out_size``.

    Source: chainercv.transforms.resize_bbox.
    """
    resized: np.ndarray = bbox.copy()
    for axis in (0, 1):
        resized[:, axis::2] = float(out_size[axis]) / in_size[axis] * bbox[:, axis::2]
    return resized


def translate_bbox(bbox: np.ndarray, y_offset: float = 0, x_offset: float = 0) -> np.ndarray:
    """The boxes moved by an offset, which NumPy casts to their dtype as ``+=`` does.

    Source: chainercv.transforms.translate_bbox.
    """
    moved: np.ndarray = bbox.copy()
    moved[:, :2] += (y_offset, x_offset)
    moved[:, 2:] += (y_offset, x_offset)
    return moved


def rotate_bbox(bbox: np.ndarray, angle: float, size: tuple[int, int]) -> np.ndarray:
    """The boxes of an image of ``size`` (height, width) after it is turned against the clock.

    Raises:
        ValueError: ``angle`` is no multiple of 90.
    Source: chainercv.transforms.rotate_bbox.
    """
    if angle % 90 != 0:
        raise ValueError(f"angle which satisfies angle % 90 == 0 is only supported: {angle}")
    height, width = size
    top, left, bottom, right = bbox.T
    quarter = angle % 360 // 90
    if quarter == 0:
        return bbox
    turned = {
        1: (width - right, top, width - left, bottom),
        2: (height - bottom, width - right, height - top, width - left),
        3: (left, height - bottom, right, height - top),
    }[int(quarter)]
    return np.stack(turned, axis=1).astype(bbox.dtype)


def crop_bbox(
    bbox: np.ndarray,
    y_slice: slice | None = None,
    x_slice: slice | None = None,
    allow_outside_center: bool = True,
    return_param: bool = False,
) -> Any:
    """The boxes within the part of an image that the slices cut out, cut off at its border; empty ones are left out.

    Args:
        allow_outside_center: keep boxes whose middle is outside.
        return_param: return the positions of the boxes that are kept, and of those among them that were cut, too.
    Source: chainercv.transforms.crop_bbox.
    """
    slices = [slice(None) if part is None else part for part in (y_slice, x_slice)]
    # one array: an open slice makes all of it float, and NumPy then refuses boxes of integers
    bounds = np.array(
        [
            *(0 if part.start is None else part.start for part in slices),
            *(np.inf if part.stop is None else part.stop for part in slices),
        ]
    )
    low, high = bounds[:2], bounds[2:]
    cut = bbox.copy()
    cut[:, :2] = np.maximum(bbox[:, :2], low)
    cut[:, 2:] = np.minimum(bbox[:, 2:], high)
    was_cut = (cut != bbox).any(axis=1)
    cut[:, :2] -= low
    cut[:, 2:] -= low
    kept = (cut[:, :2] < cut[:, 2:]).all(axis=1)
    if not allow_outside_center:
        middle = (bbox[:, :2] + bbox[:, 2:]) / 2
        kept &= ((low <= middle) & (middle < high)).all(axis=1)
    if return_param:
        return cut[kept], {"index": np.flatnonzero(kept), "truncated_index": np.flatnonzero(was_cut[kept])}
    return cut[kept]


def _each_point(point: Any, change: Callable[[np.ndarray, int], Any]) -> Any:
    """An array of points, or a list of arrays, with each coordinate changed and cast to the dtype it had."""
    if not isinstance(point, np.ndarray):
        return [_each_point(one, change) for one in point]
    changed = point.copy()
    for axis in (0, 1):
        changed[..., axis] = change(changed[..., axis], axis)
    return changed


def flip_point(point: Any, size: tuple[int, int], y_flip: bool = False, x_flip: bool = False) -> Any:
    """The points (R, K, 2), or a list of (K, 2), of an image of ``size`` after it is flipped.

    Source: chainercv.transforms.flip_point.
    """
    flips = (y_flip, x_flip)
    return _each_point(point, lambda values, axis: size[axis] - values if flips[axis] else values)


def resize_point(point: Any, in_size: Sequence[float], out_size: Sequence[float]) -> Any:
    """The points of an image of ``in_size`` (height, width) after it is resized to ``out_size``.

    Source: chainercv.transforms.resize_point.
    """
    return _each_point(point, lambda values, axis: float(out_size[axis]) / in_size[axis] * values)


def translate_point(point: Any, y_offset: float = 0, x_offset: float = 0) -> Any:
    """The points moved by an offset.

    Source: chainercv.transforms.translate_point.
    """
    offsets = (y_offset, x_offset)

    def moved(values: np.ndarray, axis: int) -> np.ndarray:
        values += offsets[axis]  # in place: NumPy refuses to cast a fraction to integers
        return values

    return _each_point(point, moved)


def bbox_iou(bbox_a: Any, bbox_b: Any) -> Any:
    """The overlap of each box (N, 4) with each box (K, 4), (N, K): intersection over union.

    Arrays of NumPy give one, tensors a tensor on their device.
    Raises:
        IndexError: boxes do not have four numbers.
    Source: chainercv.utils.bbox_iou.
    """
    if bbox_a.shape[1] != 4 or bbox_b.shape[1] != 4:
        raise IndexError("boxes have four numbers")
    low: Any
    high: Any
    if isinstance(bbox_a, np.ndarray) and isinstance(bbox_b, np.ndarray):
        low, high = np.maximum(bbox_a[:, None, :2], bbox_b[:, :2]), np.minimum(bbox_a[:, None, 2:], bbox_b[:, 2:])
    else:
        bbox_a, bbox_b = _as_tensor(bbox_a), _as_tensor(bbox_b)
        low, high = torch.maximum(bbox_a[:, None, :2], bbox_b[:, :2]), torch.minimum(bbox_a[:, None, 2:], bbox_b[:, 2:])
    sides = high - low
    shared = sides[..., 0] * sides[..., 1] * (low < high).all(-1)
    areas_a, areas_b = ((box[:, 2] - box[:, 0]) * (box[:, 3] - box[:, 1]) for box in (bbox_a, bbox_b))
    return shared / (areas_a[:, None] + areas_b - shared)


def mask_iou(mask_a: np.ndarray, mask_b: np.ndarray) -> np.ndarray:
    """The overlap of each mask (N, H, W) with each mask (K, H, W), (N, K) in float32: intersection over union.

    Raises:
        IndexError: the masks are of different sizes.
    Source: chainercv.utils.mask_iou.
    """
    if mask_a.shape[1:] != mask_b.shape[1:]:
        raise IndexError("the masks are of different sizes")
    overlaps = [[(a & b).sum() / (a | b).sum() for b in mask_b] for a in mask_a]
    return np.array(overlaps, dtype=np.float32).reshape(len(mask_a), len(mask_b))


def non_maximum_suppression(bbox: Any, thresh: float, score: Any = None, limit: int | None = None) -> Any:
    """The positions (int32) of boxes that overlap no box before them by ``thresh`` or more, best first.

    Args:
        score: one number for each box, by which they are ordered (the largest first); without, they are taken as given.
        limit: stop at so many boxes.
    Returns:
        An array of NumPy for one, a tensor on its device for a tensor.
    Source: chainercv.utils.non_maximum_suppression.
    """
    boxes = bbox.detach().cpu().numpy() if isinstance(bbox, torch.Tensor) else bbox
    scores = score.detach().cpu().numpy() if isinstance(score, torch.Tensor) else score
    order = np.arange(len(boxes)) if scores is None else scores.argsort()[::-1]
    kept: list[int] = []
    if len(boxes):
        boxes = boxes[order]
    for i, box in enumerate(boxes):
        if kept and (bbox_iou(box[None], boxes[kept]) >= thresh).any():
            continue
        kept.append(i)
        if limit is not None and len(kept) >= limit:
            break
    positions = order[kept].astype(np.int32)
    return torch.as_tensor(positions, device=bbox.device) if isinstance(bbox, torch.Tensor) else positions


def mask_to_bbox(mask: np.ndarray) -> np.ndarray:
    """The smallest box (R, 4), float32, around each mask (R, H, W); zeros for an empty one.

    Source: chainercv.utils.mask_to_bbox.
    """
    boxes = np.zeros((len(mask), 4), dtype=np.float32)
    for box, one in zip(boxes, mask, strict=True):
        for axis in (0, 1):
            inside = np.flatnonzero(one.any(axis=1 - axis))
            if len(inside):
                box[axis::2] = inside[0], inside[-1] + 1
    return boxes


def generate_random_bbox(n: int, img_size: tuple[float, float], min_length: float, max_length: float) -> np.ndarray:
    """Boxes (n, 4), float32, within an image of ``img_size`` (height, width), from NumPy's generator.

    Source: chainercv.utils.generate_random_bbox.
    """
    low = [np.random.uniform(0, side - max_length, size=(n,)) for side in img_size]
    high = [start + np.random.uniform(min_length, max_length, size=(n,)) for start in low]
    return np.stack([*low, *high], axis=1).astype(np.float32)


def _centres(bbox: Any) -> tuple[Any, Any]:
    """The middle and the sides of boxes, both (R, 2)."""
    sides = bbox[:, 2:] - bbox[:, :2]
    return bbox[:, :2] + 0.5 * sides, sides


def bbox2loc(src_bbox: Any, dst_bbox: Any) -> Any:
    """What moves each box (R, 4) to its target (R, 4): shifts in units of its sides, and logarithms of scales.

    Arrays of NumPy give one, tensors a tensor on their device.
    Source: chainercv.links.model.faster_rcnn.bbox2loc.
    """
    (middle, sides), (target, target_sides) = _centres(src_bbox), _centres(dst_bbox)
    if isinstance(src_bbox, np.ndarray):
        sides = np.maximum(sides, np.finfo(sides.dtype).eps)
        return np.concatenate([(target - middle) / sides, np.log(target_sides / sides)], axis=1)
    sides = sides.clamp(min=torch.finfo(sides.dtype).eps)
    return torch.cat([(target - middle) / sides, torch.log(target_sides / sides)], dim=1)


def loc2bbox(src_bbox: Any, loc: Any) -> Any:
    """The boxes (R, 4 K) to which shifts and scales (R, 4 K) move boxes (R, 4): the inverse of :func:`bbox2loc`.

    Arrays of NumPy give one, tensors a tensor on their device.
    Source: chainercv.links.model.faster_rcnn.loc2bbox.
    """
    if len(src_bbox) == 0:
        return np.zeros((0, 4), loc.dtype) if isinstance(src_bbox, np.ndarray) else loc.new_zeros((0, 4))
    middle, sides = (values[:, None] for values in _centres(src_bbox))
    moves = loc.reshape(len(loc), -1, 4)
    centre = moves[..., :2] * sides + middle
    if isinstance(src_bbox, np.ndarray):
        half = 0.5 * np.exp(moves[..., 2:]) * sides
        return np.concatenate([centre - half, centre + half], axis=-1).reshape(loc.shape).astype(loc.dtype)
    half = 0.5 * torch.exp(moves[..., 2:]) * sides
    return torch.cat([centre - half, centre + half], dim=-1).reshape(loc.shape).to(loc.dtype)
