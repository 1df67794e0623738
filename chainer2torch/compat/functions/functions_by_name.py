"""Activation functions in one place, for programs that choose one by its name."""

from __future__ import annotations

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


class FunctionsByName:
    """Chainer's activation functions as attributes: ``getattr(FunctionsByName, "relu")(x)``.

    Another name is an AttributeError. Source: the module chainer.functions.
    """

    clipped_relu = staticmethod(clipped_relu)
    crelu = staticmethod(crelu)
    elu = staticmethod(F.elu)
    hard_sigmoid = staticmethod(hard_sigmoid)
    identity = staticmethod(identity)
    leaky_relu = staticmethod(leaky_relu)
    log_softmax = staticmethod(log_softmax)
    maxout = staticmethod(maxout)
    prelu = staticmethod(prelu)
    relu = staticmethod(F.relu)
    relu6 = staticmethod(F.relu6)
    rrelu = staticmethod(rrelu)
    selu = staticmethod(selu)
    sigmoid = staticmethod(torch.sigmoid)
    softmax = staticmethod(softmax)
    softplus = staticmethod(F.softplus)
    swish = staticmethod(swish)
    tanh = staticmethod(torch.tanh)
