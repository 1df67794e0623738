"""Helpers that whole programs use and no other test calls by itself: beside Chainer where it has their like."""

import io
import pickle
import sys
import tarfile
import types

import chainer
import chainer.links as L
import numpy as np
import pytest
import torch
from torch import nn

from chainer2torch.compat.backend import array_module
from chainer2torch.compat.chainercv import image_transforms
from chainer2torch.compat.dataset import dataset_files
from chainer2torch.compat.links import convolution_links, link_names, linear, normalization_links, own_moves
from chainer2torch.compat.variable import autograd, rebinding
from chainer2torch.native import first_values, link_layers, named_optimizers, training


def a(*shape, seed=0):
    return np.random.RandomState(seed + len(shape)).randn(*shape).astype("f")


def test_which_arrays_are_the_same_one():
    x, y = torch.zeros(4, 3), np.zeros((4, 3), "f")
    same = [(x, x), (x, x[:]), (x, x.view(4, 3)), (y, y), (torch.from_numpy(y), y), (x[1:2], x[1:2]), (None, None)]
    other = [
        (x, torch.zeros(4, 3)),
        (x, x[:2]),
        (x, x.T),
        (x[:, :1], x[:, :1].T.clone()),
        (x, x.view(torch.int32)),
        (x.view(12), x),
        (x[0], x[1]),
        (x, None),
        (None, x),
        (y, y[:]),  # two arrays of the host are compared by `is`
        (y, y.copy()),
        (torch.from_numpy(y), y[::-1]),
        (torch.from_numpy(y), y[:2]),
        (x, np.array([1, "a"], dtype=object)),
        (torch.zeros(0), torch.zeros(0)),
        (torch.zeros(3, 3), torch.zeros(3, 3).T),
        (x[:3].expand(3, 3), x[:3].T.expand(3, 3)),
    ]
    assert all(array_module.is_same_array(*pair) for pair in same)
    assert not [number for number, pair in enumerate(other) if array_module.is_same_array(*pair)]
    empty = torch.zeros(0, 2)
    assert array_module.is_same_array(empty, empty[:]) and not array_module.is_same_array(empty, torch.zeros(0, 2))
    assert array_module.is_same_array(x[::2], x[::2]) and not array_module.is_same_array(x[:2], x[::2])


W4, B = a(6, 4, 2, 3), a(6)
LAYERS = [
    ("Convolution2D", (W4, B), {}, a(2, 4, 5, 6)),
    ("Convolution2D", (W4,), {"stride": 2, "pad": (1, 0)}, a(2, 4, 5, 6)),
    ("Convolution2D", (W4, None, 2, 1), {"nobias": True}, a(2, 4, 5, 6)),
    ("Convolution2D", (a(6, 2, 2, 3), B), {"groups": 2, "dilate": 2}, a(2, 4, 7, 8)),
    ("Convolution2D", (W4, a(5)), {}, a(2, 4, 5, 6)),
    ("Convolution1D", (a(6, 4, 3), B), {"stride": 2}, a(2, 4, 7)),
    ("Convolution1D", (a(6, 2, 3), B), {"groups": 2, "cover_all": True, "stride": 3}, a(2, 4, 8)),
    ("Convolution3D", (a(6, 4, 1, 2, 3),), {"pad": 1}, a(1, 4, 3, 4, 5)),
    ("Convolution3D", (a(6, 4, 1, 2, 3), a(6, 1)), {}, a(1, 4, 3, 4, 5)),
    ("Linear", (a(3, 4), a(3)), {}, a(2, 4)),
    ("Linear", (a(3, 4),), {}, a(2, 4)),
    ("Linear", (a(3, 4), None, True), {}, a(2, 4)),
    ("Linear", (a(3, 4), a(4)), {}, a(2, 4)),
    ("EmbedID", (a(5, 3),), {}, np.array([0, 4, 1], "i")),
    ("EmbedID", (a(5, 3), -1), {}, np.array([0, -1, 1], "i")),
]


