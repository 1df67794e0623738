"""Hard cases of links: registration, initial values, the constructor of version 1, `__call__`."""

from __future__ import annotations

import ast
import dataclasses
from typing import TypeGuard

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Class, Inst, options
from chainer2torch.analysis.module_index import ClassInfo, ModuleInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.edits import Operand, Rename, ReplaceStatement, Unwrap, Wrap
from chainer2torch.plan.passes.overridden_methods import is_super
from chainer2torch.plan.sites import Plan
from chainer2torch.rules.table import Row

_REGISTER = frozenset({"add_link", "add_param", "add_persistent", "register_persistent"})
_WITHOUT_CONSTRUCTOR = frozenset({"abc.ABC", "builtins.object"})
_INIT_LIKE_CHAINER = "compat.init_like_chainer({receiver})"


def init_scope(plan: Plan, node: ast.AST, row: Row) -> None:
    """``with self.init_scope():`` disappears: a module registers what is assigned to it anyway."""
    call = plan.source.parents.get(node)
    statement = plan.source.statement(node)
    if not (
        isinstance(statement, ast.With)
        and len(statement.items) == 1
        and statement.items[0].context_expr is call
        and statement.items[0].optional_vars is None
    ):
        plan.mark(node, row, row.name, "manual", "used in another form than `with self.init_scope():`")
        return
    plan.edits[statement] = Unwrap(plan.source.start(statement))  # finished in `initialize_layers`
    plan.mark(node, row, row.name, row.state)


def initialize_layers(plan: Plan) -> None:
    """Layers of torch start from Chainer's initial values: one line a class, or a call around a single layer."""
    if plan.choices.init == "torch":
        for call, template in plan.templates.items():
            if isinstance(call, ast.Call) and call.func in plan.sites and _is_plain_layer(plan, call, template):
                plan.sites[call.func] = dataclasses.replace(
                    plan.sites[call.func],
                    state="close",
                    message="starts from PyTorch's initial values, not Chainer's (--init torch)",
                )
        return
    scopes = {s: e for s, e in plan.edits.items() if isinstance(e, Unwrap) and isinstance(s, ast.With)}
    covered: set[ast.With] = set()
    for call, template in list(plan.templates.items()):
        if not _is_plain_layer(plan, call, template):
            continue
        statement = plan.source.statement(call)
        scope = plan.source.parents.get(statement)
        if (
            isinstance(scope, ast.With)
            and scope in scopes
            and _assigns_to_self(statement, call)
            and not _looked_at(scope)
            and not any(keeps_no_links(plan, t.value) for t in statement.targets if isinstance(t, ast.Attribute))
        ):
            covered.add(scope)
            continue
        if call not in plan.initialized:
            plan.wraps[call] = Wrap(plan.source.span(call), "compat.initialize(value)")
    for scope in covered:
        receiver = ast.unparse(scope.items[0].context_expr.func.value)  # type: ignore[attr-defined]
        edit = scopes[scope]
        plan.edits[scope] = dataclasses.replace(edit, append=_INIT_LIKE_CHAINER.format(receiver=receiver))


def _is_plain_layer(plan: Plan, call: ast.AST, template: str) -> bool:
    # layers without parameters (nn.Dropout and the like) do not occur: they are functions in Chainer
    return (
        isinstance(call, ast.Call)
        and template.startswith("torch.nn.")
        and "functional" not in template
        and any(
            plan.analysis.derives(k.cls, "chainer.Link")
            for k in options(plan.analysis.kind(call))
            if isinstance(k, Inst)
        )
    )


def _looked_at(scope: ast.With) -> bool:
    """Whether the scope itself may change or share a parameter, which must happen after the layers are filled."""
    owner = ast.unparse(scope.items[0].context_expr.func.value)  # type: ignore[attr-defined]
    made = {
        ast.unparse(t)
        for s in scope.body
        if isinstance(s, ast.Assign) and isinstance(s.value, ast.Call)
        for t in s.targets
    }
    nodes = [n for statement in scope.body for n in ast.walk(statement)]
    owners = [n for n in nodes if isinstance(n, (ast.Name, ast.Attribute)) and ast.unparse(n) == owner]
    members = [n for n in nodes if isinstance(n, ast.Attribute) and ast.unparse(n.value) == owner]
    called = {n.func for n in nodes if isinstance(n, ast.Call)}
    return len(owners) > len(members) or any(
        n in called and n.attr not in _REGISTER or isinstance(n.ctx, ast.Load) and ast.unparse(n) in made
        for n in members
    )


def keeps_no_links(plan: Plan, owner: ast.expr) -> bool:
    """Whether it is a link that is neither Chain nor ChainList: it registers parameters in init_scope, but no links."""
    return all(
        isinstance(k, Inst)
        and plan.analysis.derives(k.cls, "chainer.Link")
        and not plan.analysis.derives(k.cls, "chainer.Chain")
        and not plan.analysis.derives(k.cls, "chainer.ChainList")
        for k in options(plan.analysis.kind(owner))
    )


def _assigns_to_self(statement: ast.stmt, call: ast.AST) -> TypeGuard[ast.Assign]:
    return (
        isinstance(statement, ast.Assign)
        and statement.value is call
        and all(isinstance(t, ast.Attribute) and isinstance(t.value, ast.Name) for t in statement.targets)
    )


