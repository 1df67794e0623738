"""Weights that Chainer has written, as a migrated script finds them beside it: NPZ and HDF5."""

import chainer
import chainer.links as L
import numpy as np
import pytest
import torch

from chainer2torch.verify.worker import torch_weights


@pytest.mark.parametrize("kind", ["npz", "hdf5"])
def test_a_module_takes_what_chainer_has_written(kind, tmp_path, monkeypatch):
    link = chainer.Chain(a=L.Linear(3, 4), b=L.Linear(4, 2))
    getattr(chainer.serializers, f"save_{kind}")(str(tmp_path / "net.weights"), link)
    monkeypatch.setattr(torch, "load", torch.load)
    monkeypatch.setattr(torch.nn.Module, "load_state_dict", torch.nn.Module.load_state_dict)
    torch_weights.install()
    module = torch.nn.ModuleDict({"a": torch.nn.Linear(3, 4), "b": torch.nn.Linear(4, 2)})
    module.load_state_dict(torch.load(tmp_path / "net.weights", map_location="cpu"))
    for name in "ab":
        np.testing.assert_array_equal(module[name].weight.detach().numpy(), link[name].W.array)


def test_files_of_pytorch_are_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(torch, "load", torch.load)
    monkeypatch.setattr(torch.nn.Module, "load_state_dict", torch.nn.Module.load_state_dict)
    torch_weights.install()
    module = torch.nn.Linear(3, 4)
    torch.save(module.state_dict(), tmp_path / "net.weights")
    other = torch.nn.Linear(3, 4)
    other.load_state_dict(torch.load(tmp_path / "net.weights"))
    assert torch.equal(other.weight, module.weight)
