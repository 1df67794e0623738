"""Whether objects of Chainer's function classes are only called: then the function itself does, with its options."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import UNKNOWN, Inst, Ref, options
from chainer2torch.analysis.source import Source, nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.rules.table import Row

_OBJECT = re.compile(r"native\.FunctionObject\((?P<function>[\w.]+)(?P<options>, .*)?\)", re.DOTALL)
_OF_OBJECTS = frozenset({"apply", "forward"})
_OF_SEVERAL = frozenset({"Broadcast", "LSTM", "SLSTM", "SplitAxis", "TreeLSTM"})  # they give several results
_TESTS = frozenset({"builtins.isinstance", "builtins.issubclass"})
_BASES = frozenset({"chainer.Function", "chainer.FunctionNode", "chainer.function.Function"})


def as_function(context: Context, template: str, row: Row, given: Collection[str]) -> str:
    """``native.FunctionObject(f, axis=1)`` as ``functools.partial(f, axis=1)``, and without options as ``f``."""
    match = _OBJECT.fullmatch(template)
    if match is None or context.analysis.once(_asks_for_objects):
        return template
    if not given and all(_says_nothing(row, part) for part in (match["options"] or "").split(", ")[1:]):
        return match["function"]
    return f"functools.partial({match['function']}{match['options'] or ''})"


def _says_nothing(row: Row, option: str) -> bool:
    """Whether ``alpha=alpha`` of a template is the default of the function for an object that is made without."""
    name, _, parameter = option.partition("=")
    defaults = row.signature.defaults if row.signature is not None else {}
    return name in row.drop and defaults.get(parameter) == row.drop[name]


def applied(context: Context, node: ast.Attribute) -> ast.Subscript | None:
    """The whole of ``f.apply((x,))[0]`` where ``f`` is a function by now."""
    whole = _whole(context.source, node)
    if whole is None or context.choices.style != "native" or not _may_be_object(context.analysis, node):
        return None
    if context.analysis.once(_asks_for_objects):
        return None
    return whole if context.analysis.once(_makes_objects) else None


def _whole(source: Source, node: ast.Attribute) -> ast.Subscript | None:
    """``f.apply((x,))[0]``: the first result of a function of one input."""
    call = source.parents.get(node)
    whole = source.parents.get(call) if isinstance(call, ast.Call) and call.func is node else None
    if node.attr != "apply" or not isinstance(call, ast.Call) or not isinstance(whole, ast.Subscript):
        return None
    given = call.args[0] if len(call.args) == 1 and not call.keywords else None
    one = (
        isinstance(given, (ast.Tuple, ast.List)) and len(given.elts) == 1 and not isinstance(given.elts[0], ast.Starred)
    )
    return whole if one and ast.unparse(whole.slice) == "0" and isinstance(whole.ctx, ast.Load) else None


def _makes_objects(analysis: Analysis) -> bool:
    """Whether a program makes objects of Chainer's functions, and has no functions of its own that are objects."""
    own = any(analysis.derives(cls, base) for cls in analysis.classes.values() for base in _BASES)
    made = {
        k.cls
        for module in analysis.project.modules.values()
        for call in module.source.of(ast.Call)
        for k in options(analysis.kind(call))
        if isinstance(k, Inst) and isinstance(k.cls, str) and _is_function(k.cls)
    }
    return not own and bool(made) and not any(cls.rpartition(".")[2] in _OF_SEVERAL for cls in made)


def _may_be_object(analysis: Analysis, node: ast.Attribute) -> bool:
    kinds = options(analysis.kind(node.value))
    return any(k == UNKNOWN or isinstance(k, Inst) and _is_function(k.cls) for k in kinds)


def _asks_for_objects(analysis: Analysis) -> bool:
    """Whether a program runs some by a method, or asks whether something is one."""
    plain = analysis.once(_makes_objects)  # then `f.apply((x,))[0]` becomes `f(x)`
    return any(
        isinstance(node, ast.Attribute)
        and node.attr in _OF_OBJECTS
        and _may_be_object(analysis, node)
        and not (plain and _whole(module.source, node))
        or isinstance(node, ast.Call)
        and len(node.args) == 2
        and getattr(analysis.kind(node.func), "name", "") in _TESTS
        and any(_is_class(analysis, part) for part in nodes_of(node.args[1]))
        for module in analysis.project.modules.values()
        for node in module.source.of(ast.Attribute, ast.Call)
    )


def _is_function(cls: object) -> bool:
    return isinstance(cls, str) and cls.startswith("chainer.functions.")


def _is_class(analysis: Analysis, node: ast.AST) -> bool:
    kind = analysis.kind(node)
    return isinstance(kind, Ref) and (kind.name in _BASES or _is_function(kind.name))


__all__ = ["applied", "as_function"]
