"""What Chainer's layers take: which parameters are sizes, and an array that fits."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

# Parameters of Chainer's links that any small number fits.
SIZE_PARAMETERS = frozenset({"in_size", "out_size", "in_channels", "out_channels", "size", "in_out_size"})
# Called with an array first, these give one of the same shape, whatever it holds.
KEEP_SHAPE = frozenset(
    "chainer.functions." + name
    for name in (
        "relu leaky_relu elu sigmoid tanh softplus clipped_relu hard_sigmoid dropout "
        "softmax log_softmax absolute square gaussian_noise swish selu"
    ).split()
) | {"chainer.Variable", "chainer.as_variable"}
# Called with scores and labels.
TAKE_LABELS = frozenset({"chainer.functions.softmax_cross_entropy", "chainer.functions.accuracy"})


@dataclasses.dataclass(frozen=True)
class Layer:
    """A link by its parameters: sizes of input and output, and the array it takes. Without ``needs`` (as in
    ``L.Linear(10)``) the first argument is the output's size.
    """

    takes: str
    gives: str
    array: str
    needs: str = ""


_IMAGE = "f32[{batch},{size},32,32]"
LAYERS: Mapping[str, Layer] = {
    "chainer.links.Linear": Layer("in_size", "out_size", "f32[{batch},{size}]", "out_size"),
    "chainer.links.LSTM": Layer("in_size", "out_size", "f32[{batch},{size}]", "out_size"),
    "chainer.links.Maxout": Layer("in_size", "out_size", "f32[{batch},{size}]"),
    "chainer.links.EmbedID": Layer("in_size", "out_size", "i32[{batch},5]<{size}"),
    "chainer.links.Convolution1D": Layer("in_channels", "out_channels", "f32[{batch},{size},32]"),
    "chainer.links.Convolution2D": Layer("in_channels", "out_channels", _IMAGE, "ksize"),
    "chainer.links.MLPConvolution2D": Layer("in_channels", "", _IMAGE, "ksize"),
    "chainer.links.DilatedConvolution2D": Layer("in_channels", "out_channels", _IMAGE, "ksize"),
    "chainer.links.Deconvolution2D": Layer("in_channels", "out_channels", "f32[{batch},{size},8,8]", "ksize"),
}
