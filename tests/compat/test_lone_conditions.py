"""Conditions of helpers that the tests of their rooms meet on one side only: a change of each would pass there."""

import inspect
import os
import types

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
import pytest
import torch

from chainer2torch.compat.backend import array_module
from chainer2torch.compat.chainercv import visualizations
from chainer2torch.compat.dataset import datasets, file_datasets
from chainer2torch.compat.functions import recurrent, regions
from chainer2torch.compat.links.composite_links import InceptionBN
from chainer2torch.compat.optimizers import optimizers
from chainer2torch.compat.serializers import state_io
from chainer2torch.compat.training import parallel_updaters
from chainer2torch.compat.utils import sparse
from chainer2torch.native import optimizers as native_optimizers
from chainer2torch.native import parallel_updaters as native_updaters
from chainer2torch.native import spreading


@pytest.mark.parametrize(("cells", "gates"), [((1, 2), (3, 8)), ((3, 1), (3, 8)), ((3, 1, 4), (3, 8, 4))])
def test_cells_that_would_be_spread_are_refused(cells, gates):
    """PyTorch would spread the one cell over all; Chainer refuses."""
    arrays_of_both = np.ones(cells, "f"), np.ones(gates, "f")
    with pytest.raises(chainer.utils.type_check.InvalidType):
        F.lstm(*arrays_of_both)
    with pytest.raises(ValueError, match="do not fit"):
        recurrent.lstm(*map(torch.as_tensor, arrays_of_both))


@pytest.mark.parametrize("ksize", [2, 3, 4])
@pytest.mark.parametrize("pad", [2, 4])
@pytest.mark.parametrize("cover_all", [True, False])
def test_padding_of_spread_elements(ksize, pad, cover_all):
    x = np.random.RandomState(0).rand(2, 3, 6, 5).astype("f")
    expected = F.unpooling_2d(x, ksize, None, pad, cover_all=cover_all).array
    found = spreading.unpooling_2d(torch.as_tensor(x), ksize, None, pad, cover_all=cover_all)
    np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.parametrize("order", [None, "C", "F", "other"])
@pytest.mark.parametrize("row", [[0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 0, 0]])
@pytest.mark.parametrize("col", [[1, 1, 0], [0, 1, 2], [2, 2, 1]])
def test_entries_in_one_place_are_in_order(order, row, col):
    given = np.ones(3, "f"), np.array(row, "i"), np.array(col, "i")
    expected = chainer.utils.CooMatrix(*given, shape=(2, 3), order=order)
    assert sparse.CooMatrix(*map(torch.as_tensor, given), shape=(2, 3), order=order).order == expected.order


@pytest.mark.parametrize("out1", [0, 1, 2])
def test_a_first_branch_of_any_width(out1):
    sizes = (4, out1, 2, 3, 2, 3, "max", 2)
    theirs, ours = L.InceptionBN(*sizes), InceptionBN(*sizes)
    assert hasattr(ours, "conv1") == (getattr(theirs, "conv1", None) is not None) == (out1 > 0)
    x = np.random.RandomState(0).rand(2, 4, 5, 5).astype("f")
    assert ours(torch.as_tensor(x)).shape == theirs(x).shape


@pytest.mark.parametrize("name", ["MomentumSGD", "NesterovAG", "RMSpropGraves", "SMORMS3", "MSVAG", "AdaBound"])
def test_frozen_parameters_do_not_decay(name):
    module = torch.nn.Linear(2, 2)
    module.bias.requires_grad_(False)
    before = [p.detach().clone() for p in (module.bias, module.weight)]
    options = (
        {"weight_decay": 0.5}
        if "weight_decay" in inspect.signature(getattr(native_optimizers, name)).parameters
        else {}
    )
    optimizer = getattr(native_optimizers, name)(module.parameters(), lr=0.1, **options)
    module(torch.ones(1, 2)).sum().backward()
    module.bias.grad = torch.ones(2)
    optimizer.step()
    assert torch.equal(module.bias, before[0]) and not torch.equal(module.weight, before[1])


def test_a_larger_batch_of_each_optimizer():
    """As Chainer divides the rate, or multiplies what the gradient is divided by, for so many processes."""
    param = torch.nn.Parameter(torch.ones(2))
    adam, delta = torch.optim.Adam([param], eps=1e-8), torch.optim.Adadelta([param], eps=1e-6)
    sgd, own = torch.optim.SGD([param], lr=0.6), types.SimpleNamespace(param_groups=[{}], lr=0.6)
    for optimizer in (adam, delta, sgd, own):
        native_updaters.MultiprocessParallelUpdater._allow_for_larger_batch(optimizer, 3)
    assert adam.param_groups[0]["eps"] == pytest.approx(3e-8) and adam.param_groups[0]["lr"] == 1e-3
    assert delta.param_groups[0]["eps"] == pytest.approx(9e-6) and delta.param_groups[0]["lr"] == 1.0
    assert sgd.param_groups[0]["lr"] == pytest.approx(0.2) and own.lr == pytest.approx(0.2)


