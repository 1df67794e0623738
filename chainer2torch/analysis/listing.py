"""What the analysis has found out about a file, as text: for people who wonder, and for tests."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.models.parameters import parameters
from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import BOTTOM, Kind
from chainer2torch.analysis.kind_specs import describe
from chainer2torch.analysis.module_index import FuncInfo, ModuleInfo

_WIDTH = 60
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def kinds_of(analysis: Analysis, module: ModuleInfo) -> Iterator[str]:
    """For the file and for each of its functions: a heading, then each name, attribute and call with its kind.

    A line is ``LINE:COLUMN  source  kind``, columns from 1, in the order of the source. A value of which nothing is
    known is ``unknown``; code that no run of the analysis has reached is ``not reached``.
    """
    inside: dict[ast.AST, list[ast.expr]] = {module.tree: []}
    for node in module.source.nodes:
        if isinstance(node, _FUNCTIONS):
            inside[node] = []
        elif isinstance(node, (ast.Name, ast.Attribute, ast.Call)):
            inside.setdefault(_scope(module, node), []).append(node)
    for scope in sorted(inside, key=_place):
        info = analysis.functions.get(scope)
        yield _heading(analysis, module, info, scope)
        for node in sorted(inside[scope], key=_place):
            kind = analysis.facts.get(node)
            place = f"{node.lineno}:{node.col_offset + 1}"
            yield f"  {place:<8} {_text(module, node):<{_WIDTH}} {_kind(kind)}".rstrip()


def _scope(module: ModuleInfo, node: ast.AST) -> ast.AST:
    """The function in whose body a node stands: decorators, defaults and annotations belong to what is around it."""
    child = node
    for parent in module.source.ancestors(node):
        if (
            isinstance(parent, ast.Lambda)
            and child is parent.body
            or isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef))
            and child in parent.body
        ):
            return parent
        child = parent
    return module.tree


def _place(node: ast.AST) -> tuple[int, int, int]:
    # of `a.b.c` the whole comes last, as it is evaluated
    return (getattr(node, "lineno", 0), getattr(node, "col_offset", 0), getattr(node, "end_col_offset", None) or 0)


def _heading(analysis: Analysis, module: ModuleInfo, info: FuncInfo | None, scope: ast.AST) -> str:
    if isinstance(scope, ast.Module):
        return f"{module.path}: module"
    name = ".".join(
        [
            getattr(scope, "name", "<lambda>"),
            *(
                getattr(a, "name", "<lambda>")
                for a in module.source.ancestors(scope)
                if isinstance(a, (*_FUNCTIONS, ast.ClassDef))
            ),
        ][::-1]
    )
    head = f"{module.path}:{getattr(scope, 'lineno', 0)}: {name}"
    if info is None:
        return f"{head}: not reached"
    shown = ", ".join(f"{key}: {_kind(kind)}" for key, kind in parameters(analysis, info).items())
    return f"{head}({shown}) -> {_kind(info.returns)}"


def _text(module: ModuleInfo, node: ast.expr) -> str:
    text = " ".join(module.source.segment(node).split())
    return text if len(text) <= _WIDTH else text[: _WIDTH - 3] + "..."


def _kind(kind: Kind | None) -> str:
    return "not reached" if kind is None or kind is BOTTOM else describe(kind)
