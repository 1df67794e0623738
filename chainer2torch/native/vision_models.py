"""Chainer's networks for images: VGG, ResNet and GoogLeNet, under Chainer's names, so that its weights load."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from chainer2torch.native.first_values import initialized, lecun_uniform_
from chainer2torch.native.modes import eval_mode
from chainer2torch.native.small_links import Inception

_VGG_MEAN = (103.939, 116.779, 123.68)
_RESNET_MEAN = (103.063, 115.903, 123.152)
_GOOGLENET_MEAN = (104.0, 117.0, 123.0)
_VisionStep = Callable[[torch.Tensor], torch.Tensor]


def load_vision_weights(model: nn.Module, path: str | None, automatic: str) -> None:
    """Loads a file of weights: an .npz of Chainer's, or a state_dict.

    'auto' is where Chainer keeps the file that it has made of a caffemodel. Source: chainer.links.ResNet50Layers.
    """
    if not path:
        return
    if path == "auto":
        home = os.environ.get("CHAINER_DATASET_ROOT", os.path.expanduser("~/.chainer/dataset"))
        path = os.path.join(home, "pfnet/chainer/models", automatic)
    if not os.path.exists(path) or path.endswith(".caffemodel"):
        raise FileNotFoundError(
            f"{path}: an .npz that Chainer made of a caffemodel, or pass None and load other weights"
        )
    if not path.endswith(".npz"):
        model.load_state_dict(torch.load(path, map_location="cpu"))
        return
    known, state = model.state_dict(), {}
    names = {"W": "weight", "b": "bias", "gamma": "weight", "beta": "bias"}
    names |= {"avg_mean": "running_mean", "avg_var": "running_var"}
    with np.load(path) as arrays:
        for entry in arrays:
            layer, _, name = entry.replace("/", ".").rpartition(".")
            key = f"{layer}.{names.get(name, name)}"
            if key in known:
                state[key] = torch.from_numpy(arrays[entry])
    model.load_state_dict(state)


class _VisionModel(nn.Module):
    """A network that gives the activations of the layers that are asked for, as ``{name: tensor}``."""

    _mean: ClassVar[tuple[float, float, float]]
    _extracted: ClassVar[str] = "pool5"

    @property
    def functions(self) -> dict[str, list[_VisionStep]]:
        """What is computed for each layer, in order."""
        raise NotImplementedError

    @property
    def available_layers(self) -> list[str]:
        """The names that ``layers`` may hold."""
        return list(self.functions)

    def forward(self, x: torch.Tensor, layers: Sequence[str] | None = None) -> dict[str, torch.Tensor]:
        wanted = set(["prob"] if layers is None else layers)
        activations = {}
        for name, steps in self.functions.items():
            if not wanted:
                break
            for step in steps:
                x = step(x)
            if name in wanted:
                activations[name] = x
                wanted.remove(name)
        return activations

    def extract(
        self, images: Sequence[Any], layers: Sequence[str] | None = None, size: Any = (224, 224)
    ) -> dict[str, torch.Tensor]:
        """The activations for PIL images or arrays (height, width), (1 or 3, height, width), (height, width, 3)."""
        found: dict[str, torch.Tensor] = self(
            self._batch(images, size), [self._extracted] if layers is None else layers
        )
        return found

    def predict(self, images: Sequence[Any], oversample: bool = True) -> torch.Tensor:
        """The class probabilities (images, 1000), by default the mean over ten crops; in eval mode, without a graph."""
        x = self._batch(images, (256, 256))
        x = _ten_crops(x) if oversample else x[:, :, 16:240, 16:240]
        with torch.no_grad(), eval_mode(self):
            y: torch.Tensor = self(x, ["prob"])["prob"]
        return y.unflatten(0, (-1, 10)).mean(1) if oversample else y

    def _batch(self, images: Sequence[Any], size: Any) -> torch.Tensor:
        prepared = np.stack([_prepare(image, size, self._mean) for image in images])
        return torch.from_numpy(prepared).to(next(self.parameters()))


def _prepare(image: Any, size: Any, mean: Sequence[float]) -> np.ndarray:
    from PIL import Image

    if isinstance(image, torch.Tensor):
        image = image.detach().cpu().numpy()
    if isinstance(image, np.ndarray):
        if image.ndim == 3 and image.shape[0] == 1:
            image = image[0]
        elif image.ndim == 3 and image.shape[0] == 3:
            image = image.transpose((1, 2, 0))
        image = Image.fromarray(image.astype(np.uint8))
    image = image.convert("RGB")
    if size:
        image = image.resize(size)
    dtype = torch.empty(0, device="cpu").numpy().dtype  # float32, if no other default is set
    pixels = np.asarray(image, dtype=dtype)[:, :, ::-1] - np.array(mean, dtype=dtype)
    planes: np.ndarray = pixels.transpose((2, 0, 1))
    return planes


def prepare_vgg(image: Any, size: Any = (224, 224)) -> np.ndarray:
    """An array (3, height, width), BGR and without VGG's mean colour, from a PIL image or an array.

    Source: chainer.links.model.vision.vgg.prepare.
    """
    return _prepare(image, size, _VGG_MEAN)


def prepare_resnet(image: Any, size: Any = (224, 224)) -> np.ndarray:
    """The same with ResNet's mean colour. Source: chainer.links.model.vision.resnet.prepare."""
    return _prepare(image, size, _RESNET_MEAN)


