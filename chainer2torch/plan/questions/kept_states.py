"""Steps that go backward through a recurrent model whose state nothing cuts: ``h`` leads to the steps before.

Chainer goes back through all of them each time. PyTorch has freed their graphs, and refuses. Such steps stand in loops,
in functions that loops call, in the `update_core` of an updater, or in no line at all: Chainer's updaters make them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Func, Inst, Kind, options
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo, ModuleInfo
from chainer2torch.analysis.recorded_calls import called_name
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.own_states import empties, is_asked, own_states
from chainer2torch.plan.questions.xp_uses import called

_STATEFUL = tuple(
    f"chainer.links.{name}"
    for name in ("LSTM", "GRU", "StatefulGRU", "StatefulMGU", "StatefulPeepholeLSTM", "StatefulZoneoutLSTM")
)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_AROUND = (*_LOOPS, *_FUNCTIONS, ast.Lambda, ast.ClassDef)
_CUTS = ("reset", "unchain", "set_state", "detach", "clear_state", "initialize", "truncate")  # parts of names
_DEPTH = 4  # of links in links, and of functions that call functions
_ANY = ("chainer.Link", "chainer.Chain", "chainer.ChainList")  # of a link of which no more is known
_UPDATER = "chainer.training.Updater"


def keeps_state(context: Context, step: ast.AST) -> bool:
    """Whether a step is made again and again, by code that calls such a model and never cuts or forgets its state."""
    around = context.source.enclosing(step, *_AROUND)
    if isinstance(around, _LOOPS):
        return context.ask(_keeps_state, around)
    return isinstance(around, _FUNCTIONS) and context.ask(_is_made_again, around)


def keeps_when_called(context: Context, function: Kind) -> bool:
    """Whether the model or the loss function of an updater, which calls it in each step, keeps such a state."""
    starts = [info for kind in options(function) for info in _run_by(context.analysis, kind, _DEPTH)]
    return _keeps(context.analysis, [], starts, options(function))


def _keeps_state(context: Context, loop: ast.AST) -> bool:
    body = [node for statement in getattr(loop, "body", ()) for node in nodes_of(statement)]
    return _keeps(context.analysis, body)


def _is_made_again(context: Context, function: ast.AST) -> bool:
    """Whether a function makes one step each time it is called, and is called so."""
    analysis = context.analysis
    own = [info for info in analysis.functions.values() if info.node is function]
    if any(info.name == "update_core" and info.cls and analysis.derives(info.cls, _UPDATER) for info in own):
        models = [] if _knows_models(analysis, own) else [*analysis.once(_trained)]
        starts = [*own, *(info for kind in models for info in _run_by(analysis, kind, _DEPTH))]
        return _keeps(analysis, [], starts, models)
    return any(context.ask(_keeps_state, loop) for info in own for loop in _loops_around(analysis, info, _DEPTH))


def _knows_models(analysis: Analysis, functions: list[FuncInfo]) -> bool:
    """Whether functions call links that are known, or hand one to an optimizer."""
    calls = (node for info in functions for node in nodes_of(info.node) if isinstance(node, ast.Call))
    kinds = (kind for call in calls for one in _run(call) for kind in options(analysis.kind(one)))
    return any(
        isinstance(kind, Func) or isinstance(kind, Inst) and kind.cls not in _ANY and analysis.is_link(kind)
        for kind in kinds
    )


def _trained(analysis: Analysis) -> frozenset[Kind]:
    """The models of the project that optimizers are set up with: ``optimizer.setup(model)``."""
    modules = analysis.project.modules.values()
    calls = [call for m in modules for call in m.source.of(ast.Call) if called_name(call) == "setup"]
    kinds = [kind for call in calls for value in call.args[:1] for kind in options(analysis.kind(value))]
    return frozenset(kind for kind in kinds if analysis.is_link(kind))


def _loops_around(analysis: Analysis, info: FuncInfo, depth: int) -> Iterator[ast.AST]:
    """The loops in which a function is called, also by functions that they call."""
    for module, call in analysis.once(_callers).get(info, ()):
        around = module.source.enclosing(call, *_AROUND)
        if isinstance(around, _LOOPS):
            yield around
        elif isinstance(around, _FUNCTIONS) and depth:
            for outer in analysis.functions.values():
                if outer.node is around and outer is not info:
                    yield from _loops_around(analysis, outer, depth - 1)


def _callers(analysis: Analysis) -> dict[FuncInfo, list[tuple[ModuleInfo, ast.Call]]]:
    found: dict[FuncInfo, list[tuple[ModuleInfo, ast.Call]]] = {}
    for module in analysis.project.modules.values():
        for call in module.source.of(ast.Call):
            assert isinstance(call, ast.Call)
            for kind in options(analysis.kind(call.func)):
                if isinstance(kind, Func):
                    found.setdefault(kind.info, []).append((module, call))
    return found


def _keeps(
    analysis: Analysis, body: list[ast.AST], starts: Sequence[FuncInfo] = (), models: Sequence[Kind] = ()
) -> bool:
    """Whether statements, and functions, call a model with a state, and nothing on the way cuts that."""
    reached = [*starts, *_reached(analysis, [*body, *(n for info in starts for n in nodes_of(info.node))], starts)]
    nodes = [*body, *(node for info in reached for node in nodes_of(info.node))]
    if any(map(_cuts, nodes)):
        return False
    kinds = (k for n in nodes if isinstance(n, ast.Call) for one in _run(n) for k in options(analysis.kind(one)))
    known = analysis.once(_known_states)
    is_stateful = any(_is_stateful(analysis, kind, _DEPTH, known) for kind in (*models, *kinds))
    states = {name for info in reached for name in own_states(analysis, info)}
    states |= {"c", "h"} if is_stateful else set()
    asked = (n for n in nodes if isinstance(n, ast.If) and is_asked(n.test, states))
    first = {node for one in asked for statement in one.body for node in nodes_of(statement)}
    return bool(states) and not any(empties(analysis, node, states) for node in nodes if node not in first)


def _known_states(_: Analysis) -> dict[tuple[Kind, int], bool]:
    """Whether objects have a state, as far as that was asked: many calls call the same ones."""
    return {}


def _is_stateful(analysis: Analysis, kind: Kind, depth: int, known: dict[tuple[Kind, int], bool]) -> bool:
    if not isinstance(kind, Inst) or depth == 0:
        return False
    found = known.get((kind, depth))
    if found is None:
        found = known[kind, depth] = _has_state(analysis, kind, depth, known)
    return found


def _has_state(analysis: Analysis, kind: Inst, depth: int, known: dict[tuple[Kind, int], bool]) -> bool:
    if any(analysis.derives(kind.cls, name) for name in _STATEFUL):
        return True
    if not analysis.is_link(kind):
        return False
    made = [part for site in kind.sites for part in analysis.objects.get(site, {}).values()]
    own = [part for cls in analysis.mro(kind.cls) if isinstance(cls, ClassInfo) for part in cls.attrs.values()]
    return any(_is_stateful(analysis, part, depth - 1, known) for one in (*made, *own) for part in options(one))


def _reached(analysis: Analysis, body: list[ast.AST], known: Sequence[FuncInfo]) -> Iterator[FuncInfo]:
    """The functions of the project that statements lead to, also where they hand one on."""
    seen = set(known)
    waiting = [body]
    while waiting:
        for call in (node for node in waiting.pop() if isinstance(node, ast.Call)):
            runs = _run(call)
            for node in (call.func, *call.args):
                for kind in options(analysis.kind(node)):
                    is_run = node in runs or isinstance(kind, Func)
                    for info in _run_by(analysis, kind, _DEPTH) if is_run else ():
                        if info not in seen:
                            seen.add(info)
                            waiting.append(nodes_of(info.node))
                            yield info


def _run(call: ast.Call) -> list[ast.expr]:
    """What a call runs: also the loss function that an optimizer is handed, ``optimizer.update(model, x, t)``."""
    handed = call.args[:1] if isinstance(call.func, ast.Attribute) and call.func.attr == "update" else []
    return [call.func, *handed]


def _run_by(analysis: Analysis, kind: Kind, depth: int) -> Iterator[FuncInfo]:
    """The function of the project that a call runs, also through a link of Chainer's: ``L.Classifier(Net())``."""
    info = called(analysis, kind)
    if info is not None:
        yield info
    elif isinstance(kind, Inst) and isinstance(kind.cls, str) and depth:
        for site in kind.sites:
            for part in analysis.objects.get(site, {}).values():
                for one in options(part):
                    yield from _run_by(analysis, one, depth - 1)


def _cuts(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and any(word in node.attr for word in _CUTS)


__all__ = ["keeps_state", "keeps_when_called"]
