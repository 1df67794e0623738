"""Calls with ``**options`` of a dictionary whose keys stand in the source: they are read as if each was passed.

``options = {'initialW': w, 'nobias': True}`` and ``L.Linear(3, 4, **options)``: a literal is passed as it is,
anything else as ``options['initialW']``, so that it is made once.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Ref
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import Source, nodes_of
from chainer2torch.plan.context import Context

# arguments that may be an initializer of any kind: what they are is asked at run time
_VALUES = frozenset({"initialW", "initial_bias", "initial_gamma", "initial_beta"})
_Items = list[tuple[str, ast.expr]]


def keywords_of(context: Context, call: ast.Call) -> list[ast.keyword]:
    """The keywords of a call; those of a dictionary that cannot change stand in its place."""
    if all(keyword.arg is not None for keyword in call.keywords):
        return call.keywords
    return context.ask(_spread, call)


def _spread(context: Context, call: ast.Call) -> list[ast.keyword]:
    found: list[ast.keyword] = []
    for keyword in call.keywords:
        items = _items(_dictionary(context, keyword.value)) if keyword.arg is None else None
        if items is None:
            found += _of_either(context, keyword) or [keyword]
        else:
            found += [ast.keyword(name, _value(context, keyword.value, name, value)) for name, value in items]
    return found


def _of_either(context: Context, keyword: ast.keyword) -> list[ast.keyword]:
    """The keywords of a dictionary that an ``if`` gives in one of two ways, with the same keys."""
    name = keyword.value
    either = context.ask(_in_branches, name) if keyword.arg is None and isinstance(name, ast.Name) else ()
    if not either:
        return []
    first, second = (dict(items) for items in either)
    found: list[ast.keyword] = []
    for key, value in first.items():
        other = second[key]
        if isinstance(value, ast.Constant) and isinstance(other, ast.Constant) and value.value == other.value:
            node: ast.expr = ast.copy_location(ast.Constant(value.value), name)
            context.stand_for(node, value, ast.unparse(node))
        elif isinstance(value, ast.Constant) or isinstance(other, ast.Constant) or key not in _VALUES:
            return []
        else:
            node = ast.copy_location(ast.Subscript(name, ast.Constant(key), ast.Load()), name)
            context.stand_for(node, node, ast.unparse(node))
        found.append(ast.keyword(key, node))
    return found


def _in_branches(context: Context, name: ast.Name) -> tuple[_Items, ...]:
    """The two dictionaries that the branches of one ``if`` give a variable, if nothing else changes it."""
    function = context.source.enclosing(name, ast.FunctionDef)
    if not isinstance(function, ast.FunctionDef) or any(
        a.arg == name.id for a in nodes_of(function.args) if isinstance(a, ast.arg)
    ):
        return ()
    inside = list(nodes_of(function))
    others = [n for n in inside if isinstance(n, ast.Name) and n.id == name.id]
    stored = [n for n in others if not isinstance(n.ctx, ast.Load)]
    statements = [context.source.statement(n) for n in stored]
    made = [s.value for s in statements if isinstance(s, ast.Assign) and len(s.targets) == 1]
    choice = context.source.parents.get(statements[0]) if len(statements) == 2 else None
    if (
        len(made) != 2
        or not isinstance(choice, ast.If)
        or not (statements[0] in choice.body and statements[1] in choice.orelse)
        or not all(_is_written(context.analysis, value) for value in made)
        or any(isinstance(n, (ast.Global, ast.Nonlocal)) and name.id in n.names for n in inside)
        or not all(_only_reads(context.source, n) for n in others if n not in stored)
    ):
        return ()
    first, second = map(_items, made)
    if first is None or second is None or {key for key, _ in first} != {key for key, _ in second}:
        return ()
    return first, second


def _value(context: Context, held: ast.expr, name: str, value: ast.expr) -> ast.expr:
    """What is passed under a name: the value itself where it stands in the call."""
    if isinstance(held, (ast.Dict, ast.Call)):
        return value
    if isinstance(value, ast.Constant):
        node: ast.expr = ast.Constant(value.value)
    else:
        node = ast.Subscript(held, ast.Constant(name), ast.Load())
    context.stand_for(ast.copy_location(node, held), value, ast.unparse(node))
    return node


def _items(node: ast.expr | None) -> _Items | None:
    """The items of a dictionary that is written down; None where a key is no text."""
    if isinstance(node, ast.Call):
        return [(k.arg or "", k.value) for k in node.keywords]
    if not isinstance(node, ast.Dict):
        return None
    names = [k.value for k in node.keys if isinstance(k, ast.Constant) and isinstance(k.value, str)]
    return list(zip(names, node.values)) if len(set(names)) == len(node.values) else None


def _dictionary(context: Context, node: ast.expr) -> ast.expr | None:
    """The expression that makes a dictionary, if nothing changes or replaces it."""
    if _is_written(context.analysis, node):
        return node
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        cls = context.enclosing_class(node)
        own = context.analysis.once(_of_classes).get(node.attr)
        bases = [base.node for base in context.analysis.mro(cls) if isinstance(base, ClassInfo)] if cls else []
        return own[1] if own is not None and own[0] in bases else None
    if not isinstance(node, ast.Name):
        return None
    function = context.source.enclosing(node, ast.FunctionDef)
    if isinstance(function, ast.FunctionDef) and context.scope(node, node.id) is not context.source.tree:
        return _of_function(context.analysis, context.source, function, node)
    return _of_module(context, node)


def _of_function(analysis: Analysis, source: Source, function: ast.FunctionDef, name: ast.Name) -> ast.expr | None:
    """What the one assignment of a function's variable gives it."""
    inside = list(nodes_of(function))
    others = [n for n in inside if isinstance(n, ast.Name) and n.id == name.id]
    stored = [n for n in others if not isinstance(n.ctx, ast.Load)]
    statement = source.statement(stored[0]) if len(stored) == 1 else None
    if (
        not isinstance(statement, ast.Assign)
        or statement.targets != stored
        or not _is_written(analysis, statement.value)
        or any(isinstance(n, (ast.Global, ast.Nonlocal)) and name.id in n.names for n in inside)
        or any(n.arg == name.id for n in nodes_of(function.args) if isinstance(n, ast.arg))
        or not all(_only_reads(source, n) for n in others if n not in stored)
    ):
        return None
    return statement.value


