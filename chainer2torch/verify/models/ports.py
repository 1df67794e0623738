"""Which class of a port stands for a class of the original: the same file and name, else what a map says, else the only
class of that name.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

from chainer2torch.vendor import compat_file
from chainer2torch.verify.models.inferred_inputs import Unclear
from chainer2torch.verify.worker import model_text


class Ports:
    """Answers for one tree of PyTorch; ``classes`` has targets of the port by those of the original, or by class."""

    def __init__(self, out: Path, classes: Mapping[str, str]):
        self._out, self._classes = out, classes
        self._found: dict[str, str] = {}
        self._by_name: dict[str, list[str]] | None = None

    def target(self, target: str) -> str:
        """The port's target, of what ``look_for`` has found, or the map names."""
        return self._given(target) or self._found.get(target, target)

    def note(self, target: str) -> list[str]:
        """What the report says of a class of another name or place."""
        port = self.target(target)
        if port == target:
            return []
        return [f"compared with {port}, {'by the map' if self._given(target) else 'the only class of this name'}"]

    def look_for(self, target: str, path: str) -> None:
        """Looks for the counterpart of a class in a file of the original. Raises Unclear where there is none."""
        name = target.partition(":")[2]
        if self._given(target) or self._binds(path, name):
            return
        namesakes = self._namesakes().get(name, [])
        if len(namesakes) == 1:
            self._found[target] = namesakes[0]
            return
        there = (self._out / path).is_file()
        what = f"{path} of {self._out.name} has no class of this name" if there else f"{self._out.name} has no {path}"
        several = f", and several others have one: {', '.join(namesakes)}" if namesakes else ""
        raise Unclear(f'{what}{several}; a map names another: [classes] "{target}" = "module:Class" (--map FILE)')

    def _given(self, target: str) -> str:
        return self._classes.get(target) or self._classes.get(target.partition(":")[2], "")

    def _binds(self, path: str, name: str) -> bool:
        """Whether a file of the port binds a name; one that is no Python is said to: the comparison tells."""
        port = self._out / path
        if not port.is_file():
            return False
        try:
            tree = ast.parse(port.read_bytes())
        except (SyntaxError, ValueError):
            return True
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and node.name == name:
                return True
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == name:
                return True
            if isinstance(node, ast.ImportFrom) and any((a.asname or a.name) == name for a in node.names):
                return True
        return False

    def _namesakes(self) -> Mapping[str, list[str]]:
        """The targets of all classes of the port by their names."""
        if self._by_name is None:
            self._by_name = {}
            for path in sorted(self._out.rglob("*.py")):
                inside = path.relative_to(self._out)
                if path.name != compat_file.FILE_NAME and not any(part.startswith(".") for part in inside.parts):
                    self._add(inside.as_posix(), path)
        return self._by_name

    def _add(self, path: str, file: Path) -> None:
        try:
            body = ast.parse(file.read_bytes()).body
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            return
        assert self._by_name is not None
        for node in body:
            if isinstance(node, ast.ClassDef) and node.bases:
                self._by_name.setdefault(node.name, []).append(model_text.target_of(path, node.name))
