"""Calls at the borders of what functions take, and just beyond them: Chainer says which raise and what the others give.

A call that Chainer refuses has to raise here, too, and one that it takes must give the same values and gradients.
"""

import importlib
import pkgutil
import warnings

import chainer
import chainer.functions as F
import numpy as np
import pytest
import torch

import chainer2torch.compat.functions as helpers
from chainer2torch.native import functions, pooling, spreading

ROOMS = [importlib.import_module(f"{helpers.__name__}.{room.name}") for room in pkgutil.iter_modules(helpers.__path__)]
OTHER_NAMES = {"repeat": "repeat_elements", "sum": "sum_along"}


def a(*shape, seed=0, dtype="f"):
    """Numbers from -1 to 1."""
    return np.random.RandomState(seed + len(shape)).uniform(-1, 1, shape).astype(dtype)


def i(*shape, n=3, dtype="i"):
    """Integers below ``n``."""
    return np.random.RandomState(1).randint(0, n, shape).astype(dtype)


X4, ROIS = a(2, 3, 6, 5), np.array([[0, 0, 0, 3, 4], [1, 1, 1, 4, 4]], "f")
SEVERAL = [a(3, 4), a(2, 4, seed=1), a(2, 4, seed=2)]


def roi(*more):
    """Calls of a pooling of regions, good and bad ones."""
    good = [(X4, ROIS, size, 1.0, *rest) for rest in more or [()] for size in (2, (3, 2))]
    rest = (more or [()])[0]
    bad = [
        (X4[0], ROIS, 2, 1.0),
        (X4, ROIS[0], 2, 1.0),
        (X4, ROIS[:, :4], 2, 1.0),
        (X4.astype("d"), ROIS, 2, 1.0),
        (X4, ROIS, 0, 1.0),
        (X4, ROIS, (2, 0), 1.0),
        (X4, ROIS, (0, 2), 1.0),
        (X4, ROIS, 2, 0.0),
        (X4, ROIS, 2, -1.0),
        (X4, ROIS, 2, 0.5),
        (X4, ROIS, 2.0, 1.0),
    ]
    return [*good, *((*call, *rest) for call in bad)]


def pooled(n, *more):
    """Calls of a pooling over ``n`` axes."""
    x = a(2, 3, *range(7, 7 - n, -1))
    calls = [(x, k, s, p) for k in (1, 2, 3) for s in (None, 1, 3) for p in (0, 1) if p < k]
    bad = [(x[0], 2), (x[None], 2), (x[:0], 2), (x, 9), (x, (2,) * (n + 1)), (x, 8, 1, 0), (x, 7 - n + 2)]
    return [*calls, *bad, *((x, 3, 2, 1, *each) for each in more)]


