"""Convolution links, against Chainer: torch's own layers and the helpers with Chainer's arguments."""

import types

import chainer
import numpy as np
import pytest
import torch
import torch.nn as nn
from chainer import links as L

from chainer2torch.compat.links import convolution_links, deconvolution_links
from tests.support.links import check_link

T = types.SimpleNamespace(**{**vars(convolution_links), **vars(deconvolution_links)})

X = "f32[2,4,7,6]"

TORCH = [
    (lambda: L.Convolution2D(4, 3, 3), lambda: nn.Conv2d(4, 3, 3), X),
    (
        lambda: L.Convolution2D(None, 3, (3, 2), (2, 1), (1, 0), True, dilate=2),
        lambda: nn.LazyConv2d(3, (3, 2), (2, 1), (1, 0), dilation=2, bias=False),
        X,
    ),
    (lambda: L.Convolution2D(6, 3, groups=2), lambda: nn.LazyConv2d(6, 3, groups=2), X),
    (lambda: L.Convolution1D(4, 3, 3, pad=1), lambda: nn.Conv1d(4, 3, 3, padding=1), "f32[2,4,7]"),
    (lambda: L.Convolution1D(None, 4, 3, groups=2), lambda: nn.LazyConv1d(4, 3, groups=2), "f32[2,4,7]"),
    (lambda: L.Convolution3D(2, 3, 2, 2), lambda: nn.Conv3d(2, 3, 2, 2), "f32[2,2,4,5,4]"),
    (lambda: L.ConvolutionND(3, None, 3, (2, 1, 2)), lambda: nn.LazyConv3d(3, (2, 1, 2)), "f32[2,2,4,5,4]"),
    (lambda: L.DilatedConvolution2D(4, 3, 3, pad=2, dilate=2), lambda: nn.Conv2d(4, 3, 3, padding=2, dilation=2), X),
    (lambda: L.Deconvolution2D(4, 3, 3), lambda: nn.ConvTranspose2d(4, 3, 3), X),
    (
        lambda: L.Deconvolution2D(None, 6, (4, 3), 2, 1, groups=2),
        lambda: nn.LazyConvTranspose2d(6, (4, 3), 2, 1, groups=2),
        X,
    ),
    (
        lambda: L.Deconvolution1D(4, 3, 3, 2, nobias=True),
        lambda: nn.ConvTranspose1d(4, 3, 3, 2, bias=False),
        "f32[2,4,5]",
    ),
    (lambda: L.Deconvolution3D(2, 3, 2, dilate=2), lambda: nn.ConvTranspose3d(2, 3, 2, dilation=2), "f32[2,2,3,2,3]"),
    (lambda: L.DeconvolutionND(1, None, 3, 3), lambda: nn.LazyConvTranspose1d(3, 3), "f32[2,4,5]"),
]


@pytest.mark.parametrize("link,module,spec", TORCH)
def test_torch_layers(link, module, spec):
    check_link(link, module, [spec], steps=2)


