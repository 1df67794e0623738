"""ChainerCV's transforms of images: NumPy arrays (channels, height, width), drawn from Python's and NumPy's generators.

Functions with ``return_param`` return what they drew or where they cut, too. Source of all: chainercv.transforms.
"""

from __future__ import annotations

import importlib.util
import math
import random
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

_BILINEAR = 2  # PIL.Image.BILINEAR
_LIGHTING = np.array([[-0.5675, -0.5808, -0.5836], [0.7192, -0.0045, -0.6948], [0.4009, -0.814, 0.4203]])


def _finished(img: np.ndarray, param: dict[str, Any], return_param: bool, copy: bool = False) -> Any:
    img = img.copy() if copy else img
    return (img, param) if return_param else img


def flip_image(img: np.ndarray, y_flip: bool = False, x_flip: bool = False, copy: bool = False) -> np.ndarray:
    """The image upside down, from right to left, or both; a view unless ``copy``.

    Raises:
        AssertionError: ``img`` does not have three dimensions.
    Source: chainercv.transforms.flip.
    """
    if img.ndim != 3:
        raise AssertionError("The dimension of image must be 3")
    img = img[:, :: -1 if y_flip else 1, :: -1 if x_flip else 1]
    return img.copy() if copy else img


def random_flip_image(
    img: np.ndarray, y_random: bool = False, x_random: bool = False, return_param: bool = False, copy: bool = False
) -> Any:
    """:func:`flip_image`, in the directions that are random if Python's generator says so.

    Source: chainercv.transforms.random_flip.
    """
    y_flip = random.choice([True, False]) if y_random else False
    x_flip = random.choice([True, False]) if x_random else False
    flipped = img[:, :: -1 if y_flip else 1, :: -1 if x_flip else 1]
    return _finished(flipped, {"y_flip": y_flip, "x_flip": x_flip}, return_param, copy)


def _cut(img: np.ndarray, top: int, left: int, size: Sequence[int], return_param: bool, copy: bool, **more: Any) -> Any:
    param = {"y_slice": slice(top, top + size[0]), "x_slice": slice(left, left + size[1]), **more}
    return _finished(img[:, param["y_slice"], param["x_slice"]], param, return_param, copy)


def center_crop_image(img: np.ndarray, size: tuple[int, int], return_param: bool = False, copy: bool = False) -> Any:
    """The middle of an image, of ``size`` (height, width).

    Raises:
        ValueError: the image is smaller.
    Source: chainercv.transforms.center_crop.
    """
    margins = [given - wanted for given, wanted in zip(img.shape[1:], size, strict=True)]
    if min(margins) < 0:
        raise ValueError("shape of image needs to be larger than size")
    top, left = (round(margin / 2) for margin in margins)
    return _cut(img, top, left, size, return_param, copy)


def random_crop_image(img: np.ndarray, size: tuple[int, int], return_param: bool = False, copy: bool = False) -> Any:
    """A part of an image, of ``size`` (height, width), at a place from Python's generator.

    Raises:
        ValueError: the image is smaller.
    Source: chainercv.transforms.random_crop.
    """
    starts = []
    for given, wanted in zip(img.shape[1:], size, strict=True):
        if given < wanted:
            raise ValueError("shape of image needs to be larger than output shape")
        starts.append(random.randint(0, given - wanted))
    return _cut(img, starts[0], starts[1], size, return_param, copy)


def random_sized_crop_image(
    img: np.ndarray,
    scale_ratio_range: tuple[float, float] = (0.08, 1),
    aspect_ratio_range: tuple[float, float] = (3 / 4, 4 / 3),
    return_param: bool = False,
    copy: bool = False,
) -> Any:
    """A part of an image with a random share of its area and a random ratio of height to width.

    Source: chainercv.transforms.random_sized_crop.
    """
    height, width = img.shape[1:]
    scale, aspect = _scale_and_aspect(height, width, scale_ratio_range, aspect_ratio_range)
    area = scale * height * width
    size = math.floor(np.sqrt(area * aspect)), math.floor(np.sqrt(area / aspect))
    top = random.randint(0, height - size[0])
    left = random.randint(0, width - size[1])
    return _cut(img, top, left, size, return_param, copy, scale_ratio=scale, aspect_ratio=aspect)


def _scale_and_aspect(
    height: int, width: int, scales: tuple[float, float], aspects: tuple[float, float]
) -> tuple[float, float]:
    """Up to ten draws until the part lies within the image; then the scale is drawn from what does."""
    limit = scales[1]
    for _ in range(10):
        aspect = random.uniform(*aspects)
        if random.uniform(0, 1) < 0.5:
            aspect = 1 / aspect
        limit = min(scales[1], height / (width * aspect), aspect * width / height)
        scale = random.uniform(*scales)
        if scales[0] <= scale <= limit:
            return scale, aspect
    return random.uniform(min(scales[0], limit), limit), aspect


