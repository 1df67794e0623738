"""Helpers in place of ChainerCV's functions on arrays, against ChainerCV 0.13.1 itself.

Its source distribution comes from the package index, as in tests/sdists; where there is none these tests are skipped,
and say so (with CHAINER2TORCH_NEED_INDEX=1 they fail).
"""

import functools
import io
import operator
import os
import random
import sys
import types
import urllib.error
import warnings

import numpy as np
import pytest
import torch
from PIL import Image

from chainer2torch.compat.chainercv import (
    box_crops,
    boxes,
    downloads,
    gradient_hooks,
    image_transforms,
    iteration,
    label_names,
    vision_scores,
    visualizations,
)
from chainer2torch.compat.dataset import dataset_cache
from chainer2torch.engine import migrate_source
from chainer2torch.rules.table import load_rules
from chainer2torch.verify.worker import chainer_patches
from tests.compat.test_signatures import compared
from tests.sdists.test_sdists import INDEX, download, python_files

ROOMS = (
    *(boxes, box_crops, image_transforms, vision_scores, visualizations, downloads, dataset_cache, label_names),
    gradient_hooks,
    iteration,
)
BACKENDS = ("cv_resize_backend", "cv_read_image_backend", "cv_rotate_backend")
OPENCV = {"resize", "scale", "resize_contain"}
ALPHAS = ("ignore", "blend_with_white", "blend_with_black")
FOUND, LABELS, SCORES, TRUE, TRUE_LABELS, HARD = ([] for _ in range(6))
for _image in range(6):
    _rng = np.random.RandomState(_image)
    _wanted = _rng.rand(4, 4).astype("f") * 20
    _wanted[:, 2:] += _wanted[:, :2] + 3
    _near = np.concatenate([_wanted, _wanted[:2]]) + _rng.randn(6, 4).astype("f")
    FOUND.append(_near[: _image + 1])
    LABELS.append(_rng.randint(0, 3, 6)[: _image + 1])
    SCORES.append(_rng.rand(6).astype("f")[: _image + 1])
    TRUE.append(_wanted)
    TRUE_LABELS.append(np.array([0, 1, 1, 4]))
    HARD.append(_rng.rand(4) > 0.7)
TRUE[2], TRUE_LABELS[2], HARD[2] = TRUE[2][:0], TRUE_LABELS[2][:0], HARD[2][:0]


def numbers(*shape, seed=0, dtype="f"):
    return (np.random.RandomState(seed).rand(*shape) * 20).astype(dtype)


def box(count, seed=0, dtype="f"):
    found = numbers(count, 4, seed=seed, dtype=dtype)
    found[:, 2:] += found[:, :2] + 1
    return found


