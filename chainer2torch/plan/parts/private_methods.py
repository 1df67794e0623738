"""Methods of Chainer's own classes that are no interface, which a program's class has in their place.

Chainer calls them; what takes the place of its class does not, so they would be dead code without a word.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from chainer2torch.plan.context import Context

_N_STEP = tuple(
    f"chainer.links.NStep{way}{cell}" for way in ("", "Bi") for cell in ("GRU", "LSTM", "RNNReLU", "RNNTanh")
)
_LAYERS = tuple(
    f"chainer.links.{name}"
    for name in (
        *("BatchNormalization", "ConvolutionND", "Convolution2D", "Deconvolution2D", "DeconvolutionND"),
        *("DilatedConvolution2D", "GroupNormalization", "LSTM", "LayerNormalization", "Linear", "LocalConvolution2D"),
        *("SimplifiedDropconnect", "StatelessLSTM", "Convolution1D", "Convolution3D", "Deconvolution1D"),
        *("Deconvolution3D", "BatchRenormalization"),
    )
)
# by name: the classes that call such a method of theirs, and the code
_METHODS: Mapping[str, tuple[tuple[str, ...], str]] = MappingProxyType(
    {
        "_initialize_params": (_LAYERS, "C2T200"),
        "_init_array": (("chainer.links.BatchNormalization",), "C2T200"),
        "_get_gamma": (("chainer.links.BatchNormalization",), "C2T200"),
        "_get_beta": (("chainer.links.BatchNormalization",), "C2T200"),
        "_call": (_N_STEP, "C2T200"),
        "_call_mgu": (("chainer.links.StatefulMGU", "chainer.links.StatelessMGU"), "C2T200"),
        "_pad_zero_nodes": (("chainer.links.ChildSumTreeLSTM", "chainer.links.NaryTreeLSTM"), "C2T200"),
        "_check_set_up": (("chainer.Optimizer",), "C2T500"),
        "_init_states": (("chainer.UpdateRule",), "C2T500"),
        "_create_uninitialized_parameter": (("chainer.UpdateRule",), "C2T500"),
        "_get": (("chainer.iterators.MultithreadIterator",), "C2T620"),
        "_invoke_prefetch": (("chainer.iterators.MultithreadIterator",), "C2T620"),
        "_read": (("chainer.iterators.MultithreadIterator",), "C2T620"),
        "_initialize_loop": (("chainer.iterators.MultiprocessIterator",), "C2T620"),
        "_reset_state": (("chainer.iterators.MultiprocessIterator",), "C2T620"),
        "_get_conveyor": (("chainer.dataset.ConcatWithAsyncTransfer",), "C2T610"),
        "_compute_next_value": (("chainer.training.extensions.LinearShift",), "C2T600"),
        "_send_message": (("chainer.training.updaters.MultiprocessParallelUpdater",), "C2T600"),
    }
)
# what calls them in the native style
_CALLED: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "_initialize_params": frozenset(
            f"chainer.links.{name}" for name in ("Convolution2D", "Deconvolution2D", "DilatedConvolution2D", "Linear")
        )
    }
)
MESSAGE = "Chainer's class calls this method; nothing calls it here. Call it where its class needs it"


def dead_method(context: Context, bases: Iterable[str], name: str) -> tuple[str, str] | None:
    """Chainer's name of a private method that a class with these bases writes itself, and a code; None: none is."""
    if name not in _METHODS:
        return None
    owners, code = _METHODS[name]
    for base in bases:
        owner = next((o for o in owners if context.rules.is_subclass(base, o)), None)
        if owner is not None and not (context.choices.style == "native" and base in _CALLED.get(name, ())):
            return f"{owner}.{name}", code
    return None


__all__ = ["MESSAGE", "dead_method"]