def _of_module(context: Context, name: ast.Name) -> ast.expr | None:
    """What the one assignment of a file's variable gives it, if no other file reads it."""
    tree = context.source.tree
    uses = [n for n in context.source.named.get(name.id, ()) if context.scope(n, n.id) is tree]
    stored = [n for n in uses if not isinstance(n.ctx, ast.Load)]
    statement = context.source.statement(stored[0]) if len(stored) == 1 else None
    if (
        not isinstance(statement, ast.Assign)
        or statement not in tree.body
        or statement.targets != stored
        or not _is_written(context.analysis, statement.value)
        or not all(_only_reads(context.source, n) for n in uses if n not in stored)
        or {name.id, "*"} & context.analysis.once(_said_elsewhere)
    ):
        return None
    return statement.value


def _said_elsewhere(analysis: Analysis) -> frozenset[str]:
    """Names that some file imports, or asks a module for: a variable of a file may be changed there."""
    said: set[str] = set()
    for module in analysis.project.modules.values():
        said.update(alias.name for node in module.source.of(ast.ImportFrom) for alias in node.names)
        said.update(node.attr for node in module.source.of(ast.Attribute))
    return frozenset(said)


def _of_classes(analysis: Analysis) -> dict[str, tuple[ast.ClassDef, ast.expr]]:
    """The dictionaries of classes whose names nothing else in the project has, and which nobody changes.

    They stand in the body of the class, or in its constructor: ``self.options = {...}``.
    """
    found: dict[str, list[tuple[ast.ClassDef, ast.expr]]] = {}
    changed: set[str] = set()
    sources = [module.source for module in analysis.project.modules.values()]
    for source in sources:
        for cls in source.of(ast.ClassDef):
            for name, value in [*_assigned(cls.body), *_set_in_constructor(source, cls)]:
                found.setdefault(name, []).append((cls, value))
    found = {name: made for name, made in found.items() if any(_is_written(analysis, value) for _, value in made)}
    first = {id(value) for made in found.values() for _, value in made}
    for source in sources if found else ():
        changed |= {
            n.attr
            for n in source.of(ast.Attribute)
            if n.attr in found
            and not _only_reads(source, n)
            and not (isinstance(n.ctx, ast.Store) and id(getattr(source.parents.get(n), "value", None)) in first)
        }
    return {name: made[0] for name, made in found.items() if len(made) == 1 and name not in changed}


def _assigned(body: Sequence[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    for statement in body:
        if isinstance(statement, ast.Assign):
            yield from ((t.id, statement.value) for t in statement.targets if isinstance(t, ast.Name))


def _set_in_constructor(source: Source, cls: ast.ClassDef) -> Iterator[tuple[str, ast.expr]]:
    """``self.options = {...}``, a statement of ``__init__`` that always runs."""
    for method in cls.body:
        if isinstance(method, ast.FunctionDef) and method.name == "__init__" and method.args.args:
            for statement in method.body:
                for target in statement.targets if isinstance(statement, ast.Assign) else ():
                    held = target.value if isinstance(target, ast.Attribute) else None
                    if isinstance(held, ast.Name) and held.id == method.args.args[0].arg:
                        assert isinstance(statement, ast.Assign) and isinstance(target, ast.Attribute)
                        yield target.attr, statement.value


def _is_written(analysis: Analysis, node: ast.expr) -> bool:
    """Whether it is a literal, or ``dict(a=1)``."""
    if isinstance(node, ast.Call):
        named = not node.args and all(k.arg for k in node.keywords)
        return named and analysis.kind(node.func) == Ref("builtins.dict")
    return isinstance(node, ast.Dict)


def _only_reads(source: Source, node: ast.Name | ast.Attribute) -> bool:
    """Whether a use of a dictionary is ``**options`` or ``options['name']``."""
    parent = source.parents.get(node)
    if isinstance(parent, ast.Subscript) and parent.value is node:
        return isinstance(parent.ctx, ast.Load)
    return isinstance(node.ctx, ast.Load) and isinstance(parent, ast.keyword) and parent.arg is None


__all__ = ["keywords_of"]
