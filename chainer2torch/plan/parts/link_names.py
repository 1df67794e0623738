"""Hard cases of names: ``link.name``, ``link.W.name``, which modules and parameters of PyTorch do not have."""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Inst, Ref, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand
from chainer2torch.plan.parts import variable_names
from chainer2torch.plan.parts.assigned_values import reaching
from chainer2torch.plan.questions.hook_parameters import rule_of_hook
from chainer2torch.plan.questions.link_parts import is_registered
from chainer2torch.plan.questions.walks import (
    loop_around,
    name_in_walk,
    names_asked_in,
    sets_names,
    simple,
    walked,
    walked_model,
    walked_parent,
)
from chainer2torch.rules.table import Row

_TOLD = (
    "A module learns its name when `compat.children`, `compat.links` or the setup() of an optimizer walks over "
    "what holds it, and asking before raises; that of a model which nothing holds is never told"
)
_GIVEN = (
    "the name that `Variable(name=...)` or `Parameter(name=...)` gives is not kept: keep it beside the tensor, "
    "in a dictionary say"
)
_MAKERS = (Ref("chainer.Variable"), Ref("chainer.Parameter"))

_OWN = (
    "Chainer sets the name of a link when it is registered in another, whatever the class gave it; here it stays "
    "what the class gave it"
)
_COPIED = "a copy that nothing holds has the name of what was copied; Chainer's has none"


def _says_sequential(analysis: Analysis) -> bool:
    """Whether a file may make a Sequential, which counts its links in a way of its own."""
    return any("Sequential" in module.source.text for module in analysis.project.modules.values())