IMAGE, WIDE, GREY = numbers(3, 9, 7), numbers(3, 8, 21), numbers(1, 5, 5)
BOXES, WHOLE = box(12), box(9, 1, "i")
MASKS = numbers(4, 6, 7) > 12
POINTS, LISTED = numbers(3, 4, 2), [numbers(2, 2), numbers(5, 2, seed=1)]
SEGMENTS = [np.random.RandomState(i).randint(-1, 3 + i, (4, 5)) for i in range(4)]
CASES = {
    "transforms.flip": [(IMAGE,), (IMAGE, True), (IMAGE, False, True), (IMAGE, True, True, True), (IMAGE[0],)],
    "transforms.random_flip": [(IMAGE, y, x, True, copy) for y in (0, 1) for x in (0, 1) for copy in (0, 1)],
    "transforms.center_crop": [
        (IMAGE, (4, 4)),
        (IMAGE, (3, 2), True, True),
        (IMAGE, (9, 7)),
        (IMAGE, (10, 2)),
        (WIDE, (5, 16), True),
    ],
    "transforms.random_crop": [(IMAGE, (4, 4)), (IMAGE, (3, 2), True, True), (IMAGE, (9, 7)), (IMAGE, (9, 8))],
    "transforms.random_sized_crop": [
        *[(WIDE, (0.08, 1), (3 / 4, 4 / 3), True)] * 8,
        (IMAGE,),
        *[(WIDE, (0.9, 1), (0.2, 0.3), True, True)] * 4,
    ],
    "transforms.ten_crop": [(IMAGE, (4, 3)), (WIDE, (8, 21)), (IMAGE, (10, 3))],
    "transforms.random_expand": [
        (IMAGE,),
        (IMAGE, 2.5, 7, True),
        (IMAGE, 3, (1, 2, 3)),
        (IMAGE, 1, 0, True),
        (IMAGE, 0.5),
        (IMAGE.astype("i"), 2, 1.7),
    ],
    "transforms.pca_lighting": [
        (IMAGE, 25),
        (IMAGE, 0),
        (IMAGE, -1.0),
        (IMAGE, 0.1, np.ones(3), np.eye(3) * 2),
        (IMAGE.astype("d"), 3.0),
    ],
    "transforms.random_rotate": [(IMAGE, True)] * 6 + [(IMAGE,)],
    "transforms.resize": [(IMAGE, (4, 11), way) for way in range(4)] + [(GREY, (8, 3)), (IMAGE[:0], (2, 2))],
    "transforms.scale": [
        (image, size, short) for image in (IMAGE, WIDE, GREY) for size in (5, 7, 9, 13) for short in (True, False)
    ],
    "transforms.resize_contain": [(IMAGE, (4, 12)), (IMAGE, (20, 13), 3, 0, True), (WIDE, (7, 7), (1, 2, 3), 2, True)],
    "transforms.flip_bbox": [(b, (30, 40), y, x) for b in (BOXES, WHOLE) for y in (0, 1) for x in (0, 1)],
    "transforms.resize_bbox": [(BOXES, (30, 40), (15, 100)), (WHOLE, (30, 40), (17, 100)), (BOXES[:0], (1, 2), (2, 3))],
    "transforms.translate_bbox": [(BOXES, 2, -3.5), (WHOLE, 2, 1), (BOXES,), (WHOLE, 0.5)],
    "transforms.rotate_bbox": [
        (b, angle, (30, 40)) for b in (BOXES, WHOLE) for angle in (0, 90, 180, 270, 360, -90, 450, 45, 90.0)
    ],
    "transforms.crop_bbox": [(BOXES, slice(3, 20), slice(4, 15), inside, True) for inside in (True, False)]
    + [
        (BOXES, slice(None, 9), None, False),
        (BOXES,),
        (BOXES, None, slice(8, None), True, True),
        (WHOLE, slice(2, 9)),
        (WHOLE, slice(2, 9), slice(1, 30), True, True),
    ],
    "transforms.flip_point": [(p, (30, 40), y, x) for p in (POINTS, LISTED) for y in (0, 1) for x in (0, 1)],
    "transforms.resize_point": [(p, (30, 40), (15, 100)) for p in (POINTS, LISTED, POINTS.astype("i"))],
    "transforms.translate_point": [(p, 2, -3.5) for p in (POINTS, LISTED)] + [(POINTS.astype("i"), 0.5)],
    "transforms.rotate": [
        (IMAGE, 30),
        (IMAGE, -45.5, False),
        (WIDE, 100, True, 3.0, 0),
        (GREY, 90, False, 1, 3),
        (WIDE, 7, True, 0, 2),
    ],
    "links.model.ssd.random_crop_with_bbox_constraints": [
        (numbers(3, 40, side), box(3, seed), *options)
        for seed, side in enumerate((20, 40, 60))
        for options in (
            (),
            (0.5, 0.9, 1.5, None, 50, True),
            (0.3, 1, 2, ((0.9, None), (None, 0.2), (0.1, 0.3)), 3, True),
        )
    ]
    + [(numbers(3, 40, 20), BOXES[:0], 0.3, 1, 2, None, 50, True)],
    "links.model.faster_rcnn.bbox2loc": [
        (BOXES, box(12, 4)),
        (BOXES.astype("d"), box(12, 4, "d")),
        (np.concatenate([BOXES[:2], np.zeros((1, 4), "f")]), BOXES[:3]),
        (BOXES[:0], BOXES[:0]),
    ],
    "links.model.faster_rcnn.loc2bbox": [
        (BOXES, numbers(12, 4) / 20),
        (BOXES, numbers(12, 12, dtype="d") / 20),
        (BOXES.astype("d"), numbers(12, 8) / 20),
        (BOXES[:0], BOXES[:0]),
    ],
    "utils.bbox_iou": [
        (BOXES, box(5, 2)),
        (WHOLE, BOXES),
        (BOXES[:0], BOXES),
        (BOXES.astype("d"), BOXES[::-1]),
        (BOXES[:, :3], BOXES),
        (np.zeros((2, 4), "f"), BOXES),
    ],
    "utils.mask_iou": [(MASKS, MASKS[1:]), (MASKS[:0], MASKS), (MASKS, MASKS[:, :2])],
    "utils.mask_to_bbox": [(MASKS,), (np.zeros((2, 3, 3), bool),), (MASKS[:0],), (numbers(5, 4, 6) > 19,)],
    "utils.non_maximum_suppression": [
        (BOXES, thresh, score, limit)
        for thresh in (0.0, 0.1, 0.5, 1.0)
        for score in (None, numbers(12, seed=5))
        for limit in (None, 2)
    ]
    + [(BOXES[:0], 0.5), (np.concatenate([BOXES, BOXES]), 1.0), (np.array([[0, 0, 2, 2], [0, 0, 2, 1.0]]), 0.5)],
    "utils.generate_random_bbox": [(5, (30, 20), 2, 8), (0, (3, 3), 1, 2)],
    "utils.tile_images": [(numbers(n, 3, 4, 5), 3, pad, fill) for n in (1, 3, 7) for pad, fill in ((2, 0), ((1, 3), 9))]
    + [(numbers(4, 3, 2, 2), 2, 0, (1, 2, 3))],
    "evaluations.calc_semantic_segmentation_confusion": [
        (SEGMENTS[:2], SEGMENTS[1:3]),
        ([abs(s) for s in SEGMENTS], SEGMENTS),
        (SEGMENTS[:1], SEGMENTS),
        ([], []),
        (SEGMENTS, SEGMENTS[:1]),
        ([SEGMENTS[0][:2]], SEGMENTS[:1]),
        ([SEGMENTS[0][0]], [SEGMENTS[0][0]]),
    ],
    "evaluations.calc_semantic_segmentation_iou": [(np.array([[3, 1, 0], [2, 5, 0], [0, 0, 0]]),)],
    "evaluations.eval_semantic_segmentation": [([abs(s) for s in SEGMENTS], SEGMENTS)],
    "evaluations.calc_detection_voc_prec_rec": [
        (FOUND, LABELS, SCORES, TRUE, TRUE_LABELS, hard, thresh) for hard in (None, HARD) for thresh in (0.3, 0.5, 0.9)
    ],
    "evaluations.calc_detection_voc_ap": [
        ([np.array([1, 0.5, 0.6]), None, np.array([np.nan, 0.5])], [np.array([0.3, 0.3, 1.0]), np.ones(2), None], year)
        for year in (False, True)
    ],
    "evaluations.eval_detection_voc": [
        (FOUND, LABELS, SCORES, TRUE, TRUE_LABELS, hard, thresh, year)
        for hard in (None, HARD)
        for thresh in (0.3, 0.5)
        for year in (False, True)
    ]
    + [
        (iter(FOUND), iter(LABELS), iter(SCORES), iter(TRUE), iter(TRUE_LABELS)),
        (FOUND[1:], LABELS, SCORES, TRUE, TRUE_LABELS),
    ],
}


