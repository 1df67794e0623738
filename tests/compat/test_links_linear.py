"""Fully connected links and element-wise links with parameters, against Chainer."""

import chainer
import chainer.functions as CF
import numpy as np
import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F
from chainer import links as L

from chainer2torch.compat.initializers import initializers as ti
from chainer2torch.compat.links import linear as T
from tests.support.links import check_link

X = "f32[4,6]"
W = np.random.RandomState(5).randn(3, 6)

PLAIN = [
    (lambda: L.Linear(6, 3), lambda: nn.Linear(6, 3), [X]),
    (lambda: L.Linear(3), lambda: nn.LazyLinear(3), [X]),
    (lambda: L.Linear(None, 3, nobias=True), lambda: nn.LazyLinear(3, bias=False), [X]),
    (lambda: L.EmbedID(9, 4), lambda: nn.Embedding(9, 4), ["i32[5]<9"]),
    (lambda: L.EmbedID(9, 4), lambda: nn.Embedding(9, 4), ["i64[5,2,3]<9"]),
    (lambda: L.PReLU(), lambda: nn.PReLU(), [X]),
    (lambda: L.PReLU((6,)), lambda: nn.PReLU(6), ["f32[4,6,2]"]),
]
LINEAR = [
    ((6, 3), {}, [X]),
    ((6, 3), {"nobias": True}, [X]),
    ((None, 3), {}, [X]),
    ((3,), {}, [X]),
    ((3,), {"nobias": True}, [X]),
    ((12, 3), {}, ["f32[4,2,3,2]"]),
    ((None, 3), {}, ["f32[4,2,3,2]"]),
    ((None, 3), {}, ["f32[4,6,1,1]"]),
    ((6, 3), {"initialW": W, "initial_bias": np.arange(3)}, [X]),
    ((6, 3), {"initialW": 0.5, "initial_bias": 2}, [X]),
]


@pytest.mark.parametrize("link,module,inputs", PLAIN)
def test_torch_layers(link, module, inputs):
    check_link(link, module, inputs)


@pytest.mark.parametrize("args,options,inputs", LINEAR)
def test_linear(args, options, inputs):
    check_link(lambda: L.Linear(*args, **options), lambda: T.Linear(*args, **options), inputs)


@pytest.mark.parametrize("n,shape", [(1, "f32[2,3,4]"), (2, "f32[2,3,4]"), (3, "f32[2,3,4]"), (2, "f32[2,3,4,5]")])
def test_linear_batch_axes(n, shape):
    check_link(lambda: L.Linear(None, 3), lambda: T.Linear(None, 3), [shape], kwargs={"n_batch_axes": n})


def test_linear_empty_batch_and_errors():
    layer = T.Linear(6, 3)
    assert layer(torch.zeros(0, 2, 3)).shape == (0, 3)
    for bad, error in (((2, 5), RuntimeError), ((2, 6, 2), RuntimeError)):
        with pytest.raises(chainer.utils.type_check.InvalidType):
            L.Linear(6, 3)(np.zeros(bad, "f"))
        with pytest.raises(error):
            layer(torch.zeros(bad))
    with pytest.raises(RuntimeError):
        layer(torch.zeros(2, 6, dtype=torch.float64))


def test_linear_fills_itself_with_chainers_distribution():
    torch.manual_seed(0)
    layer = T.Linear(None, 300, initial_bias=0.5)
    layer(torch.zeros(1, 20, 20))
    assert float(layer.weight.std()) == pytest.approx(1 / 20, rel=0.02)
    assert layer.bias.unique().tolist() == [0.5]
    assert T.Linear(6, 3, initialW=ti.Normal(dtype="float64")).weight.dtype == torch.float64
    state = T.Linear(None, 300).state_dict()
    other = T.Linear(None, 300)
    other.load_state_dict(layer.state_dict())
    other(torch.zeros(1, 400))
    assert torch.equal(other.weight, layer.weight)
    assert isinstance(state["weight"], nn.UninitializedParameter)


