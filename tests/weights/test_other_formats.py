"""HDF5 files of Chainer's, and safetensors; both need a package that is not always there."""
import chainer
import numpy as np
import pytest
import torch
import torch.nn as nn
from chainer import links as L

from chainer2torch import weights
from chainer2torch.compat.layer_init import init_like_chainer


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
    from chainer2torch.compat.hdf5_files import load_hdf5, save_hdf5
    link, module = CNet(), TNet()
    if called:
        link.bn(link.l(np.ones((2, 4), "f")))
    chainer.serializers.save_hdf5(str(tmp_path / "a.h5"), link)
    load_hdf5(str(tmp_path / "a.h5"), module)
    assert isinstance(module.l.weight, nn.UninitializedParameter) is not called
    save_hdf5(str(tmp_path / "b.h5"), module)
    again = CNet()
    chainer.serializers.load_hdf5(str(tmp_path / "b.h5"), again)
    if called:
        np.testing.assert_array_equal(again.l.W.array, link.l.W.array)
        np.testing.assert_array_equal(module.l.weight.detach().numpy(), link.l.W.array)
        np.testing.assert_array_equal(again.bn.avg_mean, link.bn.avg_mean)
        with pytest.raises(ValueError, match="l/W has shape"):
            load_hdf5(str(tmp_path / "a.h5"), nn.ModuleDict({"l": nn.Linear(9, 3), "bn": nn.BatchNorm1d(3)}))


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