@pytest.fixture(scope="module")
def chainercv(request, tmp_path_factory):
    """The package, from its source distribution; the part of it that is compiled works only on GPUs."""
    cache = getattr(request.config, "cache", None)  # not there with -p no:cacheprovider
    folder = cache.mkdir("sdists") if cache is not None else tmp_path_factory.mktemp("sdists")
    try:
        sources = python_files(download("chainercv", "0.13.1", folder))
    except (urllib.error.URLError, OSError) as error:
        reason = f"chainercv 0.13.1 cannot be had from {INDEX}: {error}"
        if os.environ.get("CHAINER2TORCH_NEED_INDEX"):
            pytest.fail(reason)
        pytest.skip(reason)
    root = tmp_path_factory.mktemp("chainercv")
    for path, text in sources.items():
        if path.startswith("chainercv/"):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
    (root / "chainercv" / "__init__.py").write_text("")  # it asks for the version that is installed
    chainer = chainer_patches.import_chainer()
    for key in BACKENDS:
        setattr(chainer.config, key, "PIL")
    compiled = types.ModuleType("chainercv.utils.bbox._nms_gpu_post")
    compiled._nms_gpu_post = None
    sys.modules[compiled.__name__] = compiled
    sys.path.insert(0, str(root))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import chainercv
            from chainercv import datasets, evaluations, links, transforms, utils, visualizations  # noqa: F401

            yield chainercv
    finally:
        sys.path.remove(str(root))
        for key in BACKENDS:
            delattr(chainer.config, key)
        for name in [name for name in sys.modules if name.split(".")[0] == "chainercv"]:
            del sys.modules[name]


