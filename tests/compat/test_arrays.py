"""chainer.functions.array: the helpers over shapes, options and errors."""

import chainer.functions as F
import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from chainer2torch.compat.functions import arrays, image_functions, windows
from tests.support.differential import check, check_raises

_RENAMED = {"repeat": "repeat_elements"}
_QUICK = settings(max_examples=60, deadline=None)


def _same(name, *args, inputs, room=arrays, **kwargs):
    options = {k: kwargs.pop(k) for k in ("dtypes", "double_backward", "grad", "strided") if k in kwargs}
    check(
        lambda *xs: getattr(F, name)(*xs, *args, **kwargs),
        lambda *xs: getattr(room, _RENAMED.get(name, name))(*xs, *args, **kwargs),
        inputs,
        **options,
    )


@pytest.mark.parametrize(
    "name, args, kwargs, shape",
    [
        ("transpose", (), {}, (2, 3, 4)),
        ("transpose", ((2, 0, -2),), {}, (2, 3, 4)),
        ("transpose", (), {}, ()),
        ("diagonal", (1,), {"axis1": 2, "axis2": 0}, (3, 2, 4)),
        ("expand_dims", (-1,), {}, (2, 3)),
        ("flip", (-1,), {}, (2, 3)),
        ("swapaxes", (-1, 0), {}, (2, 3, 4)),
        ("separate", (-1,), {}, (2, 3)),
        ("tile", (3,), {}, ()),
        ("tile", ((2, 3),), {}, (2, 1, 2)),
        ("squeeze", ((0, -1),), {}, (1, 2, 1)),
        ("squeeze", (), {}, (1, 1)),
        ("squeeze", (0,), {}, (1, 3)),
        ("repeat", (3, -2), {}, (2, 3)),
        ("repeat", ((1, 2, 0), 1), {}, (2, 3)),
        ("repeat", (0,), {}, (2, 3)),
        ("repeat", ((2,),), {"axis": 0}, (2, 3)),
        ("repeat", ((1, 0, 2, 1, 1, 3),), {}, (2, 3)),
        ("cast", ("f",), {}, (2, 3)),
        ("cast", (np.float64,), {}, (2,)),
    ],
)
def test_shape_functions(name, args, kwargs, shape):
    _same(name, *args, inputs=[np.asarray(np.random.RandomState(0).randn(*shape))], **kwargs)


@pytest.mark.parametrize("axis", range(-3, 3))
@pytest.mark.parametrize("start", range(-3, 4))
def test_rollaxis(axis, start):
    _same("rollaxis", axis, start, inputs=["f32[2,3,4]"])


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_concat_and_stack(axis):
    check(lambda x, y: F.concat((x, y), axis), lambda x, y: arrays.concat((x, y), axis), ["f32[2,2]", "f32[2,2]"])
    check(lambda x, y: F.stack([x, y], axis), lambda x, y: arrays.stack([x, y], axis), ["f32[2,2]", "f32[2,2]"])


@_QUICK
@given(st.lists(st.integers(0, 4), min_size=1, max_size=4), st.integers(-3, 2))
def test_concat_search(sizes, axis):
    xs = [np.random.RandomState(i).randn(*[n if k == axis % 3 else 2 for k in range(3)]) for i, n in enumerate(sizes)]
    check(lambda *v: F.concat(v, axis), lambda *v: torch.cat(v, dim=axis), xs, dtypes=[np.float64])


