"""Normalization links, against Chainer: three training steps with running statistics, then evaluation."""

import io
import warnings

import chainer
import numpy as np
import pytest
import torch
import torch.nn as nn
from chainer import links as L

from chainer2torch.compat.links import normalization_links as T
from chainer2torch.compat.links.composite_links import InceptionBN
from chainer2torch.compat.serializers.serializers import load_npz, save_npz
from tests.support.links import arrays_of, check_link, npz_of

pytestmark = pytest.mark.filterwarnings("ignore:A batch with no more", "ignore:F.batch_normalization received")
G = np.random.RandomState(3).rand(3) + 0.5

TORCH = [
    (lambda: L.BatchNormalization(3), lambda: nn.BatchNorm1d(3, eps=2e-5), "f32[5,3]"),
    (lambda: L.BatchNormalization(3), lambda: nn.BatchNorm1d(3, eps=2e-5), "f32[5,3,4]"),
    (
        lambda: L.BatchNormalization(3, decay=0.7, eps=1e-3),
        lambda: nn.BatchNorm2d(3, eps=1e-3, momentum=0.3),
        "f32[2,3,4,2]",
    ),
    (lambda: L.BatchNormalization(3), lambda: nn.BatchNorm2d(3, eps=2e-5), "f32[1,3,4,2]"),
    (lambda: L.BatchNormalization(3), lambda: nn.BatchNorm3d(3, eps=2e-5), "f32[2,3,4,2,2]"),
    (
        lambda: L.BatchNormalization(3, use_gamma=False, use_beta=False),
        lambda: nn.BatchNorm2d(3, eps=2e-5, affine=False),
        "f32[2,3,4,2]",
    ),
    (lambda: L.LayerNormalization(3), lambda: nn.LayerNorm(3, eps=1e-6), "f32[5,3]"),
    (lambda: L.GroupNormalization(2, 6), lambda: nn.GroupNorm(2, 6), "f32[5,6,3]"),
    (lambda: L.GroupNormalization(3, 6, eps=1e-3), lambda: nn.GroupNorm(3, 6, eps=1e-3), "f32[5,6,3,2]"),
]


@pytest.mark.parametrize("link,module,spec", TORCH)
def test_torch_layers(link, module, spec):
    check_link(link, module, [spec])


OPTIONS = [
    ({"size": 3}, "f32[5,3]"),
    ({"size": 3}, "f32[5,3,2,2]"),
    ({"size": 3}, "f32[2,3,2,2,2]"),
    ({"size": 3, "decay": 0.5, "eps": 0.1}, "f32[5,3,4]"),
    ({"size": 3, "use_gamma": False}, "f32[5,3,4]"),
    ({"size": 3, "use_beta": False}, "f32[5,3,4]"),
    ({"size": 3, "use_beta": False, "use_gamma": False}, "f32[5,3]"),
    ({"size": 3, "initial_gamma": G, "initial_beta": 2}, "f32[5,3]"),
    ({"size": 3, "initial_avg_mean": G, "initial_avg_var": 4}, "f32[5,3]"),
    ({"size": (3, 4)}, "f32[5,3,4]"),
    ({"size": (3, 4)}, "f32[5,3,4,2]"),
    ({"size": (3, 4, 2), "axis": 0}, "f32[5,3,4,2]"),
    ({"size": None, "axis": (0, 2, 3)}, "f32[5,3,4,2]"),
    ({"size": None, "axis": 0}, "f32[5,3]"),
    ({"axis": (0, 1)}, "f32[5,4,3]"),
    ({"axis": (1, 2)}, "f32[5,4,3]"),
    ({"size": 3, "axis": (0, 1, 2)}, "f32[2,4,5,3]"),
    ({"size": 3}, "f32[1,3]"),
    ({"size": 3, "use_gamma": False}, "f32[1,3]"),
    ({"size": 3}, "f32[1,3,1,1]"),
    ({"size": (3, 4), "use_beta": False}, "f32[1,3,4]"),
]


