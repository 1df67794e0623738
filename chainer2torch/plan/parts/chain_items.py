"""``model['encoder']`` of a value that is not known here, where a Chain of the project has a child of that name."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import UNKNOWN, Ref, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import within
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.methods_by_name import names_of_links
from chainer2torch.plan.decision import Part
from chainer2torch.plan.native.places import function_of

# methods that no link has
_OF_DICTIONARIES = frozenset("get getboolean getfloat getint has_section items keys sections setdefault values".split())
_READING = frozenset({"ConfigParser", "configparser", "json", "ruamel", "toml", "tomllib", "yaml"})


def unknown_item(context: Context, decisions: Decisions, node: ast.Subscript) -> None:
    """A module has no subscripts, a dictionary has: which of them it is turns out at run time.

    What is also asked for other names is a dictionary.
    """
    name, kinds = _text(node), options(context.kind(node.value))
    of_link = _is_name_of_link(context, node.slice)
    asked = UNKNOWN in kinds or of_link and any(map(context.analysis.is_link, kinds))
    if not isinstance(node.ctx, ast.Load) or not asked:
        return
    children = context.analysis.once(_names_of_children)
    written = name in children and all(other in children for other in _asked(context, node))
    if not written and not of_link or not of_link and _is_dictionary(context, node, children):
        return
    operands = {"chain": context.operand(node.value), "name": context.operand(node.slice)}
    with decisions.provided(free=((Part.EDIT, node),)):
        decisions.replace(node, "compat.chain_item(chain, name)", operands)


def _is_name_of_link(context: Context, node: ast.expr) -> bool:
    """``src[link.name]`` for a ``link`` of another Chain."""
    return (
        isinstance(node, ast.Attribute) and node.attr == "name" and context.analysis.is_link(context.kind(node.value))
    )


def _text(node: ast.Subscript) -> str:
    value = node.slice.value if isinstance(node.slice, ast.Constant) else None
    return value if isinstance(value, str) else ""


def _is_dictionary(context: Context, node: ast.Subscript, children: frozenset[str]) -> bool:
    """Whether a value, or its item, is used as only a dictionary or a configuration is, or was read from a file.

    ``config['model']['name']`` where no Chain has a child that is called so; ``config.getint('model', 'size')``.
    """
    parent = context.source.parents.get(node)
    if isinstance(parent, ast.Subscript) and parent.value is node and _text(parent) not in (*children, ""):
        return True
    owner, scope = ast.unparse(node.value), function_of(context, node)
    methods = _OF_DICTIONARIES - context.analysis.once(names_of_links)
    asked = (n for n in context.source.of(ast.Attribute) if n.attr in methods)
    if any(ast.unparse(n.value) == owner and function_of(context, n) is scope for n in asked):
        return True
    if not isinstance(node.value, ast.Name):
        return False
    made = [
        statement.value
        for statement in context.source.of(ast.Assign)
        if any(isinstance(t, ast.Name) and t.id == owner for t in statement.targets)
        and function_of(context, statement) in (scope, None)
    ]
    return bool(made) and all(_is_read(context, value) for value in made)


def _is_read(context: Context, value: ast.expr) -> bool:
    """``json.load(f)``, ``configparser.ConfigParser()``: nothing that these give is a link."""
    callee = context.kind(value.func) if isinstance(value, ast.Call) else None
    return isinstance(callee, Ref) and callee.name.split(".")[0] in _READING


def _asked(context: Context, node: ast.Subscript) -> Iterator[str]:
    """The names for which the same function asks the same value."""
    owner, scope = ast.unparse(node.value), function_of(context, node)
    for other in context.source.of(ast.Subscript):
        if ast.unparse(other.value) == owner and function_of(context, other) is scope:
            yield _text(other)


def _names_of_children(analysis: Analysis) -> frozenset[str]:
    """What Chains of the project call their links, or hand to the constructor of Chain."""
    found: set[str] = set()
    for cls in analysis.classes.values():
        if analysis.derives(cls, "chainer.Chain"):
            found.update(name for name, kind in cls.attrs.items() if any(map(analysis.is_link, options(kind))))
            found.update(_handed_on(cls))
    return frozenset(found)


def _handed_on(cls: ClassInfo) -> Iterator[str]:
    """``super().__init__(encoder=encoder)``"""
    for call in within(cls.node).of(ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr == "__init__":
            yield from (keyword.arg for keyword in call.keywords if keyword.arg is not None)


__all__ = ["unknown_item"]