@_QUICK
@given(
    st.integers(0, 7),
    st.one_of(st.integers(1, 4), st.lists(st.integers(0, 9), max_size=4)),
    st.booleans(),
    st.sampled_from([0, 1, -1]),
)
def test_split_axis_search(size, where, force_tuple, axis):
    shape = [2, 2]
    shape[axis] = size
    x = np.random.RandomState(0).randn(*shape)
    if isinstance(where, int):
        assume(size > 0)
    else:
        where = sorted(where)
    if size % where if isinstance(where, int) else max(where, default=0) > size:
        check_raises(lambda v: F.split_axis(v, where, axis), lambda v: arrays.split_axis(v, where, axis), [x])
        return
    _same("split_axis", where, axis, force_tuple, inputs=[x], dtypes=[np.float64])
    if force_tuple:  # what the row emits
        check(
            lambda v: F.split_axis(v, where, axis),
            lambda v: torch.tensor_split(v, where, dim=axis),
            [x],
            dtypes=[np.float64],
        )


def test_split_axis_of_arrays_and_errors():
    for where in (np.array([1, 3]), np.array([], np.int64), (2,)):
        _same("split_axis", where, 1, inputs=["f32[2,4]"])
    check(
        lambda x: F.split_axis(x, np.array([1, 3]), 0),
        lambda x: arrays.split_axis(x, torch.tensor([1, 3]), 0),
        ["f32[4,2]"],
    )
    check_raises(lambda x: F.split_axis(x, 1.5, 0), lambda x: arrays.split_axis(x, 1.5, 0), ["f32[4,2]"])


_WIDTH = st.tuples(st.integers(0, 2), st.integers(0, 2))


@_QUICK
@given(
    st.one_of(st.integers(0, 2), _WIDTH, st.tuples(_WIDTH, _WIDTH)),
    st.sampled_from(["constant", "edge", "reflect", "symmetric", "wrap", "mean", "maximum", "linear_ramp"]),
)
def test_pad_search(width, mode):
    _same("pad", width, mode, inputs=["f32[3,4]"], strided=False)


@pytest.mark.parametrize("values", [3, (1, 2), ((1, 2), (3, 4)), 0.0])
def test_pad_constant_values(values):
    _same("pad", ((1, 2), (0, 1)), "constant", constant_values=values, inputs=["f32[2,3]"])
    _same("pad", 1, mode="constant", inputs=["f32[0,3]"], constant_values=values)


@pytest.mark.parametrize("length, padding", [(None, 0), (None, -1), (5, 2.5)])
@pytest.mark.parametrize("inputs", [["f32[3,2]", "f32[0,2]", "f32[2,2]"], ["f32[3]"], ["f32[1,2,2]", "f32[2,2,2]"]])
def test_pad_sequence(length, padding, inputs):
    check(lambda *xs: F.pad_sequence(xs, length, padding), lambda *xs: arrays.pad_sequence(xs, length, padding), inputs)


@pytest.mark.parametrize("inputs, length", [(["f32[3,2]", "f32[2,1]"], None), (["f32[3]", "f32[2]"], 2)])
def test_pad_sequence_refuses(inputs, length):
    check_raises(lambda *xs: F.pad_sequence(xs, length), lambda *xs: arrays.pad_sequence(xs, length), inputs)


@pytest.mark.parametrize("inv", [False, True])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_permutate(inv, axis):
    order = np.array([2, 0, 1], np.int32)
    check(
        lambda x: F.permutate(x, order, axis, inv),
        lambda x: arrays.permutate(x, torch.from_numpy(order), axis, inv),
        ["f32[3,3,2]"],
    )


def test_permutate_refuses_other_indices():
    for bad in (np.array([[0, 1]]), np.array([0.0, 1.0]), np.array([0, 1], np.uint8)):
        check_raises(lambda x, i: F.permutate(x, i), lambda x, i: arrays.permutate(x, i), ["f32[2]", bad])


@_QUICK
@given(st.lists(st.integers(0, 5), min_size=0, max_size=4))
def test_transpose_sequence_search(lengths):
    xs = [np.random.RandomState(i).randn(n, 2) for i, n in enumerate(sorted(lengths, reverse=True))]
    check(lambda *v: F.transpose_sequence(v), lambda *v: arrays.transpose_sequence(v), xs, dtypes=[np.float64])


