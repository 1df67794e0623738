"""HDF5 files of Chainer's, and safetensors; both need a package that is not always there."""

import chainer
import numpy as np
import pytest
import torch
import torch.nn as nn
from chainer import links as L

from chainer2torch import weights
from chainer2torch.compat.serializers import hdf5_files, serializers
from chainer2torch.compat.optimizers import optimizers
from chainer2torch.compat.initializers.layer_init import init_like_chainer


class CNet(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(None, 3)
            self.bn = L.BatchNormalization(3)


class TNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.LazyLinear(3)
        self.bn = nn.BatchNorm1d(3, eps=2e-5)
        init_like_chainer(self)


@pytest.mark.parametrize("called", [True, False])
def test_hdf5_both_ways(tmp_path, called):
    pytest.importorskip("h5py")
    link, module = CNet(), TNet()
    if called:
        link.bn(link.l(np.ones((2, 4), "f")))
    chainer.serializers.save_hdf5(str(tmp_path / "a.h5"), link)
    hdf5_files.load_hdf5(str(tmp_path / "a.h5"), module)
    assert isinstance(module.l.weight, nn.UninitializedParameter) is not called
    hdf5_files.save_hdf5(str(tmp_path / "b.h5"), module)
    again = CNet()
    chainer.serializers.load_hdf5(str(tmp_path / "b.h5"), again)
    if called:
        np.testing.assert_array_equal(again.l.W.array, link.l.W.array)
        np.testing.assert_array_equal(module.l.weight.detach().numpy(), link.l.W.array)
        np.testing.assert_array_equal(again.bn.avg_mean, link.bn.avg_mean)
        with pytest.raises(ValueError, match="l/W has shape"):
            hdf5_files.load_hdf5(str(tmp_path / "a.h5"), nn.ModuleDict({"l": nn.Linear(9, 3), "bn": nn.BatchNorm1d(3)}))


def _trained(steps):
    """Chainer's optimizer after a few steps, and ours on a module with the same weights after as many."""
    link, module = CNet(), nn.ModuleDict({"l": nn.Linear(4, 3), "bn": nn.BatchNorm1d(3, eps=2e-5)})
    link.l(np.ones((2, 4), "f"))
    theirs = chainer.optimizers.MomentumSGD(lr=0.1).setup(link)
    for step in range(steps):
        for param in link.params():
            param.grad = np.full_like(param.array, step + param.array.ndim)
        theirs.update()
    ours = optimizers.MomentumSGD(lr=0.1).setup(module)
    return link, theirs, module, ours


@pytest.mark.parametrize("steps", [1, 3])
def test_hdf5_of_optimizers_both_ways(tmp_path, steps):
    pytest.importorskip("h5py")
    link, theirs, module, ours = _trained(steps)
    chainer.serializers.save_hdf5(str(tmp_path / "net.h5"), link)
    chainer.serializers.save_hdf5(str(tmp_path / "opt.h5"), theirs)
    hdf5_files.load_hdf5(str(tmp_path / "net.h5"), module)
    hdf5_files.load_hdf5(str(tmp_path / "opt.h5"), ours)
    for param in link.params():
        param.grad = np.full_like(param.array, param.array.ndim)
    for weight in module.parameters():
        weight.grad = torch.full_like(weight, weight.ndim)
    theirs.update()
    ours.update()
    assert ours.t == theirs.t == steps + 1
    found = serializers.chainer_entries(module)
    for name, param in link.namedparams():
        np.testing.assert_allclose(found[name[1:]], param.array, rtol=1e-6, err_msg=name)
    hdf5_files.save_hdf5(str(tmp_path / "again.h5"), ours)
    again = chainer.optimizers.MomentumSGD(lr=0.1).setup(link.copy("copy"))
    chainer.serializers.load_hdf5(str(tmp_path / "again.h5"), again)
    assert again.t == theirs.t
    for (name, a), (_, b) in zip(again.target.namedparams(), link.namedparams(), strict=True):
        np.testing.assert_allclose(a.update_rule.state["v"], b.update_rule.state["v"], rtol=1e-6, err_msg=name)


@pytest.mark.parametrize("compression", [None, 0, 4, 9])
def test_hdf5_files_are_laid_out_as_those_of_chainer(tmp_path, compression):
    h5py = pytest.importorskip("h5py")
    link, module = CNet(), TNet()
    link.bn(link.l(np.ones((2, 4), "f")))
    module.bn(module.l(torch.ones(2, 4)))
    chainer.serializers.save_hdf5(str(tmp_path / "a.h5"), link, compression)
    hdf5_files.save_hdf5(str(tmp_path / "b.h5"), module, compression)

    def layout(path):
        found = {}
        with h5py.File(path, "r") as file:
            file.visititems(
                lambda name, item: (
                    found.update({name: (item.shape, item.dtype.str, item.compression_opts)})
                    if isinstance(item, h5py.Dataset)
                    else None
                )
            )
        return found

    assert layout(tmp_path / "b.h5") == layout(tmp_path / "a.h5")
    assert len(layout(tmp_path / "a.h5")) == 7


def test_hdf5_of_a_dictionary(tmp_path):
    h5py = pytest.importorskip("h5py")
    entries = {"a/x": np.arange(6.0).reshape(2, 3), "n": np.float32(3)}
    chainer.serializers.save_hdf5(str(tmp_path / "a.h5"), dict(entries))
    hdf5_files.save_hdf5(str(tmp_path / "b.h5"), entries)
    with h5py.File(tmp_path / "a.h5", "r") as theirs, h5py.File(tmp_path / "b.h5", "r") as ours:
        assert sorted(theirs) == sorted(ours)
        for key, value in entries.items():
            np.testing.assert_array_equal(theirs[key], value)
            np.testing.assert_array_equal(ours[key], value)


def test_hdf5_files_that_lack_a_value_are_errors_in_both(tmp_path):
    pytest.importorskip("h5py")
    chainer.serializers.save_hdf5(str(tmp_path / "a.h5"), L.Linear(4, 3, nobias=True))
    with pytest.raises(KeyError):
        chainer.serializers.load_hdf5(str(tmp_path / "a.h5"), L.Linear(4, 3))
    with pytest.raises(KeyError, match="b"):
        hdf5_files.load_hdf5(str(tmp_path / "a.h5"), nn.Linear(4, 3))


def test_safetensors(tmp_path):
    load_file = pytest.importorskip("safetensors.torch").load_file
    layer = nn.Linear(3, 2)
    tied = nn.ModuleDict({"a": layer, "b": layer})
    assert weights.write(tied, tmp_path / "m.safetensors") == ["a.weight", "a.bias", "b.weight", "b.bias"]
    state = load_file(str(tmp_path / "m.safetensors"))
    assert torch.equal(state["b.weight"], layer.weight)
    with pytest.raises(weights.WeightsError, match="weight"):
        weights.write(nn.LazyLinear(3), tmp_path / "n.safetensors")
    assert not (tmp_path / "n.safetensors").exists()