def parameter_name(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """``link.W.name``: what holds the parameter is in sight, and tells."""
    assert isinstance(node, ast.Attribute)
    operands = {"self": context.operand(node.value)}
    owned = isinstance(node.value, ast.Attribute) and context.analysis.is_link(context.analysis.kind(node.value.value))
    if not isinstance(node.ctx, ast.Load):
        if not variable_names.dropped(context, decisions, node, row):
            decisions.mark(node, row, row.name, "manual", "assignment to it has no counterpart")
    elif owned and isinstance(node.value, ast.Attribute) and simple(node.value.value):
        operands["owner"] = context.operand(node.value.value)
        decisions.replace(node, "compat.parameter_name(self, owner)", operands)
        decisions.mark(node, row, row.name, row.state)
    else:
        native = context.choices.style == "native"
        model = walked_model(context.source, node.value) if native else None
        template = row.cases[0].torch
        rule = rule_of_hook(context.source, node.value) if native else None
        if rule is not None:
            operands["rule"] = Operand(code=rule)
            template = "native.name_in_hook(rule, self)"
        elif model is not None:
            operands["model"] = Operand(code=model.id) if isinstance(model, ast.Name) else context.operand(model)
            template = "native.parameter_name(model, self)"
        elif context.analysis.once(_names_given) and _was_named(context, node.value):
            decisions.mark(node, row, row.name, "review", _GIVEN)
        decisions.replace(node, template, operands)
        decisions.mark(node, row, row.name, row.state)


def _was_named(context: Context, node: ast.expr) -> bool:
    """Whether a Variable that was made with a name stands here: others have that which a link gave them."""
    if isinstance(node, ast.Name):
        values = reaching(context, node)
    elif isinstance(node, ast.Attribute):
        values = [
            statement.value
            for statement in context.source.of(ast.Assign)
            if any(isinstance(target, ast.Attribute) and target.attr == node.attr for target in statement.targets)
        ]
    else:
        values = [node]
    return any(_names(context.analysis, value) for value in values if isinstance(value, ast.Call))


def _names(analysis: Analysis, call: ast.Call) -> bool:
    return any(keyword.arg == "name" for keyword in call.keywords) and analysis.kind(call.func) in _MAKERS


def _names_given(analysis: Analysis) -> bool:
    """Whether the program gives variables names where it makes them: ``chainer.Variable(x, name='x')``."""
    return any(
        _names(analysis, call) for module in analysis.project.modules.values() for call in module.source.of(ast.Call)
    )


def link_name(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """``child.name`` in a walk over links, ``self.l1.name``; elsewhere nothing says whether the name was told."""
    assert isinstance(node, ast.Attribute)
    links = [kind for kind in options(context.kind(node.value)) if isinstance(kind, Inst)]
    given: bool = context.analysis.once(sets_names)
    walk = _walk_behind(context, node.value) if given else walked(context.source, node.value)
    if given and links and not walk and not any(is_registered(context.analysis, link) for link in links):
        given_name(context, decisions, node, links)
        return
    if not isinstance(node.ctx, ast.Load):
        decisions.mark(node, row, row.name, "manual", "a module has no name that could be set")
        return
    operands, held = {"self": context.operand(node.value)}, node.value
    if (
        isinstance(held, ast.Attribute)
        and context.analysis.is_link(context.analysis.kind(held.value))
        and simple(held.value)
    ):
        operands["parent"] = context.operand(held.value)
        decisions.replace(node, "compat.link_name(self, parent)", operands)
        decisions.mark(node, row, row.name, "exact")
        return
    told = walk in ("children", "skipself")
    if given:  # the link that the walk begins with may have one of these
        decisions.replace(node, "compat.name_of(self)", operands)
        decisions.mark(node, row, row.name, "exact" if told else "review", "" if told else _TOLD)
        return
    native = context.choices.style == "native"
    loop = loop_around(context.source, held) if native else None
    name = name_in_walk(context.analysis, context.source, loop.iter) if loop is not None else ""
    if loop is not None and name:
        asked = names_asked_in(loop)
        if node is asked[0]:
            with decisions.group("the name of a child beside it"):
                decisions.replace(loop.target, f"{name}, {ast.unparse(loop.target)}", {})
                for place in asked:
                    decisions.replace(place, name, {})
                    decisions.mark(place, row, row.name, "exact")
        return
    parent = walked_parent(context.analysis, context.source, held) if native else None
    if parent is not None:
        operands["parent"] = Operand(code=parent.id) if isinstance(parent, ast.Name) else context.operand(parent)
        decisions.replace(node, "native.child_name(parent, self)", operands)
        decisions.mark(node, row, row.name, "exact")
        return
    if not told and context.choices.style == "native" and not context.analysis.once(_says_sequential):
        decisions.replace(node, "native.registered_name(self)", operands)
        decisions.mark(node, row, row.name, "review", _COPIED, quiet=True)
        return
    decisions.replace(node, row.cases[0].torch, operands)
    if told:
        decisions.mark(node, row, row.name, "exact")
    else:
        decisions.mark(node, row, row.name, "review", _TOLD)


def given_name(context: Context, decisions: Decisions, node: ast.Attribute, links: list[Inst]) -> None:
    """The name of a link that the program sets itself: ``if model.name is None: model.name = 'generator'``.

    A link that nothing holds has none before. What its class says is hidden by Chainer, which begins with None.
    """
    asked = any(is_registered(context.analysis, k) or _names_itself(context.analysis, k) for k in links)
    if not asked and isinstance(node.ctx, ast.Load):
        decisions.replace(node, "getattr(link, 'name', None)", {"link": context.operand(node.value)})
    row = context.rules.rows.get("chainer.Link")
    decisions.mark(node, row, "chainer.Link.name", "review" if asked else "exact", _OWN if asked else "")


def _walk_behind(context: Context, node: ast.expr) -> str:
    """The walk that gives a link, or "": ``next(net.children())``, ``sorted(net.children(), key=lambda c: c.name)``."""
    found = walked(context.source, node)
    if found:
        return found
    values = reaching(context, node) if isinstance(node, ast.Name) else [node]
    function = context.source.enclosing(node, ast.Lambda)
    if isinstance(function, ast.Lambda) and any(a.arg == getattr(node, "id", "") for a in function.args.args):
        call = context.source.enclosing(function, ast.Call)
        values = [call] if isinstance(call, ast.Call) else []
    inside = (part for value in values for part in nodes_of(value))
    walks = [n.attr for n in inside if isinstance(n, ast.Attribute) and n.attr in ("children", "links", "namedlinks")]
    return walks[0] if walks else ""


def _names_itself(analysis: Analysis, link: Inst) -> bool:
    """Whether the class of a link, or one that it may be, has a name: ``name = 'net'``, ``self.name``, a property."""
    naming = analysis.once(_with_names)
    return any(cls in naming for cls in analysis.mro(link.cls)) or isinstance(link.cls, str) and bool(naming)


def _with_names(analysis: Analysis) -> frozenset[str | ClassInfo]:
    """The links of the project that set their name, or have a method that is called so."""
    return frozenset(
        cls
        for cls in analysis.classes.values()
        if analysis.derives(cls, "chainer.Link")
        and ("name" in cls.methods or any(_is_name(node) for node in nodes_of(cls.node)))
    )


def _is_name(node: ast.AST) -> bool:
    """Whether a name or an attribute ``name`` is set."""
    text = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return text == "name" and isinstance(node.ctx, ast.Store)  # type: ignore[attr-defined]