def constructor(plan: Plan, cls: ClassInfo) -> None:
    """``super().__init__(l1=L.Linear(...))`` of version 1 becomes assignments."""
    init = cls.methods.get("__init__")
    if init is None or not plan.analysis.derives(cls, "chainer.Link"):
        return
    base = _next_constructor(plan, cls)
    if base not in ("chainer.Chain", "chainer.Link"):
        return  # the keywords are those of a base class with a constructor of its own
    is_chain = base == "chainer.Chain"
    for node in nodes_of(init.node):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "__init__"):
            continue
        explicit = not is_super(node.func.value)  # `chainer.Chain.__init__(self, l1=...)`
        if explicit and plan.reference(node.func) != f"{base}.__init__" or not node.keywords:
            continue
        statement = plan.source.parents.get(node)
        # `*args` that are handed on: a Chain takes none
        passed_on = not explicit and is_chain and all(isinstance(a, ast.Starred) for a in node.args)
        if not isinstance(statement, ast.Expr) or len(node.args) != explicit and not passed_on:
            plan.mark(
                node,
                plan.rules.rows.get("chainer.Chain"),
                "chainer.Chain.__init__",
                "manual",
                "assign each of the links to self",
                "C2T201",
            )
            continue
        self_name = init.node.args.args[0].arg
        operands = {f"_{i}": Operand(plan.source.span(k.value)) for i, k in enumerate(node.keywords)}
        if explicit:
            lines = [f"torch.nn.Module.__init__({self_name})"]
            plan.use(node.func)
        else:
            lines = [f"{plan.source.segment(node.func)}()"]
        if any(k.arg is None for k in node.keywords):
            given = ", ".join(
                [f"_{i}" for i, k in enumerate(node.keywords) if k.arg is None]
                + [f"{k.arg}=_{i}" for i, k in enumerate(node.keywords) if k.arg is not None]
            )
            lines.append(f"compat.{'add_links' if is_chain else 'add_params'}({self_name}, {given})")
        elif is_chain:
            lines += [f"{self_name}.{k.arg} = _{i}" for i, k in enumerate(node.keywords)]
        else:  # a Link takes the shapes of its parameters
            shapes = ", ".join(f"{k.arg}=_{i}" for i, k in enumerate(node.keywords))
            lines.append(f"compat.add_params({self_name}, {shapes})")
        plain = [
            k.value
            for k in node.keywords
            if k.value in plan.templates and _is_plain_layer(plan, k.value, plan.templates[k.value])
        ]
        if plain and plan.choices.init != "torch":
            lines.append(_INIT_LIKE_CHAINER.format(receiver=self_name))
        plan.initialized.update(plain)
        plan.edits[statement] = ReplaceStatement(plan.source.start(statement), "\n".join(lines), operands)
        plan.mark(node, plan.rules.rows.get("chainer.Chain"), "chainer.Chain.__init__", "exact")


def _next_constructor(plan: Plan, cls: ClassInfo) -> str | ClassInfo | None:
    """The class whose constructor ``super().__init__()`` calls; None: not always the same."""
    mixed = cls in plan.analysis.mixed
    users = (
        [
            user
            for user in plan.analysis.classes.values()
            if plan.analysis.derives(user, "chainer.Link")
            and user not in plan.analysis.mixed
            and cls in plan.analysis.mro(user)
        ]
        if mixed
        else [cls]
    )
    found = set()
    for user in users:
        order = plan.analysis.mro(user)
        found.add(
            next(
                (
                    k
                    for k in order[order.index(cls) + 1 :]
                    if k not in _WITHOUT_CONSTRUCTOR and (isinstance(k, str) or "__init__" in k.methods)
                ),
                None,
            )
        )
    return found.pop() if len(found) == 1 else None


def call_method(plan: Plan, cls: ClassInfo) -> None:
    """``__call__`` of a Chain becomes ``forward``, so that module hooks run.

    Not where something else has that name: a method, or ``self.forward = []``, which would hide it.
    """
    method = cls.methods.get("__call__")
    if method is None or not plan.analysis.derives(cls, "chainer.Link"):
        return
    if any(
        isinstance(k, ClassInfo) and ("forward" in k.methods or "forward" in k.attrs) for k in plan.analysis.mro(cls)
    ):
        return
    plan.edits[method.node] = Rename(plan.source.start(method.node), "forward")
    for node in nodes_of(cls.node):
        if (
            isinstance(node, ast.Attribute)
            and node.attr == "__call__"
            and isinstance(node.ctx, ast.Load)
            and (is_super(node.value) or _names_link(plan, cls, node.value))
        ):
            plan.replace(node, "receiver.forward", {"receiver": plan.operand(node.value)})


def _names_link(plan: Plan, cls: ClassInfo, node: ast.expr) -> bool:
    """Whether a name stands for a link (self), or for a class of links: one of the project's, or a base of this one."""
    if not isinstance(node, ast.Name):
        return False
    kind = plan.analysis.kind(node)
    bases = {base.id for base in cls.node.bases if isinstance(base, ast.Name)}
    return (
        node.id in bases
        or plan.analysis.is_link(kind)
        or any(isinstance(k, Class) and plan.analysis.derives(k.info, "chainer.Link") for k in options(kind))
    )


def classes(plan: Plan) -> None:
    """Everything that is decided class by class."""
    for cls in plan.analysis.once(_by_module).get(plan.module, ()):
        constructor(plan, cls)
        call_method(plan, cls)
    initialize_layers(plan)


def _by_module(analysis: Analysis) -> dict[ModuleInfo, list[ClassInfo]]:
    found: dict[ModuleInfo, list[ClassInfo]] = {}
    for cls in analysis.classes.values():
        found.setdefault(cls.module, []).append(cls)
    return found
