"""Which array module: ``xp is numpy``, ``cuda.cupy if gpu >= 0 else numpy``, and names that no module has."""

from __future__ import annotations

import ast

from chainer2torch.analysis.models.xp_modules import CUPY, EITHER, XP
from chainer2torch.analysis.kinds import Inst, Kind, Ref, options
from chainer2torch.plan.sites import Plan

_PSEUDO = frozenset({"xp.Module", "xp.Either", "xp.Random", "xp.LinearAlgebra"})
_CODE = "C2T320"


def modules(plan: Plan) -> None:
    """Decides what compares and chooses array modules. Runs before the references are visited."""
    for node in plan.source.of(ast.Compare, ast.IfExp, ast.Assign, ast.Attribute):
        if isinstance(node, ast.Compare):
            _compare(plan, node)
        elif isinstance(node, ast.IfExp):
            _choose(plan, node)
        elif isinstance(node, ast.Assign):
            _assign(plan, node)
        elif isinstance(node, ast.Attribute):
            _missing(plan, node)


def _compare(plan: Plan, node: ast.Compare) -> None:
    """``xp is numpy`` asks whether the data lies on the CPU."""
    if len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)):
        return
    left, right = node.left, node.comparators[0]
    for module, name in ((left, right), (right, left)):
        kind, reference = plan.analysis.kind(module), plan.analysis.kind(name)
        if not _is_module(kind) or not isinstance(reference, Ref) or reference.name not in CUPY | {"numpy"}:
            continue
        positive = isinstance(node.ops[0], (ast.Is, ast.Eq)) is (reference.name == "numpy")
        plan.replace(node, "compat.on_cpu(xp)" if positive else "not compat.on_cpu(xp)", {"xp": plan.operand(module)})
        _consume(plan, name, reference)
        return


def _choose(plan: Plan, node: ast.IfExp) -> None:
    """``cuda.cupy if gpu >= 0 else numpy`` is the array module of a device that is chosen."""
    body, orelse = plan.analysis.kind(node.body), plan.analysis.kind(node.orelse)
    if plan.analysis.kind(node) != XP or not (isinstance(body, Ref) and isinstance(orelse, Ref)):
        return
    first, second = ("cuda", "cpu") if body.name in CUPY else ("cpu", "cuda")
    plan.replace(node, f"compat.array_module('{first}' if test else '{second}')", {"test": plan.operand(node.test)})
    _consume(plan, node.body, body)
    _consume(plan, node.orelse, orelse)


def _assign(plan: Plan, node: ast.Assign) -> None:
    """``xp = numpy`` where the same name is also given CuPy: tensors on the CPU."""
    kind = plan.analysis.kind(node.value)
    if len(node.targets) != 1 or not isinstance(kind, Ref) or kind.name != "numpy":
        return
    target = ast.unparse(node.targets[0])
    for other in plan.source.of(ast.Assign):
        if other is not node and len(other.targets) == 1 and ast.unparse(other.targets[0]) == target:
            value = plan.analysis.kind(other.value)
            if isinstance(value, Ref) and value.name in CUPY:
                plan.replace(node.value, "compat.array_module('cpu')", {})
                plan.replace(other.value, "compat.array_module('cuda')", {})
                _consume(plan, other.value, value)


def _missing(plan: Plan, node: ast.Attribute) -> None:
    kinds = options(plan.analysis.kind(node.value))
    if (
        all(isinstance(k, Inst) and k.cls in _PSEUDO for k in kinds)
        and plan.rules.member(str(kinds[0].cls), node.attr) is None  # type: ignore[attr-defined]
    ):
        plan.mark(
            node,
            None,
            f"xp.{node.attr}",
            "manual",
            "the array module for tensors does not have this name; write it with torch",
            _CODE,
        )


def _is_module(kind: Kind) -> bool:
    return all(k in (XP, EITHER) for k in options(kind))


def _consume(plan: Plan, node: ast.expr, reference: Ref) -> None:
    if reference.name != "numpy":
        plan.mark(node, plan.rules.rows.get(reference.name), reference.name, "exact", "", _CODE)
        plan.use(node)


__all__ = ["modules"]
