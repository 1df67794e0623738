"""ChainerCV's pictures of images with boxes and points, drawn by matplotlib from NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def vis_image(img: np.ndarray | None, ax: Any = None) -> Any:
    """Shows an image (3, H, W), RGB from 0 to 255, on matplotlib's axes, which it makes and returns.

    Source: chainercv.visualizations.vis_image.
    """
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.figure().add_subplot(1, 1, 1)
    if img is not None:
        ax.imshow(img.transpose(1, 2, 0).astype(np.uint8))
    return ax


def vis_point(img: np.ndarray, point: Any, visible: Any = None, ax: Any = None) -> Any:
    """Shows an image with the points (R, K, 2) or lists of (K, 2), (y, x), of which ``visible`` (R, K) is true.

    Source: chainercv.visualizations.vis_point.
    """
    import matplotlib.pyplot as plt

    ax = vis_image(img, ax)
    colours = plt.get_cmap("gist_rainbow")
    for i, group in enumerate(point):
        for k, (y, x) in enumerate(group):
            if visible is None or visible[i][k]:
                ax.scatter(x, y, color=colours(k / len(group)), s=100)
    ax.set_xlim(0, img.shape[2])
    ax.set_ylim(img.shape[1] - 1, 0)
    return ax


def vis_bbox(
    img: np.ndarray | None,
    bbox: np.ndarray,
    label: np.ndarray | None = None,
    score: np.ndarray | None = None,
    label_names: Sequence[str] | None = None,
    instance_colors: Any = None,
    alpha: float = 1.0,
    linewidth: float = 3.0,
    sort_by_score: bool = True,
    ax: Any = None,
) -> Any:
    """Shows an image with its boxes (R, 4), red or of ``instance_colors``, with the names of labels and with scores.

    Raises:
        ValueError: there are not as many labels or scores as boxes, or a label has no name.
    Source: chainercv.visualizations.vis_bbox.
    """
    from matplotlib.patches import Rectangle

    for name, values in (("label", label), ("score", score)):
        if values is not None and len(values) != len(bbox):
            raise ValueError(f"The length of {name} must be same as that of bbox")
    order: Any = np.arange(len(bbox))
    if sort_by_score and score is not None:
        order = np.argsort(score)
        instance_colors = None if instance_colors is None else np.array(instance_colors)[order]
    colours = np.array([[255, 0, 0]] if instance_colors is None else instance_colors)
    ax = vis_image(img, ax)
    for place, i in enumerate(order):
        top, left, bottom, right = bbox[i]
        style = {"edgecolor": colours[place % len(colours)] / 255, "linewidth": linewidth, "alpha": alpha}
        ax.add_patch(Rectangle((left, top), right - left, bottom - top, fill=False, **style))
        words = []
        if label is not None and label_names is not None:
            if not 0 <= label[i] < len(label_names):
                raise ValueError("No corresponding name is given")
            words.append(label_names[label[i]])
        if score is not None:
            words.append(f"{score[i]:.2f}")
        if words:
            ax.text(left, top, ": ".join(words), style="italic", bbox={"facecolor": "white", "alpha": 0.7, "pad": 10})
    return ax
