"""Losses with parameters, tree LSTMs and composite links, against Chainer."""

import chainer
import chainer.functions as CF
import numpy as np
import pytest
import torch
from chainer import links as L

from chainer2torch.compat.links import composite_links as C
from chainer2torch.compat.links import loss_links as T
from chainer2torch.compat.links import tree_links as R
from chainer2torch.compat.serializers.serializers import load_npz
from tests.support.links import check_link, npz_of

C4, C3, X5 = "f32[3,4]", "f32[3,3]", "f32[3,5]"
TREE = ((0, 1), ((2, (3, 5)), 4))


@pytest.mark.parametrize("n", [0, 1, 2, 4])
def test_child_sum_tree_lstm(n):
    check_link(lambda: L.ChildSumTreeLSTM(5, 4), lambda: R.ChildSumTreeLSTM(5, 4), [C4] * 2 * n + [X5])


@pytest.mark.parametrize("n", [1, 2, 3])
def test_nary_tree_lstm(n):
    check_link(lambda: L.NaryTreeLSTM(5, 4, n), lambda: R.NaryTreeLSTM(5, 4, n), [C4] * 2 * n + [X5])


@pytest.mark.parametrize(
    "inputs",
    [
        [C4, C4, None, None, X5],
        [None, C4, C4, None, X5],
        [C4, None, C4, None, None],
        [None, None, C4, C4, None],
        [None, None, None, None, X5],
    ],
)
def test_trees_without_some_inputs(inputs):
    check_link(lambda: L.NaryTreeLSTM(5, 4), lambda: R.NaryTreeLSTM(5, 4), inputs)
    check_link(lambda: L.ChildSumTreeLSTM(5, 4), lambda: R.ChildSumTreeLSTM(5, 4), inputs)


def test_tree_errors():
    for m in (L, R):
        for make, args, error in (
            (lambda m: m.NaryTreeLSTM(5, 4), [None] * 5, ValueError),
            (lambda m: m.ChildSumTreeLSTM(5, 4), [None] * 5, ValueError),
            (lambda m: m.NaryTreeLSTM(5, 4), [None] * 3, AssertionError),
            (lambda m: m.ChildSumTreeLSTM(5, 4), [None] * 2, AssertionError),
        ):
            with pytest.raises(error):
                make(m)(*args)
        with pytest.raises(AssertionError):
            m.NaryTreeLSTM(5, 4, 0)


COMPOSITE = [
    (lambda m, f: m.Inception(3, 2, 4, 5, 2, 3, 4), "f32[2,3,6,5]"),
    (lambda m, f: m.Inception(None, 2, 4, 5, 2, 3, 4, conv_init=0.05, bias_init=0.1), "f32[2,3,6,5]"),
    (lambda m, f: m.InceptionBN(3, 2, 4, 5, 2, 3, "max", 4), "f32[2,3,6,5]"),
    (lambda m, f: m.InceptionBN(None, 2, 4, 5, 2, 3, "avg", 4), "f32[2,3,6,5]"),
    (lambda m, f: m.InceptionBN(3, 0, 4, 5, 2, 3, "max", stride=2), "f32[2,3,6,7]"),
    (
        lambda m, f: m.InceptionBN(
            3, 0, 4, 5, 2, 3, "avg", 4, stride=2, conv_init=chainer.initializers.HeNormal() if m is L else C.Zero()
        ),
        "f32[2,3,6,7]",
    ),
    (lambda m, f: m.MLPConvolution2D(3, (4, 5, 2), 3), "f32[2,3,6,5]"),
    (lambda m, f: m.MLPConvolution2D(None, (4, 2), (3, 2), 2, 1, f.tanh), "f32[2,3,6,5]"),
    (lambda m, f: m.MLPConvolution2D((4, 2), 3, bias_init=0.3, conv_init=0.2), "f32[2,3,6,5]"),
    (lambda m, f: m.LocalConvolution2D(3, 2, (5, 4), 3), "f32[2,3,5,4]"),
    (lambda m, f: m.LocalConvolution2D(None, 2, ksize=(2, 3), nobias=True), "f32[2,3,5,4]"),
    (lambda m, f: m.LocalConvolution2D(3, 2, 5, 3, initialW=0.2, initial_bias=0.1), "f32[2,3,5,5]"),
    (lambda m, f: m.DeformableConvolution2D(3, 2, 3, 1, 1, deform_initialW=0.3), "f32[2,3,6,5]"),
    (lambda m, f: m.DeformableConvolution2D(None, 2, (2, 3), 2, (1, 0), True, 0.05, None, True, 0.2), "f32[2,3,6,5]"),
]