LABELS = (i(4), np.array([0, -1, 2, -1], "i"), i(4, dtype="f"), i(4, 1), i(3), np.full(4, -1, "i"))
LABELS = (*LABELS, np.array([-1, -1, 2, -1], "i"))  # one that counts, where others divide by their number
ONE_COUNTS = np.array([[-1, 1], [-1, -1]], "i")
CALLS = {
    "clipped_relu": [(a(2, 3) * 30, z) for z in (20.0, 20, 0.5, True)],
    "maxout": [(a(2, 6), n) for n in (0, -1, 1, 2, 3, 4, 6)]
    + [(a(6, 2, 4), 2, axis) for axis in (0, 1, 2, -1, -2, -3, 3)],
    "prelu": [(a(2, 3, 4), w) for w in (a(), a(3), a(3, 4), a(4), a(2, 3, 4), a(1), a(3, dtype="d"))],
    "swish": [(a(2, 3, 4), w) for w in (a(), a(3), a(3, 4), a(4), a(2, 3, 4), a(1), a(3, dtype="d"))],
    "crelu": [(a(2, 3, 4), axis) for axis in (0, 1, 2, -1, 3)],
    "hard_sigmoid": [(np.array([-3, -2.5, -1, 0, 1, 2.5, 3], "f"),)],
    "selu": [(a(5),), (a(5), 1.5), (a(5), 1.5, 2.0)],
    "softmax": [(a(2, 3, 4), axis) for axis in (0, 1, 2, -1, -3)] + [(a(2, 3),)],
    "log_softmax": [(a(2, 3, 4), axis) for axis in (0, 1, 2, -1, -3)] + [(a(2, 3),)],
    "pad_sequence": [([a(3, 2), a(2, 2)], n) for n in (None, 2, 3, 4)]
    + [([a(3, 2), a(2, 2)], None, -1.5), ([a(3, 2), a(2, 3)],), ([a(3), a(0)],), ([a(2)], 3, 7)],
    "permutate": [(a(3, 3), index) for index in (np.array([2, 0, 1]), np.array([2, 0, 1], "f"), i(3, 1))]
    + [(a(2, 3), np.array([2, 0, 1], kind), 1, inv) for kind in ("b", "h", "i", "l") for inv in (False, True)]
    + [(a(2, 3), np.array([1, 0]), 0, inv) for inv in (False, True)],
    "repeat": [(a(2, 3), n, axis) for n in (1, 2, (2,), (1, 2), [1, 2], (1, 2, 0), -1, 1.5) for axis in (0, 1, -1)]
    + [(a(2, 3), 2), (a(2, 3), (1, 2, 3, 4, 5, 6)), (a(2, 3), 2, 2)],
    "select_item": [(a(4, 3), t) for t in (i(4), i(4, 1), i(3), i(4, n=9))] + [(a(4), i(4)), (a(4, 3, 1), i(4))],
    "split_axis": [(a(6, 4), n, 0) for n in (1, 2, 3, 4, [2, 5], [0, 6], [2, 2], [7], [1, 7], np.array([3]), 2.0)]
    + [(a(6, 4), n, axis, force) for n in (1, 2, [1]) for axis in (1, -1) for force in (True, False)]
    + [(a(6, 4), [], 0, force) for force in (True, False)],
    "squeeze": [(a(1, 2, 1, 3), axis) for axis in (None, 0, 2, -2, -4, (0, 2), (0, -2), 1, (0, 1), 4, 1.5, ())],
    "transpose_sequence": [([a(3), a(2), a(2)],), ([a(2), a(3)],), ([a(3, 2), a(2, 3)],), ([a(2, 2), a(2, 2)],)],
    "where": [
        (i(2, 3, n=2, dtype=bool), a(2, 3), a(2, 3, seed=1)),
        (i(2, 3, n=2), a(2, 3), a(2, 3)),
        (i(2, 3, n=2, dtype=bool), a(2, 3), a(2, 3, dtype="d")),
        (i(2, 3, n=2, dtype=bool), a(3), a(2, 1)),
    ],
    "scatter_add": [
        (a(3, 4), s, b) for s, b in ((1, a(4)), ([0, 0], a(2, 4)), (slice(0, 2), a(2, 4)), (1, a(3)), (1, a()))
    ],
    "flatten": [(a(2, 3, 4),), (a(),), (a(0, 3),)],
    "fliplr": [(a(2, 3, 4),), (a(2, 3),), (a(2),)],
    "flipud": [(a(2, 3, 4),), (a(2, 3),), (a(2),), (a(),)],
    "hstack": [(SEVERAL,), ([a(2), a(3)],), ([a(2, 3), a(2, 4)],), ([a(2, 3, 1), a(2, 1, 1)],)],
    "vstack": [(SEVERAL,), ([a(2), a(2, seed=1)],), ([a(2, 3), a(1, 3)],), ([a(2), a(3)],)],
    "dstack": [([a(2, 4), a(2, 4, seed=1)],), ([a(2), a(2, seed=1)],), ([a(2, 3, 1), a(2, 3, 2)],)],
    "rollaxis": [(a(2, 3, 4), *args) for args in ((2,), (0, 3), (1, -1), (-1,), (1, 2), (0, 4))],
    "pad": [(a(2, 3), width, "constant") for width in (1, (1, 2), ((1, 0), (0, 2)), 0)],
    "linear": [(a(2, 3, 4), a(5, n), a(5), axes) for axes, n in ((0, 12), (1, 12), (2, 4), (3, 1), (-1, 4))]
    + [(a(2, 4), a(5, 4)), (a(2, 4), a(5, 3)), (a(2, 4), a(5, 4), a(4))],
    "shift": [(a(1, 9, 4, 5), *args) for args in ((), (3, 2), ((3, 1),), ((1, 3),), (2,), ((3, 2),), ((2, 3),), (1,))]
    + [(a(9, 4, 5),), (a(1, 8, 4, 5),), (a(1, 11, 4, 5),), (a(1, 9, 4, 5), (3, 3), (1, 2)), (a(1, 25, 5, 5), 5)],
    "bilinear": [
        (a(2, 3), a(2, 4), a(3, 4, 5)),
        (a(2, 3), a(2, 4), a(3, 4, 5), a(3, 5), a(4, 5), a(5)),
        (a(2, 3), a(2, 4), a(3, 4, 5), a(3, 5), None, None),
        (a(2, 3), a(2, 4), a(3, 4, 5), a(3, 5), a(4, 5), None),
        (a(2, 3), a(2, 4), a(3, 4, 5), None, None, a(5)),
    ],
    "embed_id": [
        (i(2, 3), a(4, 2)),
        (i(3), a(4, 2), 1),
        (np.array([-1, 2]), a(4, 2), -1),
        (np.array([-1, 2]), a(4, 2)),
    ],
    "convolution_2d": [
        (X4, a(4, 3, 2, 2), b, stride, pad) for b in (None, a(4)) for stride in (1, (2, 1)) for pad in (0, (1, 2))
    ]
    + [(X4, a(4, 3, 2, 2), b) for b in (a(3), a(1), a(4, 1))]
    + [(X4, w) for w in (a(4, 2, 2, 2), a(4, 3, 7, 2), a(4, 3, 2))]
    + [(X4[0], a(4, 3, 2, 2)), (X4, a(6, 1, 2, 2), None, 1, 0, False, {"groups": 3})]
    + [
        (X4, a(n, m, 2, 2), None, 1, 0, True, {"groups": g}) for n, m, g in ((4, 1, 3), (3, 1, 3), (6, 3, 3), (2, 3, 2))
    ],
    "deconvolution_2d": [
        (X4, a(3, 4, 2, 3), b, stride, pad) for b in (None, a(4)) for stride in (1, (2, 1), 2) for pad in (0, (1, 1))
    ]
    + [(X4, a(3, 4, 2, 3), None, 2, 0, size) for size in ((12, 11), (13, 11), (13, 12), (11, 11), (12, 13), (14, 14))]
    + [(X4, a(2, 4, 2, 2)), (X4, a(3, 4, 2, 2), a(3))],
    "local_convolution_2d": [(a(2, 3, 4, 4), a(5, 3, 3, 3, 2, 2), b) for b in (None, a(5, 3, 3))]
    + [(a(2, 3, 5, 4), a(5, 2, 3, 3, 3, 2), None, (2, 1)), (a(2, 3, 4, 4), a(5, 3, 3, 2, 2, 2))],
    "depthwise_convolution_2d": [(X4, a(2, 3, 2, 2), b) for b in (None, a(6), a(3))] + [(X4, a(2, 2, 2, 2))],
    "dilated_convolution_2d": [(X4, a(4, 3, 2, 2), None, 1, 0, d) for d in (1, 2, (1, 3), 5, 6)],
    "accuracy": [(a(4, 3), t) for t in LABELS]
    + [(a(4, 3), t, -1) for t in LABELS]
    + [(a(4, 3, 2), i(4, 2)), (a(4, 3, 2), i(4, 2), 1), (a(4, 3, 1, 1), i(4)), (a(4, 3, 2), i(4)), (a(4), i(4))],
    "binary_accuracy": [(a(4, 2), t) for t in (i(4, 2, n=2), i(4, n=2), i(4, 2, dtype="f"), i(4, 2) - 1)]
    + [(a(2, 2), t) for t in (np.full((2, 2), -1, "i"), ONE_COUNTS)],
    "r2_score": [(a(5, 2), a(5, 2, seed=2)), (a(5, 2), a(5)), (a(5, 2), a(5, 2, seed=2), None, "raw_values")]
    + [(a(3), np.ones(3, "f")), (np.ones(3, "f"), np.ones(3, "f")), (a(3), a(3, seed=4), np.ones(3, "f"))],
    "precision": [
        (a(6, 3), i(6)),
        (a(6, 3), i(6), 1),
        (a(6, 3), i(6), 1, 1),
        (a(6, 3), i(6, 1)),
        (a(6, 3), i(6), 1, 5),
    ],
    "recall": [(a(6, 3), i(6)), (a(6, 3), i(6), 1), (a(6, 3), i(6), 1, 1), (a(6, 3), i(6), None, 2)],
    "f1_score": [(a(6, 3), i(6)), (a(6, 3), i(6), 1), (a(6, 3), i(6), 1, 1), (a(6, 3), i(6), 1, 2, 0.5)],
    "classification_summary": [
        (a(6, 3), i(6), n, beta, label) for n in (None, 3, 4) for beta in (1.0, 2.0) for label in (-1, 1)
    ]
    + [(a(6, 3, 2), i(6, 2)), (a(6, 3), i(6, 2)), (a(6, 3), i(5))],
    "resize_images": [(X4, size) for size in ((3, 3), (6, 5), (1, 1), (12, 1), (1, 9))]
    + [(X4, (4, 7), {"mode": mode}) for mode in ("bilinear", "nearest", "cubic")]
    + [(X4, (4, 7), {"align_corners": corners}) for corners in (True, False)],
    "spatial_transformer_grid": [
        (a(2, 2, 3), (3, 4)),
        (a(2, 2, 3), (1, 4)),
        (a(2, 3, 2), (3, 4)),
        (a(2, 2, 3), (2, 1)),
    ],
    "spatial_transformer_sampler": [
        (X4, a(2, 2, 4, 3) * 1.3),
        (X4, a(2, 2, 4)),
        (X4, a(1, 2, 4, 3)),
        (X4, a(2, 3, 4, 3)),
        (X4, a(2, 2, 4, 3, dtype="d")),
    ],
    "depth2space": [(a(2, 12, 2, 3), 2), (a(2, 12, 2, 3), 1), (a(1, 18, 2, 1), 3), (a(2, 6, 2, 3), 2)],
    "space2depth": [(a(2, 3, 4, 6), 2), (a(2, 3, 4, 6), 1), (a(1, 2, 3, 9), 3), (a(2, 3, 5, 6), 2)],
    "im2col": [(X4, *args) for args in ((2,), (2, 2), ((3, 2), 1, 1), (2, 3, 0, True), (2, 1, (1, 0), False, 2), (7,))],
    "softmax_cross_entropy": [(a(4, 3), t) for t in (*LABELS, i(4, 3))]
    + [(a(4, 3), i(4), {"class_weight": w}) for w in (np.array([1, 2, 3], "f"), np.ones((3, 1), "f"), np.ones(3, "i"))]
    + [(a(4, 3), i(4), {"reduce": way}) for way in ("mean", "no", "sum")]
    + [(a(4, 3, 2), i(4, 2)), (a(4, 3, 2), i(4)), (a(4, 3, 2), i(2, 4)), (a(4, 3), i(4), {"normalize": False})]
    + [(a(4, 3), LABELS[1], {"ignore_label": n}) for n in (-1, 0, 2)]
    + [(a(n, 3), i(n), {"normalize": way}) for n in (1, 2) for way in (True, False)],
    "sigmoid_cross_entropy": [(a(4, 2), t) for t in (i(4, 2, n=2), i(4, n=2), i(4, 2, dtype="f"), i(4, 2) - 1)]
    + [(a(4, 2), i(4, 2) - 1, normalize, way) for normalize in (True, False) for way in ("mean", "no", "sum")]
    + [(a(2, 2), t, normalize) for t in (np.full((2, 2), -1, "i"), ONE_COUNTS) for normalize in (True, False)]
    + [(a(n, 2), i(n, 2, n=2), normalize) for n in (1, 2) for normalize in (True, False)],
    "hinge": [(a(4, 3), i(4), norm, way) for norm in ("L1", "L2", "L3") for way in ("mean", "no", "sum")]
    + [(a(4, 3), t) for t in (i(3), i(4, 1), i(4, dtype="f"))]
    + [(a(4, 3, 1), i(4)), (a(4), i(4))],
    "huber_loss": [(a(4, 3), a(4, 3, seed=1), d, *w) for d in (0.1, 0.5, 2) for w in ((), ("no",), ("sum",))]
    + [(a(4, 3), a(4, 1), 1.0), (a(4), a(4, seed=3), 1.0), (np.array([[0.5, -0.5]], "f"), np.zeros((1, 2), "f"), 0.5)],
    "mean_squared_error": [(a(4, 3), a(4, 3, seed=1)), (a(4, 3), a(3)), (a(4), a(4, dtype="d")), (i(4), i(4))],
    "mean_absolute_error": [(a(4, 3), a(4, 3, seed=1)), (a(4, 3), a(3)), (a(4), a(4, dtype="d")), (i(4), i(4))],
    "add": [(a(2), a(2, seed=1), a(2, seed=2)), (a(2),), (a(2), 3), (a(2), a(2), a(2, dtype="d"))],
    "maximum": [(a(3), a(3, seed=1)), (a(3), a(3)), (a(3), a(3, dtype="d")), (a(3, 2), a(2))],
    "minimum": [(a(3), a(3, seed=1)), (a(3), a(3)), (a(3), a(3, dtype="d")), (a(3, 2), a(2))],
    "clip": [(a(5), *args) for args in ((-0.5, 0.5), (0.5, -0.5), (0.3, 0.3), (None, 0.2), (0.2, None), (None, None))]
    + [(np.array([0.0, 0.25, 0.5, 1.0], "f"), 0.25, 0.5)],
    "bias": [(a(2, 3, 4), y, axis) for y, axis in ((a(3), 1), (a(3, 4), 1), (a(2), 0), (a(4), 2), (a(4), 1))],
    "scale": [(a(2, 3, 4), y, axis) for y, axis in ((a(3), 1), (a(3, 4), 1), (a(2), 0), (a(4), 2), (a(4), 1))],
    "linear_interpolate": [(a(3), a(3, seed=1), a(3, seed=2)), (a(3), a(3), a(2)), (a(3), a(3, dtype="d"), a(3))],
    "matmul": [
        (a(2, 3), a(3, 4)),
        (a(3, 2), a(3, 4), True),
        (a(2, 3), a(4, 3), False, True),
        (a(3), a(3)),
        (a(2, 3), a(3)),
    ]
    + [(a(5, 2, 3), a(5, 3, 4)), (a(5, 3, 2), a(5, 4, 3), True, True), (a(2, 3), a(2, 3)), (a(3), a(3, 2))],
    "batch_matmul": [(a(2, 3, 4), a(2, 4, 5)), (a(2, 3), a(2, 3), True), (a(2, 3), a(2, 3)), (a(2), a(2))]
    + [(a(2, 4, 3), a(2, 5, 4), True, True), (a(2, 3, 4, 1), a(2, 4, 1)), (a(2, 3), a(2, 3), False, True)],
    "batch_l2_norm_squared": [(a(2, 3),), (a(2, 3, 4),), (a(2),)],
    "tensordot": [(a(2, 3, 4), a(3, 4, 5), n) for n in (2, 1, 0, ([1, 2], [0, 1]), ([2], [1]), (2, 1), ([1], [0], [1]))]
    + [(a(2, 3), a(3, 2), ((0, 1), (1, 0))), (a(2, 1), a(3, 2), ([1], [0]))],
    "polygamma": [(i(3), a(3) + 2), (np.array(1), a(3) + 2), (a(3), a(3) + 2)],
    "sum": [
        (a(2, 3, 4), axis, keep) for axis in (None, 0, -1, (0, 2), (), 3, -4, (0, 0), 1.5) for keep in (False, True)
    ],
    "average": [(a(2, 3), axis) for axis in (None, 0, -1, (0, 1), 2, (0, 0), 1.5)]
    + [
        (a(2, 3), axis, a(*shape) + 2, keep)
        for axis, shape in ((0, (2,)), (1, (3,)), (None, (2, 3)), ((0, 1), (2, 3)))
        for keep in (False, True)
    ]
    + [(a(2, 3), 0, a(3)), (a(2, 3), (1,), a(3) + 2)],
    "prod": [(a(2, 3, 4), axis, keep) for axis in (None, 0, -1, (0, 2), 3, (0, 0)) for keep in (False, True)],
    "logsumexp": [(a(2, 3, 4), axis) for axis in (None, 0, -1, (0, 2), 3, -4, (0, 0), (1, -2))],
    "max": [(a(2, 3, 4), axis, keep) for axis in (None, 0, -1, (0, 2), 3, (0, 0)) for keep in (False, True)],
    "min": [(a(2, 3, 4), axis, keep) for axis in (None, 0, -1, (0, 2), 3, (0, 0)) for keep in (False, True)],
    "cumsum": [(a(2, 3), axis) for axis in (None, 0, 1, -1, 2, -3)],
    "cumprod": [(a(2, 3), axis) for axis in (None, 0, 1, -1, 2, -3)],
    "contrastive": [
        *[(a(4, 3), a(4, 3, seed=1), i(4, n=2), m, *w) for m in (0, -1, 0.1, 2) for w in ((), ("no",), ("sum",))],
        (a(4), a(4), i(4)),
        (a(0, 3), a(0, 3), i(0)),
        (a(4, 3), a(4, 3), i(3)),
        (a(4, 3), a(4, 3), i(4, 1)),
        (a(4, 3), a(3, 3), i(4)),
        (a(4, 3), a(4, 3, dtype="d"), i(4)),
    ],
    "triplet": [
        *[(a(4, 3), a(4, 3, seed=1), a(4, 3, seed=2), m, *w) for m in (0, -1, 0.1, 2) for w in ((), ("no",), ("sum",))],
        (a(0, 3), a(0, 3), a(0, 3)),
        (a(4, 3, 2), a(4, 3, 2, seed=1), a(4, 3, 2, seed=2), 0.5, "no"),
        (a(4, 3), a(4, 2), a(4, 3)),
    ],
    "cross_covariance": [(a(5, 3), a(5, 2), *w) for w in ((), ("no",), ("mean",))]
    + [(a(5, 3), a(4, 2)), (a(5), a(5, 2)), (a(5, 2), a(5)), (a(5, 3, 1), a(5, 2)), (a(5, 3), a(5, 2, dtype="d"))],
    "decov": [(a(5, 3), *w) for w in ((), ("no",), ("mean",))] + [(a(5),), (a(5, 3, 1),), (i(5, 3),)],
    "gaussian_kl_divergence": [(a(5, 3), a(5, 3, seed=1), *w) for w in ((), ("no",), ("mean",), ("max",))],
    "bernoulli_nll": [(a(5, 3), a(5, 3, seed=1), *w) for w in ((), ("no",), ("mean",), ("max",))],
    "gaussian_nll": [(a(5, 3), a(5, 3, seed=1), a(5, 3, seed=2), *w) for w in ((), ("no",), ("mean",), ("max",))],
    "layer_normalization": [(a(4, 3), a(3), a(3, seed=1), *w) for w in ((), (0.1,))] + [(a(4, 3, 2), a(6), a(6))],
    "group_normalization": [(a(2, 6, 2), n, a(6), a(6, seed=1), *w) for n in (1, 2, 3, 6, 4, 0) for w in ((), (0.5,))],
    **{
        f"fixed_batch_{kind}": [
            (a(4, 3, 2), a(3), a(3, seed=1), a(3, seed=2), a(3, seed=3) ** 2, *w) for w in ((), (0.1,))
        ]
        for kind in ("normalization", "renormalization")
    },
    "local_response_normalization": [
        (a(2, 7, 3), *w) for w in ((), (3,), (5, 1), (2, 2.0, 0.1), (3, 2, 0.1, 0.5), (1,))
    ],
    "normalize": [(a(2, 3, 4), *w) for w in ((), (0.5,), (1e-5, 0), (1e-5, (1, 2)), (0.1, 2))]
    + [(np.zeros((2, 3), "f"),)],
    "max_pooling_2d": pooled(2, (False,), (True,)),
    "max_pooling_nd": pooled(1) + pooled(3, (False,)),
    "max_pooling_3d": pooled(3, (False,), (True,)),
    "average_pooling_3d": [call for call in pooled(3) if call[0].size],
    "average_pooling_2d": [call for call in pooled(2) if call[0].size],
    "average_pooling_nd": pooled(1, (0,), (None,), (1,), (-1,)) + pooled(3),
    "unpooling_2d": [
        (a(2, 3, 4, 3), k, s, p, size, cover)
        for k, s, p, size in (
            (2, None, 0, None),
            (3, 2, 1, None),
            ((2, 3), 1, 0, (5, 5)),
            (2, 2, 0, (7, 6)),
            (2, 2, 0, (9, 6)),
        )
        for cover in (True, False)
    ],
    "upsampling_2d": [
        (a(1, 1, 2, 2), np.array([[[[0, 1], [2, 3]]]]), 2),
        (a(1, 1, 2, 2), np.zeros((1, 1, 2, 1), "i"), 2),
    ],
    "spatial_pyramid_pooling_2d": [(a(2, 3, 9, 8), n, "max") for n in (1, 2, 3)] + [(a(2, 3, 9, 8), 2, "mean")],
    "lstm": [(a(3, 2), a(3, 8)), (a(3, 2), a(2, 8)), (a(2, 2), a(3, 8)), (a(3, 3), a(3, 8)), (a(3, 2), a(3, 7))],
    "slstm": [(a(3, 2), a(3, 2, seed=1), a(3, 8), a(3, 8, seed=1)), (a(3, 2), a(2, 2), a(3, 8), a(3, 8))],
    "tree_lstm": [(a(3, 2), a(3, 10)[:, :8]), (a(3, 2), a(3, 2, seed=1), a(3, 10)), (a(3, 2), a(3, 2), a(3, 8))],
    "roi_pooling_2d": [
        (X4, ROIS, h, w, scale) for h, w, scale in ((2, 2, 1.0), (3, 1, 0.5), (0, 2, 1.0), (2, 0, 1.0), (2, 2, 0.0))
    ],
    "roi_max_pooling_2d": roi(),
    "roi_average_pooling_2d": roi(),
    "roi_max_align_2d": roi((), (1,), ((2, 1),)) + [(X4, ROIS, 2, 1.0, n) for n in (0, (1, 0), (0, 1), None)],
    "roi_average_align_2d": roi((), (1,), ((2, 1),)) + [(X4, ROIS, 2, 1.0, n) for n in (0, (1, 0), (0, 1), None)],
    "connectionist_temporal_classification": [
        (SEVERAL_T, i(2, 2, n=2) + 1, blank)
        for SEVERAL_T in ([a(2, 4), a(2, 4, seed=1), a(2, 4, seed=2)],)
        for blank in (0, 3, 4, -1, 1.0)
    ]
    + [([a(2, 4)] * 4, np.array([[0, 2], [1, 0]], "i"), blank) for blank in (3, 0, 2)]
    + [
        ([a(2, 3)] * 4, labels, 0)
        for labels in (
            np.array([[1, 2], [2, 2]], "i"),
            np.array([[1, 3], [1, 1]], "i"),
            np.array([[1], [2]], "i"),
        )
    ],
    "crf1d": [(a(4, 4), SEVERAL, [i(3), i(2), i(2)]), (a(3, 3), SEVERAL, [i(3), i(2), i(2)])]
    + [(a(4, 4), SEVERAL, [i(3), i(2), i(2)], way) for way in ("mean", "no", "sum")],
    "discriminative_margin_based_clustering_loss": [
        (a(3, 3, 2, 2), i(3, 2, 2, n=4), *args)
        for args in (
            (0.1, 0.5, 3),
            (0.1, 0.5, 3, 2),
            (0.1, 0.5, 3, 3),
            (0.1, 0.5, 0),
            (0.1, 0.5, 2),
            (0.1, 2.0, 3, 1, 2.0, 3.0, 4.0),
        )
    ],
}


