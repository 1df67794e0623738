"""ChainerCV's scores of detections (PASCAL VOC) and of semantic segmentations, from NumPy arrays.

Sources: chainercv.evaluations.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from chainer2torch.compat.chainercv.boxes import bbox_iou


def _in_step(*iterables: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """The items of iterables of one length; ValueError where the lengths differ."""
    missing = object()
    for items in itertools.zip_longest(*iterables, fillvalue=missing):
        if any(item is missing for item in items):
            raise ValueError("Length of input iterables need to be same")
        yield items


def calc_semantic_segmentation_confusion(pred_labels: Iterable[Any], gt_labels: Iterable[Any]) -> np.ndarray:
    """How many pixels of each class (row) were given each class (column); negative true labels do not count.

    Args:
        pred_labels: label images (H, W) of integers, one after the other.
        gt_labels: the true ones, of the same sizes.
    Raises:
        ValueError: an image is not two-dimensional, or sizes or numbers of images differ.
    Source: chainercv.evaluations.calc_semantic_segmentation_confusion.
    """
    confusion = np.zeros((0, 0), dtype=np.int64)
    for predicted, true in _in_step(pred_labels, gt_labels):
        if predicted.ndim != 2 or true.ndim != 2:
            raise ValueError("ndim of labels should be two.")
        if predicted.shape != true.shape:
            raise ValueError("Shape of ground truth and prediction should be same.")
        more = max(0, int(max(predicted.max(), true.max())) + 1 - len(confusion))
        confusion = np.pad(confusion, (0, more))
        valid = true >= 0
        pairs = len(confusion) * true[valid].astype(int) + predicted[valid]
        confusion += np.bincount(pairs, minlength=confusion.size).reshape(confusion.shape)
    return confusion


def calc_semantic_segmentation_iou(confusion: np.ndarray) -> np.ndarray:
    """Intersection over union of each class; nan for a class that is nowhere.

    Source: chainercv.evaluations.calc_semantic_segmentation_iou.
    """
    right = np.diag(confusion)
    iou: np.ndarray = right / (confusion.sum(axis=0) + confusion.sum(axis=1) - right)
    return iou


def eval_semantic_segmentation(pred_labels: Iterable[Any], gt_labels: Iterable[Any]) -> dict[str, Any]:
    """``iou`` and ``class_accuracy`` of each class, the means ``miou`` and ``mean_class_accuracy``, ``pixel_accuracy``.

    Source: chainercv.evaluations.eval_semantic_segmentation.
    """
    confusion = calc_semantic_segmentation_confusion(pred_labels, gt_labels)
    iou = calc_semantic_segmentation_iou(confusion)
    right = np.diag(confusion)
    accuracy = right / confusion.sum(axis=1)
    return {
        "iou": iou,
        "miou": np.nanmean(iou),
        "pixel_accuracy": right.sum() / confusion.sum(),
        "class_accuracy": accuracy,
        "mean_class_accuracy": np.nanmean(accuracy),
    }


def calc_detection_voc_prec_rec(
    pred_bboxes: Iterable[Any],
    pred_labels: Iterable[Any],
    pred_scores: Iterable[Any],
    gt_bboxes: Iterable[Any],
    gt_labels: Iterable[Any],
    gt_difficults: Iterable[Any] | None = None,
    iou_thresh: float = 0.5,
) -> tuple[list[Any], list[Any]]:
    """Precision and recall of each class as more and more of its detections, best first, are taken in.

    Args:
        pred_bboxes: for each image the boxes (R, 4) that were found; with ``pred_labels`` and ``pred_scores`` (R,).
        gt_bboxes: for each image the true boxes; ``gt_labels``, and ``gt_difficults`` (boxes that do not count).
        iou_thresh: the overlap from which a box counts as found.
    Returns:
        Two lists over the classes; None for a class that is nowhere (recall: that has no true box that counts).
    Raises:
        ValueError: the numbers of images differ.
    Source: chainercv.evaluations.calc_detection_voc_prec_rec.
    """
    true_boxes: defaultdict[int, int] = defaultdict(int)
    scores: defaultdict[int, list[float]] = defaultdict(list)
    hits: defaultdict[int, list[int]] = defaultdict(list)  # 1: found, 0: wrong, -1: does not count
    images: list[Iterable[Any]] = [pred_bboxes, pred_labels, pred_scores, gt_bboxes, gt_labels]
    for boxes, labels, confidences, wanted, wanted_labels, *hard in _in_step(
        *images, *([] if gt_difficults is None else [gt_difficults])
    ):
        difficult = hard[0] if hard else np.zeros(len(wanted), dtype=bool)
        for label in np.unique(np.concatenate([labels, wanted_labels]).astype(int)):
            of_class, among = labels == label, wanted_labels == label
            order = confidences[of_class].argsort()[::-1]
            true_boxes[label] += int(np.logical_not(difficult[among]).sum())
            scores[label].extend(confidences[of_class][order])
            hits[label].extend(_hits(boxes[of_class][order], wanted[among], difficult[among], iou_thresh))
    count = max(true_boxes) + 1
    precisions: list[Any] = [None] * count
    recalls: list[Any] = [None] * count
    for label, total in true_boxes.items():
        hit = np.array(hits[label], dtype=np.int8)[np.array(scores[label]).argsort()[::-1]]
        found, wrong = np.cumsum(hit == 1), np.cumsum(hit == 0)
        precisions[label] = found / (found + wrong)
        if total > 0:
            recalls[label] = found / total
    return precisions, recalls


def _hits(boxes: np.ndarray, wanted: np.ndarray, difficult: np.ndarray, iou_thresh: float) -> list[int]:
    """Whether each box, best first, finds a true box that no box before it has found."""
    if not len(boxes) or not len(wanted):
        return [0] * len(boxes)
    overlaps = bbox_iou(*(_with_inclusive_ends(each) for each in (boxes, wanted)))
    found: set[int] = set()
    hits = []
    for best, overlap in zip(overlaps.argmax(axis=1), overlaps.max(axis=1), strict=True):
        if overlap < iou_thresh:
            hits.append(0)
            continue
        hits.append(-1 if difficult[best] else int(best not in found))
        found.add(int(best))
    return hits


def _with_inclusive_ends(boxes: np.ndarray) -> np.ndarray:
    """VOC's boxes end with their last pixel."""
    boxes = boxes.copy()
    boxes[:, 2:] += 1
    return boxes