@pytest.mark.parametrize("short", [False, True])
@pytest.mark.parametrize("number", range(len(LAYERS)))
def test_layers_from_their_parameters(number, short):
    name, args, options, x = LAYERS[number]
    if short:
        ours = {"Convolution2D": link_layers.Convolution2D, "Linear": link_layers.LinearLink}.get(name)
    else:
        ours = getattr(linear if name in ("Linear", "EmbedID") else convolution_links, name)
    if ours is None:
        return
    found = []
    for kind, wrap in ((getattr(L, name), np.asarray), (ours, torch.as_tensor)):
        try:
            found.append(np.asarray(_plain(kind.from_params(*args, **options)(wrap(x)))))
        except Exception:
            found.append(None)
    assert (found[0] is None) == (found[1] is None)
    if found[0] is not None:
        np.testing.assert_allclose(found[1], found[0], rtol=1e-4, atol=1e-5)


def _plain(value):
    return value.detach() if isinstance(value, torch.Tensor) else getattr(value, "array", value)


class Told(nn.Module):
    """Says how it was called, and in which mode."""

    def forward(self, *args):
        return self.training, args


class Tells(Told):
    def forward(self, *args, test=None, **more):
        return self.training, args, test, more


class Called(nn.Module):
    def __call__(self, x, train=5):
        return x, train


def test_calls_in_the_words_of_version_1():
    call, x = normalization_links.call_as_version_1, torch.tensor([[1.0, 2.0], [3.0, 7.0]])
    told = Told()
    for given, mode in (
        ({"test": True}, False),
        ({"test": False}, True),
        ({"train": True}, True),
        ({"train": 0}, False),
    ):
        for before in (True, False):
            assert call(told.train(before), 1, **given) == (mode, (1,)) and told.training is before
    assert call(told.train(), 1, 2) == (True, (1, 2))
    assert call(Tells(), 1, test=4, train=3) == (True, (1,), 4, {"train": 3})
    assert call(Called(), 1, train=3) == (1, 3) and call(Called(), 1) == (1, 5)
    assert call(lambda *args, **more: (args, more), 1, test=2) == ((1,), {"test": 2})
    for layer in (nn.BatchNorm1d(2), normalization_links.BatchNormalization(2)):
        layer(x)
        layer.train()
        tested = call(layer, x, True)
        torch.testing.assert_close(tested, layer.eval()(x))
        torch.testing.assert_close(call(layer, x, test=True), tested)
        torch.testing.assert_close(call(layer, x, False), layer.train()(x))
        assert not torch.allclose(tested, call(layer, x, False))


def test_attributes_under_chainers_names():
    put, norm, conv, fc = link_names.set_link_attribute, nn.BatchNorm1d(3), nn.Conv2d(2, 4, 3), nn.Linear(2, 3)
    put(norm, "decay", 0.75)
    assert norm.momentum == 0.25
    put(norm, "avg_mean", torch.ones(3))
    put(norm, "gamma", torch.full((3,), 2.0))
    assert norm.running_mean.tolist() == [1] * 3 and isinstance(norm.weight, nn.Parameter) and norm.weight[0] == 2
    for name, own in (("stride", "stride"), ("pad", "padding"), ("dilate", "dilation")):
        put(conv, name, 2)
        assert getattr(conv, own) == (2, 2)
        put(conv, name, (1, 3))
        assert getattr(conv, own) == (1, 3)
    weight = torch.arange(6.0).reshape(3, 2)
    put(fc, "W", weight)
    assert isinstance(fc.weight, nn.Parameter) and fc.weight.requires_grad and fc.weight.data_ptr() == weight.data_ptr()
    shared = nn.Parameter(torch.ones(3))
    put(fc, "b", shared)
    assert fc.bias is shared and link_names.link_attribute(fc, "b") is shared
    computed = weight.requires_grad_() * 2
    put(fc, "W", computed)
    assert "weight" not in fc._parameters and fc.weight is computed
    assert link_names.has_link_attribute(fc, "b") and not link_names.has_link_attribute(fc, "missing")
    plain = types.SimpleNamespace()
    put(plain, "decay", 3)
    assert plain.decay == 3
    own = normalization_links.BatchNormalization(2)
    put(own, "N", 7)
    assert int(own.get_buffer("N")) == 7
    put(own, "decay", 0.5)
    assert own.decay == 0.5