@pytest.mark.parametrize(
    "slices",
    [
        0,
        (1, 2),
        slice(None, None, -2),
        (Ellipsis, [0, 0]),
        [0, 0, 1],
        (None, 1),
        np.array([[0, 1], [1, 1]]),
        (0, [1, 2]),
        np.array([True, False, True, True]),
        (slice(1, 3), np.array([2, 2, 0])),
    ],
)
def test_scatter_add(slices):
    b = np.asarray(np.random.RandomState(1).randn(*np.zeros((4, 3))[slices].shape))
    check(lambda a, v: F.scatter_add(a, slices, v), lambda a, v: arrays.scatter_add(a, slices, v), ["f32[4,3]", b])


@_QUICK
@given(st.lists(st.integers(-4, 3), min_size=1, max_size=6), st.sampled_from([None, -1, 0]))
def test_scatter_add_search(rows, column):
    slices = (np.array(rows), slice(None)) if column is None else (np.array(rows), column)
    b = np.random.RandomState(1).randn(*np.zeros((4, 3))[slices].shape)
    check(
        lambda a, v: F.scatter_add(a, slices, v),
        lambda a, v: arrays.scatter_add(a, slices, v),
        ["f32[4,3]", b],
        dtypes=[np.float64],
    )


def test_select_item_counts_from_the_end_and_checks():
    t = np.array([-1, 0, 2], np.int32)
    _same("select_item", inputs=["f32[3,3]", t])
    check_raises(F.select_item, arrays.select_item, ["f32[4,3]", t])
    check_raises(F.select_item, arrays.select_item, ["f32[3,3]", np.array([0, 1, 3])])


@pytest.mark.parametrize("shapes", [("[2,3]", "[2,3]", "[2,3]"), ("[3]", "[2,1]", "[]"), ("[2,1]", "[3]", "[1]")])
def test_where(shapes):
    c, x, y = shapes
    _same("where", inputs=["bool" + c, "f32" + x, "f32" + y])


@pytest.mark.parametrize("inputs", [["i32[2]", "f32[2]", "f32[2]"], ["bool[2]", "f32[2]", "f64[2]"]])
def test_where_refuses(inputs):
    check_raises(F.where, arrays.where, inputs)


def test_broadcast():
    check(F.broadcast, arrays.broadcast, ["f32[2,1]", "f32[3]", "f32[]"])
    check(F.broadcast, arrays.broadcast, ["f32[2,1]"])
    check_raises(F.broadcast, arrays.broadcast, ["f32[2]", "f32[3]"])


@pytest.mark.parametrize(
    "name, args, shape",
    [
        ("squeeze", (0,), (2, 3)),
        ("repeat", ([1, 2],), (2,)),
        ("where", (), (2,)),
        ("flip", (2,), (2, 3)),
        ("swapaxes", (0, 5), (2, 3)),
        ("transpose", ((0, 0),), (2, 3)),
        ("concat", (0,), ()),
    ],
)
def test_errors_stay_errors(name, args, shape):
    check_raises(
        lambda x: getattr(F, name)(x, *args),
        lambda x: getattr(arrays, _RENAMED.get(name, name))(x, *args),
        [np.zeros(shape, "f")],
    )


def test_as_strided():
    check(
        lambda x: F.as_strided(x * 1, (3, 2), (2, 1), 1),
        lambda x: arrays.as_strided(x * 1, (3, 2), (2, 1), 1),
        ["f32[3,4]"],
    )


# ---- Images

_SIZE = st.integers(1, 6)


