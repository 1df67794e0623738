"""Hard case of the native style: `chainer.ChainList`, which nn.ModuleList takes the place of."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Inst, Ref, options
from chainer2torch.analysis.module_index import ClassInfo, ModuleInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand, ReplaceStatement
from chainer2torch.plan.parts.calls import emit_call
from chainer2torch.plan.parts.names import emit_value
from chainer2torch.plan.questions.constructors import next_constructor
from chainer2torch.plan.questions.overridden_methods import is_super
from chainer2torch.rules.table import Row

_LIST = "chainer.ChainList"
_NO_LINK = "`{}` is no link: nn.ModuleList takes modules alone; keep it in an attribute"
# of Chainer's list, and not of nn.ModuleList, or other than there
_OTHERWISE = frozenset({"clear", "index", "count", "pop", "remove", "reverse"})


def chain_list(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """A base class becomes nn.ModuleList, and its constructor gets a list; elsewhere it is a name like any other."""
    assert isinstance(node, (ast.Name, ast.Attribute))
    parent = context.source.parents.get(node)
    cls = context.analysis.classes.get(parent) if isinstance(parent, ast.ClassDef) else None
    if cls is not None and node in cls.node.bases and _may_be_module_list(context, cls):
        decisions.replace(node, "torch.nn.ModuleList", {})
        decisions.use(node)
        decisions.mark(node, row, row.name, row.state)
        for call in _constructor_calls(cls):
            _constructor(context, decisions, call)
    elif isinstance(parent, ast.Call) and parent.func is node:
        asked: bool = context.analysis.once(_asks_for_more)
        if parent.keywords or asked:
            emit_call(context, decisions, parent, row, node)
            return
        operands: dict[str, Operand] = {}
        decisions.replace(parent, f"torch.nn.ModuleList({_as_list(context, parent, operands)})", operands)
        decisions.use(node)
        decisions.mark(node, row, row.name, row.state)
    elif _is_asked_for(context, node):  # a class of the project may be one of nn.ModuleList itself
        decisions.replace(node, "torch.nn.ModuleList", {})
        decisions.use(node)
        decisions.mark(node, row, row.name, row.state)
    else:
        emit_value(context, decisions, node, row)


def _is_asked_for(context: Context, node: ast.AST) -> bool:
    """``isinstance(link, ChainList)``, also among other classes."""
    parent = context.source.parents.get(node)
    inner = node
    if isinstance(parent, ast.Tuple):
        inner, parent = parent, context.source.parents.get(parent)
    return (
        isinstance(parent, ast.Call)
        and parent.args[1:] == [inner]
        and context.kind(parent.func) in (Ref("builtins.isinstance"), Ref("builtins.issubclass"))
    )


def _may_be_module_list(context: Context, cls: ClassInfo) -> bool:
    """Whether everything that the project does with its lists of links, nn.ModuleList does as well.

    A class without a constructor inherits Chainer's, which takes the links one by one from callers that nobody sees.
    """
    return (
        "__init__" in cls.methods
        and next_constructor(context, cls) == "chainer.ChainList"
        and not context.analysis.once(_asks_for_more)
        and all(_is_simple(context, call) for call in _constructor_calls(cls))
        and not any(name in cls.methods for name in ("__getitem__", "__setattr__"))
    )


def _asks_for_more(analysis: Analysis) -> bool:
    """Whether a list of links is asked for one of the methods of lists; slices of it are those of a list of Python."""
    lists = [cls for cls in analysis.classes.values() if analysis.derives(cls, "chainer.ChainList")]
    for cls in lists:
        for node in nodes_of(cls.node):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
                if node.attr in _OTHERWISE and _is_called(cls.module, node):
                    return True
    return any(
        node.attr in _OTHERWISE
        and _is_called(module, node)
        and any(isinstance(k, Inst) and analysis.derives(k.cls, _LIST) for k in options(analysis.kind(node.value)))
        for module in analysis.project.modules.values()
        for node in module.source.of(ast.Attribute)
    )


def _is_called(module: ModuleInfo, node: ast.Attribute) -> bool:
    """Whether a member is called: ``self.count`` that is not is an attribute of the class's own."""
    parent = module.source.parents.get(node)
    return isinstance(parent, ast.Call) and parent.func is node


def _constructor_calls(cls: ClassInfo) -> Iterator[ast.Call]:
    init = cls.methods.get("__init__")
    for node in nodes_of(init.node) if init is not None else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "__init__":
            yield node


def _is_simple(context: Context, call: ast.Call) -> bool:
    assert isinstance(call.func, ast.Attribute)
    return is_super(call.func.value) and not call.keywords and isinstance(context.source.parents.get(call), ast.Expr)


def _constructor(context: Context, decisions: Decisions, call: ast.Call) -> None:
    """``super().__init__(a, *b)`` becomes ``super().__init__([a, *b])``."""
    statement = context.source.parents.get(call)
    assert isinstance(statement, ast.Expr)
    if not call.args:
        return
    if (odd := next((kind for a in call.args if (kind := _no_link(context, a))), None)) is not None:
        row = context.rules.rows[_LIST]
        decisions.mark(call, row, f"{_LIST}.__init__", "manual", _NO_LINK.format(odd), "C2T200")
    operands: dict[str, Operand] = {"init": context.operand(call.func)}
    line = f"init({_as_list(context, call, operands)})"
    decisions.edit(statement, ReplaceStatement(context.source.start(statement), line, operands))


def _no_link(context: Context, argument: ast.expr) -> str:
    """The class of the project, or the type, of an argument that is no link for sure: Chainer keeps it all the same."""
    kinds = options(context.kind(argument))
    classes = [k.cls for k in kinds if isinstance(k, Inst) and isinstance(k.cls, ClassInfo)]
    sure = len(classes) == len(kinds) and not any(
        not isinstance(base, ClassInfo) and base != "builtins.object" or context.analysis.derives(cls, "chainer.Link")
        for cls in classes
        for base in context.analysis.mro(cls)
    )
    return classes[0].name if sure else ""


def _as_list(context: Context, call: ast.Call, operands: dict[str, Operand]) -> str:
    """The arguments of a call as one list; what the names in it stand for is put into ``operands``."""
    items = []
    for number, argument in enumerate(call.args):
        starred = isinstance(argument, ast.Starred)
        operands[f"_{number}"] = context.operand(argument.value if isinstance(argument, ast.Starred) else argument)
        items.append(f"*_{number}" if starred else f"_{number}")
    if len(items) == 1 and items[0].startswith("*"):
        return items[0][1:]
    return f"[{', '.join(items)}]" if items else ""


__all__ = ["chain_list"]