@pytest.mark.parametrize("is_forked", [False, True])
def test_a_forked_worker_seeks_in_a_file_of_its_own(tmp_path, monkeypatch, is_forked):
    path = tmp_path / "data"
    path.write_bytes(b"abcdef")
    file = file_datasets._ReopenedFile(str(path))
    file.seek(2)
    stream = file._stream
    if is_forked:
        monkeypatch.setattr(os, "getpid", lambda: -1)
    assert file.seek(3) == 3 and (file._stream is stream) is not is_forked
    assert stream.tell() == (2 if is_forked else 3)


def test_boxes_have_lines_of_three_points():
    pytest.importorskip("matplotlib").use("Agg")
    axes = visualizations.vis_bbox(np.zeros((3, 8, 8), "f"), np.float32([[1, 1, 4, 5]]))
    assert [patch.get_linewidth() for patch in axes.patches] == [3.0]


@pytest.mark.parametrize(
    ("count", "said"), [(0, "no key under a/"), (2, "a/0, a/1, ..."), (7, "a/0, a/1, a/2, a/3, a/4, ...")]
)
def test_some_keys_are_five(count, said):
    assert state_io._some_keys({f"a/{n}": n for n in range(count)} | {"b": 1}, "a/") == said


@pytest.mark.parametrize("scale", [1, 0.5, 0.0, -1.0])
def test_scales_are_positive(scale):
    theirs, ours = chainer.optimizers.SGD().setup(L.Linear(1, 1)), optimizers.SGD().setup(torch.nn.Linear(1, 1))
    if scale > 0:
        for optimizer in (theirs, ours):
            optimizer.loss_scaling(scale=scale)
        assert ours._loss_scale == theirs._loss_scale == scale
        return
    for optimizer in (theirs, ours):
        with pytest.raises(ValueError, match="positive"):
            optimizer.loss_scaling(scale=scale)


@pytest.mark.parametrize("name", ["roi_max_pooling_2d", "roi_average_pooling_2d"])
@pytest.mark.parametrize("shape", [(1, 2, 8, 4), (1, 2, 4, 8)])
def test_regions_over_the_whole_of_a_long_picture(name, shape):
    x, indices = np.random.RandomState(0).rand(*shape).astype("f"), np.zeros(2, "i")
    rois = np.float32([[0, 0, *shape[2:]], [shape[2] - 2, shape[3] - 2, *shape[2:]]])
    expected = getattr(F, name)(x, rois, indices, (4, 4), 1.0).array
    found = getattr(regions, name)(*map(torch.as_tensor, (x, rois, indices)), (4, 4), 1.0)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("split_at", [0, 1, 3])
def test_either_part_of_a_dataset_may_be_empty(split_at):
    for module in (chainer.datasets, datasets):
        first, rest = module.split_dataset([1, 2, 3], split_at)
        assert list(first) + list(rest) == [1, 2, 3] and len(first) == split_at
        with pytest.raises(ValueError):
            module.split_dataset([1, 2, 3], -1)


@pytest.mark.parametrize("name", ["max", "min"])
def test_what_is_said_of_no_elements(name):
    with pytest.raises(ValueError, match=f"reduction operation {name}imum"):
        getattr(array_module.ArrayModule(torch.device("cpu")), name)(torch.zeros(0))


@pytest.mark.parametrize(("device", "used"), [(None, -1), (1, 1)])
def test_a_part_is_computed_where_its_device_is(monkeypatch, device, used):
    asked = []

    class Job:
        size = 1

        def scatter(self, parts):
            return parts[0]

        def compute_gradients(self, inputs, scale):
            assert asked == [used]

        def report(self, ranks):
            pass

        def update(self, optimizer):
            pass

    updater = types.SimpleNamespace(
        _first_examples=[0],
        _device_of=lambda name: device,
        _name="main",
        converter=None,
        loss_scale=None,
        get_optimizer=lambda name: torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1),
    )
    monkeypatch.setattr(parallel_updaters, "to_device", lambda device, inputs: inputs)
    monkeypatch.setattr(parallel_updaters, "_call_converter", lambda converter, part, device: part)
    monkeypatch.setattr(parallel_updaters, "using_device", lambda device: asked.append(device) or torch.no_grad())
    parallel_updaters.ParallelUpdater._update_in_job(updater, Job(), [1, 2])
    assert asked == [used]