@settings(max_examples=150, deadline=None)
@given(
    _SIZE,
    _SIZE,
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(0, 2),
    st.integers(1, 2),
    st.booleans(),
)
def test_im2col_search(h, w, k, k2, s, p, d, cover_all):
    x = np.random.RandomState(0).randn(2, 2, h, w)
    options = {"ksize": (k, k2), "stride": (s, 1), "pad": (p, 0), "cover_all": cover_all, "dilate": (d, 1)}
    outs = windows.get_conv_outsize(h, k, s, p, cover_all, d), windows.get_conv_outsize(w, k2, 1, 0, cover_all)
    if min(outs) <= 0:
        check_raises(
            lambda v: F.im2col(v, **options),
            lambda v: image_functions.im2col(v, **options),
            [x],
            torch_error=(ValueError,),
        )
        return
    _same("im2col", room=image_functions, inputs=[x], dtypes=[np.float64], strided=False, **options)


@settings(max_examples=150, deadline=None)
@given(_SIZE, _SIZE, st.integers(1, 13), st.integers(1, 13), st.sampled_from(["bilinear", "nearest"]), st.booleans())
def test_resize_images_search(h, w, out_h, out_w, mode, align_corners):
    x = np.random.RandomState(0).randn(1, 2, h, w)
    _same(
        "resize_images",
        (out_h, out_w),
        mode=mode,
        align_corners=align_corners,
        room=image_functions,
        inputs=[x],
        dtypes=[np.float32],
        strided=False,
    )


@pytest.mark.parametrize("size, out", [(224, 97), (97, 224), (33, 500), (500, 33), (64, 128), (128, 64)])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("align_corners", [True, False])
def test_resize_images_of_real_sizes(size, out, mode, align_corners):
    # The position of a pixel is a multiple of size / out, in float64 in Chainer and in float32 in torch.
    x = np.random.RandomState(0).rand(1, 1, size, 3).astype("f")
    y = F.resize_images(x, (out, 5), mode=mode, align_corners=align_corners).array
    z = image_functions.resize_images(torch.from_numpy(x), (out, 5), mode=mode, align_corners=align_corners)
    np.testing.assert_allclose(z.numpy(), y, rtol=1e-4, atol=1e-4 if mode == "bilinear" else 0)


def test_nearest_is_where_torch_differs():
    differ = 0
    for size in range(1, 60):
        for out in range(1, 60):
            x = torch.arange(float(size)).reshape(1, 1, size, 1)
            ours = image_functions.resize_images(x, (out, 1), mode="nearest")
            differ += not torch.equal(ours, torch.nn.functional.interpolate(x, size=(out, 1), mode="nearest"))
    assert differ > 0  # otherwise the helper would not be needed


def test_resize_images_refuses_another_mode():
    check_raises(
        lambda x: F.resize_images(x, (2, 2), mode="cubic"),
        lambda x: image_functions.resize_images(x, (2, 2), mode="cubic"),
        [np.zeros((1, 1, 2, 2), "f")],
        torch_error=(ValueError,),
    )


@pytest.mark.parametrize(
    "name, shape, r",
    [
        ("depth2space", (2, 8, 3, 2), 2),
        ("depth2space", (1, 9, 2, 2), 3),
        ("space2depth", (2, 2, 4, 6), 2),
        ("space2depth", (1, 2, 3, 3), 3),
    ],
)
def test_blocks(name, shape, r):
    _same(name, r, room=image_functions, inputs=[np.random.RandomState(0).randn(*shape)], double_backward=True)


@pytest.mark.parametrize("shape", [(3, 4), (1, 1), (1, 5), (2, 1)])
def test_spatial_transformer_grid(shape):
    _same("spatial_transformer_grid", shape, room=image_functions, inputs=["f32[2,2,3]"])


@_QUICK
@given(_SIZE, _SIZE, _SIZE, _SIZE, st.floats(0.3, 2.5))
def test_spatial_transformer_sampler_search(h, w, out_h, out_w, spread):
    rng = np.random.RandomState(h * 7 + w)
    x, grid = rng.randn(2, 2, h, w), rng.uniform(-spread, spread, (2, 2, out_h, out_w))
    _same("spatial_transformer_sampler", room=image_functions, inputs=[x, grid], dtypes=[np.float64], strided=False)
