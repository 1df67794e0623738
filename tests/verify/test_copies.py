"""Copies of a network are found by their values, also beside modules whose parameters have no shape yet."""

import torch
from torch import nn

from chainer2torch.verify.worker.torch_script import _copies


class Scaled(nn.Module):
    """A layer with a parameter of its own that gets its shape from the first batch."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.scale = nn.UninitializedParameter()


def test_copies_are_found():
    first, second, other = Scaled(), Scaled(), Scaled()
    for module in (first, second):
        module.scale.materialize((2,))
    with torch.no_grad():
        first.scale.fill_(3)
    second.load_state_dict(first.state_dict())
    assert _copies(first) == [second]
    assert _copies(other) == [], "values that are still to come are nobody's copy"
