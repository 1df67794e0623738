"""Loops over the children of a chain that ask each for its name: ``named_children()`` gives both.

    for child in src.children():              for name, child in sorted(src.named_children()):
        print(child.name)             ->          print(name)

Chainer sorts the children of a Chain by their names; a ChainList and a Sequential count theirs and are not meant here.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from chainer2torch.analysis.kinds import Ref, options
from chainer2torch.analysis.source import Source, nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.shared_links import shares_parameters
from chainer2torch.plan.questions.walks import walked_parent

_CHAIN, _COUNTED = "chainer.Chain", ("chainer.ChainList", "chainer.Sequential")


class NamedWalk(NamedTuple):
    """Such a loop, the variable that gets the names, and the first place that asks for one."""

    loop: ast.For
    variable: str
    first: ast.AST

    @property
    def target(self) -> str:
        """What the loop gives values to."""
        return f"{self.variable}, {ast.unparse(self.loop.target)}"


def named_walk(context: Context, node: ast.AST) -> NamedWalk | None:
    """The loop around a node, which is its iterable or ``child.name``; None: it is not of this kind."""
    asked = node.value.id if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) else None
    for ancestor in context.source.ancestors(node):
        if isinstance(ancestor, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            return None
        if not isinstance(ancestor, ast.For) or not isinstance(ancestor.target, ast.Name):
            continue
        if node is ancestor.iter or asked == ancestor.target.id:
            return context.ask(_read, ancestor)
    return None


def _read(context: Context, loop: ast.For) -> NamedWalk | None:
    target, walk = loop.target, loop.iter
    method = walk.func if isinstance(walk, ast.Call) else None
    names = [
        n for n in nodes_of(loop) if isinstance(n, ast.Name) and isinstance(target, ast.Name) and n.id == target.id
    ]
    asked = [parent for n in names if isinstance(parent := context.source.parents[n], ast.Attribute)]
    asked = [node for node in asked if node.attr == "name"]
    if not asked or not isinstance(method, ast.Attribute) or context.choices.style != "native" or context.choices.only:
        return None
    if sum(not isinstance(n.ctx, ast.Load) for n in names) > 1 or not all(isinstance(n.ctx, ast.Load) for n in asked):
        return None  # the name stands for something else later on
    if any(walked_parent(context.analysis, context.source, n.value) is not method.value for n in asked):
        return None
    if not _is_chain(context, loop, method.value) or context.skipped.inside(loop):
        return None
    if any(shares_parameters(context.analysis, module) for module in context.analysis.project.modules.values()):
        return None  # a child with two names comes once
    return NamedWalk(loop, _free(context.source, child), asked[0])


def _is_chain(context: Context, loop: ast.For, node: ast.expr) -> bool:
    kinds = options(context.analysis.kind(node))
    known = all(
        context.is_instance(k, _CHAIN) is True and not any(context.is_instance(k, c) is True for c in _COUNTED)
        for k in kinds
    )
    return bool(kinds) and known or isinstance(node, ast.Name) and _is_asserted(context, loop, node.id)


def _is_asserted(context: Context, loop: ast.For, name: str) -> bool:
    """``assert isinstance(src, chainer.Chain)`` above a loop, of a parameter that gets no other value."""
    function = context.source.parents.get(loop)
    if not isinstance(function, ast.FunctionDef) or loop not in function.body:
        return False
    stored = [n for n in nodes_of(function) if isinstance(n, ast.Name) and n.id == name]
    above = function.body[: function.body.index(loop)]
    tests = [statement.test for statement in above if isinstance(statement, ast.Assert)]
    return all(isinstance(n.ctx, ast.Load) for n in stored) and any(
        isinstance(test, ast.Call)
        and len(test.args) == 2
        and context.kind(test.func) == Ref("builtins.isinstance")
        and ast.unparse(test.args[0]) == name
        and context.kind(test.args[1]) == Ref(_CHAIN)
        for test in tests
    )


def _free(source: Source, child: str) -> str:
    """A name that the file has not yet."""
    said = {n.id for n in source.of(ast.Name)} | source.assigned
    said |= {alias.asname or alias.name.split(".")[0] for alias in source.of(ast.alias)}
    candidates = ("name", f"{child}_name", f"name_of_{child}")
    return next((c for c in candidates if c not in said), f"the_name_of_{child}")


__all__ = ["NamedWalk", "named_walk"]