@functools.cache
def pack():
    return load_rules().packs["chainercv"]


def helper(name):
    """What the rule of a name writes."""
    value = pack()[f"chainercv.{name}"].value
    wanted = str(value.source if hasattr(value, "source") else value).removeprefix("compat.")
    return next(getattr(room, wanted) for room in ROOMS if hasattr(room, wanted))


def outcome(function, args):
    random.seed(3)
    np.random.seed(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = function(*args)
        except Exception as error:
            return type(error)
    return result, random.random(), np.random.rand()


def same(theirs, ours, path):
    if isinstance(theirs, np.ndarray):
        assert isinstance(ours, np.ndarray) and ours.dtype == theirs.dtype and ours.shape == theirs.shape, path
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6, err_msg=path)
    elif isinstance(theirs, dict):
        assert set(theirs) == set(ours), path
        for key in theirs:
            same(theirs[key], ours[key], f"{path} {key}")
    elif isinstance(theirs, (list, tuple)):
        assert type(theirs) is type(ours) and len(theirs) == len(ours), path
        for i, (one, other) in enumerate(zip(theirs, ours)):
            same(one, other, f"{path}[{i}]")
    elif isinstance(theirs, (float, np.floating)):
        assert theirs == pytest.approx(ours, rel=1e-6, nan_ok=True), path
    else:
        assert theirs == ours, path


@pytest.mark.parametrize("name", CASES)
def test_helper(name, chainercv):
    function = name.rpartition(".")[2]
    original, ours = operator.attrgetter(name)(chainercv), helper(name)
    with pytest.MonkeyPatch.context() as patch:
        if function in OPENCV:  # where it is installed, both take Pillow all the same
            patch.setattr(image_transforms.importlib.util, "find_spec", lambda name: None)
        for i, args in enumerate(CASES[name]):

            def copied():
                return tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args)  # noqa: B023

            theirs = outcome(
                original, copied() if not hasattr(args[0], "__next__") else (FOUND, LABELS, SCORES, TRUE, TRUE_LABELS)
            )
            same(theirs, outcome(ours, copied()), f"{name} case {i}:")


