"""Host arrays for parameters that are taken for tensors: ``self.forward(x)`` whose other calls are out of sight.

What a parameter is can be told by how the function uses it (analysis/models/used_parameters.py). A call in sight that
hands it an array of the host has to make a tensor of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.kinds import Batch, Func, HostArray, Kind, Tensor, options
from chainer2torch.analysis.module_index import FuncInfo
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.host_arrays import tensor_of
from chainer2torch.plan.parts.host_values import wrap

_QUESTIONS = frozenset({"hasattr", "isinstance", "type"})


def handed_arrays(context: Context, decisions: Decisions, call: ast.Call, callee: Kind) -> None:
    """Converts the arguments of a call of functions of the project for which that holds."""
    functions = [kind for kind in options(callee) if isinstance(kind, Func)]
    if not functions or len(functions) < len(options(callee)) or any(isinstance(a, ast.Starred) for a in call.args):
        return
    named = [(k.arg, k.value) for k in call.keywords if k.arg is not None]
    given: list[tuple[int | str, ast.expr]] = [*enumerate(call.args), *named]
    for place, argument in given:
        if _is_of_host_at_times(context.analysis.kind(argument)):
            taken = [kind for function in functions for kind in _kinds(context, function, place)]
            if taken and all(isinstance(kind, Tensor) and not kind.array for kind in taken):
                wrap(context, decisions, argument, tensor_of(context, argument))


def _is_of_host_at_times(kind: Kind) -> bool:
    """Whether it is an array of the host on some ways, and on all others an array, too."""
    kinds = options(kind)
    return any(isinstance(k, HostArray) for k in kinds) and all(
        isinstance(k, (Batch, HostArray, Tensor)) for k in kinds
    )


def _kinds(context: Context, function: Func, place: int | str) -> Iterator[Kind]:
    """What a parameter is in the body of its function, where it is read first; one that is asked for its class is not
    taken for anything."""
    name = place if isinstance(place, str) else _name(function.info, place, function.receiver is not None)
    reads = [node for node in function.info.uses.get(name, ()) if isinstance(getattr(node, "ctx", None), ast.Load)]
    parents = function.info.module.source.parents
    if any(isinstance(call := parents.get(read), ast.Call) and _asks(call, read) for read in reads):
        yield function
        return
    first = min(reads, key=lambda node: (node.lineno, node.col_offset), default=None)
    yield from options(context.analysis.kind(first)) if first is not None else [function]


def _asks(call: ast.Call, value: ast.AST) -> bool:
    """Whether a call asks a value for its class or its members."""
    return isinstance(call.func, ast.Name) and call.func.id in _QUESTIONS and call.args[:1] == [value]


def _name(info: FuncInfo, place: int, bound: bool) -> str:
    names = [a.arg for a in (*info.node.args.posonlyargs, *info.node.args.args)]
    names = names[1:] if bound and not info.is_static else names
    return names[place] if place < len(names) else ""


__all__ = ["handed_arrays"]
