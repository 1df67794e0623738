"""How the classes of an analysed project are named to the workers."""

from __future__ import annotations

from pathlib import Path

from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.verify.worker import model_text


def target_of(src: Path, cls: ClassInfo) -> str:
    """The target of a class (``a.b:Class``); a file beside a package of its name, which hides it, is a file."""
    path = cls.module.path
    hidden = (src / path.removesuffix(".py") / "__init__.py").is_file()
    return str(model_text.target_of(path, cls.name, hidden))
