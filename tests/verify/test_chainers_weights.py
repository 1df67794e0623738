"""Weights that Chainer has written, as a migrated script finds them beside it: NPZ and HDF5."""

import chainer
import chainer.links as L
import numpy as np
import pytest
import torch

from chainer2torch.native.weight_files import load_except
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


def test_names_that_are_left_out_keep_their_values(tmp_path, monkeypatch):
    """``load_npz(file, model, ignore_names=...)`` of a file of Chainer's, in a migrated script."""
    link = chainer.Chain(a=L.Linear(3, 4), b=L.Linear(4, 2))
    chainer.serializers.save_npz(str(tmp_path / "net.weights"), link)
    monkeypatch.setattr(torch, "load", torch.load)
    monkeypatch.setattr(torch.nn.Module, "load_state_dict", torch.nn.Module.load_state_dict)
    torch_weights.install()
    module = torch.nn.ModuleDict({"a": torch.nn.Linear(3, 4), "b": torch.nn.Linear(4, 2)})
    before = module["b"].weight.detach().clone()
    load_except(tmp_path / "net.weights", module, ["b/W"])
    assert torch.equal(module["b"].weight, before)
    np.testing.assert_array_equal(module["b"].bias.detach().numpy(), link.b.b.array)
    np.testing.assert_array_equal(module["a"].weight.detach().numpy(), link.a.W.array)


def test_files_of_pytorch_are_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(torch, "load", torch.load)
    monkeypatch.setattr(torch.nn.Module, "load_state_dict", torch.nn.Module.load_state_dict)
    torch_weights.install()
    module = torch.nn.Linear(3, 4)
    torch.save(module.state_dict(), tmp_path / "net.weights")
    other = torch.nn.Linear(3, 4)
    other.load_state_dict(torch.load(tmp_path / "net.weights"))
    assert torch.equal(other.weight, module.weight)
