"""Gives calls of Chainer 1 that Chainer 7 refuses their meaning of then: ``train=``, ``test=``, ``volatile``.

A call that Chainer 7 takes means what it means there, but in files of version 1: there dropout and batch normalization
are those of training unless the call says something else. Weights are drawn anew;
``FIRST_VALUES`` marks links that begin with other values than their calls say.
Written for Python 3.6; does nothing under Chainer 1 itself.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import contextlib
import functools
import importlib
import os
import sys

import chainer
import chainer.functions as F
import chainer.links as L

from . import first_names, old_own_optimizers

_CHAINER, _HERE = os.path.dirname(chainer.__file__), os.path.dirname(os.path.abspath(__file__))
# Of a link whose first values are not those that its call asked for.
FIRST_VALUES = "_first_values_of_version_1"
# Arguments that only say how something is computed, or what it begins with.
_WITHOUT_MEANING = ("use_cudnn", "wscale", "deterministic", "bias")
_FUNCTIONS = (
    "relu clipped_relu sigmoid tanh softmax log_softmax softmax_cross_entropy max_pooling_2d average_pooling_2d "
    "convolution_2d deconvolution_2d spatial_pyramid_pooling_2d leaky_relu elu gaussian"
).split()
# Links that could be had as functions until version 1.5.
_LINKS_AMONG_FUNCTIONS = (
    "BatchNormalization Bilinear BinaryHierarchicalSoftmax Convolution2D Deconvolution2D EmbedID Inception InceptionBN "
    "Linear MLPConvolution2D NegativeSampling Parameter PReLU"
).split()
# By link: where ``wscale`` stood, and the names from there on, then and now.
_THEN = ("wscale", "bias", "nobias", "use_cudnn", "initialW", "initial_bias", "deterministic")
_STACKED = 4  # n_layers, in_size, out_size, dropout
_PLACES = {
    "Convolution2D": (5, _THEN),
    "DilatedConvolution2D": (6, _THEN),
    "Linear": (2, ("wscale", "bias", "nobias", "initialW", "initial_bias")),
    "Deconvolution2D": (
        5,
        ("wscale", "bias", "nobias", "outsize", "use_cudnn", "initialW", "initial_bias", "deterministic"),
    ),
}


class FirstVersion(object):
    """The patches. ``files`` are of version 1; the calls in others mean what they mean today."""

    def __init__(self, files=()):
        self._is_meant = False
        self._files = {os.path.realpath(file) for file in files}
        self._gru = getattr(L, "GRU", None)

    @property
    def is_meant(self):
        """Whether the models that run now are of version 1."""
        return self._is_meant

    @is_meant.setter
    def is_meant(self, value):
        self._is_meant = bool(value)
        if hasattr(L, "StatelessGRU"):  # the name of which was GRU
            L.GRU = L.StatelessGRU if value else self._gru

    def _asks(self):
        """Whether the program's own line that leads here is of version 1."""
        if self._is_meant or not self._files:
            return self._is_meant
        frame = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith((_CHAINER, _HERE)):
            frame = frame.f_back
        return frame is not None and os.path.realpath(frame.f_code.co_filename) in self._files

    def install(self):
        """Patches Chainer's functions and links."""
        if not hasattr(chainer, "using_config") or not hasattr(L.Linear, "forward"):  # before version 5
            return
        first_names.install()
        old_own_optimizers.install()
        for name in _FUNCTIONS:
            if hasattr(F, name):
                setattr(F, name, _named(_without(getattr(F, name))))
        for name in (
            "Inception",
            "ConvolutionND",
            "LSTM",
            "GRU",
            "InceptionBN",
            "MLPConvolution2D",
            "Highway",
            "BatchNormalization",
        ):
            if hasattr(L, name):
                getattr(L, name).__init__ = _without(getattr(L, name).__init__)
        for name in ("LSTM", "StatelessLSTM"):
            getattr(L, name).__init__ = self._recurrent(getattr(L, name).__init__)
        for name, (start, names) in _PLACES.items():
            getattr(L, name).__init__ = _at_old_places(getattr(L, name).__init__, start, names)
        for name in _LINKS_AMONG_FUNCTIONS:
            if not hasattr(F, name):
                setattr(F, name, getattr(L, name))
        argument = importlib.import_module("chainer.utils.argument")  # which version 1 does not have
        argument.check_unexpected_kwargs = _without_words(argument.check_unexpected_kwargs)
        F.dropout = self._dropout(F.dropout)
        for name, places in (("NStepLSTM", 3), ("NStepBiLSTM", 3), ("NStepGRU", 2), ("NStepBiGRU", 2)):
            if hasattr(L, name):
                getattr(L, name).forward = _with_train(getattr(L, name).forward, places)
                getattr(L, name).__init__ = _at_most(getattr(L, name).__init__, _STACKED)
        L.Linear.forward = _of_one_input(L.Linear.forward)
        L.BatchNormalization.forward = self._normalization(L.BatchNormalization.forward)
        chainer.Variable.__init__ = _without_volatile(chainer.Variable.__init__)
        chainer.Variable.volatile = "off"

    def _recurrent(self, init):
        """The bias of the forget gate began at 0, and begins at 1 since version 2."""

        @functools.wraps(init)
        def wrapped(link, *args, **kwargs):
            if self._asks() and len(args) < 6:
                kwargs.setdefault("forget_bias_init", 0)
            return init(link, *args, **kwargs)

        return wrapped

    def _dropout(self, dropout):
        @functools.wraps(dropout)
        def wrapped(x, ratio=0.5, *args, **kwargs):
            train = kwargs.pop("train", args[0] if args else True if self._asks() else None)
            with _mode(train):
                return dropout(x, ratio, **kwargs)

        return wrapped

    def _normalization(self, forward):
        @functools.wraps(forward)
        def wrapped(link, x, *args, **kwargs):
            test = kwargs.pop("test", args[0] if args else False if self._asks() else None)
            if len(args) > 1:
                kwargs["finetune"] = args[1]
            with _mode(None if test is None else not test):
                return forward(link, x, **kwargs)

        return wrapped