class Moves(own_moves.MovedModule):
    """Notes each of its own moves."""

    def __init__(self):
        super().__init__()
        self.fc, self.moves = nn.Linear(2, 2), []

    def to_gpu(self, device=None):
        self.moves.append(("gpu", device))
        return self.to("meta")

    def to_cpu(self):
        self.moves.append("cpu")
        return self


class MovesNowhere(own_moves.MovedModule):
    def __init__(self):
        super().__init__()
        self.moves = []

    def to_gpu(self):
        self.moves.append("gpu")


def test_moves_of_ones_own_run_with_those_of_torch():
    outer = nn.Sequential(Moves(), MovesNowhere())
    outer.float().double()  # no move
    assert outer[0].moves == outer[1].moves == []
    outer.to("meta")
    assert outer[0].moves == [("gpu", None)] and outer[0].fc.weight.is_meta and outer[1].moves == ["gpu"]
    outer.to("meta")
    assert len(outer[0].moves) == 1 and len(outer[1].moves) == 1
    outer.to_empty(device="cpu")
    assert outer[0].moves == [("gpu", None), "cpu"] and outer[1].moves == ["gpu"]
    alone = Moves()
    alone.to_gpu(1)  # called by itself, and not once more from inside of it
    assert alone.moves == [("gpu", 1)] and alone._moving is False


def test_updates_in_place_are_chainers():
    for name, function in (("iadd", np.add), ("isub", np.subtract), ("imul", np.multiply), ("itruediv", np.divide)):
        update = getattr(rebinding, name)
        x, y = a(2, 3), a(2, 3, seed=4)
        plain = torch.from_numpy(x.copy())
        made = update(plain, torch.from_numpy(y))
        assert made is not plain and plain.numpy().tolist() == x.tolist()
        np.testing.assert_allclose(made.numpy(), function(x, y), rtol=1e-6)
        assert update(plain, torch.from_numpy(y), may_be_array=True) is plain  # an array changes in place
        np.testing.assert_allclose(plain.numpy(), made.numpy())
        met = update(torch.from_numpy(x.copy()), torch.tensor(y, dtype=torch.float64, requires_grad=True), True)
        assert met.dtype == torch.float64 and met.requires_grad
        assert update(torch.tensor(x, requires_grad=True), torch.tensor(y).double()).dtype == torch.float32
        assert update(torch.from_numpy(x.copy()), torch.tensor(y).double()).dtype == torch.float32
        if name != "itruediv":
            assert update(torch.tensor([4, 2]), torch.tensor([2, 2])).dtype == torch.int64
        with pytest.raises(TypeError, match="the target is of"):
            update(torch.tensor([4, 2]), 0.5)
        host = x.copy()
        assert update(host, y) is host
        leaf = torch.from_numpy(x.copy()).requires_grad_()
        made = update(leaf, torch.from_numpy(y))  # a Variable is bound anew
        assert made is not leaf and leaf.detach().numpy().tolist() == x.tolist()
        made.sum().backward()
        assert leaf.grad is not None
        assert update(3, 2) == pytest.approx(function(3, 2))


def test_gradients_by_hand_are_chainers():
    values = [a(3), a(3, seed=1), a(3, seed=2)]
    weights = [a(3, seed=3), None]
    extra = [a(3, seed=4), None, a(3, seed=5)]
    for options in (
        {},
        {"grad_outputs": weights},
        {"grad_inputs": extra},
        {"set_grad": True},
        {"enable_double_backprop": True, "grad_outputs": weights, "grad_inputs": extra, "set_grad": True},
    ):
        found = []
        for wrap, grad in ((chainer.Variable, chainer.grad), (_leaf, autograd.grad)):
            xs = [wrap(value.copy()) for value in values]
            ys = [xs[0] * xs[1], xs[0] * xs[0]]
            given = {
                key: [None if one is None else wrap(one) for one in value] if isinstance(value, list) else value
                for key, value in options.items()
            }
            grads = grad(ys, xs, **given)
            seen = [None if g is None else np.asarray(_plain(g)) for g in grads]
            kept = [None if x.grad is None else np.asarray(_plain(x.grad)) for x in xs]
            if options.get("enable_double_backprop"):
                (second,) = grad([grads[0]], [xs[0]])
                seen.append(np.asarray(_plain(second)))
            found.append([*seen, *kept])
        for theirs, ours in zip(*found, strict=True):
            assert (theirs is None) == (ours is None)
            if theirs is not None:
                np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    x = _leaf(values[0])
    for wrong in ((x * 2, [x]), ([x * 2], x), ([x * 2], [x], []), ([x * 2], [x], None, [])):
        with pytest.raises((TypeError, ValueError)):
            autograd.grad(*wrong)