W2 = np.random.RandomState(0).randn(3, 4, 2, 2)
HELPERS = [
    (lambda m: m.Convolution2D(4, 3, 3), X),
    (lambda m: m.Convolution2D(None, 3, 3, 2, 1, True), X),
    (lambda m: m.Convolution2D(6, (2, 3)), X),
    (lambda m: m.Convolution2D(6, 3, groups=2, stride=(1, 2)), X),
    (lambda m: m.Convolution2D(None, 4, (3, 2), pad=(1, 2), dilate=(2, 1), groups=4), X),
    (lambda m: m.Convolution2D(4, 3, 2, initialW=W2, initial_bias=np.arange(3)), X),
    (lambda m: m.Convolution2D(4, 3, 2, initialW=0.1, initial_bias=0.2), X),
    (lambda m: m.Convolution1D(None, 3, 3, 2, 1), "f32[2,4,8]"),
    (lambda m: m.Convolution1D(4, 3, 3, 2, cover_all=True), "f32[2,4,8]"),
    (lambda m: m.ConvolutionND(2, 4, 3, 3, (3, 2), (1, 0), cover_all=True, dilate=(1, 2)), "f32[2,4,8,8]"),
    (lambda m: m.Convolution3D(2, 3, 2, 2, 1), "f32[2,2,3,4,3]"),
    (lambda m: m.ConvolutionND(1, 3, 3), "f32[2,4,8]"),
    (lambda m: m.ConvolutionND(3, 2, 4, 2, groups=2, initialW=0.3), "f32[2,2,3,4,3]"),
    (lambda m: m.DilatedConvolution2D(4, 3, 3, 1, 2, 2), X),
    (lambda m: m.DilatedConvolution2D(3, 2, dilate=2), X),
    (lambda m: m.DilatedConvolution2D(None, 3, (2, 3), nobias=True, initialW=0.2), X),
    (lambda m: m.Deconvolution2D(4, 3, 3, 2, 1), X),
    (lambda m: m.Deconvolution2D(None, 3, 3, nobias=True), X),
    (lambda m: m.Deconvolution2D(6, 3, groups=2), X),
    (lambda m: m.Deconvolution2D(4, 3, 3, dilate=2), X),
    (lambda m: m.Deconvolution2D(4, 3, 3, 2, 1, outsize=(14, 12), initial_bias=1), X),
    (lambda m: m.Deconvolution2D(4, 3, 3, 3, outsize=(20, 18)), X),
    (lambda m: m.Deconvolution2D(4, 3, 3, 2, outsize=(14, 12)), X),
    (lambda m: m.Deconvolution1D(4, 3, 4, 3, outsize=(17,)), "f32[2,4,5]"),
    (lambda m: m.Deconvolution1D(None, 4, 3, groups=2, dilate=2), "f32[2,4,5]"),
    (lambda m: m.Deconvolution3D(2, 3, 2, 2, 1), "f32[2,2,3,2,3]"),
    (lambda m: m.DeconvolutionND(2, 4, 3, (3, 2), (2, 3), (1, 0), outsize=(14, 19)), X),
    (lambda m: m.DeconvolutionND(1, 3, 3), "f32[2,4,5]"),
    (lambda m: m.DepthwiseConvolution2D(4, 2, 3), X),
    (lambda m: m.DepthwiseConvolution2D(None, 3, (2, 3), 2, 1), X),
    (lambda m: m.DepthwiseConvolution2D(4, 1, 3, (1, 2), nobias=True), X),
    (lambda m: m.DepthwiseConvolution2D(None, 2, 2, initialW=0.3, initial_bias=np.arange(8)), X),
]


@pytest.mark.parametrize("make,spec", HELPERS)
def test_helpers(make, spec):
    check_link(lambda: make(L), lambda: make(T), [spec], steps=2)


def test_helpers_fill_themselves_like_chainer():
    for make in (
        lambda m: m.Convolution2D(40, 50, 5),
        lambda m: m.Deconvolution2D(40, 50, 5),
        lambda m: m.DepthwiseConvolution2D(100, 20, 5),
        lambda m: m.Convolution2D(None, 60, 5, groups=2),
    ):
        np.random.seed(0)
        torch.manual_seed(0)
        link, module = make(L), make(T)
        if link.W.array is None:
            link(np.ones((1, 40, 5, 5), "f"))
            module(torch.ones(1, 40, 5, 5))
        weight = module.weight if hasattr(module, "weight") else module.W
        assert float(weight.std()) == pytest.approx(link.W.array.std(), rel=0.02)


@pytest.mark.parametrize(
    "make,shape",
    [
        (lambda m: m.Convolution2D(4, 3, 3), (4, 7, 6)),
        (lambda m: m.Convolution2D(4, 3, 3), (2, 5, 7, 6)),
        (lambda m: m.Deconvolution2D(4, 3, 3), (4, 7, 6)),
        (lambda m: m.Deconvolution2D(4, 3, 3, 2, outsize=(9, 9)), (2, 4, 7, 6)),
        (lambda m: m.Deconvolution2D(4, 3, 3, 2, outsize=(17, 13)), (2, 4, 7, 6)),
        (lambda m: m.Convolution2D(None, 4, 3, groups=2), (2, 3, 7, 6)),
    ],
)
def test_errors(make, shape):
    with pytest.raises((chainer.utils.type_check.InvalidType, ValueError)):
        make(L)(np.zeros(shape, "f"))
    with pytest.raises((RuntimeError, ValueError)):
        make(T)(torch.zeros(shape))


def test_constructor_errors():
    for module in (L, T):
        with pytest.raises(ValueError):
            module.Convolution2D(4, 3, 3, groups=2)
        with pytest.raises(ValueError):
            module.Deconvolution2D(3, 4, 3, groups=2)
        with pytest.raises((ValueError, AssertionError)):
            module.ConvolutionND(3, 4, 3, (2, 2))
    with pytest.raises(TypeError):
        T.Convolution2D(4, 3, 3, deterministic=True)
