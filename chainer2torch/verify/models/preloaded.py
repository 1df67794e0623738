"""Libraries that the files of a tree import and that take long to import: workers that serve import them once."""

from __future__ import annotations

import os
import re
from pathlib import Path

_SLOW = "pytorch_pfn_extras ignite torchvision scipy matplotlib.pyplot pandas sklearn skimage PIL.Image cv2".split()
_IMPORTED = re.compile(rb"^[ \t]*(?:import|from)[ \t]+([\w.]+)", re.MULTILINE)


def slow_imports(tree: Path) -> list[str]:
    """Those of ``tree``, in a fixed order; none that has a file or folder of that name there, which may be meant."""
    asked: set[str] = set()
    own: set[str] = set()
    for folder, folders, files in os.walk(tree):
        folders[:] = [name for name in folders if not name.startswith(".")]
        own.update(folders, (name.removesuffix(".py") for name in files))
        for name in files:
            if name.endswith(".py"):
                text = (Path(folder) / name).read_bytes()
                asked.update(found.decode().partition(".")[0] for found in _IMPORTED.findall(text))
    return [name for name in _SLOW if (top := name.partition(".")[0]) in asked and top not in own]
