"""Loops that go backward through a recurrent model and never cut its state: ``h`` leads to the steps before.

Chainer goes back through all of them each time. PyTorch has freed their graphs, and refuses.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Func, Inst, Kind, options
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.xp_uses import called

_STATEFUL = tuple(
    f"chainer.links.{name}"
    for name in ("LSTM", "GRU", "StatefulGRU", "StatefulMGU", "StatefulPeepholeLSTM", "StatefulZoneoutLSTM")
)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_AROUND = (*_LOOPS, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_CUTS = ("reset", "unchain", "set_state", "detach", "clear_state", "initialize", "truncate")  # parts of names
_DEPTH = 4  # of links in links


def keeps_state(context: Context, step: ast.AST) -> bool:
    """Whether a step stands in a loop that calls such a model, and in which nothing cuts or forgets its state."""
    loop = context.source.enclosing(step, *_AROUND)
    return isinstance(loop, _LOOPS) and context.ask(_keeps_state, loop)


def _keeps_state(context: Context, loop: ast.AST) -> bool:
    analysis = context.analysis
    body = [node for statement in getattr(loop, "body", ()) for node in nodes_of(statement)]
    members = [n.func.attr for n in body if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)]
    if not {"backward", "update"} & set(members):
        return False
    nodes = [*body, *_reached(analysis, body)]
    kinds = (kind for n in nodes if isinstance(n, ast.Call) for kind in options(analysis.kind(n.func)))
    return any(_is_stateful(analysis, kind, _DEPTH) for kind in kinds) and not any(map(_cuts, nodes))


def _is_stateful(analysis: Analysis, kind: Kind, depth: int) -> bool:
    if not isinstance(kind, Inst) or depth == 0:
        return False
    if any(analysis.derives(kind.cls, name) for name in _STATEFUL):
        return True
    if not analysis.is_link(kind):
        return False
    made = [part for site in kind.sites for part in analysis.objects.get(site, {}).values()]
    own = [part for cls in analysis.mro(kind.cls) if isinstance(cls, ClassInfo) for part in cls.attrs.values()]
    return any(_is_stateful(analysis, part, depth - 1) for one in (*made, *own) for part in options(one))


def _reached(analysis: Analysis, body: list[ast.AST]) -> Iterator[ast.AST]:
    """The code of the project that statements lead to, also where they hand a function on."""
    seen: set[FuncInfo] = set()
    waiting = [body]
    while waiting:
        for call in (node for node in waiting.pop() if isinstance(node, ast.Call)):
            for node in (call.func, *call.args):
                for kind in options(analysis.kind(node)):
                    info = called(analysis, kind) if node is call.func or isinstance(kind, Func) else None
                    if info is not None and info not in seen:
                        seen.add(info)
                        inner = nodes_of(info.node)
                        waiting.append(inner)
                        yield from inner


def _cuts(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and any(word in node.attr for word in _CUTS)


__all__ = ["keeps_state"]
