"""Files of weights: Chainer's .npz into torch modules and back, snapshots, and what is wrong with bad files."""

import io
import os
import pickle

import chainer
import numpy as np
import pytest
import torch
import torch.nn as nn
from chainer import links as L

from chainer2torch import weights
from chainer2torch.compat.initializers.layer_init import init_like_chainer
from chainer2torch.compat.serializers.serializers import load_npz, save_npz
from tests.support.links import arrays_of, npz_of


class CNet(chainer.Chain):
    def __init__(self, n=3):
        super().__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(None, 4, 3)
            self.bn = L.BatchNormalization(4)
            self.l = L.Linear(None, n)

    def forward(self, x):
        return self.l(self.bn(self.conv(x)))


class TNet(nn.Module):
    def __init__(self, n=3):
        super().__init__()
        self.conv = nn.LazyConv2d(4, 3)
        self.bn = nn.BatchNorm2d(4, eps=2e-5)
        self.l = nn.LazyLinear(n)
        init_like_chainer(self)

    def forward(self, x):
        return self.l(torch.flatten(self.bn(self.conv(x)), 1))


X = np.random.RandomState(0).randn(2, 3, 5, 5).astype("f")


@pytest.fixture
def link():
    link = CNet()
    link(X)
    return link


def archive(arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    file.seek(0)
    return file


def outputs(link, module):
    with chainer.using_config("train", False):
        np.testing.assert_allclose(module.eval()(torch.tensor(X)).detach().numpy(), link(X).array, rtol=1e-4, atol=1e-5)


def test_lazy_layers_get_their_shapes_and_stay(link):
    module = TNet()
    load_npz(npz_of(link), module)
    assert module.l.in_features == 36 and module.conv.in_channels == 3
    outputs(link, module)
    assert type(module.l) is nn.Linear and type(module.conv) is nn.Conv2d
    outputs(link, module)


@pytest.mark.parametrize("compression", [True, False])
def test_paths_and_files(link, tmp_path, compression):
    path = str(tmp_path / "model.npz")
    chainer.serializers.save_npz(path, link, compression)
    module = TNet()
    load_npz(path, module)
    out = str(tmp_path / "back.npz")
    save_npz(out, module, compression)
    again = CNet()
    chainer.serializers.load_npz(out, again)
    for key, array in arrays_of(link).items():
        np.testing.assert_array_equal(arrays_of(again)[key], array)
    weights.load_npz(path, TNet())
    weights.save_npz(str(tmp_path / "third.npz"), module)
    weights.load_npz(str(tmp_path / "third.npz"), TNet())


def test_leading_slashes_and_paths_inside(link):
    arrays = arrays_of(link)
    for prefix, path in (("/", ""), ("updater/model:main/", "updater/model:main/"), ("/a/b/", "/a/b/")):
        module = TNet()
        load_npz(archive({prefix + key: value for key, value in arrays.items()}), module, path=path)
        outputs(link, module)


def test_trainer_snapshot(tmp_path):
    model = L.Classifier(L.Linear(3, 2))
    optimizer = chainer.optimizers.Adam().setup(model)
    data = chainer.datasets.TupleDataset(np.zeros((4, 3), "f"), np.zeros(4, "i"))
    updater = chainer.training.StandardUpdater(chainer.iterators.SerialIterator(data, 2), optimizer)
    trainer = chainer.training.Trainer(updater, (2, "iteration"), out=str(tmp_path))
    trainer.extend(chainer.training.extensions.snapshot(), trigger=(2, "iteration"))
    trainer.run()
    path = str(tmp_path / "snapshot_iter_2")
    layer = nn.Linear(3, 2)
    load_npz(path, layer, path="updater/model:main/predictor/")
    np.testing.assert_array_equal(layer.weight.detach().numpy(), model.predictor.W.array)
    with pytest.raises(KeyError, match="path='updater/model:main/'"):
        load_npz(path, layer)


def test_a_link_that_was_never_called():
    link, module = CNet(), TNet()
    load_npz(npz_of(link), module)
    assert isinstance(module.l.weight, nn.UninitializedParameter)
    module(torch.tensor(X))
    called = TNet()
    called(torch.tensor(X))
    before = called.l.weight.clone()
    load_npz(npz_of(link), called)  # Chainer leaves a parameter alone for which the file has None
    assert torch.equal(called.l.weight, before)
    saved = arrays_of(TNet())
    assert saved["l/W"].dtype == object and saved["l/W"][()] is None
    chainer.serializers.load_npz(_saved(TNet()), CNet())


def _saved(module):
    file = io.BytesIO()
    save_npz(file, module)
    file.seek(0)
    return file


class Evil:
    def __reduce__(self):
        return os.system, ("echo pwned > pwned",)


def _state(module):
    return {k: v.clone() for k, v in module.state_dict().items()}


def bad(change):
    def make(link):
        arrays = arrays_of(link)
        change(arrays)
        return archive(arrays)

    return make


BAD = [
    (bad(lambda a: a.pop("l/W")), KeyError, "l/W is not in the file"),
    (bad(lambda a: a.update({"l/more": np.zeros(2)})), ValueError, "l/more is in the file.*allow_extra"),
    (
        bad(lambda a: a.update({"l/W": np.zeros((4, 36))})),
        ValueError,
        r"l/W has shape \(4, 36\), the model's has \(3, 36\)",
    ),
    (bad(lambda a: a.update({"bn/gamma": np.zeros(1)})), ValueError, "bn/gamma has shape"),
    (bad(lambda a: a.update({"l/W": np.zeros((3, 36), "c8")})), ValueError, "l/W has dtype complex64"),
    (bad(lambda a: a.update({"l/b": np.array(Evil())})), ValueError, "l/b holds pickled Python objects"),
    (bad(lambda a: a.update({"l/b": np.array([None])})), ValueError, "l/b holds pickled Python objects"),
    (bad(lambda a: a.update({"l/b": np.array({"a": 1}, object)})), ValueError, "l/b holds pickled"),
    (lambda link: io.BytesIO(npz_of(link).getvalue()[:-200]), ValueError, "not a complete"),
    (lambda link: io.BytesIO(b"no zip at all"), ValueError, "not a complete"),
    (lambda link: npz_of(L.Linear(3, 4)), KeyError, "bn/gamma is not in the file"),
]


@pytest.mark.parametrize("make,error,message", BAD)
def test_bad_files_name_the_key_and_change_nothing(link, tmp_path, monkeypatch, make, error, message):
    monkeypatch.chdir(tmp_path)
    module = TNet()
    module(torch.tensor(X))
    before = _state(module)
    with pytest.raises(error, match=message):
        load_npz(make(link), module)
    for key, value in module.state_dict().items():
        assert torch.equal(value, before[key]), key
    lazy = TNet()
    with pytest.raises(error):
        load_npz(make(link), lazy)
    assert isinstance(lazy.l.weight, nn.UninitializedParameter)
    assert os.listdir(tmp_path) == []


def test_a_damaged_array_is_found(link):
    data = bytearray(npz_of(link).getvalue())
    at = data.find(b"l/W.npy") + 200
    data[at] ^= 0xFF
    with pytest.raises(ValueError):
        load_npz(io.BytesIO(bytes(data)), TNet())


def test_a_pickle_that_only_looks_like_none_is_not_executed(link, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arrays = arrays_of(link)
    array = np.empty((), object)
    array[()] = Evil()
    arrays["l/b"] = array
    with pytest.raises(ValueError):
        load_npz(archive(arrays), TNet())
    assert os.listdir(tmp_path) == []
    assert pickle.dumps(array)  # it would have been written


def test_wrong_lazy_shapes_are_found(link):
    arrays = arrays_of(link)
    for key, shape in (("l/W", (5, 36)), ("conv/W", (4, 3, 2, 2)), ("conv/W", (5, 3, 3, 3)), ("l/b", (4,))):
        module = TNet()
        with pytest.raises(ValueError, match=f"{key} has shape"):
            load_npz(archive({**arrays, key: np.zeros(shape, "f")}), module)
        assert isinstance(module.conv.weight, nn.UninitializedParameter)


def test_not_strict(link):
    arrays = arrays_of(link)
    del arrays["l/b"]
    arrays["other/W"] = np.zeros(3)
    module = TNet()
    load_npz(archive(arrays), module, strict=False)
    np.testing.assert_array_equal(module.l.weight.detach().numpy(), link.l.W.array)
    assert module.l.bias.tolist() == [0, 0, 0]
    module(torch.tensor(X))
    del arrays["other/W"]
    arrays["l/b"] = link.l.b.array
    arrays["extra"] = np.zeros(3)
    load_npz(archive(arrays), TNet(), allow_extra=True)
    with pytest.raises(ValueError):  # a wrong shape is an error all the same
        load_npz(archive({**arrays, "l/W": np.zeros((2, 36), "f")}), TNet(), strict=False)


@pytest.mark.parametrize(
    "names", ["l/W", ["l/W"], lambda key: key == "l/W", ("conv/b", lambda key: key.startswith("l/"))]
)
def test_ignore_names(link, names):
    arrays = arrays_of(link)
    del arrays["l/W"]
    module = TNet()
    module(torch.tensor(X))
    before = module.l.weight.clone()
    load_npz(archive(arrays), module, ignore_names=names)
    assert torch.equal(module.l.weight, before)
    np.testing.assert_array_equal(module.conv.weight.detach().numpy(), link.conv.W.array)
    with pytest.raises(ValueError):
        load_npz(archive(arrays), module, ignore_names=3)


def test_dtypes_convert_as_in_chainer(link):
    arrays = {key: value.astype("f8") if value.dtype == np.float32 else value for key, value in arrays_of(link).items()}
    module = TNet()
    load_npz(archive(arrays), module)
    assert module.l.weight.dtype == torch.float32
    np.testing.assert_array_equal(module.l.weight.detach().numpy(), link.l.W.array)
    half = TNet().to(torch.bfloat16)
    load_npz(npz_of(link), half)
    assert half.l.weight.dtype == torch.bfloat16 and arrays_of(half)["l/W"].dtype == np.float32


def test_dictionaries_and_other_objects(tmp_path):
    path = str(tmp_path / "a.npz")
    save_npz(path, {"a/b": np.arange(3), "c": 2.5})
    with np.load(path) as f:
        assert f["a/b"].tolist() == [0, 1, 2] and f["c"] == 2.5
    with pytest.raises(TypeError):
        save_npz(path, object())
    with pytest.raises(TypeError):
        load_npz(path, object())
    with pytest.raises(FileNotFoundError):
        load_npz(str(tmp_path / "none.npz"), nn.Linear(1, 1))


def test_torch_snapshots(tmp_path):
    source = nn.ModuleDict({"predictor": nn.Linear(3, 2)})
    path = str(tmp_path / "snapshot")
    snapshot = {"models": {"main": source.state_dict()}, "optimizers": {"main": {"a": np.zeros(2)}}, "extensions": {}}
    torch.save(snapshot, path)
    whole, part = nn.ModuleDict({"predictor": nn.Linear(3, 2)}), nn.LazyLinear(2)
    load_npz(path, whole, path="updater/model:main/")
    load_npz(path, part, path="updater/model:main/predictor/")
    assert torch.equal(whole["predictor"].weight, source["predictor"].weight)
    assert torch.equal(part.weight, source["predictor"].weight)

    class Trainer:
        def load_state_dict(self, state):
            self.state = state

    trainer, optimizer = Trainer(), Trainer()
    load_npz(path, trainer)
    load_npz(path, optimizer, path="updater/optimizer:main/")
    assert sorted(trainer.state) == ["extensions", "models", "optimizers"] and list(optimizer.state) == ["a"]
    for target, where, error, text in (
        (whole, "", KeyError, "updater/model:main/"),
        (whole, "updater/model:other/", KeyError, "model:main"),
        (nn.Linear(3, 4), "updater/model:main/predictor/", ValueError, "predictor.weight has shape"),
        (nn.Linear(3, 2, bias=False), "updater/model:main/predictor/", ValueError, "predictor.bias is in the file"),
        (nn.Bilinear(1, 1, 1), "updater/model:main/x/", KeyError, "x.weight is not in the file"),
    ):
        before = _state(target)
        with pytest.raises(error, match=text):
            load_npz(path, target, path=where)
        assert all(torch.equal(v, before[k]) for k, v in target.state_dict().items())
    plain = str(tmp_path / "model.pt")
    torch.save(source.state_dict(), plain)
    load_npz(plain, whole)
    torch.save({"a": Evil()}, plain)
    with pytest.raises(Exception, match="(?i)weights_only|unsupported|holds other objects"):
        load_npz(plain, whole)


def test_tied_and_shared_weights():
    class C(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.a = L.Linear(3, 3)
                self.b = self.a

    class T(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(3, 3)
            self.b = self.a

    link, module = C(), T()
    load_npz(npz_of(link), module)
    assert sorted(arrays_of(module)) == sorted(arrays_of(link)) == ["a/W", "a/b", "b/W", "b/b"]
    assert module.a.weight is module.b.weight


MODEL = """
import torch.nn as nn

class Net(nn.Module):
    def __init__(self, n_in, n_out=2):
        super().__init__()
        self.l1 = nn.LazyLinear(n_out) if n_in is None else nn.Linear(n_in, n_out)
"""


@pytest.mark.parametrize("args", [[3, 4], {"n_in": 3, "n_out": 4}, [None, 4]])
@pytest.mark.parametrize("suffix", [".pt", ".npz"])
def test_convert(tmp_path, monkeypatch, args, suffix):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "netmod.py").write_text(MODEL)
    chain = chainer.Chain(l1=L.Linear(3, 4))
    chainer.serializers.save_npz("model.npz", chain)
    keys = weights.convert("model.npz", "netmod.py:Net", args, "out" + suffix)
    if suffix == ".pt":
        assert keys == ["l1.weight", "l1.bias"]
        state = torch.load("out.pt", weights_only=True)
        np.testing.assert_array_equal(state["l1.weight"].numpy(), chain.l1.W.array)
        back = weights.convert("out.pt", "netmod:Net", args, "back.npz")
        assert back == ["l1/W", "l1/b"]
        with np.load("back.npz") as f:
            np.testing.assert_array_equal(f["l1/W"], chain.l1.W.array)
    else:
        with np.load("out.npz") as f:
            np.testing.assert_array_equal(f["l1/W"], chain.l1.W.array)
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize(
    "spec,args,out,text",
    [
        ("netmod.py:Net", [4, 4], "o.pt", "l1/W has shape"),
        ("netmod.py:Missing", [], "o.pt", "Missing"),
        ("netmod.py:Net", [], "o.pt", "TypeError"),
        ("Net", [], "o.pt", "MODULE:CLASS"),
        ("netmod.py:Net", [3], "o.txt", "ends in"),
        ("nomodule:Net", [3], "o.pt", "nomodule"),
    ],
)
def test_convert_errors(tmp_path, monkeypatch, spec, args, out, text):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "netmod.py").write_text(MODEL)
    chainer.serializers.save_npz("model.npz", chainer.Chain(l1=L.Linear(3, 4)))
    with pytest.raises(weights.WeightsError, match=text):
        weights.convert("model.npz", spec, args, out)
    assert not os.path.exists(out) and not list(tmp_path.glob("*.part"))


def test_a_model_without_shapes_is_not_written_as_pt(tmp_path):
    with pytest.raises(weights.WeightsError, match="weight has no shape"):
        weights.write(nn.LazyLinear(2), tmp_path / "a.pt")
    assert list(tmp_path.iterdir()) == []
