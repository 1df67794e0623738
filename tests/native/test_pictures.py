"""Pictures of PIL's and tables of pandas': NumPy makes arrays of them, torch.as_tensor() raises."""

import numpy as np
import pytest

from tests.support.native_snippets import migrated, run

HEAD = """
from PIL import Image, ImageOps
from chainer import cuda

GPU = -1
xp = np if GPU < 0 else cuda.cupy

def picture(n):
    return Image.fromarray(np.arange(n * 12, dtype=np.uint8).reshape(n, 4, 3))
"""
LINES = [
    "xp.asarray(image, dtype=np.float32).transpose(2, 0, 1)",
    "xp.array(image, dtype=xp.float32)[None]",
    "xp.array(image)",
    "xp.asarray(image) / 2",
    "xp.ascontiguousarray(image, 'f')",
]


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize(
    "made", ["picture(5)", "picture(6).crop((0, 0, 3, 2))", "ImageOps.mirror(picture(3).convert('L').convert('RGB'))"]
)
def test_a_picture_is_read_by_numpy(line, made):
    theirs, ours, code = run(f"{HEAD}\ndef run(xs):\n    image = {made}\n    return [{line}]\n")
    assert "np.asarray(image)" in code, code
    np.testing.assert_array_equal(np.asarray(ours[0].cpu() if hasattr(ours[0], "cpu") else ours[0]), theirs[0])


def test_what_a_picture_is_asked_needs_no_helper():
    code = migrated(
        f"{HEAD}\ndef run(path, x):\n    image = Image.open(path)\n    w, h = image.size\n"
        "    return F.sum(xp.asarray(image.resize((w // 2, h)), 'f')) * x\n"
    ).code
    assert "w, h = image.size" in code, code


def test_other_values_are_made_tensors_as_before():
    code = migrated(f"{HEAD}\ndef run(x):\n    return F.sum(xp.asarray(x, dtype=np.float32))\n").code
    assert "torch.as_tensor(x, dtype=torch.float32" in code, code
