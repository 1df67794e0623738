"""No two modules of the package need each other, whether they are imported at the top, in a function or for types."""

import ast
import itertools
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = "chainer2torch"


def module_paths(root: Path) -> dict[str, Path]:
    """The modules of the package by their dotted names; a package stands for its ``__init__.py``."""
    paths = {}
    for path in sorted((root / PACKAGE).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return paths


def imports(name: str, path: Path, known: dict[str, Path]) -> set[str]:
    """The modules of the package that one module imports, wherever in its text."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            # `from a.b import c` is an import of the module a.b.c if there is one, else of a.b
            found |= {f"{base}.{a.name}" if f"{base}.{a.name}" in known else base for a in node.names}
    return (found & known.keys()) - {name}


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The strongly connected components of more than one module (Tarjan's algorithm)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []
    number = itertools.count()

    def visit(name: str) -> None:
        index[name] = low[name] = next(number)
        stack.append(name)
        for other in sorted(graph[name]):
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            at = stack.index(name)
            component = stack[at:]
            del stack[at:]
            if len(component) > 1:
                found.append(sorted(component))

    for name in graph:
        if name not in index:
            visit(name)
    return found


def package_circles(root: Path) -> list[list[str]]:
    paths = module_paths(root)
    return circles({name: imports(name, path, paths) for name, path in paths.items()})


def test_no_import_circles():
    assert package_circles(ROOT) == []


@pytest.mark.parametrize(
    "back",
    [
        "from chainer2torch.a import x",
        "def f():\n    from chainer2torch import a",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import chainer2torch.a",
        "from . import a",
    ],
)
def test_every_form_of_import_counts(tmp_path, back):
    package = tmp_path / PACKAGE
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "a.py").write_text("import chainer2torch.b\n")
    (package / "b.py").write_text(back + "\n")
    assert package_circles(tmp_path) == [["chainer2torch.a", "chainer2torch.b"]]
