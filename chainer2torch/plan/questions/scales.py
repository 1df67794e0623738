"""What `wscale` of version 1 did: up to 1.8 it scaled the first weights, since 1.9 its square root does.

From the sources of Chainer 1.8.2, 1.9.1 and 1.24.0 (chainer/links/connection/linear.py, convolution_2d.py,
deconvolution_2d.py): up to 1.8 the spread is ``wscale * sqrt(1 / fan_in)``, where a deconvolution took its input
channels for the fan, and an array given as ``initialW`` is taken as it is; since 1.9 all of them are multiplied with
``sqrt(wscale)``.
"""

from __future__ import annotations


import ast

from chainer2torch.analysis.components import meeting
from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.module_index import ModuleInfo
from chainer2torch.analysis.values import dataclass
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.reading import Reading

_NAME = "wscale"
_SCALED = frozenset({"initialW", "conv_init"})  # what it scales, too, since 1.9
_SQUARE_ROOT_SINCE = 9
# What came with 1.9 or later, from the sources of 1.8.2, 1.9.0, 1.15.0 and 1.24.0: modules, names in others, methods
_LATER_MODULES = tuple(
    f"chainer.{name}" for name in ("training.", "iterators.", "dataset.", "datasets.", "initializers.", "report")
)
_LATER_NAMES = frozenset(
    f"chainer.{module}.{name}"
    for module, names in {
        "functions": "absolute_error arccos arcsin arctan argmax argmin average average_pooling_nd black_out cast ceil "
        "connectionist_temporal_classification convolution_nd cosh crelu crf1d deconvolution_nd decov depth2space "
        "depthwise_convolution_2d dilated_convolution_2d dstack expm1 f1_score flatten fliplr flipud floor fmod forget "
        "get_item hard_sigmoid hstack im2col linear_interpolate log10 log1p log2 logsumexp max_pooling_nd maximum "
        "mean mean_absolute_error minimum n_step_gru n_step_lstm normalize pad pad_sequence permutate resize_images "
        "roi_pooling_2d rollaxis rsqrt scale separate sinh space2depth spatial_transformer_grid "
        "spatial_transformer_sampler sqrt square squared_difference squared_error squeeze stack tan tile "
        "transpose_sequence triplet unpooling_nd upsampling_2d vstack zoneout",
        "links": "Bias BlackOut CRF1d ConvolutionND DeconvolutionND DepthwiseConvolution2D DilatedConvolution2D "
        "GoogLeNet Highway LayerNormalization NStepGRU NStepLSTM ResNet101Layers ResNet152Layers ResNet50Layers Scale "
        "SimplifiedDropconnect StatefulPeepholeLSTM StatefulZoneoutLSTM StatelessLSTM VGG16Layers",
        "optimizers": "SMORMS3",
    }.items()
    for name in names.split()
)
_LATER_METHODS = frozenset({"cleargrad", "cleargrads", "use_cleargrads"})


@dataclass(frozen=True)
class Scaled:
    """Whether the version answers the question that a row of version 1 asks, and what changes in its template."""

    settled: bool = False
    old: str = f"scale={_NAME}"
    new: str = ""


def minor_version(context: Context) -> int | None:
    """The minor version of a program of version 1: what somebody says, or one that has the names that its files use.

    None: all its names are in 1.8, too, so that it may be older.
    """
    if context.choices.chainer_minor is not None:
        return context.choices.chainer_minor
    later = context.analysis.once(_with_later_names)
    together = context.analysis.once(meeting)[context.module]
    return None if later.isdisjoint(together) else _SQUARE_ROOT_SINCE


def _with_later_names(analysis: Analysis) -> frozenset[ModuleInfo]:
    """The files that use what came with 1.9 or later."""
    return frozenset(
        module
        for module in analysis.project.modules.values()
        if any(name.startswith(_LATER_MODULES) or name in _LATER_NAMES for _, name in analysis.names_in(module.source))
        or any(node.attr in _LATER_METHODS for node in module.source.of(ast.Attribute))
    )


def scaled_by_version(minor: int | None, reading: Reading) -> Scaled:
    """How first values were scaled in version ``1.minor``."""
    row, given = reading.row, reading.bound.given
    if minor is None or row.signature is None or _NAME not in row.signature.names or row.state != "review":
        return Scaled()
    if minor < _SQUARE_ROOT_SINCE:
        return Scaled(settled=not row.differs_without or row.differs_without in given)
    if _NAME not in given:
        return Scaled(settled=True)
    return Scaled(settled=_SCALED.isdisjoint(given), new=f"scale=math.sqrt({_NAME})")
