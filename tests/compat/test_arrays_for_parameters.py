"""``layer.W = array``, as programs of version 1 write it: the parameter has these values from now on."""

import numpy as np
import torch
from torch import nn

from chainer2torch.compat.links.link_names import set_link_attribute


def test_a_parameter_takes_an_array_of_numpy() -> None:
    layer = nn.Linear(3, 2)
    values = np.arange(6, dtype="d").reshape(2, 3)
    set_link_attribute(layer, "W", values)
    assert isinstance(layer.weight, nn.Parameter) and layer.weight.dtype == torch.float32
    np.testing.assert_array_equal(layer.weight.detach().numpy(), values)
    assert "weight" in dict(layer.named_parameters()) and layer.weight.requires_grad
