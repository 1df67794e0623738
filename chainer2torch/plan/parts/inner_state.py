"""``link._children``, ``link.__dict__`` and the like, where Chainer keeps what a module keeps elsewhere.

Helpers give names and values as long as the code only reads names and children, and reads or writes values. What adds
children or takes them out a person has to write.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN, Const, Kind, options
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.native.places import function_of

_INNER = (
    "a module of torch has its children, parameters and buffers in named_children(), named_parameters() and "
    "named_buffers(), not here"
)
_IF_LINK = f"if this is a link of Chainer's: {_INNER}"
_SYMBOLS_OF_LINKS = ("chainer.Link", "chainer.Chain", "chainer.links", "?.")
PRIVATE = frozenset({"_children", "_params", "_persistent"})
_METHODS = frozenset({"copy", "count", "difference", "index", "intersection", "issubset", "issuperset", "union"})
_FUNCTIONS = frozenset({"enumerate", "len", "list", "set", "sorted", "tuple"})


def emit(context: Context, decisions: Decisions, node: ast.expr, kind: Kind, name: str) -> None:
    """``link.__dict__``, ``vars(link)``, ``link._children``: helpers, or a person, say what is meant."""
    read = context.choices.style == "native" and isinstance(node, ast.Attribute) and is_read(context, node)
    symbol = f"chainer.Link.{name}"
    if context.analysis.is_link(kind) or kind == UNKNOWN and read and _holds_persistents(context, node):
        if read and isinstance(node, ast.Attribute):
            _put(context, decisions, node, symbol)
        else:
            decisions.mark(node, None, symbol, "manual", _INNER, "C2T200")
    elif kind == UNKNOWN and _is_chainers(context, name) and not context.migrated:
        if read and isinstance(node, ast.Attribute):
            _put(context, decisions, node, symbol)
        else:
            decisions.mark(node, None, f"?.{name}", "review", _IF_LINK, "C2T390")
    elif kind == UNKNOWN:
        # in a function that deals with links
        function = context.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef)
        if function is not None:
            with decisions.provided(near=(function, _SYMBOLS_OF_LINKS)):
                if read and isinstance(node, ast.Attribute):
                    _put(context, decisions, node, symbol)
                else:
                    decisions.mark(node, None, f"?.{name}", "review", _IF_LINK, "C2T390")


def asked_by_name(context: Context, decisions: Decisions, call: ast.Call) -> None:
    """``hasattr(link, '_children')``: silently false for a module, whose children are elsewhere."""
    name = context.kind(call.args[1]) if len(call.args) > 1 else None
    if not isinstance(name, Const) or name.value not in PRIVATE:
        return
    kinds = options(context.kind(call.args[0]))
    if any(map(context.analysis.is_link, kinds)):
        decisions.mark(call, None, f"chainer.Link.{name.value}", "manual", _INNER, "C2T200")
    elif UNKNOWN in kinds and _is_chainers(context, name.value):
        decisions.mark(call, None, f"?.{name.value}", "review", _IF_LINK, "C2T390")


def _is_chainers(context: Context, name: str) -> bool:
    """Whether such a name is Chainer's: no class of the project keeps something of its own under it."""
    modules = context.analysis.project.modules.values()
    nodes = (node for module in modules for node in module.source.attributes.get(name, ()))
    return name in PRIVATE and not any(isinstance(node.ctx, ast.Store) for node in nodes)


def _put(context: Context, decisions: Decisions, node: ast.Attribute, symbol: str) -> None:
    template = f"compat.inner_names(link, '{node.attr}')" if node.attr in PRIVATE else "compat.inner_dict(link)"
    asked = _asks_for_child(context, node)
    if asked is None:
        decisions.replace(node, template, {"link": context.operand(node.value)})
    else:
        operands = {"link": context.operand(node.value), "name": context.operand(asked.left)}
        template = "hasattr(link, name)" if isinstance(asked.ops[0], ast.In) else "not hasattr(link, name)"
        decisions.replace(asked, template, operands)
    decisions.mark(node, context.rules.python[symbol], symbol, "exact")


def _asks_for_child(context: Context, node: ast.Attribute) -> ast.Compare | None:
    """``child.name in link.__dict__``: whether a link has an attribute that is called as some link is.

    Chainer registers no link under a name that its parent has already, a method or a number, so both answers are one
    for the names of children; an attribute of the module's own under such a name is no link.
    """
    asked = context.source.parents.get(node)
    if node.attr in PRIVATE or not isinstance(asked, ast.Compare) or len(asked.ops) > 1 or asked.left is node:
        return None
    named = isinstance(asked.left, ast.Attribute) and asked.left.attr == "name"
    return asked if named and isinstance(asked.ops[0], (ast.In, ast.NotIn)) else None


def _holds_persistents(context: Context, node: ast.expr) -> bool:
    """Whether the function asks the same object for what only links of Chainer's have."""
    owner, scope = ast.unparse(getattr(node, "value", node)), function_of(context, node)
    return any(
        other.attr == "_persistent" and ast.unparse(other.value) == owner and function_of(context, other) is scope
        for other in context.source.of(ast.Attribute)
    )


def is_read(context: Context, node: ast.Attribute) -> bool:
    """Whether an attribute is only looked at here, also by the name that it is given."""
    names, private = [], node.attr in PRIVATE
    assigned = context.source.parents.get(node)
    if isinstance(assigned, ast.Assign) and assigned.value is node and len(assigned.targets) == 1:
        target, scope = assigned.targets[0], function_of(context, node)
        if not isinstance(target, ast.Name):
            return False
        names = [n for n in context.source.named.get(target.id, ()) if function_of(context, n) is scope]
        if sum(not isinstance(name.ctx, ast.Load) for name in names) != 1:
            return False
        return all(_is_looked_at(context, name, private) for name in names if name is not target)
    return isinstance(node.ctx, ast.Load) and _is_looked_at(context, node, private)


def _is_looked_at(context: Context, use: ast.expr, private: bool) -> bool:
    """One use of names or children (``private``), or of a dictionary of values, into which something may be put."""
    parent = context.source.parents.get(use)
    if isinstance(parent, ast.Subscript):
        return parent.value is use and isinstance(parent.ctx, ast.Load if private else (ast.Load, ast.Store))
    if isinstance(parent, ast.Attribute):
        return context.is_called(parent) and (parent.attr in _METHODS if private else parent.attr == "get")
    if isinstance(parent, (ast.For, ast.comprehension)):
        return private and parent.iter is use
    if isinstance(parent, ast.Call):
        return private and use in parent.args and ast.unparse(parent.func) in _FUNCTIONS
    return isinstance(parent, ast.Compare) and isinstance(parent.ops[0], (ast.In, ast.NotIn))


__all__ = ["PRIVATE", "asked_by_name", "emit", "is_read"]
