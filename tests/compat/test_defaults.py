"""What helpers do where a call leaves their options out, and at the borders of their conditions: beside Chainer's."""

import chainer
import chainer.distributions as D
import chainer.functions as F
import chainer.links as L
import numpy as np
import pytest
import torch
from chainer import gradient_check as theirs_check

from chainer2torch.compat.chainercv import image_transforms, vision_scores
from chainer2torch.compat.distributions.positive_distributions import ParetoDistribution
from chainer2torch.compat.functions import image_functions, math_reduce
from chainer2torch.compat.links import link_tree
from chainer2torch.compat.links.classifier import Classifier
from chainer2torch.compat.serializers import serializers
from chainer2torch.compat.testing import gradient_check
from chainer2torch.compat.utils import sparse


@pytest.mark.parametrize("module", [theirs_check, gradient_check])
def test_numerical_grad_looks_for_no_kinks_by_itself(module):
    x = np.zeros(3)
    (found,) = module.numerical_grad(lambda: (np.abs(x),), (x,), (np.ones(3),))
    np.testing.assert_allclose(np.asarray(found), 0, atol=1e-8)
    with pytest.raises(Exception, match="(?i)non-?differentiable|parabola|singular"):
        module.numerical_grad(lambda: (np.abs(x),), (x,), (np.ones(3),), detect_nondifferentiable=True)


@pytest.mark.parametrize("include_uninit", [True, False])
def test_params_of_lazy_layers(include_uninit):
    net = torch.nn.Sequential(torch.nn.LazyLinear(2), torch.nn.Linear(2, 2))
    theirs = chainer.Sequential(L.Linear(None, 2), L.Linear(2, 2))
    expected = sum(1 for p in theirs.params(include_uninit) if "W" in str(p.name))
    found = [p for p in link_tree.params(net, include_uninit) if getattr(p, "ndim", 2) == 2 or link_tree.is_lazy(p)]
    weights = [p for p in found if p is net[0].weight or p is net[1].weight]
    assert len(weights) == expected == 1 + include_uninit


def test_tiles_stand_on_black():
    tiled = image_transforms.tile_images(np.full((3, 1, 2, 2), 7.0, np.float32), 2)
    assert tiled.shape == (1, 8, 8) and sorted(set(tiled.ravel().tolist())) == [0.0, 7.0]
    assert (tiled == 7).sum() == 3 * 4 and not tiled[:, 4:, 4:].any()


def test_detections_count_from_half_an_overlap():
    """One box overlaps by 0.4, the other by 0.6: by default the second is found, the first is not."""
    truth = [np.array([[0, 0, 10, 10], [20, 20, 30, 30]], np.float32)]
    boxes = [np.array([[0, 0, 10, 4], [20, 20, 30, 26]], np.float32)]
    labels, scores = [np.zeros(2, np.int32)], [np.array([0.9, 0.8], np.float32)]
    by_default = vision_scores.eval_detection_voc(boxes, labels, scores, truth, labels)["map"]
    half = vision_scores.eval_detection_voc(boxes, labels, scores, truth, labels, iou_thresh=0.5)["map"]
    lower = vision_scores.eval_detection_voc(boxes, labels, scores, truth, labels, iou_thresh=0.3)["map"]
    assert by_default == half == 0.25 and lower == 1


def test_the_last_argument_of_a_classifier_is_the_label():
    rows = np.arange(12, dtype="f").reshape(4, 3)
    labels = np.array([0, 2, 1, 1], np.int32)
    theirs = L.Classifier(lambda a, b: a + b * 2)
    ours = Classifier(lambda a, b: a + b * 2)
    loss = ours(torch.as_tensor(rows), torch.as_tensor(rows[::-1].copy()), torch.as_tensor(labels))
    np.testing.assert_allclose(float(loss), float(theirs(rows, rows[::-1], labels).array), rtol=1e-6)


def test_divergence_of_distributions_with_the_same_border():
    values = [
        np.array([1.5, 2.0], "f"),
        np.array([2.0, 3.0], "f"),
        np.array([1.5, 2.5], "f"),
        np.array([1.0, 2.0], "f"),
    ]
    theirs = chainer.kl_divergence(D.Pareto(values[0], values[1]), D.Pareto(values[2], values[3])).array
    made = [torch.as_tensor(v) for v in values]
    ours = ParetoDistribution(made[0], made[1])._kl(ParetoDistribution(made[2], made[3]))
    np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-5)
    assert np.isfinite(theirs[0]) and np.isinf(theirs[1])


@pytest.mark.parametrize(
    ("shape", "dtype"), [((2, 2, 3), "f"), ((1, 2, 3, 3), "f"), ((2, 3, 3, 3), "f"), ((2, 2, 3, 3), "d")]
)
def test_grids_that_do_not_fit(shape, dtype):
    x, grid = np.ones((2, 1, 4, 4), "f"), np.zeros(shape, dtype)
    with pytest.raises(chainer.utils.type_check.InvalidType):
        F.spatial_transformer_sampler(x, grid)
    with pytest.raises(RuntimeError, match="does not fit"):
        image_functions.spatial_transformer_sampler(torch.as_tensor(x), torch.as_tensor(grid))


def test_entries_that_are_missing_raise():
    net = torch.nn.Linear(2, 2)
    with pytest.raises(Exception, match="(?i)weight|W"):
        serializers.load_entries({"b": np.zeros(2, "f")}, net)
    serializers.load_entries({"b": np.ones(2, "f")}, net, strict=False)
    assert net.bias.tolist() == [1, 1]


def test_an_average_over_no_axes():
    x, weights = np.arange(6, dtype="f").reshape(2, 3), np.array(2.0, "f")
    theirs = F.average(x, axis=(), weights=weights).array
    ours = math_reduce.average(torch.as_tensor(x), (), torch.as_tensor(weights))
    np.testing.assert_allclose(ours.numpy(), theirs)


def test_entries_of_a_sparse_matrix_that_fall_are_in_no_order():
    order = [torch.tensor([0, 1, 0]), torch.tensor([0, 0, 1])]
    assert not sparse._is_sorted(*order) and sparse._is_sorted(torch.tensor([0, 0, 1, -1]), torch.tensor([0, 1, 0, -1]))