@pytest.mark.parametrize("make,spec", COMPOSITE)
def test_composite(make, spec):
    # deformable sampling is continuous, its derivative is not: a rounding in float32 may land on another side
    dtypes = ("float64",) if "Deformable" in type(make(L, CF)).__name__ else ("float32", "float64")
    check_link(lambda: make(L, CF), lambda: make(C, torch), [spec], steps=2, dtypes=dtypes)


def test_composite_errors():
    for m in (L, C):
        with pytest.raises(NotImplementedError):
            m.InceptionBN(3, 0, 4, 5, 2, 3, "sum")
        with pytest.raises(AssertionError):
            m.InceptionBN(3, 2, 4, 5, 2, 3, "max")
        with pytest.raises(AssertionError):
            m.MLPConvolution2D(3, (), 3)
        with pytest.raises(TypeError):
            m.MLPConvolution2D(3, (2,), 3, 1, 0, None, 1)
    assert C.DeformableConvolution2D(3, 2, 3).deform_conv.W.abs().sum() == 0
    assert L.DeformableConvolution2D(3, 2, 3).deform_conv.W.array.sum() == 0


@pytest.mark.parametrize("kwargs", [{}, {"reduce": "no"}])
def test_crf(kwargs):
    xs, ys = ["f32[3,4]", "f32[3,4]", "f32[1,4]"], ["i32[3]<4", "i32[3]<4", "i32[1]<4"]
    check_link(lambda: L.CRF1d(4, 0.3), lambda: T.CRF1d(4, 0.3), [xs, ys], kwargs=kwargs)
    xs, ys = ["f32[2,4]", "f32[5,4]", "f32[1,4]", "f32[2,4]"], ["i32[2]<4", "i32[5]<4", "i32[1]<4", "i32[2]<4"]
    check_link(lambda: L.CRF1d(4), lambda: T.CRF1d(4), [xs, ys], kwargs={**kwargs, "transpose": True})


def test_crf_best_paths():
    rng = np.random.RandomState(0)
    cost = rng.randn(4, 4).astype("f")
    link, module = L.CRF1d(4, cost), T.CRF1d(4, cost)
    xs = [rng.randn(n, 4).astype("f") for n in (3, 3, 1)]
    (c_score, c_path), (t_score, t_path) = link.argmax(xs), module.argmax([torch.tensor(x) for x in xs])
    np.testing.assert_allclose(t_score.detach().numpy(), c_score.array, rtol=1e-5)
    for c, t in zip(c_path, t_path, strict=True):
        assert c.tolist() == t.tolist()
    xs = [rng.randn(n, 4).astype("f") for n in (2, 5, 1, 2)]
    c_score, c_path = link.argmax(xs, transpose=True)
    t_score, t_path = module.argmax([torch.tensor(x) for x in xs], transpose=True)
    np.testing.assert_allclose(t_score.detach().numpy(), c_score.array, rtol=1e-5)
    assert [p.tolist() for p in t_path] == [p.tolist() for p in c_path]


@pytest.mark.parametrize("tree", [TREE, (0, 1), ((((0, 1), 2), 3), 4)])
def test_hierarchical_softmax(tree):
    n = 5 if tree != (0, 1) else 2
    check_link(
        lambda: L.BinaryHierarchicalSoftmax(6, tree),
        lambda: T.BinaryHierarchicalSoftmax(6, tree),
        ["f32[7,6]", f"i32[7]<{n}"],
    )


def test_hierarchical_softmax_details():
    counts = {0: 8, 1: 5, 2: 6, 3: 4, 4: 10, 5: 1, 6: 5}
    trees = [m.BinaryHierarchicalSoftmax.create_huffman_tree(counts) for m in (L, T)]
    assert trees[0] == trees[1]
    for m in (L, T):
        with pytest.raises(ValueError):
            m.BinaryHierarchicalSoftmax.create_huffman_tree({})
        with pytest.raises(ValueError):
            m.BinaryHierarchicalSoftmax(6, (0, (1, 2, 3)))
    W = T.BinaryHierarchicalSoftmax(500, TREE).W
    assert float(W.min()) < -0.99 and float(W.max()) > 0.99 and float(W.std()) == pytest.approx(3**-0.5, rel=0.05)
    deep = 0
    for i in range(1, 1200):  # deeper than Python calls itself
        deep = (deep, i)
    assert T.BinaryHierarchicalSoftmax(2, deep).W.shape == (1199, 2)