OTHERS = [
    (lambda: L.Bilinear(6, 5, 3), lambda: T.Bilinear(6, 5, 3), [X, "f32[4,5]"]),
    (lambda: L.Bilinear(6, 5, 3, nobias=True), lambda: T.Bilinear(6, 5, 3, nobias=True), [X, "f32[4,5]"]),
    (lambda: L.Bilinear(6, 5, 3, True), lambda: T.Bilinear(6, 5, 3, True), ["f32[4,2,3]", "f32[4,5,1]"]),
    (lambda: L.Bias(1, (6,)), lambda: T.Bias(1, (6,)), [X]),
    (lambda: L.Bias(2, (3, 2)), lambda: T.Bias(2, (3, 2)), ["f32[4,5,3,2,3]"]),
    (lambda: L.Bias(1), lambda: T.Bias(1), ["f32[4,5,3]", "f32[5]"]),
    (lambda: L.Scale(1, (6,)), lambda: T.Scale(1, (6,)), [X]),
    (lambda: L.Scale(1, (6,), True), lambda: T.Scale(1, (6,), True), ["f32[4,6,2]"]),
    (
        lambda: L.Scale(1, bias_term=True, bias_shape=(5,)),
        lambda: T.Scale(1, bias_term=True, bias_shape=(5,)),
        ["f32[4,5,3]", "f32[5,3]"],
    ),
    (lambda: L.Scale(0), lambda: T.Scale(0), ["f32[4,5]", "f32[4]"]),
    (lambda: L.EmbedID(9, 4, ignore_label=-1), lambda: T.EmbedID(9, 4, ignore_label=-1), ["i32[7] in [-1,9)"]),
    (lambda: L.EmbedID(9, 4, ignore_label=3), lambda: T.EmbedID(9, 4, ignore_label=3), ["i64[3,5]<9"]),
    (lambda: L.EmbedID(9, 4, np.ones((9, 4))), lambda: T.EmbedID(9, 4, np.ones((9, 4))), ["i32[7]<9"]),
    (lambda: L.PReLU(), lambda: T.PReLU(), [X]),
    (lambda: L.PReLU((6, 2), 0.1), lambda: T.PReLU((6, 2), 0.1), ["f32[4,6,2,3]"]),
    (lambda: L.Swish((6,)), lambda: T.Swish((6,)), ["f32[4,6,2]"]),
    (lambda: L.Swish((), 0.7), lambda: T.Swish((), 0.7), ["f32[4,6,2]"]),
    (lambda: L.Swish(None, 0.7), lambda: T.Swish(None, 0.7), ["f32[4,6,2]"]),
    (lambda: L.Maxout(6, 3, 4), lambda: T.Maxout(6, 3, 4), [X]),
    (lambda: L.Maxout(None, 3, 2, initial_bias=None), lambda: T.Maxout(None, 3, 2, initial_bias=None), ["f32[4,2,3]"]),
    (
        lambda: L.Maxout(6, 1, 3, W.reshape(1, 3, 6), np.ones((1, 3))),
        lambda: T.Maxout(6, 1, 3, W.reshape(1, 3, 6), np.ones((1, 3))),
        [X],
    ),
    (lambda: L.Highway(6), lambda: T.Highway(6), [X]),
    (lambda: L.Highway(6, True, CF.tanh), lambda: T.Highway(6, True, torch.tanh), [X]),
    (
        lambda: L.Highway(6, False, CF.sigmoid, 0.1, 0.2, 0.3, 0.4),
        lambda: T.Highway(6, False, torch.sigmoid, 0.1, 0.2, 0.3, 0.4),
        [X],
    ),
]


@pytest.mark.parametrize("link,module,inputs", OTHERS)
def test_others(link, module, inputs):
    # Chainer's bilinear takes float32 only
    dtypes = ("float32",) if "Bilinear" in str(type(link())) else ("float32", "float64")
    check_link(link, module, inputs, dtypes=dtypes)