def helper(name):
    wanted = {**OTHER_NAMES, "max": "amax", "min": "amin"}.get(name, name)
    return next(getattr(room, wanted) for room in ROOMS if hasattr(room, wanted))


def parts(result):
    return [part for one in result for part in parts(one)] if isinstance(result, (tuple, list)) else [result]


def outcome(function, args, wrap):
    """The arrays that a call gives, and the gradients of its float arguments; or that it raises."""
    given, keywords = list(args), {}
    if isinstance(given[-1], dict):
        keywords = given.pop()
    leaves = []

    def ready(value):
        if isinstance(value, list) and value and isinstance(value[0], np.ndarray):
            return [ready(one) for one in value]
        if not isinstance(value, np.ndarray):
            return value
        wrapped = wrap(value.copy())
        if value.dtype.kind == "f":
            leaves.append(wrapped)
        return wrapped

    try:
        results = parts(function(*map(ready, given), **keywords))
        total = None
        for number, part in enumerate(results):
            if getattr(part, "requires_grad", False) and "float" in str(part.dtype):
                each = (
                    (part * part * (number + 1.5)).sum()
                    if isinstance(part, torch.Tensor)
                    else F.sum(part * part * (number + 1.5))
                )
                total = each if total is None else total + each
        if total is not None and getattr(total, "grad_fn", getattr(total, "creator", None)) is not None:
            total.backward()
    except Exception:
        return None
    return [plain(part) for part in results], [plain(leaf.grad) for leaf in leaves]


