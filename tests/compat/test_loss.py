"""Losses for classification and regression against Chainer."""

import chainer
import chainer.functions as F
import numpy as np
import pytest
import torch

from chainer2torch.compat.functions import loss
from tests.support import differential as diff

RNG = np.random.RandomState(0)


def _both(name, **options):
    return (lambda *a: getattr(F, name)(*a, **options)), (lambda *a: getattr(loss, name)(*a, **options))


@pytest.mark.parametrize("shape", [(5, 4), (3, 4, 2), (2, 3, 2, 4), (1, 1), (4, 1)])
@pytest.mark.parametrize("dtype", ["i4", "i8", "i1"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"normalize": False},
        {"ignore_label": 0},
        {"ignore_label": 255, "normalize": False},
        {"reduce": "no"},
        {"reduce": "no", "ignore_label": 1},
        {"cache_score": False},
        {"enable_double_backprop": True},
        {"enable_double_backprop": True, "reduce": "no", "ignore_label": 2},
        {"enable_double_backprop": True, "normalize": False},
    ],
)
def test_softmax_cross_entropy(shape, dtype, options):
    x = RNG.randn(*shape) * 3
    t = RNG.randint(-1 if options.get("ignore_label", -1) == -1 else 0, shape[1], shape[:1] + shape[2:]).astype(dtype)
    diff.check(
        *_both("softmax_cross_entropy", **options), [x, t], double_backward=options.get("enable_double_backprop", False)
    )


@pytest.mark.parametrize("shape", [(6, 4), (3, 4, 2)])
@pytest.mark.parametrize("options", [{}, {"normalize": False}, {"reduce": "no"}, {"enable_double_backprop": True}])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_softmax_cross_entropy_class_weight(shape, options, dtype):
    weight = RNG.rand(4).astype(dtype)
    t = RNG.randint(-1, 4, shape[:1] + shape[2:]).astype("i")
    diff.check(
        lambda x, t: F.softmax_cross_entropy(x, t, class_weight=weight, **options),
        lambda x, t: loss.softmax_cross_entropy(x, t, class_weight=torch.tensor(weight), **options),
        [RNG.randn(*shape), t],
        dtypes=[dtype],
    )
    # A weight of another float dtype does not change the dtype of the loss (with double backprop Chainer refuses it).
    if not options.get("enable_double_backprop"):
        diff.check(
            lambda x, t: F.softmax_cross_entropy(x, t, class_weight=weight, **options),
            lambda x, t: loss.softmax_cross_entropy(x, t, class_weight=weight, **options),
            [RNG.randn(*shape), t],
            dtypes=[np.float32],
        )


