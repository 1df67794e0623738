"""``torch.load`` in the place of ``load_npz``: what it reads, and what it refuses."""

import pickle

import chainer
import chainer.links as L
import pytest
import torch
from torch import nn

from chainer2torch import weights
from chainer2torch.native.weight_files import load_except, state_part


def load_state(file):
    """What the native style writes for ``load_npz``."""
    return torch.load(file, map_location="cpu")


def test_what_torch_wrote(tmp_path):
    saved, loaded = nn.Linear(3, 2), nn.Linear(3, 2)
    torch.save(saved.state_dict(), tmp_path / "model")
    loaded.load_state_dict(load_state(tmp_path / "model"))
    assert torch.equal(loaded.weight, saved.weight)


def test_an_optimizer(tmp_path):
    model = nn.Linear(3, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.5)
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    torch.save(optimizer.state_dict(), tmp_path / "state")
    other = torch.optim.Adam(model.parameters())
    other.load_state_dict(load_state(tmp_path / "state"))
    assert other.param_groups[0]["lr"] == 0.5 and other.state[model.weight]["step"] == 1


@pytest.mark.parametrize("save", [chainer.serializers.save_npz, chainer.serializers.save_hdf5])
def test_what_chainer_wrote(tmp_path, save):
    save(str(tmp_path / "model"), L.Linear(3, 2))
    with pytest.raises((RuntimeError, pickle.UnpicklingError)):
        load_state(tmp_path / "model")


@pytest.mark.parametrize("ending", ["npz", "h5"])
def test_what_the_weights_command_converts(tmp_path, ending):
    """Chainer's file as a state_dict for the migrated model, and back for Chainer."""
    link, model, again = L.Linear(3, 2), nn.Linear(3, 2), L.Linear(3, 2)
    save = chainer.serializers.save_npz if ending == "npz" else chainer.serializers.save_hdf5
    save(str(tmp_path / f"model.{ending}"), link)
    weights.convert(tmp_path / f"model.{ending}", nn.Linear(3, 2), out=tmp_path / "model.pt")
    model.load_state_dict(load_state(tmp_path / "model.pt"))
    assert (model.weight.detach().numpy() == link.W.array).all()
    loaded = nn.Linear(3, 2)
    loaded.load_state_dict(load_state(tmp_path / "model.pt"))
    weights.write(loaded, tmp_path / "back.npz")
    chainer.serializers.load_npz(str(tmp_path / "back.npz"), again)
    assert (again.W.array == link.W.array).all() and (again.b.array == link.b.array).all()


def test_a_file_that_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_state(tmp_path / "model")


def test_a_part_of_a_snapshot(tmp_path):
    """Chainer's paths in what a manager of pytorch-pfn-extras, or torch.save of a model, has written."""
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Sequential(torch.nn.Linear(3, 1)))
    torch.save({"models": {"main": model.state_dict()}, "optimizers": {}}, tmp_path / "snapshot")
    torch.save(model.state_dict(), tmp_path / "model")
    for file, path, part in (
        ("snapshot", "updater/model:main/", model),
        ("snapshot", "updater/model:main/1/0/", model[1][0]),
        ("model", "1/", model[1]),
        ("model", "", model),
    ):
        found = state_part(tmp_path / file, path)
        assert list(found) == list(part.state_dict())
        assert all((found[key] == value).all() for key, value in part.state_dict().items())
    for file, path in (("snapshot", "updater/model:other/"), ("snapshot", "1/"), ("model", "2/")):
        with pytest.raises(KeyError):
            state_part(tmp_path / file, path)


def test_all_but_some_of_chainers_names(tmp_path):
    saved, model = (torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)) for _ in range(2))
    torch.save({**saved.state_dict(), "more": torch.ones(1)}, tmp_path / "model")
    before = {key: value.clone() for key, value in model.state_dict().items()}
    load_except(tmp_path / "model", model, ["0/b", "1/gamma", "2/W"])
    for key, value in model.state_dict().items():
        expected = before if key in ("0.bias", "1.weight") else saved.state_dict()
        assert (value == expected[key]).all(), key
    load_except(tmp_path / "model", model, None)
    assert all((value == saved.state_dict()[key]).all() for key, value in model.state_dict().items())
    with pytest.raises(KeyError, match="another name"):
        load_except(tmp_path / "model", model, "0/upward")
    torch.save({"0.weight": torch.ones(2, 2)}, tmp_path / "part")
    with pytest.raises(KeyError, match="not in the file"):
        load_except(tmp_path / "part", model, "0/b")
