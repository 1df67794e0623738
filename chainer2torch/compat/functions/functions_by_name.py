"""Activation functions in one place, for programs that choose one by its name."""

from __future__ import annotations

from typing import NoReturn

import torch
import torch.nn.functional as F

from chainer2torch.compat.functions.activation import (
    clipped_relu,
    crelu,
    hard_sigmoid,
    leaky_relu,
    log_softmax,
    maxout,
    prelu,
    rrelu,
    selu,
    softmax,
    swish,
)
from chainer2torch.compat.functions.math_functions import identity


_OTHERS = frozenset({"clipped_relu", "crelu", "hard_sigmoid", "maxout", "prelu", "rrelu", "swish"})


class _Named(type):
    def __getattr__(cls, name: str) -> NoReturn:
        if name in _OTHERS:  # no AttributeError, which `getattr(F, name, None)` would swallow
            raise NotImplementedError(
                f"name {name} in the program or its settings, and `chainer2torch migrate` puts it in"
            )
        raise AttributeError(name)


class FunctionsByName(metaclass=_Named):
    """Chainer's activation functions as attributes: ``getattr(FunctionsByName, "relu")(x)``.

    Another name is an AttributeError. One of the longer ones that neither the programs of a project nor its settings
    say raises NotImplementedError. Source: the module chainer.functions.
    """

    clipped_relu = staticmethod(clipped_relu)  # where: named_clipped_relu
    crelu = staticmethod(crelu)  # where: named_crelu
    elu = staticmethod(F.elu)
    hard_sigmoid = staticmethod(hard_sigmoid)  # where: named_hard_sigmoid
    identity = staticmethod(identity)
    leaky_relu = staticmethod(leaky_relu)
    log_softmax = staticmethod(log_softmax)
    maxout = staticmethod(maxout)  # where: named_maxout
    prelu = staticmethod(prelu)  # where: named_prelu
    relu = staticmethod(F.relu)
    relu6 = staticmethod(F.relu6)
    rrelu = staticmethod(rrelu)  # where: named_rrelu
    selu = staticmethod(selu)
    sigmoid = staticmethod(torch.sigmoid)
    softmax = staticmethod(softmax)
    softplus = staticmethod(F.softplus)
    swish = staticmethod(swish)  # where: named_swish
    tanh = staticmethod(torch.tanh)