@pytest.mark.parametrize("options", [{}, {"normalize": False}, {"reduce": "no"}, {"enable_double_backprop": True}])
def test_softmax_cross_entropy_all_ignored_and_empty(options):
    both = _both("softmax_cross_entropy", **options)
    diff.check(*both, [RNG.randn(3, 4), np.full(3, -1, "i")])
    chainers, ours = diff.run(*both, [np.zeros((0, 4), "f"), np.zeros(0, "i")])
    diff.assert_same(ours, chainers)
    assert ours.size == 0 or ours == 0


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"soft_target_loss": "kl-divergence"},
        {"reduce": "no"},
        {"ignore_label": 0},
        {"reduce": "no", "soft_target_loss": "kl-divergence"},
    ],
)
@pytest.mark.parametrize("shape", [(5, 4), (3, 4, 2)])
@pytest.mark.parametrize("sums_to_one", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_softmax_cross_entropy_soft_targets(options, shape, sums_to_one, dtype):
    t = RNG.rand(*shape).astype(dtype)
    t[0, 1] = 0
    if sums_to_one:
        t /= t.sum(axis=1, keepdims=True)
    # The targets are no inputs here: Chainer gives them no gradient (see the next test).
    diff.check(
        lambda x: F.softmax_cross_entropy(x, t, **options),
        lambda x: loss.softmax_cross_entropy(x, torch.tensor(t), **options),
        [RNG.randn(*shape)],
        dtypes=[dtype],
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_softmax_cross_entropy_ignores_soft_targets_in_the_gradient_alone(dtype):
    t = np.eye(4, dtype=dtype)[[0, 2, 3]]  # one-hot targets, and their ones are to be ignored
    diff.check(
        lambda x: F.softmax_cross_entropy(x, t, ignore_label=1),
        lambda x: loss.softmax_cross_entropy(x, torch.tensor(t), ignore_label=1),
        [RNG.randn(3, 4)],
        dtypes=[dtype],
    )


def test_softmax_cross_entropy_gives_soft_targets_no_gradient():
    x, t = torch.randn(3, 4, requires_grad=True), torch.rand(3, 4, requires_grad=True)
    assert torch.autograd.grad(loss.softmax_cross_entropy(x, t), [x, t], allow_unused=True)[1] is None


def test_softmax_cross_entropy_negative_labels_count_from_the_end():
    both = _both("softmax_cross_entropy")
    diff.check(*both, [RNG.randn(4, 5), np.array([-2, 0, -5, -1], "i")])
    diff.check(*_both("softmax_cross_entropy", ignore_label=3), [RNG.randn(4, 5), np.array([-2, 0, 3, -1], "i")])
    diff.check(
        *_both("softmax_cross_entropy", enable_double_backprop=True), [RNG.randn(4, 5), np.array([-2, 0, 9, -1], "i")]
    )


@pytest.mark.parametrize(
    "x, t",
    [
        ((3, 4), [0, 1, 4]),
        ((3, 4), [0, 1, -6]),
        ((3, 4), [0, 1]),
        ((3, 4), [[0], [1], [2]]),
        ((3, 4, 2), [0, 1, 2]),
        ((3, 4), [0.0, 1.0, 2.0]),
        ((3, 4), [[0.5, 0.5]] * 3),
    ],
)
def test_softmax_cross_entropy_refuses(x, t):
    t = np.array(t)
    t = t.astype("i") if t.dtype.kind == "i" else t.astype("f")
    diff.check_raises(*_both("softmax_cross_entropy"), [np.zeros(x, "f"), t])


@pytest.mark.parametrize(
    "options",
    [
        {"reduce": "sum"},
        {"soft_target_loss": "l2"},
        {"class_weight": np.ones((1, 4), "f")},
        {"class_weight": np.ones(4, "i")},
    ],
)
def test_softmax_cross_entropy_refuses_options(options):
    diff.check_raises(*_both("softmax_cross_entropy", **options), [np.zeros((3, 4), "f"), np.zeros(3, "i")])


@pytest.mark.parametrize("shape", [(5,), (5, 3), (2, 3, 4), (1, 1), (0, 3), ()])
@pytest.mark.parametrize("options", [{}, {"normalize": False}, {"reduce": "no"}])
def test_sigmoid_cross_entropy(shape, options):
    if shape == ():  # Chainer asks for a batch size that is not there, and its gradient fails
        if options.get("normalize") is not False:
            diff.check(*_both("sigmoid_cross_entropy", **options), [np.array(0.3), np.array(1, "i")], grad=False)
        return
    t = np.asarray(RNG.randint(-1, 2, shape)).astype("i")
    both = _both("sigmoid_cross_entropy", **options)
    diff.check(*both, [np.asarray(RNG.randn(*shape) * 10), t], double_backward=0 not in shape)
    diff.check(*both, [np.zeros(shape), t])
    diff.check(*both, [np.asarray(RNG.randn(*shape)), np.full_like(t, -1)])
    diff.check(*both, [np.asarray(RNG.randn(*shape)), np.full_like(t, 2)])


def test_sigmoid_cross_entropy_refuses():
    x = np.zeros((3, 1), "f")
    diff.check_raises(*_both("sigmoid_cross_entropy"), [x, np.zeros(3, "i")])
    diff.check_raises(*_both("sigmoid_cross_entropy"), [x, np.zeros((3, 1), "f")])
    diff.check_raises(*_both("sigmoid_cross_entropy", reduce="sum"), [x, np.zeros((3, 1), "i")])


@pytest.mark.parametrize("name", ["mean_squared_error", "mean_absolute_error", "squared_error", "absolute_error"])
class TestErrors:
    @pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4), (1, 1), ()])
    def test_values(self, name, shape):
        a = np.asarray(RNG.randn(*shape))
        diff.check(*_both(name), [a, np.asarray(RNG.randn(*shape))], double_backward=True)
        diff.check(*_both(name), [a, a.copy()])

    def test_empty(self, name):
        with np.errstate(all="ignore"):
            chainers, ours = diff.run(*_both(name), [np.zeros((0, 3), "f"), np.zeros((0, 3), "f")])
        diff.assert_same(ours, chainers)

    @pytest.mark.parametrize(
        "a, b",
        [
            ("f32[3,1]", "f32[3]"),
            ("f32[3,4]", "f32[4]"),
            ("f32[3]", "f64[3]"),
            ("i32[3]", "i32[3]"),
            ("f32[3]", "i32[3]"),
        ],
    )
    def test_refuses(self, name, a, b):
        diff.check_raises(*_both(name), [a, b])