def prepare_googlenet(image: Any, size: Any = (224, 224)) -> np.ndarray:
    """The same with GoogLeNet's mean colour. Source: chainer.links.model.vision.googlenet.prepare."""
    return _prepare(image, size, _GOOGLENET_MEAN)


def _ten_crops(x: torch.Tensor) -> torch.Tensor:
    """Corners and centre of 224 by 224 of each image, and the same mirrored: (10 * images, channels, 224, 224)."""
    height, width = x.shape[2] - 224, x.shape[3] - 224
    corners = [(0, 0), (0, width), (height, 0), (height, width), (height // 2, width // 2)]
    crops = torch.stack([x[:, :, top : top + 224, left : left + 224] for top, left in corners], 1)
    return torch.cat([crops, crops.flip(4)], 1).flatten(0, 1)


class VGGLayers(_VisionModel):
    """VGG with 16 or 19 layers; weights start N(0, 0.01^2). Source: chainer.links.model.vision.vgg.VGGLayers."""

    _mean = _VGG_MEAN
    _extracted = "fc7"

    def __init__(self, pretrained_model: str | None = "auto", n_layers: int = 16) -> None:
        super().__init__()
        if n_layers not in (16, 19):
            raise ValueError(f"n_layers is 16 or 19, not {n_layers}")
        deep = 3 if n_layers == 16 else 4
        self._convs = []
        n_in = 3
        for block, (n_convs, n_out) in enumerate(((2, 64), (2, 128), (deep, 256), (deep, 512), (deep, 512)), 1):
            for i in range(1, n_convs + 1):
                self.add_module(f"conv{block}_{i}", nn.Conv2d(n_in, n_out, 3, 1, 1))
                self._convs.append((block, f"conv{block}_{i}"))
                n_in = n_out
        self.fc6 = nn.Linear(512 * 7 * 7, 4096)
        self.fc7 = nn.Linear(4096, 4096)
        self.fc8 = nn.Linear(4096, 1000)
        if not pretrained_model:
            for layer in self.children():
                initialized(layer, weight=functools.partial(nn.init.normal_, std=0.01))
        load_vision_weights(self, pretrained_model, f"VGG_ILSVRC_{n_layers}_layers.npz")

    @property
    def functions(self) -> dict[str, list[_VisionStep]]:
        steps: dict[str, list[_VisionStep]] = {}
        for block, name in self._convs:
            steps.pop(f"pool{block}", None)
            steps[name] = [self.get_submodule(name), F.relu]
            steps[f"pool{block}"] = [lambda x: F.max_pool2d(x, 2, ceil_mode=True)]
        steps["fc6"] = [lambda x: self.fc6(x.flatten(1)), F.relu, self._dropout]
        steps["fc7"] = [self.fc7, F.relu, self._dropout]
        steps["fc8"] = [self.fc8]
        steps["prob"] = [lambda x: F.softmax(x, 1)]
        return steps

    def _dropout(self, x: torch.Tensor) -> torch.Tensor:
        return F.dropout(x, 0.5, self.training)


class VGG16Layers(VGGLayers):
    """VGG with 16 layers. Source: chainer.links.VGG16Layers."""

    def __init__(self, pretrained_model: str | None = "auto") -> None:
        super().__init__(pretrained_model, 16)


class VGG19Layers(VGGLayers):
    """VGG with 19 layers. Source: chainer.links.VGG19Layers."""

    def __init__(self, pretrained_model: str | None = "auto") -> None:
        super().__init__(pretrained_model, 19)


_he_normal = functools.partial(nn.init.kaiming_normal_, nonlinearity="relu")


class ResNetLayers(_VisionModel):
    """ResNet with 50, 101 or 152 layers; convolutions start from HeNormal.

    ``downsample_fb`` strides in the 3x3 convolution of a block instead of the first. Source:
    chainer.links.model.vision.resnet.ResNetLayers.
    """

    _mean = _RESNET_MEAN

    def __init__(self, pretrained_model: str | None, n_layers: int, downsample_fb: bool = False) -> None:
        super().__init__()
        if n_layers not in (50, 101, 152):
            raise ValueError(f"n_layers is 50, 101 or 152, not {n_layers}")
        blocks = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}[n_layers]
        self.conv1 = initialized(nn.Conv2d(3, 64, 7, 2, 3), weight=_he_normal)
        self.bn1 = nn.BatchNorm2d(64, eps=2e-5)
        self.res2 = _ResNetBlock(blocks[0], 64, 64, 256, 1, downsample_fb)
        self.res3 = _ResNetBlock(blocks[1], 256, 128, 512, 2, downsample_fb)
        self.res4 = _ResNetBlock(blocks[2], 512, 256, 1024, 2, downsample_fb)
        self.res5 = _ResNetBlock(blocks[3], 1024, 512, 2048, 2, downsample_fb)
        self.fc6 = initialized(nn.Linear(2048, 1000))
        load_vision_weights(self, pretrained_model, f"ResNet-{n_layers}-model.npz")

    @property
    def functions(self) -> dict[str, list[_VisionStep]]:
        return {
            "conv1": [self.conv1, self.bn1, F.relu],
            "pool1": [lambda x: F.max_pool2d(x, 3, 2, ceil_mode=True)],
            "res2": [self.res2],
            "res3": [self.res3],
            "res4": [self.res4],
            "res5": [self.res5],
            "pool5": [lambda x: x.mean((2, 3))],
            "fc6": [self.fc6],
            "prob": [lambda x: F.softmax(x, 1)],
        }


class ResNet50Layers(ResNetLayers):
    """ResNet with 50 layers. Source: chainer.links.ResNet50Layers."""

    def __init__(self, pretrained_model: str | None = "auto", downsample_fb: bool = False) -> None:
        super().__init__(pretrained_model, 50, downsample_fb)


class ResNet101Layers(ResNetLayers):
    """ResNet with 101 layers. Source: chainer.links.ResNet101Layers."""

    def __init__(self, pretrained_model: str | None = "auto", downsample_fb: bool = False) -> None:
        super().__init__(pretrained_model, 101, downsample_fb)


class ResNet152Layers(ResNetLayers):
    """ResNet with 152 layers. Source: chainer.links.ResNet152Layers."""

    def __init__(self, pretrained_model: str | None = "auto", downsample_fb: bool = False) -> None:
        super().__init__(pretrained_model, 152, downsample_fb)


class _ResNetBlock(nn.Module):
    """Bottlenecks ``a``, ``b1``, ``b2``, ..; only the first changes size."""

    def __init__(self, n_layers: int, n_in: int, n_mid: int, n_out: int, stride: int, downsample_fb: bool) -> None:
        super().__init__()
        self.a = _Bottleneck(n_in, n_mid, n_out, stride, downsample_fb, True)
        for i in range(1, n_layers):
            self.add_module(f"b{i}", _Bottleneck(n_out, n_mid, n_out, 1, False, False))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for bottleneck in self.children():
            x = bottleneck(x)
        return x


class _Bottleneck(nn.Module):
    def __init__(self, n_in: int, n_mid: int, n_out: int, stride: int, downsample_fb: bool, project: bool) -> None:
        super().__init__()
        first, second = (1, stride) if downsample_fb else (stride, 1)
        sizes = [(n_in, n_mid, 1, first), (n_mid, n_mid, 3, second), (n_mid, n_out, 1, 1)]
        sizes += [(n_in, n_out, 1, stride)] if project else []
        for i, (a, b, ksize, s) in enumerate(sizes, 1):
            conv = nn.Conv2d(a, b, ksize, s, ksize // 2, bias=False)
            self.add_module(f"conv{i}", initialized(conv, weight=_he_normal))
            self.add_module(f"bn{i}", nn.BatchNorm2d(b, eps=2e-5))
        self.project = project

    def _layer(self, i: int, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.get_submodule(f"bn{i}")(self.get_submodule(f"conv{i}")(x))
        return y

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = F.relu(self._layer(2, F.relu(self._layer(1, x))))
        return F.relu(self._layer(3, h) + (self._layer(4, x) if self.project else x))


class GoogLeNet(_VisionModel):
    """GoogLeNet with its two side classifiers; weights start from LeCunUniform, in the blocks from LeCunNormal.

    Source: chainer.links.GoogLeNet.
    """

    _mean = _GOOGLENET_MEAN

    def __init__(self, pretrained_model: str | None = "auto") -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3)
        self.conv2_reduce = nn.Conv2d(64, 64, 1)
        self.conv2 = nn.Conv2d(64, 192, 3, 1, 1)
        self.inc3a = Inception(192, 64, 96, 128, 16, 32, 32)
        self.inc3b = Inception(256, 128, 128, 192, 32, 96, 64)
        self.inc4a = Inception(480, 192, 96, 208, 16, 48, 64)
        self.inc4b = Inception(512, 160, 112, 224, 24, 64, 64)
        self.inc4c = Inception(512, 128, 128, 256, 24, 64, 64)
        self.inc4d = Inception(512, 112, 144, 288, 32, 64, 64)
        self.inc4e = Inception(528, 256, 160, 320, 32, 128, 128)
        self.inc5a = Inception(832, 256, 160, 320, 32, 128, 128)
        self.inc5b = Inception(832, 384, 192, 384, 48, 128, 128)
        self.loss3_fc = nn.Linear(1024, 1000)
        for i, channels in ((1, 512), (2, 528)):
            self.add_module(f"loss{i}_conv", nn.Conv2d(channels, 128, 1))
            self.add_module(f"loss{i}_fc1", nn.Linear(2048, 1024))
            self.add_module(f"loss{i}_fc2", nn.Linear(1024, 1000))
        for layer in self.children():
            if not isinstance(layer, Inception):
                initialized(layer, weight=lecun_uniform_)
        load_vision_weights(self, pretrained_model, "bvlc_googlenet.npz")

    @property
    def functions(self) -> dict[str, list[_VisionStep]]:
        def pool(x: torch.Tensor) -> torch.Tensor:
            return F.max_pool2d(x, 3, 2, ceil_mode=True)

        def normalize(x: torch.Tensor) -> torch.Tensor:
            return F.local_response_norm(x, 5, alpha=1e-4, beta=0.75, k=1.0)  # torch divides alpha by the size

        steps: dict[str, list[_VisionStep]] = {
            "conv1": [self.conv1, F.relu],
            "pool1": [pool, normalize],
            "conv2_reduce": [self.conv2_reduce, F.relu],
            "conv2": [self.conv2, F.relu, normalize],
            "pool2": [pool],
            "inception_3a": [self.inc3a],
            "inception_3b": [self.inc3b],
            "pool3": [pool],
            "inception_4a": [self.inc4a],
            "inception_4b": [self.inc4b],
            "inception_4c": [self.inc4c],
            "inception_4d": [self.inc4d],
            "inception_4e": [self.inc4e],
            "pool4": [pool],
            "inception_5a": [self.inc5a],
            "inception_5b": [self.inc5b],
            "pool5": [lambda x: F.avg_pool2d(x, 7, 1)],
            "loss3_fc": [lambda x: self.loss3_fc(F.dropout(x, 0.4, self.training).flatten(1))],
            "prob": [lambda x: F.softmax(x, 1)],
        }
        steps["loss1_fc2"] = self._side_classifier(1)
        steps["loss2_fc2"] = self._side_classifier(2)
        return steps

    def _side_classifier(self, i: int) -> list[_VisionStep]:
        conv, fc1, fc2 = (self.get_submodule(f"loss{i}_{part}") for part in ("conv", "fc1", "fc2"))
        return [lambda x: F.avg_pool2d(x, 5, 3), conv, F.relu, lambda x: fc1(x.flatten(1)), F.relu, fc2]

    def forward(self, x: torch.Tensor, layers: Sequence[str] | None = None) -> dict[str, torch.Tensor]:
        wanted = ["prob"] if layers is None else list(layers)
        side = {"loss1_fc2": "inception_4a", "loss2_fc2": "inception_4d"}
        trunk = [name for name in wanted if name not in side]
        found = super().forward(x, trunk + [side[name] for name in wanted if name in side])
        for name in wanted:
            if name in side:
                y = found[side[name]]
                for step in self.functions[name]:
                    y = step(y)
                found[name] = y
        return {name: y for name, y in found.items() if name in wanted}