@pytest.mark.parametrize("options,spec", OPTIONS)
def test_batch_normalization(options, spec):
    check_link(lambda: L.BatchNormalization(**options), lambda: T.BatchNormalization(**options), [spec])


def test_finetuning():
    kwargs = {"finetune": True}
    module = check_link(lambda: L.BatchNormalization(3), lambda: T.BatchNormalization(3), ["f32[5,3]"], kwargs=kwargs)
    assert module.N.item() == 3
    module.start_finetuning()
    assert module.N.item() == 0


def test_double_backward_and_dtype():
    x = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    module = T.BatchNormalization(3, dtype=np.float64)
    assert {t.dtype for t in (module.weight, module.bias, module.running_mean, module.running_var)} == {torch.float64}
    assert torch.autograd.gradgradcheck(module, x)


@pytest.mark.parametrize(
    "make",
    [
        lambda m: m.BatchNormalization(),
        lambda m: m.BatchNormalization(3, axis=(1, 0)),
    ],
)
def test_constructor_errors(make):
    with pytest.raises(RuntimeError):
        link = make(L)
        link(np.zeros((2, 2, 3), "f"))
    with pytest.raises(RuntimeError):
        make(T)


def test_forward_errors():
    with pytest.raises(RuntimeError):
        T.BatchNormalization(3)(torch.zeros(2, 4))
    with pytest.raises(chainer.utils.type_check.InvalidType):
        L.BatchNormalization(3)(np.zeros((2, 4), "f"))
    with pytest.raises(chainer.utils.type_check.InvalidType):
        L.LayerNormalization(3)(np.zeros((2, 2, 3), "f"))
    with pytest.raises(ValueError):
        T.LayerNormalization(3)(torch.zeros(2, 2, 3))
    with pytest.raises(ValueError):
        L.GroupNormalization(2, 3)(np.zeros((2, 3), "f"))
    with pytest.raises(ValueError):
        T.GroupNormalization(2, 3)(torch.zeros(2, 3))


OTHERS = [
    (lambda m: m.LayerNormalization(), "f32[5,4]"),
    (lambda m: m.LayerNormalization(3, 0.1, 3, 2), "f32[5,3]"),
    (lambda m: m.LayerNormalization(None, initial_beta=1), "f32[5,7]"),
    (lambda m: m.GroupNormalization(2), "f32[5,4]"),
    (lambda m: m.GroupNormalization(1, 3, 0.1, G, 2), "f32[5,3,2,2]"),
    (lambda m: m.GroupNormalization(4, initial_gamma=3), "f32[2,4,3]"),
    (lambda m: m.BatchRenormalization(3), "f32[5,3]"),
    (lambda m: m.BatchRenormalization(3, 3, 5), "f32[5,3,4]"),
    (lambda m: m.BatchRenormalization(3, 1.5, 0.3, 0.6, 0.01), "f32[2,3,4,2]"),
    (lambda m: m.BatchRenormalization((3, 2), 2, 1, use_gamma=False), "f32[4,3,2]"),
    (lambda m: m.BatchRenormalization(3, 2, 1, use_beta=False, initial_gamma=G), "f32[4,3]"),
    (lambda m: m.BatchRenormalization(3, 2, 1, initial_avg_mean=3), "f32[4,3]"),
    (lambda m: m.BatchRenormalization(3, 2, 1, initial_avg_var=3), "f32[4,3]"),
]


@pytest.mark.parametrize("make,spec", OTHERS)
def test_others(make, spec):
    check_link(lambda: make(L), lambda: make(T), [spec])


def test_batch_renormalization_finetuning():
    check_link(
        lambda: L.BatchRenormalization(3, 2, 1),
        lambda: T.BatchRenormalization(3, 2, 1),
        ["f32[5,3]"],
        kwargs={"finetune": True},
    )


