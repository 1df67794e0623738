"""ChainerCV's reading, showing and flipping of images in one line of Pillow, NumPy or matplotlib.

The helpers beside which they stand are proved against ChainerCV itself (tests/compat/test_chainercv_helpers.py).
"""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from PIL import Image

from chainer2torch.compat.chainercv import image_transforms, visualizations
from chainer2torch.engine import migrate_source
from chainer2torch.rules.table import load_rules

HEAD = """import numpy as np
from chainercv import transforms, utils
from chainercv.visualizations import vis_image


def f(a, b, c=None):
"""
PIXELS = np.random.RandomState(0).randint(0, 256, (3, 5, 7)).astype("f")


def text_of(body):
    return migrate_source(HEAD + f"    {body}\n", rules=load_rules(style="native")).code


def migrated(body):
    code = text_of(body)
    assert "compat" not in code
    space: dict = {}
    exec(compile(code, "migrated", "exec"), space)
    return lambda a, b=None: space["f"](a, b)


@pytest.fixture
def path(tmp_path):
    name = str(tmp_path / "picture.png")
    Image.fromarray(PIXELS.astype(np.uint8).transpose(1, 2, 0)).save(name)
    return name


@pytest.mark.parametrize(
    ("call", "options"),
    [
        ("utils.read_image(a)", {}),
        ("utils.read_image(a, np.uint8)", {"dtype": np.uint8}),
        ("utils.read_image(a, dtype=np.int32, color=False)", {"dtype": np.int32, "color": False}),
    ],
)
def test_an_image_is_read(path, call, options):
    f = migrated(f"return {call}")
    wanted = image_transforms.read_image(path, **options)
    assert f(path).dtype == wanted.dtype and np.array_equal(f(path), wanted)
    assert f(path).flags.writeable


def test_a_label_is_read(path):
    f = migrated("return utils.read_label(a)")
    wanted = image_transforms.read_label(path)
    assert f(path).dtype == wanted.dtype and np.array_equal(f(path), wanted)


@pytest.mark.parametrize("call", ["utils.read_image(a, color=b)", "utils.read_image(a, alpha='ignore')"])
def test_what_is_not_known_keeps_the_helper(call):
    assert "compat.read_image" in text_of(f"return {call}")


FLIPS = [(x, y) for x in (True, False) for y in (True, False)]


@pytest.mark.parametrize(("x_flip", "y_flip"), FLIPS)
def test_an_image_is_flipped(x_flip, y_flip):
    f = migrated(f"return transforms.flip(a, x_flip={x_flip}, y_flip={y_flip})")
    wanted = image_transforms.flip_image(PIXELS, y_flip=y_flip, x_flip=x_flip)
    assert np.array_equal(f(PIXELS), wanted) and np.shares_memory(f(PIXELS), PIXELS)
    f = migrated("return transforms.flip(a, x_flip=b['x'])[0]")
    assert np.array_equal(f(PIXELS, {"x": x_flip}), image_transforms.flip_image(PIXELS, x_flip=x_flip)[0])


def test_flips_of_what_may_not_be_written_twice_keep_the_helper():
    for call in ("transforms.flip(a + 1, x_flip=b)", "transforms.flip(a, b, c)", "transforms.flip(a, b, copy=True)"):
        assert "compat.flip_image" in text_of(f"return {call}")


def test_a_tensor_that_is_flipped_raises():
    f = migrated("return transforms.flip(a, x_flip=True)")
    with pytest.raises(ValueError, match="step"):
        f(torch.ones(3, 2, 2))


@pytest.mark.parametrize("body", ["vis_image(a, ax=b)", "vis_image(a, b)"])
def test_an_image_is_shown_on_axes(body):
    f = migrated(body)
    figure, (ours, other) = plt.subplots(1, 2)
    f(PIXELS, ours)
    visualizations.vis_image(PIXELS, ax=other)
    assert np.array_equal(ours.get_images()[0].get_array(), other.get_images()[0].get_array())
    plt.close(figure)


def test_axes_are_made_where_none_are_given():
    f = migrated("ax = vis_image(a)\n    return ax")
    ax, wanted = f(PIXELS), visualizations.vis_image(PIXELS)
    assert ax.get_images()[0].get_extent() == wanted.get_images()[0].get_extent()
    assert ax.get_subplotspec().get_geometry() == wanted.get_subplotspec().get_geometry()
    plt.close("all")


@pytest.mark.parametrize("body", ["return vis_image(a, b)", "vis_image(None, b)", "return vis_image(a, ax=c)"])
def test_what_may_be_none_or_comes_back_keeps_the_helper(body):
    assert "compat.vis_image" in text_of(body)


def test_names_that_mean_something_else_are_imported_by_others():
    body = "Image, plt = a\n    vis_image(utils.read_image(b))"
    code = text_of(body)
    assert "import PIL.Image as PILImage" in code and "from matplotlib import pyplot\n" in code
    assert "pyplot.figure().add_subplot().imshow(np.array(PILImage.open(b)" in code


def test_an_import_in_a_branch_serves_that_branch_alone():
    code = text_of("return a\n\n\nif __name__ == '__main__':\n    import matplotlib.pyplot as plt\n    vis_image(f)")
    assert "from matplotlib import pyplot\n" in code and "    pyplot.figure()" in code