def ten_crop_image(img: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Middle, top left, bottom left, top right and bottom right, and the same from right to left: (10, C, H, W).

    Raises:
        ValueError: the image is smaller.
    Source: chainercv.transforms.ten_crop.
    """
    (height, width), (h, w) = img.shape[1:], size
    if height < h or width < w:
        raise ValueError("shape of image is smaller than output shape")
    corners = [(0, 0), (height - h, 0), (0, width - w), (height - h, width - w)]
    middle = img[:, (height - h) // 2 : (height + h) // 2, (width - w) // 2 : (width + w) // 2]
    crops = np.stack([middle, *(img[:, top : top + h, left : left + w] for top, left in corners)])
    return np.concatenate([crops, crops[..., ::-1]])


def random_expand_image(img: np.ndarray, max_ratio: float = 4, fill: Any = 0, return_param: bool = False) -> Any:
    """The image at a random place in a larger one that is filled with ``fill`` (a number, or one for each channel).

    Source: chainercv.transforms.random_expand.
    """
    if max_ratio <= 1:
        return _finished(img, {"ratio": 1, "y_offset": 0, "x_offset": 0}, return_param)
    height, width = img.shape[1:]
    ratio = random.uniform(1, max_ratio)
    size = int(height * ratio), int(width * ratio)
    top, left = random.randint(0, size[0] - height), random.randint(0, size[1] - width)
    param = {"ratio": ratio, "y_offset": top, "x_offset": left}
    return _finished(_placed(img, size, top, left, fill), param, return_param)


def _placed(img: np.ndarray, size: Sequence[int], top: int, left: int, fill: Any) -> np.ndarray:
    canvas = np.empty((len(img), *size), dtype=img.dtype)
    canvas[:] = np.asarray(fill)[..., np.newaxis, np.newaxis]
    canvas[:, top : top + img.shape[1], left : left + img.shape[2]] = img
    return canvas


def pca_lighting_image(
    img: np.ndarray, sigma: float, eigen_value: np.ndarray | None = None, eigen_vector: np.ndarray | None = None
) -> np.ndarray:
    """Adds noise along the principal colours, by default those of ImageNet (RGB); NumPy's generator draws it.

    Source: chainercv.transforms.pca_lighting.
    """
    if sigma <= 0:
        return img
    values = np.array([0.2175, 0.0188, 0.0045]) if eigen_value is None else eigen_value
    vectors = _LIGHTING if eigen_vector is None else eigen_vector
    noise = vectors.dot(values * np.random.normal(0, sigma, size=3))
    img = img.copy()
    img += noise[:, None, None]
    return img


def random_rotate_image(img: np.ndarray, return_param: bool = False) -> Any:
    """The image turned by a random multiple of 90 degrees; NumPy's generator draws it.

    Source: chainercv.transforms.random_rotate.
    """
    warnings.warn(
        "chainercv.transforms.random_rotate is deprecated. Please use a random function and "
        "chainercv.transforms.rotate instead.",
        DeprecationWarning,
    )
    k = np.random.randint(4)
    return _finished(np.rot90(img, k, axes=(1, 2)), {"k": k}, return_param)


def resize_image(img: np.ndarray, size: tuple[int, int], interpolation: int = _BILINEAR) -> np.ndarray:
    """The image in another ``size`` (height, width), by OpenCV where it is installed, else by Pillow.

    Args:
        interpolation: one of Pillow's constants: nearest, bilinear, bicubic or Lanczos.
    Source: chainercv.transforms.resize.
    """
    if len(img) == 0:
        return np.empty((0, *size), dtype=img.dtype)
    if importlib.util.find_spec("cv2") is not None:
        return _resized_by_opencv(img, size, interpolation)
    from PIL import Image

    resized = np.empty((len(img), *size), dtype=img.dtype)
    for channel, target in zip(img, resized, strict=True):
        values = np.ascontiguousarray(channel, dtype=np.float32)
        target[:] = Image.fromarray(values).resize((size[1], size[0]), resample=Image.Resampling(interpolation))
    return resized


def _resized_by_opencv(img: np.ndarray, size: tuple[int, int], interpolation: int) -> np.ndarray:
    import cv2

    ways = {0: cv2.INTER_NEAREST, 1: cv2.INTER_LANCZOS4, 2: cv2.INTER_LINEAR, 3: cv2.INTER_CUBIC}
    resized = cv2.resize(img.transpose(1, 2, 0), dsize=(size[1], size[0]), interpolation=ways[interpolation])
    planes: np.ndarray = np.atleast_3d(resized).transpose(2, 0, 1)
    return planes


def scale_image(img: np.ndarray, size: int, fit_short: bool = True, interpolation: int = _BILINEAR) -> np.ndarray:
    """The image in the size in which its shorter side (or the longer one) is ``size``; see :func:`resize_image`.

    Source: chainercv.transforms.scale.
    """
    height, width = img.shape[1:]
    side = min(height, width) if fit_short else max(height, width)
    if side == size:
        return img
    if side == height and (height != width or not fit_short):
        return resize_image(img, (size, int(size * width / height)), interpolation)
    return resize_image(img, (int(size * height / width), size), interpolation)


def resize_contain_image(
    img: np.ndarray, size: tuple[int, int], fill: Any = 0, interpolation: int = _BILINEAR, return_param: bool = False
) -> Any:
    """The image, made smaller where it is too large, in the middle of one of ``size`` that is filled with ``fill``.

    Source: chainercv.transforms.resize_contain.
    """
    height, width = img.shape[1:]
    factor = min(size[0] / height, size[1] / width, 1)
    scaled = int(height * factor), int(width * factor)
    img = resize_image(img, scaled, interpolation) if factor < 1 else img
    top, left = (max(0, (wanted - given) // 2) for wanted, given in zip(size, img.shape[1:], strict=True))
    param = {"y_offset": top, "x_offset": left, "scaled_size": scaled}
    return _finished(_placed(img, size, top, left, fill), param, return_param)


def tile_images(imgs: np.ndarray, n_col: int, pad: Any = 2, fill: Any = 0) -> np.ndarray:
    """Images (B, C, H, W) side by side in rows of ``n_col``, with ``pad`` pixels (or (y, x)) of ``fill`` between.

    Source: chainercv.utils.tile_images.
    """
    pads = (pad, pad) if isinstance(pad, int) else pad
    count, channels, *size = imgs.shape
    columns = min(n_col, count)
    cell = [side + margin for side, margin in zip(size, pads, strict=True)]
    tiled = np.empty((channels, cell[0] * math.ceil(count / columns), cell[1] * columns), dtype=imgs.dtype)
    tiled[:] = np.asarray(fill)[..., np.newaxis, np.newaxis]
    for k, img in enumerate(imgs):
        top, left = (at * step + margin // 2 for at, step, margin in zip(divmod(k, columns), cell, pads, strict=True))
        tiled[:, top : top + size[0], left : left + size[1]] = img
    return tiled


def read_image(file: Any, dtype: Any = np.float32, color: bool = True, alpha: str | None = None) -> np.ndarray:
    """The image in a file, (3, H, W) or (1, H, W), from 0 to 255.

    Args:
        alpha: for pictures that are partly transparent: ignore, blend_with_white or blend_with_black.
    Raises:
        ValueError: the picture has transparent parts, and ``alpha`` does not say what becomes of them.
    Source: chainercv.utils.read_image.
    """
    from PIL import Image

    with Image.open(file) as img:
        mode = "L" if not color else "RGBA" if img.mode == "RGBA" else "RGB"
        pixels = np.array(img.convert(mode), dtype=dtype)
    if mode == "RGBA" and alpha is None:
        raise ValueError("an image with an alpha channel: say what becomes of it with `alpha`")
    if mode == "RGBA":  # where: alpha
        share = pixels[:, :, 3:] / 255
        pixels = pixels[:, :, :3]
        if alpha != "ignore":
            back = 255 if alpha == "blend_with_white" else 0
            pixels = (pixels * share + back * (1 - share)).astype(dtype)
    return pixels[np.newaxis] if mode == "L" else pixels.transpose(2, 0, 1)


def read_label(file: Any, dtype: Any = np.int32) -> np.ndarray:
    """The label image (H, W) in a file: the indexes of its colours.

    Source: chainercv.utils.read_label.
    """
    from PIL import Image

    with Image.open(file) as img:
        return np.array(img.convert("P"), dtype=dtype)


def write_image(img: np.ndarray, file: Any, format: str | None = None) -> None:
    """Writes an image (1 or 3, H, W) from 0 to 255 to a file.

    Source: chainercv.utils.write_image.
    """
    from PIL import Image

    pixels = img[0] if len(img) == 1 else img.transpose(1, 2, 0)
    Image.fromarray(pixels.astype(np.uint8)).save(file, format=format)


def rotate_image(
    img: np.ndarray, angle: float, expand: bool = True, fill: float = 0, interpolation: int = _BILINEAR
) -> np.ndarray:
    """The image turned against the clock by ``angle`` degrees, by Pillow.

    With ``expand`` the result is as large as the turned image; ``fill`` is the value outside of it.
    Source: chainercv.transforms.rotate.
    """
    from PIL import Image

    way = Image.Resampling(interpolation)
    images = [Image.fromarray(np.ascontiguousarray(channel, dtype=np.float32)) for channel in img]
    turned = [np.asarray(image.rotate(angle, expand=expand, fillcolor=fill, resample=way)) for image in images]
    return np.stack(turned).astype(img.dtype)
