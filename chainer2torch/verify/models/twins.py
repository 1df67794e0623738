"""Copies of a file: a class that has the same text in two folders, of the original and of the port, is run once."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.vendor import compat_file

_PATHS = re.compile(
    r"import (os|sys)$|sys\.path\.(append|insert)\(|import chainer_compat\b|from \S+ import chainer_compat\b"
)


class Twins:
    """Answers for the classes of one analysed project and its port in ``out``, in the order in which they are asked."""

    def __init__(self, analysis: Analysis, out: Path):
        self._out = out
        self._has_one_helper = len(list(out.rglob(compat_file.FILE_NAME))) < 2
        self._first: dict[tuple[str, str, str], str] = {}
        paths = [Path(module.path) for module in analysis.project.modules.values()]
        self._own = {path.stem for path in paths} | {part for path in paths for part in path.parent.parts}

    def of(self, cls: ClassInfo, target: str) -> str:
        """The target of the first class with this text; empty where it is this one, or what it imports may differ."""
        try:
            port = (self._out / cls.module.path).read_text(encoding="utf-8")
            port = _without_paths(port) if self._has_one_helper else port
        except (OSError, ValueError, SyntaxError):
            return ""
        if self._imports_own(cls.module.source.tree):
            return ""
        first = self._first.setdefault((cls.module.source.text, port, cls.name), target)
        return "" if first == target else first

    def _imports_own(self, tree: ast.Module) -> bool:
        """Whether a file imports others of the project: copies may mean different ones."""
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.level or self._is_own(node.module or "")):
                return True
            if isinstance(node, ast.Import) and any(self._is_own(alias.name) for alias in node.names):
                return True
        return False

    def _is_own(self, name: str) -> bool:
        first = name.partition(".")[0]
        return first in self._own and first != compat_file.FILE_NAME.removesuffix(".py")


def _without_paths(text: str) -> str:
    """A file of a port without what says where the helpers are, which is another place for each folder."""
    body = ast.parse(text).body
    return "\n".join(ast.unparse(line) for line in body if not _PATHS.match(ast.unparse(line)))


__all__ = ["Twins"]