def test_initial_values():
    assert T.Highway(6).transform.bias.tolist() == [-1.0] * 6
    assert T.PReLU().W.item() == 0.25
    assert T.Scale(1, (3,), True).W.tolist() == [1.0] * 3 and T.Bias(1, (3,)).b.tolist() == [0.0] * 3
    np.testing.assert_array_equal(T.Maxout(6, 1, 3, W.reshape(1, 3, 6)).linear.weight.detach().numpy(), W.astype("f"))
    torch.manual_seed(0)
    np.random.seed(0)
    link, module = L.Bilinear(30, 40, 50), T.Bilinear(30, 40, 50)
    for name in ("W", "V1", "V2", "b"):
        assert float(getattr(module, name).std()) == pytest.approx(getattr(link, name).array.std(), rel=0.05)
    link, module = L.SimplifiedDropconnect(100, 90), T.SimplifiedDropconnect(100, 90)
    assert float(module.W.std()) == pytest.approx(link.W.array.std(), rel=0.05)


def test_parameter_link():
    array = np.random.randn(2, 3).astype("f")
    link, module = L.Parameter(array), T.ParameterLink(array)
    np.testing.assert_array_equal(module().detach().numpy(), link().array)
    module().sum().backward()
    assert module.W.grad.tolist() == [[1.0] * 3] * 2


@pytest.mark.parametrize("batchwise", [True, False])
@pytest.mark.parametrize("nobias", [True, False])
def test_simplified_dropconnect(batchwise, nobias):
    mask = np.random.RandomState(0).rand(*((4, 3, 6) if batchwise else (3, 6))) > 0.5
    kwargs = {"mask": mask, "use_batchwise_mask": batchwise}
    link, module = L.SimplifiedDropconnect(6, 3, 0.3, nobias), T.SimplifiedDropconnect(6, 3, 0.3, nobias)
    with torch.no_grad():
        module.W.copy_(torch.tensor(link.W.array))
    x = chainer.Variable(np.random.randn(4, 6).astype("f"))
    t = torch.tensor(x.array, requires_grad=True)
    link.cleargrads()
    y, u = link(x, **kwargs), module(t, **kwargs)
    np.testing.assert_allclose(u.detach().numpy(), y.array, rtol=1e-4, atol=1e-5)
    gy = np.random.randn(4, 3).astype("f")
    y.grad = gy
    y.backward()
    u.backward(torch.tensor(gy))
    np.testing.assert_allclose(t.grad.numpy(), x.grad, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(module.W.grad.numpy(), link.W.grad, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(module.state_dict()["mask"].numpy(), link.mask)
    with pytest.raises(RuntimeError):
        module(t, mask=mask[:1], use_batchwise_mask=batchwise)


def test_simplified_dropconnect_at_random():
    torch.manual_seed(0)
    module = T.SimplifiedDropconnect(50, 40, ratio=0.25)
    x = torch.randn(2, 50)
    plain = F.linear(x, module.W, module.b)
    torch.testing.assert_close(module(x, train=False), plain)
    many = torch.stack([module(x) for _ in range(3000)])
    torch.testing.assert_close(many.mean(0), plain, rtol=0.05, atol=0.05)
    # variance of a sum of W x / 0.75 * Bernoulli(0.75)
    expected = (F.linear(x**2, module.W**2) * (0.25 / 0.75)).detach()
    torch.testing.assert_close(many.detach().var(0), expected, rtol=0.2, atol=0.01)
    assert not torch.equal(module(x.eq(x).float())[0], module(x.eq(x).float())[1])  # a mask for each sample
    same = module(x.eq(x).float(), use_batchwise_mask=False)
    torch.testing.assert_close(same[0], same[1])


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.Bilinear(3, 3, 3, initial_bias=1),
        lambda m: m.Scale(bias_term=True),
        lambda m: m.Maxout(6, 1, 3, W),
        lambda m: m.Maxout(6, 1, 3, None, np.ones(3)),
    ],
)
def test_errors(call):
    for module in (L, T):
        with pytest.raises(ValueError):
            call(module)


def test_wrong_number_of_inputs():
    x = torch.zeros(2, 3)
    for module, args in ((T.Bias(1), (x,)), (T.Bias(1, (3,)), (x, x)), (T.Scale(1), (x,)), (T.Scale(1, (3,)), (x, x))):
        with pytest.raises(ValueError):
            module(*args)
    with pytest.raises(RuntimeError):
        T.Bias(1, (4,))(x)
    with pytest.raises(RuntimeError):
        T.Bilinear(3, 3, 2)(torch.zeros(1, 3), torch.zeros(2, 3))
