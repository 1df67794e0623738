"""What an object with a ``serialize`` of its own holds is saved by state_dicts, by short helpers and long ones."""

import numpy as np
import pytest
import torch
from pytorch_pfn_extras.reporting import DictSummary

from chainer2torch.compat.serializers import state
from chainer2torch.compat.serializers.state_io import StateReader, StateWriter
from chainer2torch.compat.training import summary
from chainer2torch.native import states


class _Mean:
    """An object that hands its parts on."""

    def __init__(self, helpers):
        self.part, self.means = helpers
        self.model = torch.nn.Linear(2, 2)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)
        self.summary, self.other, self.count = DictSummary(), _Counter(), np.zeros(2)

    def serialize(self, serializer):
        self.part(serializer, self.model)  # beside the keys of others
        self.part(serializer["optimizer"], self.optimizer)
        self.part(serializer["other"], self.other)
        self.part(serializer["loader"], object())
        self.means(serializer["summary"], self.summary)
        self.count = serializer("count", self.count)


class _Counter:
    n = 0

    def serialize(self, serializer):
        self.n = serializer("n", self.n)


_SHORT = (states.serialize_part, states.serialize_summary)
_LONG = (state.serialize_part, summary.serialize_summary)


@pytest.mark.parametrize("helpers", [_SHORT, _LONG], ids=["short", "long"])
def test_all_parts_come_back(helpers):
    one, other = _Mean(helpers), _Mean(helpers)
    one.model(torch.ones(1, 2)).sum().backward()
    one.optimizer.step()
    one.summary.add({"x": 3.0})
    one.other.n, one.count = 5, one.count + 2
    saved = {}
    one.serialize(states.Serializer(saved, loads=False))
    other.serialize(states.Serializer(saved, loads=True))
    assert all((a == b).all() for a, b in zip(one.model.parameters(), other.model.parameters()))
    assert len(other.optimizer.state_dict()["state"]) == 2
    assert (other.summary.compute_mean(), other.other.n, other.count.tolist()) == ({"x": 3.0}, 5, [2, 2])
    saved.pop("weight")
    with pytest.raises(KeyError):
        other.serialize(states.Serializer(saved, loads=True))


def test_every_serializer_says_whether_it_loads():
    assert not StateWriter().loads and StateReader({}).loads
    with pytest.raises(AttributeError):
        states.serialize_part(StateWriter(), torch.nn.Linear(2, 2))
