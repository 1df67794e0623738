"""`chainer2torch weights` as a person types it: every format, both ways, and what is said about bad files."""

import warnings
import zipfile

import chainer
import numpy as np
import pytest
import torch
from chainer import links as L

from tests.support import command_line

NET = """
import torch.nn as nn

print_nothing = True


class Net(nn.Module):
    def __init__(self, n=3, m=2):
        super().__init__()
        self.l1 = nn.Linear(n, m)
        self.bn = nn.BatchNorm1d(m, eps=2e-5)


class Broken(nn.Module):
    def __init__(self):
        raise RuntimeError("first line\\nsecond line")
"""


class Link(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(3, 2)
            self.bn = L.BatchNormalization(2)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "net.py").write_text(NET)
    return tmp_path


@pytest.fixture
def link(folder):
    made = Link()
    made.bn(made.l1(np.random.RandomState(0).randn(5, 3).astype("f")))
    chainer.serializers.save_npz(str(folder / "in.npz"), made)
    return made


def run(folder, source, out, *more, model="net:Net"):
    return command_line.run("weights", source, "--model", model, "-o", out, *more, cwd=folder)


def test_to_torch_and_back(folder, link):
    done = run(folder, "in.npz", "out.pt", "--args", "[3, 2]")
    assert (done.returncode, done.stdout) == (0, "out.pt: 7 arrays of net:Net\n"), done.stderr
    state = torch.load(folder / "out.pt")
    np.testing.assert_array_equal(state["l1.weight"].numpy(), link.l1.W.array)
    np.testing.assert_array_equal(state["bn.running_var"].numpy(), link.bn.avg_var)
    done = run(folder, "out.pt", "back.npz", model="net.py:Net")
    assert done.returncode == 0, done.stderr
    again = Link()
    chainer.serializers.load_npz(str(folder / "back.npz"), again)
    for (name, param), (_, other) in zip(sorted(link.namedparams()), sorted(again.namedparams())):
        np.testing.assert_array_equal(other.array, param.array, err_msg=name)
    np.testing.assert_array_equal(again.bn.avg_mean, link.bn.avg_mean)


def test_safetensors(folder, link):
    done = run(folder, "in.npz", "out.safetensors")
    assert done.returncode == 0, done.stderr
    from safetensors.torch import load_file

    np.testing.assert_array_equal(load_file(str(folder / "out.safetensors"))["l1.bias"].numpy(), link.l1.b.array)


def test_hdf5(folder, link):
    chainer.serializers.save_hdf5(str(folder / "in.h5"), link)
    done = run(folder, "in.h5", "out.pt")
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(torch.load(folder / "out.pt")["l1.weight"].numpy(), link.l1.W.array)


def test_a_part_of_a_snapshot(folder, link):
    class Trainer:
        def serialize(self, serializer):
            serializer("iteration", 3)
            link.serialize(serializer["updater"]["model:main"]["predictor"])

    chainer.serializers.save_npz(str(folder / "snapshot"), Trainer())
    done = run(folder, "snapshot", "out.pt", "--prefix", "updater/model:main/predictor/")
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(torch.load(folder / "out.pt")["l1.weight"].numpy(), link.l1.W.array)
    done = run(folder, "snapshot", "out.pt")
    assert done.returncode == 2 and "updater/model:main/" in done.stderr


def _truncate(folder):
    data = (folder / "in.npz").read_bytes()
    (folder / "in.npz").write_bytes(data[: len(data) // 2])


def _pickle(folder):
    with np.load(folder / "in.npz") as file:
        arrays = dict(file)
    np.savez(folder / "in.npz", **{**arrays, "l1/W": np.array([object()], dtype=object)})


def _without(folder):
    with np.load(folder / "in.npz") as file:
        arrays = {key: file[key] for key in file.files if key != "l1/b"}
    np.savez(folder / "in.npz", **arrays)


def _with(folder):
    with np.load(folder / "in.npz") as file:
        arrays = dict(file)
    np.savez(folder / "in.npz", **arrays, extra=np.ones(3))


def _bomb(folder):
    np.savez_compressed(folder / "in.npz", x=np.zeros(30_000_000, "u1"))
    assert (folder / "in.npz").stat().st_size < 100_000


def _twice(folder):
    with warnings.catch_warnings(), zipfile.ZipFile(folder / "in.npz", "a") as archive:
        warnings.simplefilter("ignore")
        archive.writestr("l1/b.npy", archive.read("l1/b.npy"))


class Evil:
    def __reduce__(self):
        return open, ("pwned", "w")


def _objects(folder):
    torch.save({"l1.weight": Evil()}, folder / "in.npz")


def _damaged(folder):
    with zipfile.ZipFile(folder / "in.npz", "w") as archive:
        archive.writestr("archive/data.pkl", b"no pickle")


@pytest.mark.parametrize(
    "spoil, more, out, model, message",
    [
        (_bomb, ("--limit", "0.01"), "out.pt", "net:Broken", "holds 0.03 GiB when it is unpacked, more than the limit"),
        (_twice, (), "out.pt", "net:Net", "in.npz: in.npz is not a complete .npz file: it has l1/b twice"),
        (_objects, (), "out.pt", "net:Net", "in.npz holds other objects than tensors and numbers"),
        (_damaged, (), "out.pt", "net:Net", "in.npz holds other objects than tensors and numbers"),
        (_truncate, (), "out.pt", "net:Net", "in.npz is not a complete .npz file"),
        (_pickle, (), "out.pt", "net:Net", "l1/W holds pickled Python objects"),
        (_without, (), "out.pt", "net:Net", "l1/b is not in the file"),
        (_with, (), "out.pt", "net:Net", "extra is in the file"),
        (None, ("--args", "[4, 2]"), "out.pt", "net:Net", "l1/W has shape (2, 3), the model's has (2, 4)"),
        (None, ("--args", '{"k": 4}'), "out.pt", "net:Net", "unexpected keyword"),
        (None, ("--args", "4"), "out.pt", "net:Net", "JSON list"),
        (None, ("--args", "[4"), "out.pt", "net:Net", "not JSON"),
        (None, (), "out.pt", "net", "MODULE:CLASS"),
        (None, (), "out.pt", "nowhere:Net", "nowhere"),
        (None, (), "out.pt", "net:Other", "Other"),
        (None, (), "out.pt", "net:Broken", "first line second line"),
        (None, ("--prefix", "updater/model:main/"), "out.pt", "net:Net", "updater/model:main/"),
        (None, (), "out.onnx", "net:Net", "ends in"),
        (lambda folder: (folder / "in.npz").unlink(), (), "out.pt", "net:Net", "in.npz"),
        (None, (), "nowhere/out.pt", "net:Net", "nowhere"),
    ],
)
def test_errors(folder, link, spoil, more, out, model, message):
    (folder / "out.pt").write_bytes(b"kept")
    if spoil:
        spoil(folder)
    done = run(folder, "in.npz", out, *more, model=model)
    assert done.returncode == 2
    assert message in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert (folder / "out.pt").read_bytes() == b"kept"
    assert sorted(p.name for p in folder.iterdir() if p.name not in ("in.npz", "__pycache__")) == ["net.py", "out.pt"]