def test_squared_difference_is_squared_error():
    diff.check(*_both("squared_difference"), ["f32[3,4]", "f32[3,4]"], double_backward=True)
    diff.check_raises(*_both("squared_difference"), ["f32[3,4]", "f32[4]"])


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4), (1, 1), (0, 2)])
@pytest.mark.parametrize("delta", [0.3, 1, 2.5])
@pytest.mark.parametrize("reduce", ["sum_along_second_axis", "no"])
def test_huber_loss(shape, delta, reduce):
    both = (lambda x, t: F.huber_loss(x, t, delta, reduce)), (lambda x, t: loss.huber_loss(x, t, delta, reduce))
    diff.check(*both, [RNG.randn(*shape) * 2, RNG.randn(*shape)], double_backward=True)
    edges = np.resize([-delta, delta, 0.0, -5.0, 5.0], shape)
    diff.check(*both, [edges, np.zeros(shape)])


def test_huber_loss_refuses():
    both = (lambda x, t: F.huber_loss(x, t, 1.0)), (lambda x, t: loss.huber_loss(x, t, 1.0))
    for inputs in (["f32[3,4]", "f32[3,1]"], ["f32[3,4]", "f64[3,4]"], ["f32[3]", "f32[3]"]):
        diff.check_raises(*both, inputs)
    diff.check_raises(*_both("huber_loss", delta=1.0, reduce="sum"), ["f32[3,4]", "f32[3,4]"])


@pytest.mark.parametrize("norm", ["L1", "L2"])
@pytest.mark.parametrize("reduce", ["mean", "no"])
@pytest.mark.parametrize("dtype", ["i4", "i8"])
def test_hinge(norm, reduce, dtype):
    both = _both("hinge", norm=norm, reduce=reduce)
    for x in (RNG.randn(6, 4), RNG.randint(-2, 3, (6, 4)).astype("f")):  # the second has terms at the kink
        diff.check(*both, [x, RNG.randint(-4, 4, 6).astype(dtype)])


def test_hinge_refuses():
    x, t = np.zeros((3, 4), "f"), np.zeros(3, "i")
    diff.check_raises(*_both("hinge", norm="L3"), [x, t])
    diff.check_raises(*_both("hinge", reduce="sum"), [x, t])
    diff.check_raises(*_both("hinge"), [x, t + 4])
    diff.check_raises(*_both("hinge"), [x, t[:2]])
    diff.check_raises(*_both("hinge"), [x, t.astype("f")])


def test_float16_keeps_its_dtype():
    x, t = RNG.randn(4, 3).astype("f2"), np.array([0, 1, -1, 2], "i")
    diff.check(*_both("softmax_cross_entropy"), [x, t], dtypes=[np.float16])
    diff.check(*_both("mean_squared_error"), [x, x[::-1].copy()], dtypes=[np.float16])
    with chainer.using_config("dtype", np.float16):
        diff.check(*_both("sigmoid_cross_entropy"), [x, np.ones((4, 3), "i")], dtypes=[np.float16])