def test_defaults_are_those_of_chainercv(chainercv):
    count = 0
    for name in CASES:
        for _, key, ours, theirs in compared(helper(name), operator.attrgetter(name)(chainercv)):
            assert ours == theirs, (name, key)
            count += 1
    assert count > 40


def test_images_in_files(chainercv, tmp_path):
    for i, image in enumerate((IMAGE, GREY, numbers(3, 4, 4) * 12)):
        written = []
        for function in (chainercv.utils.write_image, image_transforms.write_image):
            written.append(io.BytesIO())
            function(image, written[-1], format="png")
        assert written[0].getvalue() == written[1].getvalue()
        path = tmp_path / f"{i}.png"
        image_transforms.write_image(image[:1], str(path))
        same(chainercv.utils.read_label(str(path)), image_transforms.read_label(str(path)), str(i))
        same(chainercv.utils.read_label(str(path), bool), image_transforms.read_label(str(path), bool), str(i))


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_images_are_read_as_chainercv_reads_them(chainercv, tmp_path, channels):
    pixels = np.random.RandomState(0).randint(0, 256, (5, 6, channels), dtype=np.uint8)
    path = tmp_path / "image.png"
    Image.fromarray(pixels[:, :, 0] if channels == 1 else pixels).save(path)
    asked = [
        (),
        (np.uint8,),
        (np.float64, False),
        *((np.float32, True, way) for way in ALPHAS),
        (np.uint8, True, ALPHAS[1]),
    ]
    for args in asked:
        theirs, ours = (
            outcome(f, (str(path), *args)) for f in (chainercv.utils.read_image, image_transforms.read_image)
        )
        same(theirs, ours, str(args))


def test_every_exact_row_is_compared():
    rows = pack()
    claimed = {name.removeprefix("chainercv.") for name, row in rows.items() if row.state == "exact"}
    tested = {"utils.read_label", "utils.write_image", "links.model.ssd.GradientScaling"}  # each has a test of its own
    tested |= {f"utils.{name}" for name in ("cached_download", "download_model", "extractall")}
    tested |= {"utils.apply_to_iterator", "utils.ProgressHook"}
    tested |= {f"visualizations.{name}" for name in PICTURES} | {f"datasets.{name}" for name in NAMES}
    assert claimed == set(CASES) - {f"transforms.{name}" for name in (*OPENCV, "rotate")} | tested
    assert {rows[f"chainercv.{name}"].proof for name in claimed} == {"tests/compat/test_chainercv_helpers.py"}


def test_tensors_give_tensors():
    scores = numbers(12, seed=5)
    overlap = boxes.bbox_iou(torch.as_tensor(BOXES), torch.as_tensor(BOXES))
    torch.testing.assert_close(overlap, torch.as_tensor(boxes.bbox_iou(BOXES, BOXES)))
    kept = boxes.non_maximum_suppression(torch.as_tensor(BOXES), 0.3, torch.as_tensor(scores))
    assert isinstance(kept, torch.Tensor) and kept.dtype == torch.int32
    assert kept.tolist() == boxes.non_maximum_suppression(BOXES, 0.3, scores).tolist()


def test_boxes_may_be_tensors():
    for function, args in ((boxes.bbox2loc, (BOXES, box(12, 4))), (boxes.loc2bbox, (BOXES, numbers(12, 8) / 20))):
        result = function(*map(torch.as_tensor, args))
        torch.testing.assert_close(result, torch.as_tensor(function(*args)))
    assert boxes.loc2bbox(torch.zeros(0, 4), torch.zeros(0, 8)).shape == (0, 4)