def sampler_of(link, module, samples):
    link.sampler.sample = lambda shape: samples.copy()
    module.sampler.sample = lambda shape: torch.tensor(samples)


@pytest.mark.parametrize("reduce", ["sum", "no"])
def test_negative_sampling(reduce):
    rng = np.random.RandomState(0)
    link, module = L.NegativeSampling(5, [3, 1, 4, 2], 6), T.NegativeSampling(5, [3, 1, 4, 2], 6)
    assert module.W.abs().sum() == 0
    link.W.array[...] = rng.randn(4, 5)
    load_npz(npz_of(link), module)
    x, t = rng.randn(3, 5).astype("f"), np.array([0, -1, 3], "i")
    sampler_of(link, module, rng.randint(0, 4, (3, 7)).astype("i"))
    cx, tx = chainer.Variable(x), torch.tensor(x, requires_grad=True)
    (c, c_samples), (u, u_samples) = (
        link(cx, t, reduce=reduce, return_samples=True),
        module(tx, torch.tensor(t), reduce=reduce, return_samples=True),
    )
    np.testing.assert_allclose(u.detach().numpy(), c.array, rtol=1e-4, atol=1e-5)
    assert c_samples.tolist() == u_samples.tolist()
    link.cleargrads()
    CF.sum(c).backward()
    u.sum().backward()
    np.testing.assert_allclose(tx.grad.numpy(), cx.grad, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(module.W.grad.numpy(), link.W.grad, rtol=1e-4, atol=1e-5)


def test_black_out():
    rng = np.random.RandomState(0)
    link, module = L.BlackOut(5, [3, 1, 4, 2], 3), T.BlackOut(5, [3, 1, 4, 2], 3)
    assert np.isnan(link.W.array).all() and module.W.isnan().all()
    link.W.array[...] = rng.randn(4, 5)
    load_npz(npz_of(link), module)
    x, t = rng.randn(3, 5).astype("f"), np.array([0, 1, 3], "i")
    link.sample_data = module.sample_data = np.array([[1, 2, 3], [0, 2, 3], [0, 1, 2]], "i")
    cx, tx = chainer.Variable(x), torch.tensor(x, requires_grad=True)
    c, u = link(cx, t), module(tx, torch.tensor(t))
    link.cleargrads()
    c.backward()
    u.backward()
    assert u.item() == pytest.approx(float(c.array), rel=1e-4)
    np.testing.assert_allclose(tx.grad.numpy(), cx.grad, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(module.W.grad.numpy(), link.W.grad, rtol=1e-3, atol=1e-5)
    module.sample_data = None
    assert module(tx, torch.tensor(t)).isfinite()


@pytest.mark.parametrize("weights", [[1], [1, 2], [3, 1, 4, 0, 2], [0.1] * 7, np.arange(60) ** 0.75, [5, 1e-9, 5]])
@pytest.mark.parametrize("shape", [7, (), (3, 5), (400,)])
def test_samplers_draw_the_same_numbers(weights, shape):
    theirs, ours = chainer.utils.WalkerAlias(weights), T.WalkerAlias(weights)
    for seed in range(3):
        np.random.seed(seed)
        expected, following = theirs.sample(shape), np.random.rand()
        np.random.seed(seed)
        drawn = ours.sample(shape)
        np.testing.assert_array_equal(drawn.numpy(), expected)
        assert drawn.dtype == torch.int32 and np.random.rand() == following


def test_samplers_draw_with_the_same_probabilities():
    np.random.seed(0)
    counts = [3, 1, 4, 0, 2]
    drawn = T.NegativeSampling(5, counts, 6).sampler.sample((200, 200))
    expected = np.power(counts, 0.75) / np.power(counts, 0.75).sum()
    np.testing.assert_allclose(np.bincount(drawn.flatten().numpy(), minlength=5) / 40000, expected, atol=0.01)
    assert drawn.dtype == torch.int32 and T.WalkerAlias([1, 2]).sample(3).shape == (3,)
    assert T.WalkerAlias([1, 2]).sample((0, 3)).shape == (0, 3)
    drawn = T.BlackOut(5, counts, 6).sampler.sample(40000)
    np.testing.assert_allclose(np.bincount(drawn.numpy(), minlength=5) / 40000, np.array(counts) / 10, atol=0.01)