def plain(value):
    if value is None:
        return None
    return np.asarray(value.detach() if isinstance(value, torch.Tensor) else getattr(value, "array", value))


def tensor(value):
    made = torch.as_tensor(value)
    return made.requires_grad_() if made.is_floating_point() else made


def variable(value):
    return chainer.Variable(value) if value.dtype.kind == "f" else value


@pytest.mark.parametrize("name", CALLS)
def test_calls_at_the_borders(name):
    check(name, helper(name))


OWN_ARGUMENTS = ("pad", "hinge")
SHORT = {
    name: getattr(room, name)
    for room in (functions, pooling, spreading)
    for name in CALLS
    if hasattr(room, name) and name not in OWN_ARGUMENTS
}


def torch_takes(args):
    """Whether short forms take a call: not more axes than torch pools, no label that is neither ignored nor there."""
    ignored = args[-1].get("ignore_label", -1) if isinstance(args[-1], dict) else -1
    return np.ndim(args[0][0]) <= 4 and (ignored == -1 or -1 not in args[1])


@pytest.mark.parametrize("name", SHORT)
def test_calls_of_short_forms(name):
    """What Chainer refuses they may take."""
    check(name, SHORT[name], torch_takes)


def cut(args, axis):
    """A call with arrays of which one axis is of length 1, and with lists of one array."""

    def one(value):
        if isinstance(value, list) and value and isinstance(value[0], np.ndarray):
            return [one(value[0])]
        if isinstance(value, np.ndarray) and value.ndim:
            return value[:1] if axis == 0 else value[..., :1]
        return value

    return tuple(map(one, args))


