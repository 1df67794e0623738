"""VGG, ResNet and GoogLeNet against Chainer's, on small images where the network allows it."""

import chainer
import numpy as np
import pytest
import torch
from chainer import links as L
from chainer.links.model.vision import googlenet, resnet, vgg

from chainer2torch.compat.links import vision_models as long_forms
from chainer2torch.compat.backend.default_dtype import using_default_dtype
from chainer2torch.compat.serializers.serializers import load_npz, save_npz
from chainer2torch.native import vision_models as short_forms
from tests.support.links import arrays_of, npz_of


@pytest.fixture(params=[long_forms, short_forms], ids=["faithful", "native"])
def T(request):
    """The helpers of both styles."""
    return request.param


def without_first_values(T, monkeypatch):
    for name in ("initialize", "initialized"):
        monkeypatch.setattr(T, name, lambda layer, W=None, weight=None: layer, raising=False)


IMAGES = [
    np.random.RandomState(0).randint(0, 256, shape).astype("u1") for shape in ((40, 30, 3), (3, 20, 25), (1, 30, 20))
]


@pytest.mark.parametrize(
    "module,name", [(vgg, "prepare_vgg"), (resnet, "prepare_resnet"), (googlenet, "prepare_googlenet")]
)
@pytest.mark.parametrize("size", [(224, 224), (32, 16), None])
def test_prepare(module, name, size, T):
    prepare = getattr(T, name)
    for image in IMAGES:
        np.testing.assert_allclose(prepare(image, size), module.prepare(image, size), rtol=1e-6, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_prepare_has_the_default_dtype(dtype, T):
    with chainer.using_config("dtype", np.dtype(dtype)), using_default_dtype(dtype):
        expected, actual = vgg.prepare(IMAGES[0]), T.prepare_vgg(IMAGES[0])
    assert actual.dtype == expected.dtype == dtype
    np.testing.assert_array_equal(actual, expected)


def same(link, module, x, layers, rtol=1e-3, modes=(False, True)):
    for train in modes:
        module.train(train)
        with chainer.using_config("train", train):
            expected, actual = link(x, layers), module(torch.tensor(x), layers)
        assert sorted(actual) == sorted(expected) == sorted(layers)
        for name in layers:
            scale = np.abs(expected[name].array).max()
            np.testing.assert_allclose(actual[name].detach().numpy() / scale, expected[name].array / scale, atol=rtol)


def test_resnet(T):
    link, module = L.ResNet50Layers(None, True), T.ResNet50Layers(None, True)
    load_npz(npz_of(link), module)
    assert module.available_layers == link.available_layers
    x = np.random.RandomState(0).randn(2, 3, 33, 40).astype("f")
    same(link, module, x, ["conv1", "pool1", "res2", "res4", "pool5", "prob"], modes=(False,))
    # further on, batch statistics of a few numbers amplify the rounding
    same(link, module, x, ["conv1", "pool1", "res2"], modes=(True,))
    saved = arrays_of(module)
    for key, array in arrays_of(link).items():
        np.testing.assert_allclose(saved[key], array, rtol=5e-3, atol=1e-3, err_msg=key)


@pytest.mark.parametrize("make", [lambda m: m.ResNet101Layers(None), lambda m: m.ResNet152Layers(None)])
def test_deeper_resnets_have_the_same_weights(make, monkeypatch, T):
    monkeypatch.setattr(resnet.normal, "HeNormal", lambda scale: chainer.initializers.Zero())
    expected = {path: p.shape for path, p in make(L).namedparams()}
    with torch.device("meta"):
        without_first_values(T, monkeypatch)
        module = make(T)
    from chainer2torch.compat.links.link_tree import namedparams

    assert {path: tuple(p.shape) for path, p in namedparams(module)} == expected


def test_googlenet(T):
    link, module = L.GoogLeNet(None), T.GoogLeNet(None)
    load_npz(npz_of(link), module)
    assert module.available_layers == link.available_layers
    x = np.random.RandomState(0).randn(1, 3, 224, 224).astype("f") * 50
    layers = ["conv2", "pool3", "inception_4a", "pool5", "prob", "loss1_fc2", "loss2_fc2"]
    same(link, module, x, layers, modes=(False,))
    module.train()
    assert module.extract(IMAGES[:1], ["conv1"])["conv1"].shape == (1, 64, 112, 112)
    y = module.predict(IMAGES[:1], oversample=False)
    torch.testing.assert_close(y.sum(), torch.tensor(1.0))
    assert module.training and not y.requires_grad


@pytest.mark.parametrize("size", [(256, 256), (230, 241)])
def test_ten_crops(T, size):
    images = np.random.RandomState(0).randn(2, 3, *size).astype("f")
    np.testing.assert_array_equal(
        T._ten_crops(torch.tensor(images)).numpy(), chainer.utils.imgproc.oversample(images, (224, 224))
    )


@pytest.mark.parametrize("oversample", [(), (True,), (False,)])
def test_predictions_see_ten_crops_or_the_middle(T, oversample):
    """Of networks that give back some points of what they are shown."""

    class Their(L.VGG16Layers):
        def __init__(self):
            chainer.Chain.__init__(self)

        def __call__(self, x, layers):
            return {layers[0]: x[:, :, ::40, ::50].reshape(len(x), -1)}

    class Our(T.VGG16Layers):
        def __init__(self):
            torch.nn.Module.__init__(self)
            self.unused = torch.nn.Parameter(torch.ones(1))

        def forward(self, x, layers):
            assert not self.training and not torch.is_grad_enabled()
            return {layers[0]: x[:, :, ::40, ::50].flatten(1)}

    expected = Their().predict(IMAGES, *oversample).array
    np.testing.assert_allclose(Our().predict(IMAGES, *oversample), expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("name", ["VGG16Layers", "VGG19Layers"])
def test_vgg(name, monkeypatch, T):
    class Small(L.Linear):  # 130 million of the weights are in the first of these
        def __init__(self, n_in, n_out, **kwargs):
            super().__init__(None if n_in == 512 * 7 * 7 else 20, 20, **kwargs)

    monkeypatch.setattr(vgg, "Linear", Small)
    without_first_values(T, monkeypatch)
    link = getattr(L, name)(None)
    with torch.device("meta"):
        module = getattr(T, name)(None)
    assert [tuple(layer.weight.shape) for layer in (module.fc6, module.fc7, module.fc8)] == [
        (4096, 512 * 7 * 7),
        (4096, 4096),
        (1000, 4096),
    ]
    module.fc6 = module.fc7 = module.fc8 = torch.nn.Identity()
    module.to_empty(device="cpu")
    module.fc6, module.fc7, module.fc8 = (torch.nn.LazyLinear(20) for _ in range(3))
    for param in link.params(include_uninit=False):
        param.array *= 5  # 0.01 leaves nothing of the input at the end
    x = np.random.RandomState(0).randn(2, 3, 33, 40).astype("f") * 50
    with chainer.using_config("train", False):
        link(x)
    load_npz(npz_of(link), module)
    assert module.available_layers == link.available_layers
    same(link, module, x, ["conv1_1", "pool1", "conv3_3", "conv5_3", "pool5"])
    with chainer.using_config("train", False):
        expected = link(x)["prob"].array
    np.testing.assert_allclose(module.eval()(torch.tensor(x))["prob"].detach().numpy(), expected, rtol=1e-3, atol=1e-5)
    assert not torch.equal(module.train()(torch.tensor(x), ["fc6"])["fc6"], module(torch.tensor(x), ["fc6"])["fc6"])


def test_files(tmp_path, monkeypatch, T):
    monkeypatch.setenv("CHAINER_DATASET_ROOT", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="ResNet-50-model.npz"):
        T.ResNet50Layers()
    with pytest.raises(FileNotFoundError, match="caffemodel"):
        T.ResNet50Layers("ResNet-50-model.caffemodel")
    folder = tmp_path / "pfnet" / "chainer" / "models"
    folder.mkdir(parents=True)
    source = T.ResNet50Layers(None)
    save_npz(str(folder / "ResNet-50-model.npz"), source, compression=False)
    assert torch.equal(T.ResNet50Layers().fc6.weight, source.fc6.weight)
    for cls, n in ((T.VGGLayers, 17), (T.ResNetLayers, 51)):
        with pytest.raises(ValueError):
            cls(None, n)


def test_initial_values_of_vgg(T, monkeypatch):
    class Small(torch.nn.Linear):
        def __init__(self, n_in, n_out):
            super().__init__(40, 40)

    monkeypatch.setattr(torch.nn, "Linear", Small)
    module = T.VGG16Layers(None)
    for layer in (module.conv1_1, module.conv5_3, module.fc6, module.fc8):
        assert float(layer.weight.std()) == pytest.approx(0.01, rel=0.1) and not layer.bias.any()


def test_initial_values(T):
    torch.manual_seed(0)
    module = T.ResNet50Layers(None)
    assert float(module.res4.a.conv3.weight.std()) == pytest.approx((2 / 256) ** 0.5, rel=0.02)
    assert float(module.fc6.weight.std()) == pytest.approx(2048**-0.5, rel=0.02)
    assert module.conv1.bias.abs().sum() == 0
    module = T.GoogLeNet(None)
    assert float(module.loss1_fc1.weight.max()) <= (3 / 2048) ** 0.5