def calc_detection_voc_ap(prec: list[Any], rec: list[Any], use_07_metric: bool = False) -> np.ndarray:
    """The average precision of each class: the area under precision over recall, or the mean at eleven recalls (2007).

    Source: chainercv.evaluations.calc_detection_voc_ap.
    """
    average = _average_2007 if use_07_metric else _average
    return np.array(
        [
            np.nan if precision is None or recall is None else average(np.nan_to_num(precision), recall)
            for precision, recall in zip(prec, rec, strict=True)
        ]
    )


def _average_2007(precision: np.ndarray, recall: np.ndarray) -> float:
    return sum(float(precision[recall >= level].max(initial=0)) / 11 for level in np.arange(0.0, 1.1, 0.1))


def _average(precision: np.ndarray, recall: np.ndarray) -> float:
    best_from_here = np.maximum.accumulate(np.append(precision, 0)[::-1])[::-1]
    steps = np.diff(np.concatenate([[0], recall, [1]]))
    return float(np.sum(steps * best_from_here))


def eval_detection_voc(
    pred_bboxes: Iterable[Any],
    pred_labels: Iterable[Any],
    pred_scores: Iterable[Any],
    gt_bboxes: Iterable[Any],
    gt_labels: Iterable[Any],
    gt_difficults: Iterable[Any] | None = None,
    iou_thresh: float = 0.5,
    use_07_metric: bool = False,
) -> dict[str, Any]:
    """``ap``, the average precision of each class, and ``map``, their mean; see :func:`calc_detection_voc_prec_rec`.

    Source: chainercv.evaluations.eval_detection_voc.
    """
    curves = calc_detection_voc_prec_rec(
        pred_bboxes, pred_labels, pred_scores, gt_bboxes, gt_labels, gt_difficults, iou_thresh
    )
    ap = calc_detection_voc_ap(*curves, use_07_metric)
    return {"ap": ap, "map": np.nanmean(ap)}