PICTURES = {
    "vis_image": [(IMAGE * 12,), (None,)],
    "vis_point": [(IMAGE * 12, POINTS), (IMAGE * 12, LISTED, [np.array([True, False]), np.ones(5, bool)])],
    "vis_bbox": [
        (WIDE * 12, BOXES[:3]),
        (WIDE * 12, BOXES[:0]),
        (None, BOXES[:3], np.array([2, 0, 1]), np.array([0.3, 0.9, 0.1]), ("a", "b", "c")),
        (WIDE * 12, BOXES[:3], np.array([2, 0, 1]), None, ("a", "b", "c"), [(0, 255, 0), (9, 9, 255)], 0.5, 1.0),
        *[
            (
                WIDE * 12,
                BOXES[:3],
                None,
                np.array([0.3, 0.9, 0.1]),
                None,
                [(0, 255, 0), (9, 9, 255), (80, 0, 0)],
                1.0,
                2.0,
                by,
            )
            for by in (True, False)
        ],
        (WIDE, BOXES[:3], np.array([1, 2])),
        (WIDE, BOXES[:3], None, np.array([1, 2])),
        (WIDE, BOXES[:3], np.array([1, 2, 7]), None, ("a", "b", "c")),
    ],
}


@pytest.mark.parametrize("name", PICTURES)
def test_pictures(name, chainercv):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    for given in (False, True):
        for args in PICTURES[name]:
            drawn = []
            for function in (getattr(chainercv.visualizations, name), helper(f"visualizations.{name}")):
                figure = plt.figure() if given else None
                try:
                    axes = function(*args, **({"ax": figure.add_subplot(2, 2, 3)} if given else {}))
                except ValueError as error:
                    drawn.append(str(error))
                else:
                    axes.figure.canvas.draw()
                    drawn.append(np.asarray(axes.figure.canvas.buffer_rgba()).copy())
                plt.close("all")
            if isinstance(drawn[0], str) or isinstance(drawn[1], str):
                assert drawn[0] == drawn[1]
            else:
                np.testing.assert_array_equal(*drawn)


def test_downloads_and_archives(chainercv, tmp_path, monkeypatch):
    import tarfile
    import zipfile

    import chainer

    (tmp_path / "model.npz").write_bytes(b"weights")
    (tmp_path / "a.txt").write_text("a")
    found = []
    was = chainer.dataset.get_dataset_root()
    try:
        for side, function in (("theirs", chainercv.utils.download_model), ("ours", downloads.download_model)):
            chainer.dataset.set_dataset_root(str(tmp_path / side))
            monkeypatch.setenv("CHAINER_DATASET_ROOT", str(tmp_path / side))
            path = function((tmp_path / "model.npz").as_uri())
            assert open(path, "rb").read() == b"weights" and function("file:///nowhere/model.npz") == path
            cached = (chainercv.utils if side == "theirs" else dataset_cache).cached_download
            again = cached((tmp_path / "a.txt").as_uri())
            assert open(again).read() == "a"
            found.append([os.path.relpath(each, tmp_path / side) for each in (path, again)])
    finally:
        chainer.dataset.set_dataset_root(was)
    assert found[0] == found[1]
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.write(tmp_path / "a.txt", "a.txt")
    for ending, mode in (("tar", "w"), ("tgz", "w:gz")):
        with tarfile.open(tmp_path / f"a.{ending}", mode) as archive:
            archive.add(tmp_path / "a.txt", "a.txt")
    for path, kind in (("a.zip", ".zip"), ("a.tar", ".tar"), ("a.tgz", ".tgz"), ("a.tgz", ".gz"), ("a.tgz", ".xz")):
        listed = []
        for side, function in (("theirs", chainercv.utils.extractall), ("ours", downloads.extractall)):
            target = tmp_path / f"{side}{kind}"
            function(str(tmp_path / path), str(target), kind)
            listed.append([p.read_text() for p in target.glob("a.txt")])
        assert listed[0] == listed[1] and bool(listed[0]) == (kind != ".xz")


NAMES = ("voc_bbox_label_names", "voc_semantic_segmentation_label_names")


def test_names_of_classes(chainercv):
    for name in NAMES:
        assert getattr(chainercv.datasets, name) == getattr(label_names, name)