@contextlib.contextmanager
def _mode(train):
    if train is None:
        yield
        return
    with chainer.using_config("train", bool(train)):
        yield


def _named(function):
    """Where a function is looked up by its name, too: a pickle of a model that holds it names it so."""
    setattr(sys.modules[function.__module__], function.__name__, function)
    return function


def _without(function):
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        begins_otherwise = kwargs.get("wscale") is not None or kwargs.get("bias") is not None
        for name in _WITHOUT_MEANING:
            kwargs.pop(name, None)
        result = function(*args, **kwargs)
        if begins_otherwise and args and isinstance(args[0], chainer.Link):
            args[0].__dict__[FIRST_VALUES] = True
        return result

    return wrapped


def _of_one_input(forward):
    """A layer that refuses ``train``, which stands where its number of axes is now; then it took an input alone."""

    @functools.wraps(forward)
    def wrapped(link, x, n_batch_axes=1):
        if isinstance(n_batch_axes, bool):
            raise TypeError("Linear.forward() takes an input and a number of axes, not a mode")
        return forward(link, x, n_batch_axes)

    return wrapped


def _with_train(forward, places):
    """A stack of layers that knows ``train`` behind its inputs."""

    @functools.wraps(forward)
    def wrapped(link, *args, **kwargs):
        train = kwargs.pop("train", args[places] if len(args) > places else None)
        with _mode(train):
            return forward(link, *args[:places], **kwargs)

    return wrapped


def _at_most(init, places):
    """A constructor that knows ``use_cudnn`` behind its other arguments."""
    init = _without(init)

    @functools.wraps(init)
    def wrapped(link, *args, **kwargs):
        return init(link, *args[:places], **kwargs)

    return wrapped


def _without_words(check):
    """Chainer 7 refuses these, whatever they are; here they mean nothing, as on a CPU of then."""

    @functools.wraps(check)
    def wrapped(kwargs, **unexpected):
        for name in ("use_cudnn", "deterministic"):
            kwargs.pop(name, None)
        return check(kwargs, **unexpected)

    return wrapped


def _at_old_places(init, start, names):
    """A constructor that knows a call of version 1 by a number where ``nobias`` is now."""
    init = _without(init)

    @functools.wraps(init)
    def wrapped(link, *args, **kwargs):
        rest = args[start:]
        is_number = bool(rest) and isinstance(rest[0], (int, float)) and not isinstance(rest[0], bool)
        if rest and (is_number or "nobias" in kwargs):
            kwargs.update(zip(names, rest))
            args = args[:start]
        return init(link, *args, **kwargs)

    return wrapped


def _without_volatile(init):
    @functools.wraps(init)
    def wrapped(variable, *args, **kwargs):
        kwargs.pop("volatile", None)
        return init(variable, *args[:1], **kwargs)

    return wrapped