# where labels have no path in one step Chainer's gradient is that of its number for infinity
CUT = [name for name in CALLS if name != "connectionist_temporal_classification"]


@pytest.mark.parametrize("name", CUT)
def test_calls_with_single_rows_and_columns(name):
    """Of one row the second one is not there, and its mean is its sum. What Chainer refuses is not asked."""
    calls = [cut(args, axis) for args in CALLS[name][:4] for axis in (0, -1)]
    check(name, helper(name), lambda args: True, calls)


@pytest.mark.parametrize("name", SHORT)
def test_short_forms_with_single_rows_and_columns(name):
    check(name, SHORT[name], torch_takes, [cut(args, axis) for args in CALLS[name][:4] for axis in (0, -1)])


def check(name, function, takes=None, calls=None):
    wrong = []
    for number, args in enumerate(CALLS[name] if calls is None else calls):
        with warnings.catch_warnings(), np.errstate(all="ignore"), chainer.using_config("train", False):
            warnings.simplefilter("ignore")
            theirs = outcome(getattr(F, name), args, variable)
            if takes is not None and (theirs is None or not takes(args)):
                continue
            ours = outcome(function, args, tensor)
        try:
            same(theirs, ours)
        except AssertionError as error:
            shown = [getattr(one, "shape", one) if not isinstance(one, list) else "list" for one in args]
            wrong.append(f"{number} {shown}: {str(error).strip()[:300]}")
    assert not wrong, "\n".join(wrong)


def same(theirs, ours):
    assert (theirs is None) == (ours is None), f"raises: {theirs is None} there, {ours is None} here"
    if theirs is None:
        return
    for what, there, here in zip(("results", "gradients"), theirs, ours, strict=True):
        assert len(there) == len(here), what
        for one, other in zip(there, here, strict=True):
            if one is None or other is None:
                assert what == "gradients" and not np.any(one if other is None else other), "a gradient is missing"
                continue
            assert one.shape == other.shape, (what, one.shape, other.shape)
            np.testing.assert_allclose(other, one, rtol=2e-4, atol=2e-5, err_msg=what)