def _leaf(value):
    return torch.tensor(value, requires_grad=True)


def test_resizing_by_opencv_asks_for_what_chainercv_asks_for(monkeypatch):
    calls = []

    def resize(image, dsize, interpolation):
        calls.append((image.shape, dsize, interpolation))
        return (
            np.zeros((*dsize[::-1], image.shape[2]), "f")[..., 0] if image.shape[2] == 1 else np.zeros((2, 3, 3), "f")
        )

    names = {"INTER_NEAREST": "nearest", "INTER_LANCZOS4": "lanczos", "INTER_LINEAR": "linear", "INTER_CUBIC": "cubic"}
    monkeypatch.setitem(sys.modules, "cv2", types.SimpleNamespace(resize=resize, **names))
    monkeypatch.setattr(image_transforms.importlib.util, "find_spec", lambda name: name == "cv2")
    for way in range(4):
        assert image_transforms.resize_image(a(3, 5, 4), (2, 3), way).shape == (3, 2, 3)
    assert image_transforms.resize_image(a(1, 5, 4), (2, 3)).shape == (1, 2, 3)
    expected = [((5, 4, 3), (3, 2), way) for way in ("nearest", "lanczos", "linear", "cubic")]
    assert calls == [*expected, ((5, 4, 1), (3, 2), "linear")]


