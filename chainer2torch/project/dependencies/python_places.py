"""Where requirements stand in setup.py: the strings of the lists that ``setup()`` gets."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.source import Source
from chainer2torch.project.dependencies.editing import Group, Item, parse

_ARGUMENTS = frozenset({"install_requires", "setup_requires", "tests_require", "extras_require"})
_OTHER = frozenset({"keywords", "packages", "classifiers", "name", "package_data", "py_modules", "scripts"})


def groups(text: str) -> tuple[list[Group], list[tuple[int, str]]]:
    """The lists of requirements, and strings that look like one and stand elsewhere, with their lines.

    ``SyntaxError`` when the text is not Python.
    """
    source = Source(text, ast.parse(text))
    lists: list[ast.List | ast.Tuple | ast.Set] = []
    known: set[ast.AST] = set()
    for call in source.nodes:
        if isinstance(call, ast.Call) and _name(call.func) == "setup":
            for keyword in call.keywords:
                if keyword.arg in _ARGUMENTS:
                    lists += _lists(source, keyword.value, set())
                elif keyword.arg in _OTHER:
                    known.update(ast.walk(keyword.value))
    found: list[Group] = []
    for node in dict.fromkeys(lists):
        known.update(ast.walk(node))
        items = tuple(item for element in node.elts if (item := _item(source, element)) is not None)
        if items:
            found.append(Group(items, array=True))
    stray = [
        (node.lineno, node.value)
        for node in source.nodes
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node not in known
        and parse(node.value) is not None
        and _asks(source, node)
    ]
    return found, stray


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _lists(source: Source, node: ast.AST, seen: set[str]) -> Iterator[ast.List | ast.Tuple | ast.Set]:
    """The lists that a value is made of: written out, under a name of the module, in a dict, or added up."""
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        yield node
        for element in node.elts:
            yield from _lists(source, element, seen)
    elif isinstance(node, ast.Dict):
        for value in node.values:
            yield from _lists(source, value, seen)
    elif isinstance(node, ast.BinOp):
        yield from _lists(source, node.left, seen)
        yield from _lists(source, node.right, seen)
    elif isinstance(node, ast.Subscript):
        yield from _lists(source, node.value, seen)
    elif isinstance(node, ast.Call):
        for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
            yield from _lists(source, argument, seen)
    elif isinstance(node, ast.Name) and node.id not in seen:
        for statement in source.nodes:
            if isinstance(statement, ast.Assign) and any(_name(t) == node.id for t in statement.targets):
                yield from _lists(source, statement.value, seen | {node.id})


def _item(source: Source, node: ast.expr) -> Item | None:
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return None
    requirement = parse(node.value)
    start, end = source.span(node)
    text = source.text[start:end]
    quote = text[:3] if text[:3] in ('"""', "'''") else text[0]
    if requirement is None or quote not in ("'", '"', "'''", '"""') or text != f"{quote}{node.value}{quote}":
        return None  # joined or escaped strings are left to a person
    return Item(requirement, start + len(quote), end - len(quote), quote)


def _asks(source: Source, node: ast.Constant) -> bool:
    """Whether a string is in a list, or is added to one."""
    parent = source.parents.get(node)
    return isinstance(parent, (ast.List, ast.Tuple, ast.Set)) or (
        isinstance(parent, ast.Call) and _name(parent.func) in ("append", "extend", "insert", "add")
    )
