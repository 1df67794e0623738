"""Where layers are made inside ``with self.init_scope():``, behind which lines of their own can set their values."""

from __future__ import annotations

import ast
from typing import TypeGuard

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Inst, options
from chainer2torch.analysis.module_index import ClassInfo, ModuleInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.rows import row_at
from chainer2torch.plan.questions.sequentials import outermost

_BLOCKS = (ast.If, ast.For, ast.While)
_REGISTER = frozenset({"add_link", "add_param", "add_persistent", "register_persistent"})


def init_scope_of(context: Context, node: ast.AST) -> ast.With | None:
    """The statement ``with self.init_scope():`` in which a call of it stands alone; None for other forms."""
    call = context.source.parents.get(node)
    statement = context.source.statement(node)
    alone = (
        isinstance(statement, ast.With)
        and len(statement.items) == 1
        and statement.items[0].context_expr is call
        and statement.items[0].optional_vars is None
    )
    return statement if alone and isinstance(statement, ast.With) else None


def stays(context: Context, owner: ast.expr) -> bool:
    """Whether the ``init_scope`` of a link stays, as the link may ask if it is within it."""
    asking = context.analysis.once(_asking) if context.choices.style == "native" else None
    if not asking:
        return False
    kinds = [k.cls for k in options(context.kind(owner)) if isinstance(k, Inst)]
    if None in asking or len(kinds) != len(options(context.kind(owner))):
        return True
    mro = context.analysis.mro
    return any(
        asking & set(mro(cls)) and any(kind == cls or kind in mro(cls) for kind in kinds)
        for cls in context.analysis.classes.values()
    )


def own_scopes(context: Context, owner: ast.expr) -> list[bool]:
    """Of the classes of an object, each: whether it says itself what ``init_scope`` does; its block stays a call of it.

    Of what nobody knows they are all classes of the project; ``super().init_scope()`` begins behind the class around.
    """
    known = [k.cls for k in options(context.kind(owner)) if isinstance(k, Inst)]
    if len(known) < len(options(context.kind(owner))):
        known = [*context.analysis.classes.values(), "chainer.Chain"]
    return [
        any(isinstance(c, ClassInfo) and "init_scope" in c.methods for c in context.analysis.mro(cls)) for cls in known
    ]


def _asking(analysis: Analysis) -> frozenset[ClassInfo | None]:
    """The classes whose methods ask ``self.within_init_scope``; None stands for a place that asks another object."""
    return frozenset(
        _class_of_self(analysis, module, node.value)
        for module in analysis.project.modules.values()
        if "within_init_scope" in module.source.text
        for node in module.source.of(ast.Attribute)
        if node.attr == "within_init_scope"
    )


def _class_of_self(analysis: Analysis, module: ModuleInfo, owner: ast.expr) -> ClassInfo | None:
    """The class in one of whose methods a name is the object itself."""
    method = module.source.enclosing(owner, ast.FunctionDef, ast.Lambda)
    outer = module.source.parents.get(method) if isinstance(method, ast.FunctionDef) else None
    if not isinstance(method, ast.FunctionDef) or not isinstance(outer, ast.ClassDef) or not method.args.args:
        return None
    is_self = isinstance(owner, ast.Name) and owner.id == method.args.args[0].arg and not method.decorator_list
    return analysis.classes.get(outer) if is_self else None


def initialized_by_scope(context: Context, call: ast.Call) -> ast.With | None:
    """The ``with self.init_scope():`` behind which a line of its own sets the values of the layer of a call."""
    call = outermost(context, call)
    statement = context.source.statement(call)
    scope = context.source.parents.get(statement)
    while context.choices.style == "native" and isinstance(scope, _BLOCKS):
        scope = context.source.parents.get(scope)
    if (
        isinstance(scope, ast.With)
        and _is_init_scope(context, scope)
        and _assigns_to_self(statement, call)
        and not context.ask(_looked_at, scope)
        and not any(keeps_no_links(context, t.value) for t in statement.targets if isinstance(t, ast.Attribute))
    ):
        return scope
    return None


def _is_init_scope(context: Context, scope: ast.With) -> bool:
    """Whether a ``with`` statement is `with self.init_scope():`, behind which there may be lines."""
    call = scope.items[0].context_expr
    if not isinstance(call, ast.Call) or init_scope_of(context, call.func) is not scope:
        return False
    row = row_at(context, call.func)
    return row is not None and row.function == "init_scope"


def _looked_at(context: Context, scope: ast.With) -> bool:
    """Whether the scope itself may change or share a parameter, which must happen after the layers are filled."""
    owner = ast.unparse(scope.items[0].context_expr.func.value)  # type: ignore[attr-defined]
    made = {
        ast.unparse(t)
        for s in scope.body
        if isinstance(s, ast.Assign) and isinstance(s.value, ast.Call)
        for t in s.targets
    }
    nodes = [n for statement in scope.body for n in nodes_of(statement)]
    owners = [n for n in nodes if isinstance(n, (ast.Name, ast.Attribute)) and ast.unparse(n) == owner]
    members = [n for n in nodes if isinstance(n, ast.Attribute) and ast.unparse(n.value) == owner]
    called = {n.func for n in nodes if isinstance(n, ast.Call)}
    return len(owners) > len(members) or any(
        n in called and n.attr not in _REGISTER or isinstance(n.ctx, ast.Load) and ast.unparse(n) in made
        for n in members
    )


def keeps_no_links(context: Context, owner: ast.expr) -> bool:
    """Whether it is a link that is neither Chain nor ChainList: it registers parameters in init_scope, but no links."""
    return all(
        isinstance(k, Inst)
        and context.analysis.derives(k.cls, "chainer.Link")
        and not context.analysis.derives(k.cls, "chainer.Chain")
        and not context.analysis.derives(k.cls, "chainer.ChainList")
        for k in options(context.analysis.kind(owner))
    )


def _assigns_to_self(statement: ast.stmt, call: ast.AST) -> TypeGuard[ast.Assign]:
    return (
        isinstance(statement, ast.Assign)
        and statement.value is call
        and all(isinstance(t, ast.Attribute) and isinstance(t.value, ast.Name) for t in statement.targets)
    )
