"""Migrates Chainer programs to PyTorch, and proves that the result computes the same."""

from __future__ import annotations

from chainer2torch.version import __version__

TYPE_CHECKING = False  # for mypy it is true; importing typing takes as long as half of Python's own start
if TYPE_CHECKING:
    from typing import Any

    from chainer2torch.engine import migrate_source as migrate_source

__all__ = ["__version__", "migrate_source"]


def __getattr__(name: str) -> Any:
    # Lazy: `import chainer2torch` stays cheap, because the command line decides on bytes before LibCST is needed.
    if name == "migrate_source":
        from chainer2torch.engine import migrate_source

        return migrate_source
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