def test_scaled_gradients(chainercv):
    import chainer

    theirs, ours = chainer.Parameter(numbers(3, 2)), torch.nn.Parameter(torch.as_tensor(numbers(3, 2)))
    theirs.grad = numbers(3, 2, seed=1)
    ours.grad = torch.as_tensor(theirs.grad.copy())
    chainercv.links.model.ssd.GradientScaling(0.3)(None, theirs)
    gradient_hooks.GradientScaling(0.3)(None, ours)
    np.testing.assert_array_equal(ours.grad.numpy(), theirs.grad)


class Drawn:
    """Batches of two of seven examples, and how many were drawn."""

    def __init__(self, examples):
        self.examples, self.count = examples, 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.count * 2 >= len(self.examples):
            raise StopIteration
        self.count += 1
        return self.examples[self.count * 2 - 2 : self.count * 2]


@pytest.mark.parametrize(
    ("examples", "n_input", "function"),
    [
        ([(i, -i, str(i)) for i in range(7)], 1, lambda xs: ([x + 1 for x in xs], [x * 2 for x in xs])),
        ([(i, -i, str(i)) for i in range(7)], 2, lambda xs, ys: [x - y for x, y in zip(xs, ys)]),
        ([*range(7)], 1, lambda xs: np.array(xs) * 2),
        ([(i, -i) for i in range(7)], 2, lambda xs, ys: ()),
        ([], 1, lambda xs: xs),
        ([1, 2], 1, lambda xs: [xs[0] / 0]),
    ],
)
def test_a_function_on_the_batches_of_an_iterator(examples, n_input, function, chainercv):
    found = []
    for apply in (chainercv.utils.apply_to_iterator, iteration.apply_to_iterator):
        seen = []
        drawn = Drawn(examples)

        def run(apply=apply, seen=seen, drawn=drawn):
            given, out, rest = apply(function, drawn, n_input, hook=lambda *parts: seen.append([*map(len, parts)]))
            sizes = [len(given), len(out), len(rest)], drawn.count
            ahead = [next(column) for column in out], drawn.count, [next(given[0]) for _ in range(3)], drawn.count
            del given
            return sizes, ahead, [list(column) for column in (*out, *rest)], drawn.count, seen

        found.append(outcome(run, ()))
    assert found[0] == found[1]


def test_an_iterator_that_is_deleted_keeps_nothing():
    freed = []

    class Value:
        def __del__(self):
            freed.append(1)

    examples = Drawn(range(8))
    given, (out,), _ = iteration.apply_to_iterator(lambda xs: xs, ([Value() for _ in batch] for batch in examples))
    del given
    for _ in range(6):
        next(out)
    assert len(freed) >= 4


@pytest.mark.parametrize("total", [None, 9, 100000])
def test_progress(total, chainercv, monkeypatch, capsys):
    texts = []
    for hook_class in (chainercv.utils.ProgressHook, iteration.ProgressHook):
        times = iter([0.0, 0.5, 2.0, 2.5])
        monkeypatch.setattr("time.time", lambda times=times: next(times))
        hook = hook_class(total)
        for count in (2, 3, 1):
            hook(([0] * count,), (), ())
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1] and ("ETA" in texts[0]) is (total is not None)


@pytest.mark.parametrize(
    ("path", "written"),
    [
        ("utils.bbox.bbox_iou.bbox_iou", "bbox_iou"),
        ("transforms.image.resize.resize", "resize_image"),
        ("links.model.faster_rcnn.utils.loc2bbox.loc2bbox", "loc2bbox"),
        ("links.model.ssd.transforms.random_crop_with_bbox_constraints", "random_crop_with_bbox_constraints"),
        ("visualizations.vis_image.vis_image", "vis_image"),
    ],
)
def test_names_inside_of_packages(path, written):
    module, _, name = path.rpartition(".")
    text = f"import chainer\nfrom chainercv.{module} import {name}\n{name}(a, b)\n"
    assert f"compat.{written}(a, b)" in migrate_source(text).code