@pytest.mark.parametrize(
    "options,spec",
    [
        ({"size": 6, "groups": 2}, "f32[20,6]"),
        ({"size": 4, "groups": 1, "decay": 0.6, "eps": 0.01}, "f32[10,4,3]"),
        ({"size": 4, "groups": 4}, "f32[5,4,3,2]"),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_decorrelated_batch_normalization(options, spec, dtype):
    options = dict(options, dtype=np.dtype(dtype))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # eigenvectors amplify rounding in float32
        tolerance = {"rtol": 2e-3, "atol": 2e-4} if dtype == "float32" else {"rtol": 1e-6, "atol": 1e-8}
        check_link(
            lambda: L.DecorrelatedBatchNormalization(**options),
            lambda: T.DecorrelatedBatchNormalization(**options),
            [spec],
            dtypes=(dtype,),
            **tolerance,
        )


def test_the_counter_goes_through_torchs_batch_norm():
    link = L.BatchNormalization(3)
    link.N = 7
    module = nn.BatchNorm1d(3, eps=2e-5)
    load_npz(npz_of(link), module)
    assert int(arrays_of(module)["N"]) == 7
    file = io.BytesIO()
    save_npz(file, module)
    file.seek(0)
    again = L.BatchNormalization(3)
    chainer.serializers.load_npz(file, again)
    assert again.N == 7


MIXED = [
    (lambda: L.BatchNormalization(3, dtype=np.float64), lambda: T.BatchNormalization(3, dtype=np.float64), "float32"),
    (
        lambda: L.BatchNormalization(3, dtype="float64", use_gamma=False),
        lambda: T.BatchNormalization(3, dtype="float64", use_gamma=False),
        "float32",
    ),
    (lambda: L.BatchNormalization(3, dtype=np.float32), lambda: T.BatchNormalization(3, dtype=np.float32), "float64"),
    (lambda: L.BatchNormalization(3, dtype=np.float32), lambda: T.BatchNormalization(3, dtype=np.float32), "float16"),
    (
        lambda: L.BatchRenormalization(3, dtype=np.float64),
        lambda: T.BatchRenormalization(3, dtype=np.float64),
        "float32",
    ),
    (
        lambda: L.InceptionBN(3, 2, 2, 2, 2, 2, "max", 2, dtype=np.float64),
        lambda: InceptionBN(3, 2, 2, 2, 2, 2, "max", 2, dtype=np.float64),
        "float32",
    ),
]


@pytest.mark.parametrize("samples", [1, 4])
@pytest.mark.parametrize("made, ours, dtype", MIXED, ids=[str(i) for i in range(len(MIXED))])
def test_an_input_of_another_dtype_than_the_statistics(made, ours, dtype, samples):
    link, module = made(), ours()
    stored = io.BytesIO()
    chainer.serializers.save_npz(stored, link)
    stored.seek(0)
    load_npz(stored, module)
    shape = (samples, 3, 4, 4) if isinstance(module, InceptionBN) else (samples, 3)
    # the narrower dtype counts: Chainer takes the gradient of x from that of gamma, which is float32 then
    tolerance = 2e-2 if dtype == "float16" else 1e-4
    random = np.random.RandomState(0)
    for train in (True, True, False):
        data, grad = random.randn(*shape).astype(dtype), random.randn(samples, 8, 4, 4).astype(dtype)
        x, t = chainer.Variable(data), torch.tensor(data, requires_grad=True)
        with chainer.using_config("train", train):
            y = link(x)
        result = module.train(train)(t)
        assert str(result.dtype) == f"torch.{y.dtype}"
        np.testing.assert_allclose(result.detach().numpy(), y.array, rtol=tolerance, atol=tolerance)
        if dtype == "float64" and not train:
            continue  # there Chainer's own backward() raises
        grad = grad if grad.shape == y.shape else data
        link.cleargrads()
        module.zero_grad()
        y.grad = grad
        y.backward()
        result.backward(torch.tensor(grad))
        assert str(t.grad.dtype) == f"torch.{x.grad.dtype}"
        np.testing.assert_allclose(t.grad.numpy(), x.grad, rtol=tolerance, atol=tolerance)
    saved, theirs = arrays_of(module), arrays_of(link)
    for key, value in theirs.items():
        np.testing.assert_allclose(saved[key], value, rtol=tolerance, atol=tolerance, err_msg=key)
        assert saved[key].dtype == value.dtype or value.dtype.kind in "iu"
