"""What is left of Chainer in any code, by resolving its names again."""

from __future__ import annotations

import ast
from chainer2torch.analysis.libraries import Libraries
from chainer2torch.analysis.scopes import Scope, bindings
from chainer2torch.analysis.source import Nodes, nodes_of


def imported_by_call(call: ast.Call, libraries: Libraries) -> str | None:
    """The module of Chainer's that ``importlib.import_module("...")`` or ``__import__("...")`` names."""
    function = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    name = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
    if function in ("import_module", "__import__") and isinstance(name, str) and name in libraries:
        return name
    return None


def runs_text(call: ast.Call) -> bool:
    """Whether a call runs or compiles a text: ``eval``, ``exec``, ``compile``."""
    return isinstance(call.func, ast.Name) and call.func.id in ("eval", "exec", "compile") and bool(call.args)


def _imported_by_text(call: ast.Call, libraries: Libraries) -> list[str]:
    """What a text that runs imports of Chainer's itself."""
    text = call.args[0].value if runs_text(call) and isinstance(call.args[0], ast.Constant) else None
    if not isinstance(text, str):
        return []
    try:
        return [name for _, name in left_over(Nodes(nodes_of(ast.parse(text))), libraries)]
    except (SyntaxError, ValueError):
        return []


def left_over(nodes: Nodes, libraries: Libraries) -> list[tuple[int, str]]:
    """Line and dotted name of every reference to Chainer (and to libraries on it) in the nodes of a tree,
    imports that nobody uses included.

    A name counts where the scope that binds it imports it: a parameter or variable of the same name is no reference.
    """
    imported = [
        (node.lineno, alias, dotted)
        for node in nodes.of(ast.Import, ast.ImportFrom)
        for alias in node.names
        if (dotted := _imported(node, alias, libraries)) is not None
    ]
    found = [
        (node.lineno, dynamic)
        for node in nodes.of(ast.Call)
        if (dynamic := imported_by_call(node, libraries)) is not None
    ]
    found += [(node.lineno, name) for node in nodes.of(ast.Call) for name in _imported_by_text(node, libraries)]
    if not imported:
        return sorted(found)
    scopes = bindings(nodes.of(ast.Module)[0])
    bound = {
        (scopes.get(alias), alias.asname or alias.name.split(".")[0]): dotted
        if alias.asname or "." not in alias.name
        else dotted.split(".")[0]
        for _, alias, dotted in imported
    }
    used: set[tuple[Scope, str]] = set()
    inner: set[ast.AST] = set()
    for node in nodes.of(ast.Name, ast.Attribute):
        if isinstance(node, ast.Attribute):
            inner.add(node.value)
        if node in inner:
            continue
        parts: list[str] = []
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            parts.append(root.attr)
            root = root.value
        if isinstance(root, ast.Name) and not isinstance(root.ctx, ast.Store):
            place = (scopes.get(root), root.id)
            if place in bound:
                used.add(place)
                found.append((node.lineno, ".".join([bound[place], *reversed(parts)])))
    found += [
        (line, dotted)
        for line, alias, dotted in imported
        if (scopes.get(alias), alias.asname or alias.name.split(".")[0]) not in used
    ]
    return sorted(found)


def _imported(node: ast.Import | ast.ImportFrom, alias: ast.alias, libraries: Libraries) -> str | None:
    """The dotted name of Chainer's that an alias binds."""
    if isinstance(node, ast.Import):
        return alias.name if alias.name in libraries else None
    if node.level or not node.module:
        return None
    dotted = f"{node.module}.{alias.name}"
    return dotted if node.module in libraries or dotted in libraries else None
