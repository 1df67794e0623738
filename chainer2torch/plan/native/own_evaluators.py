"""Evaluators of the program's own that do something around Chainer's evaluation, and no more.

``class TestModeEvaluator(extensions.Evaluator)`` with an ``evaluate`` that asks for the target and calls that of its
base: so it does on pytorch-pfn-extras' evaluator, made as that is.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Class, Inst, Ref, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.native.objects import Objects, Use
from chainer2torch.plan.questions.overridden_methods import is_super

_EVALUATOR = "chainer.training.extensions.Evaluator"
_BASE = "pytorch_pfn_extras.training.extensions.Evaluator"
_METHOD = "evaluate"
_SAME = frozenset({"get_target", "get_all_targets", "default_name", "name"})  # members of both bases, with one meaning
_SET = frozenset({"default_name"})  # what a class may say in both: a `name` is hidden by the constructor of the other


def goes_around(objects: Objects, inst: Inst) -> bool:
    """Whether an evaluator is of a class that only does something around the evaluation of its base."""
    return isinstance(inst.cls, ClassInfo) and inst.cls in objects.analysis.once(_classes)


def meet_others(objects: Objects, inst: Inst) -> None:
    """All objects of such a class become native or none does: they have one base."""
    for uses in objects.uses.values():
        other = uses[0].inst
        if other.cls is inst.cls and other.site and inst.site:
            objects.meet(inst.site, other.site)


def used(objects: Objects, use: Use) -> bool:
    """Whether a use stands in such a class, and is one that it may have."""
    cls = use.context.source.enclosing(use.node, ast.ClassDef)
    info = objects.analysis.classes.get(cls) if isinstance(cls, ast.ClassDef) else None
    return info is not None and info in objects.analysis.once(_classes)


def emit_base(objects: Objects, context: Context, decisions: Decisions) -> None:
    """The bases of those classes of this file whose objects become native."""
    for cls in objects.analysis.once(_classes):
        if cls.module is not context.module:
            continue
        made = [uses[0].inst for key, uses in objects.uses.items() if isinstance(key, int)]
        of_class = [inst for inst in made if inst.cls is cls]
        if of_class and not any(objects.reason(inst) for inst in of_class):
            base = cls.node.bases[0]
            decisions.replace(base, _BASE, {})
            decisions.use(base)
            decisions.mark(base, context.rules.rows[_EVALUATOR], _EVALUATOR, "exact")


def _classes(analysis: Analysis) -> frozenset[ClassInfo]:
    found = [cls for cls in analysis.classes.values() if _only_goes_around(analysis, cls)]
    named = named_otherwise(analysis) if found else set()
    return frozenset(cls for cls in found if cls not in named)


def _only_goes_around(analysis: Analysis, cls: ClassInfo) -> bool:
    bases = cls.node.bases
    alone = len(bases) == 1 and not cls.node.keywords and not cls.node.decorator_list
    if not alone or not set(cls.methods) <= {_METHOD} or not all(map(_may_stand, cls.node.body)):
        return False
    if options(analysis.kind(bases[0])) != (Ref(_EVALUATOR),):
        return False
    if not cls.methods:
        return True  # another name for what it reports, and no more
    node = cls.methods[_METHOD].node
    if not isinstance(node, ast.FunctionDef) or node.decorator_list or len(node.args.args) != 1:
        return False
    own = node.args.args[0].arg
    parents = cls.module.source.parents
    calls = [n for n in nodes_of(node) if isinstance(n, ast.Call) and _is_evaluation(n)]
    asked = [n for n in nodes_of(node) if isinstance(n, ast.Name) and n.id == own]
    return len(calls) == 1 and all(_is_understood(parents, n) for n in asked)


def _may_stand(statement: ast.stmt) -> bool:
    """A method, a text, ``default_name = 'val'``: what the body of such a class may have."""
    if isinstance(statement, ast.Assign):
        return all(isinstance(target, ast.Name) and target.id in _SET for target in statement.targets)
    text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return isinstance(statement, (ast.FunctionDef, ast.Pass)) or text


def _is_evaluation(call: ast.Call) -> bool:
    """``super().evaluate()``."""
    function = call.func
    return (
        isinstance(function, ast.Attribute)
        and function.attr == _METHOD
        and is_super(function.value)
        and not call.args
        and not call.keywords
    )


def _is_understood(parents: dict[ast.AST, ast.AST], node: ast.Name) -> bool:
    parent = parents[node]
    if isinstance(parent, ast.Call):
        return is_super(parent)
    return isinstance(parent, ast.Attribute) and isinstance(parent.ctx, ast.Load) and parent.attr in _SAME


def named_otherwise(analysis: Analysis) -> set[ClassInfo]:
    """The classes that something else is done with than to make an object: a class derives from one, a table has it."""
    found: set[ClassInfo] = set()
    for module in analysis.project.modules.values():
        parents = module.source.parents
        for node in module.source.of(ast.Name, ast.Attribute):
            kind = analysis.kind(node)
            if not isinstance(kind, Class) or not isinstance(getattr(node, "ctx", None), ast.Load):
                continue
            parent = parents[node]
            called = isinstance(parent, ast.Call) and (parent.func is node or is_super(parent))
            if not called and not (isinstance(parent, ast.Attribute) and parent.value is not node):
                found.add(kind.info)
    return found


__all__ = ["emit_base", "goes_around", "meet_others", "named_otherwise", "used"]
