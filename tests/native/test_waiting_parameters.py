"""Parameters that wait for a shape: the weights of a file give it to them, and a model that has not run is copied."""

import copy
import functools

import pytest
import torch
import torch.nn as nn

from chainer2torch.native.first_values import initialize_parameter, parameter
from chainer2torch.native.small_links import GroupNormalization, LayerNormalization
from chainer2torch.native.weight_files import load_except


class Net(nn.Module):
    def __init__(self, dtype=torch.float32):
        super().__init__()
        self.fc = nn.LazyLinear(4, dtype=dtype)
        self.scale = parameter(functools.partial(nn.init.constant_, val=2.0))
        self.norm = LayerNormalization()
        self.group = GroupNormalization(2)

    def forward(self, x):
        h = self.group(self.norm(self.fc(x)))
        if nn.parameter.is_lazy(self.scale):
            initialize_parameter(self.scale, (h.shape[1],))
        return h * self.scale


def trained(dtype):
    net = Net(dtype)
    x = torch.arange(12, dtype=dtype).reshape(4, 3)
    net.norm.to(dtype), net.group.to(dtype)
    net(x)
    with torch.no_grad():
        for number, param in enumerate(net.parameters(), 1):
            param.copy_(torch.linspace(-1, number, param.numel(), dtype=param.dtype).reshape(param.shape))
    return net, x, net(x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_file_gives_them_their_shape(tmp_path, dtype):
    net, x, y = trained(dtype)
    torch.save(net.state_dict(), tmp_path / "net.pt")
    new = Net(dtype)
    new.load_state_dict(torch.load(tmp_path / "net.pt"))
    assert torch.equal(new(x), y)
    assert type(new.scale) is nn.Parameter and new.norm.weight.dtype == dtype
    other = Net(dtype)
    other.load_state_dict(net.state_dict())  # copyparams
    assert torch.equal(other(x), y)


def test_a_file_without_some_of_them_leaves_these_waiting(tmp_path):
    net, x, y = trained(torch.float32)
    torch.save(net.state_dict(), tmp_path / "net.pt")
    new = Net()
    load_except(tmp_path / "net.pt", new, ["scale"])
    assert nn.parameter.is_lazy(new.scale) and not nn.parameter.is_lazy(new.norm.weight)
    assert torch.allclose(new(x) * net.scale / 2, y)
    with pytest.raises(KeyError, match="not in the file"):
        torch.save({k: v for k, v in net.state_dict().items() if k != "norm.bias"}, tmp_path / "less.pt")
        load_except(tmp_path / "less.pt", Net(), ["scale"])


def test_a_copy_of_a_model_that_has_not_run_has_the_same_first_values():
    net = copy.deepcopy(Net())
    net(torch.ones(2, 3))
    assert net.scale.tolist() == [2.0] * 4


def test_the_state_of_a_model_that_has_not_run_names_them():
    assert set(Net().state_dict()) == set(trained(torch.float32)[0].state_dict())
