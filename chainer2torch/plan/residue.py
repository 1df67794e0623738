"""What is left of Chainer in any code, by resolving its names again."""
from __future__ import annotations

import ast
from collections.abc import Sequence

from chainer2torch.analysis.libraries import Libraries


def imported_by_call(call: ast.Call, libraries: Libraries) -> str | None:
    """The module of Chainer's that ``importlib.import_module("...")`` or ``__import__("...")`` names."""
    function = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    name = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
    if function in ("import_module", "__import__") and isinstance(name, str) and name in libraries:
        return name
    return None


def left_over(nodes: Sequence[ast.AST], libraries: Libraries) -> list[tuple[int, str]]:
    """Line and dotted name of every reference to Chainer (and to libraries on it) in the nodes of a tree,
    imports that nobody uses included."""
    bound: dict[str, str] = {}
    used: set[str] = set()
    imported: list[tuple[int, str, str]] = []
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name in libraries:
                    name = alias.asname or alias.name.split(".")[0]
                    bound[name] = alias.name if alias.asname else alias.name.split(".")[0]
                    imported.append((node.lineno, name, alias.name))
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            for alias in node.names if node.module in libraries else \
                    [a for a in node.names if f"{node.module}.{a.name}" in libraries]:
                name = alias.asname or alias.name
                bound[name] = f"{node.module}.{alias.name}"
                imported.append((node.lineno, name, bound[name]))
    found: list[tuple[int, str]] = []
    inner: set[ast.AST] = set()
    for node in nodes:
        dynamic = imported_by_call(node, libraries) if isinstance(node, ast.Call) else None
        if dynamic is not None:
            found.append((node.lineno, dynamic))  # type: ignore[attr-defined]
        if isinstance(node, ast.Attribute):
            inner.add(node.value)
        if node in inner or not isinstance(node, (ast.Name, ast.Attribute)):
            continue
        parts: list[str] = []
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            parts.append(root.attr)
            root = root.value
        if isinstance(root, ast.Name) and root.id in bound and not isinstance(root.ctx, ast.Store):
            used.add(root.id)
            found.append((node.lineno, ".".join([bound[root.id], *reversed(parts)])))
    found += [(line, dotted) for line, name, dotted in imported if name not in used]
    return sorted(found)