@pytest.mark.parametrize("name", ["cifar-10", "cifar-100"])
def test_archives_of_cifar(name, tmp_path, monkeypatch):
    ten = name == "cifar-10"
    folder, label = ("cifar-10-batches-py", "labels") if ten else ("cifar-100-python", "fine_labels")
    members = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"] if ten else ["train", "test"]
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        for number, member in enumerate(members):
            data = {"data": np.full((2, 3072), number, np.uint8), label: [number, number + 1], "coarse_labels": [9, 9]}
            content = pickle.dumps(data)
            info = tarfile.TarInfo(f"{folder}/{member}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    asked = []
    monkeypatch.setattr(
        dataset_files, "cached_download", lambda url: (asked.append(url), str(tmp_path / "a.tar.gz"))[1]
    )
    made = dataset_files._build_cifar(str(tmp_path / "b.npz"), name)
    last = len(members) - 1
    assert asked[0].endswith(f"{name}-python.tar.gz")
    assert made["train_x"].shape == (2 * last, 3072) and made["test_x"].shape == (2, 3072)
    assert made["train_y"].tolist() == [n for number in range(last) for n in (number, number + 1)]
    assert made["test_y"].tolist() == [last, last + 1] and (made["test_x"] == last).all()
    assert [row[0] for row in made["train_x"][::2]] == list(range(last))
    with np.load(tmp_path / "b.npz") as stored:
        assert all((stored[key] == value).all() for key, value in made.items()) and len(stored.files) == 4


def test_the_rate_that_chainer_calls_lr():
    theirs = chainer.optimizers.Adam(alpha=0.2, beta1=0.8, beta2=0.95)
    link = L.Linear(2, 1)
    theirs.setup(link)
    param = nn.Parameter(torch.ones(2))
    ours = torch.optim.Adam([nn.Parameter(torch.ones(1)), param], lr=0.2, betas=(0.8, 0.95))
    assert training.corrected_rate(ours) == training.current_rate(ours) == 0.0
    for _ in range(3):
        theirs.update(lambda: chainer.functions.sum(link(np.ones((1, 2), "f"))))
        param.grad = torch.ones(2)
        ours.step()
        assert training.corrected_rate(ours) == training.current_rate(ours) == pytest.approx(theirs.lr, rel=1e-9)
    sgd = torch.optim.SGD([{"params": [param], "lr": 0.5}, {"params": [nn.Parameter(torch.ones(1))]}], lr=0.1)
    assert training.current_rate(sgd) == 0.5 and training.current_rate(types.SimpleNamespace(lr="0.25")) == 0.25
    training.set_rate(sgd, 0.3)
    assert [group["lr"] for group in sgd.param_groups] == [0.3, 0.3]
    for other in (ours, torch.optim.Adadelta([param])):
        with pytest.raises(AttributeError, match="no rate"):
            training.set_rate(other, 0.1)


def test_lengths_of_epochs():
    assert [float(training.iterations_of(range(n), draws)) for n, draws in ((6, 2), (5, 2), (3, 3), (1, 1))] == [
        3,
        2.5,
        1,
        1,
    ]
    assert float(training.iterations_of((), 1)) == 0
    for loader, draws in ((range(3), 4), ((), 2)):
        with pytest.raises(ValueError, match="more batches"):
            training.iterations_of(loader, draws)
    assert 5 / training.iterations_of(range(2), 1) == 2.5 and isinstance(5 / training.iterations_of(range(2), 1), float)
    for loader, draws, expected in ((range(4), 1, 4), (range(4), 2, 2.0)):
        updater = types.SimpleNamespace(get_iterator=lambda name: types.SimpleNamespace(loader=loader))  # noqa: B023
        found = training.iterations_per_epoch(updater, draws)
        assert found == expected and isinstance(found, int) is (draws == 1)
    iterator = types.SimpleNamespace(dataset=range(10), batch_size=4)
    updater = types.SimpleNamespace(get_iterator={"main": iterator}.__getitem__)
    assert float(training.iterations_per_epoch(updater)) == 2.5
    assert float(training.iterations_per_epoch(updater, 2)) == 1.25
    with pytest.raises(ValueError, match="more batches"):
        training.iterations_per_epoch(updater, 3)


@pytest.mark.parametrize(
    "options",
    [{}, {"decay": 0.5, "eps": 0.1}, {"use_gamma": False}, {"use_beta": False}, {"use_gamma": False, "use_beta": False}]
    + [{"initial_gamma": 2, "initial_beta": 0.5, "initial_avg_mean": 0.25, "initial_avg_var": 3}],
)
def test_short_batch_normalizations(options):
    theirs, ours = L.BatchNormalization(3, **options), link_layers.BatchNormLink(3, **options)
    for step in range(3):
        x = a(4, 3, 2, seed=step)
        np.testing.assert_allclose(ours(torch.as_tensor(x)).detach(), theirs(x).array, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(ours.running_mean, theirs.avg_mean, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(ours.running_var, theirs.avg_var, rtol=1e-4, atol=1e-6)
    assert len(list(ours.parameters())) == len(list(theirs.params()))
    assert ours.affine is (options.get("use_gamma", True) and options.get("use_beta", True))
    with chainer.using_config("train", False):
        expected = theirs(x).array
    np.testing.assert_allclose(ours.eval()(torch.as_tensor(x)).detach(), expected, rtol=1e-4, atol=1e-5)
    assert set(ours.state_dict()) - {"num_batches_tracked"} == {
        "running_mean",
        "running_var",
        *(["weight"] if options.get("use_gamma", True) else []),
        *(["bias"] if options.get("use_beta", True) else []),
    }
    with pytest.raises(ValueError, match="axes"):
        link_layers.BatchNormLink(3, axis=(0,))


def test_short_layers_that_wait_for_a_size():
    dilated = link_layers.DilatedConvolution2D(None, 4, 3, 1, 2, 2, True, 0.5)
    theirs = L.DilatedConvolution2D(None, 4, 3, 1, 2, 2, True, 0.5)
    x = a(2, 3, 6, 7)
    np.testing.assert_allclose(dilated(torch.as_tensor(x)).detach(), theirs(x).array, rtol=1e-4, atol=1e-5)
    assert dilated.bias is None and first_values.given_size(dilated) is None
    assert first_values.given_size(link_layers.LinearLink(3, 2)) == 3
    for layer, shape in (
        (nn.LazyLinear(4), (4, 5)),
        (nn.LazyConv2d(4, (3, 2), dilation=2), (4, 5, 3, 2)),
        (nn.LazyConv1d(4, 3, groups=2), (4, 5, 3)),
    ):
        first_values.initialize_layer(layer, shape)
        assert tuple(layer.weight.shape) == shape
        with pytest.raises(TypeError, match="already"):
            first_values.initialize_layer(layer, shape)


@pytest.mark.parametrize("grouped", [1, 2])
def test_first_values_are_drawn_with_chainers_deviation(grouped):
    torch.manual_seed(0)
    for make, fan in (
        (lambda: nn.Linear(25, 300), 25),
        (lambda: nn.Conv2d(4, 200, 3, groups=grouped), 36 // grouped),
        (lambda: nn.Bilinear(5, 6, 200), 6 * 200),  # those of an array (5, 6, 200), as Chainer counts
        (lambda: nn.LSTMCell(16, 40), None),
    ):
        layer = first_values.initialized(make())
        for name, param in layer.named_parameters():
            if name.startswith("weight"):
                expected = (fan or param.shape[1]) ** -0.5
                assert (
                    float(param.std()) == pytest.approx(expected, rel=0.1) and abs(float(param.mean())) < 0.1 * expected
                )
            elif name == "bias_ih":
                assert param.tolist() == [0.0] * 40 + [1.0] * 40 + [0.0] * 80
            else:
                assert not param.any()
    given = first_values.initialized(nn.Linear(2, 3), weight=np.arange(6.0).reshape(3, 2), bias=0.5)
    assert given.weight.flatten().tolist() == [0, 1, 2, 3, 4, 5] and given.bias.tolist() == [0.5] * 3
    waits = first_values.initialized(nn.LazyLinear(3), weight=2, bias=None)
    waits(torch.ones(1, 2))
    assert waits.weight.flatten().tolist() == [2] * 6 and not waits.bias.any()
    held = first_values.initialized(nn.Linear(2, 2), weight=first_values.Constant(3, np.float64))
    assert held.weight.dtype == torch.float64 and held.weight.flatten().tolist() == [3] * 4


OPTIMIZERS = [
    ("SGD", {}),
    ("SGD", {"lr": 0.3}),
    ("CorrectedMomentumSGD", {}),
    ("CorrectedMomentumSGD", {"lr": 0.3, "momentum": 0.5}),
    ("AdaGrad", {}),
    ("AdaGrad", {"lr": 0.3, "eps": 0.1}),
    ("AdaDelta", {}),
    ("AdaDelta", {"rho": 0.5, "eps": 0.1}),
    ("RMSprop", {}),
    ("RMSprop", {"lr": 0.3, "alpha": 0.5, "eps": 0.1}),
    ("Adam", {}),
    ("Adam", {"alpha": 0.3, "beta1": 0.5, "beta2": 0.6}),
    ("AMSGrad", {"alpha": 0.3}),
    ("AdamW", {"alpha": 0.3, "weight_decay_rate": 0.1}),
    ("MomentumSGD", {"lr": 0.3}),
    ("NesterovAG", {"lr": 0.3, "momentum": 0.5}),
    ("SMORMS3", {"lr": 0.3}),
]


@pytest.mark.parametrize("name, options", OPTIMIZERS)
def test_optimizers_by_name_step_as_chainers(name, options):
    theirs = getattr(chainer.optimizers, name)(**options)
    link = chainer.Chain()
    with link.init_scope():
        link.p, link.q = chainer.Parameter(a(3)), chainer.Parameter(a(2))
    theirs.setup(link)
    p, q = (nn.Parameter(torch.tensor(param.array.copy())) for param in (link.p, link.q))
    ours = getattr(named_optimizers.TorchOptimizersByName, name)([p, q], **options)
    for step in range(4):
        link.p.grad, link.q.grad = a(3, seed=step + 5), a(2, seed=step) if step % 2 else np.zeros(2, "f")
        p.grad, q.grad = torch.tensor(link.p.grad), torch.tensor(link.q.grad)
        if step == 2 and name != "SGD":
            q.grad = None  # counts as zeros
        theirs.update()
        ours.step()
        for param, other in ((p, link.p), (q, link.q)):
            np.testing.assert_allclose(param.detach(), other.array, rtol=1e-4, atol=1e-6, err_msg=str(step))
