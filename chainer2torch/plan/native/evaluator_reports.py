"""What an own evaluator reports: whether the names under which it does are alike with pytorch-pfn-extras' evaluator."""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Ref
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.native.reporting_parts import REPORTS


def says_names(analysis: Analysis, cls: ClassInfo, named: ast.Assign) -> bool:
    """Whether nothing runs inside of ``report_scope`` but ``report(values, target)``, in any evaluation.

    What is reported elsewhere while ``evaluate`` runs is seen by nobody, neither in Chainer.
    """
    target = ast.unparse(named.targets[0])
    for module in analysis.project.modules.values():
        for node in module.source.of(ast.Name, ast.Attribute):
            kind = analysis.kind(node)
            if not isinstance(kind, Ref) or not kind.name.endswith(".report_scope"):
                continue
            scope, function = module.source.enclosing(node, ast.With), module.source.enclosing(node, ast.FunctionDef)
            if not isinstance(scope, ast.With) or not isinstance(function, ast.FunctionDef):
                return False
            if function.name != "evaluate":
                return False
            if cls.node in module.source.ancestors(scope):
                if not all(_only_reports(analysis, statement, target) for statement in scope.body):
                    return False
    return True


def reports_for_target(analysis: Analysis, cls: ClassInfo, named: ast.Assign) -> bool:
    """Whether what the class itself reports is of its target, and of no part of it."""
    target = ast.unparse(named.targets[0])
    calls = [node for node in nodes_of(cls.node) if isinstance(node, ast.Call)]
    kinds = [(call, analysis.kind(call.func)) for call in calls]
    reports = [call for call, kind in kinds if isinstance(kind, Ref) and kind.name in REPORTS]
    return all(_is_report(analysis, call, target) for call in reports)


def _only_reports(analysis: Analysis, statement: ast.stmt, target: str) -> bool:
    calls = [node for node in nodes_of(statement) if isinstance(node, ast.Call)]
    return all(_is_report(analysis, call, target) for call in calls)


def _is_report(analysis: Analysis, call: ast.Call, target: str) -> bool:
    """``report(values, target)``, ``report(values)``"""
    kind = analysis.kind(call.func)
    observers = [*call.args[1:], *(keyword.value for keyword in call.keywords)]
    known = isinstance(kind, Ref) and kind.name in REPORTS
    return known and all(ast.unparse(observer) == target for observer in observers)


__all__ = ["reports_for_target", "says_names"]
