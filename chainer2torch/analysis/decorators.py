"""Decorators: Chainer's, which call the function with objects of their own, and those of the project.

One of the project's keeps the meaning of a function if it returns the function, or another that hands all arguments on
and returns what comes back: that is timing, logging, counting, registering.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.facts import Facts
from chainer2torch.analysis.kinds import UNKNOWN, Func, Kind, Ref, options
from chainer2torch.analysis.kind_specs import parse_spec
from chainer2torch.analysis.module_index import FuncInfo

# what is passed to a function by the decorator's object: {position: kind}
_PASSED: dict[str, dict[int, str]] = {
    "chainer.dataset.converter": {1: "instance chainer.backend.Device"},
    "chainer.training.make_extension": {0: "instance chainer.training.Trainer"},
}


def decorator_name(facts: Facts, node: ast.expr) -> str | None:
    """The Chainer name of a decorator (called or not) that keeps the meaning of its function; else None."""
    kind = facts.facts.get(node.func if isinstance(node, ast.Call) else node)
    return kind.name if isinstance(kind, Ref) and kind.name in _PASSED else None


def passed(facts: Facts, func: FuncInfo) -> dict[str, Kind]:
    """The kinds of parameters that Chainer fills when it calls a decorated function."""
    if isinstance(func.node, ast.Lambda):
        return {}
    found: dict[str, Kind] = {}
    parameters = [p.arg for p in (*func.node.args.posonlyargs, *func.node.args.args)]
    for decorator in func.node.decorator_list:
        for position, spec in _PASSED.get(decorator_name(facts, decorator) or "", {}).items():
            if position < len(parameters):
                found[parameters[position]] = parse_spec(spec)
    return found


# decorators with arguments that keep the meaning of a function or class
_KEEPING = frozenset({"dataclasses.dataclass", "functools.lru_cache", "functools.wraps", "six.add_metaclass"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def keeps_meaning(facts: Facts, node: ast.expr, kind: Kind) -> bool:
    """Whether what a decorator of this kind makes of a function takes the same and returns the same."""
    if isinstance(node, ast.IfExp):  # `@cuda.fuse() if fused else (lambda f: f)`
        return all(
            decorator_name(facts, way) is not None or keeps_meaning(facts, way, facts.facts.get(way, UNKNOWN))
            for way in (node.body, node.orelse)
        )
    ways = [one for one in options(kind) if isinstance(one, Func)]
    if len(ways) == len(options(kind)):  # `timed = log if debug else nothing`
        return all(_hands_on(way.info) for way in ways)
    if isinstance(node, ast.Call):
        callee = facts.facts.get(node.func)
        return isinstance(callee, Ref) and callee.name in _KEEPING
    return isinstance(kind, Ref)


def changes_meaning(kind: Kind) -> bool:
    """Whether a decorator is one of the project's own that gives or takes something else."""
    return any(isinstance(one, Func) and not _hands_on(one.info) for one in options(kind))


def wrapper_of(kind: Kind) -> ast.FunctionDef | None:
    """The function that a decorator of the project's makes, if it hands all its arguments on to the decorated one.

    What it returns is its own: the array of a Variable, say, or a list of what a generator yields.
    """
    ways = options(kind)
    node = ways[0].info.node if len(ways) == 1 and isinstance(ways[0], Func) else None
    if not isinstance(node, ast.FunctionDef) or not node.args.args:
        return None
    inner = {n.name: n for n in node.body if isinstance(n, ast.FunctionDef)}
    returned = [_wrapped(n.value) for n in _own(node) if isinstance(n, ast.Return)]
    made = [inner.get(value.id) for value in returned if isinstance(value, ast.Name)]
    wrapper = made[0] if len(made) == len(returned) == 1 else None
    return wrapper if wrapper is not None and _hands_over(wrapper, node.args.args[0].arg) else None


def gives_back(kind: Kind) -> FuncInfo | None:
    """The function of a decorator of the project's that returns the very function or class: one that registers it."""
    node = kind.info.node if isinstance(kind, Func) else None
    if not isinstance(kind, Func) or isinstance(node, ast.Lambda) or node is None:
        return None
    function = decorated_by(kind.info)
    returned = [n.value for n in _own(node) if isinstance(n, ast.Return)]
    same = returned and all(isinstance(v, ast.Name) and v.id == function for v in returned)
    return kind.info if same else None


def decorated_by(decorator: FuncInfo) -> str | None:
    """The parameter that a decorator gets the function or class in; of a method the first is its object."""
    own = decorator.cls is not None and not decorator.is_static
    parameters = decorator.node.args.args[1 if own else 0 :]
    return parameters[0].arg if parameters else None


def _hands_on(decorator: FuncInfo) -> bool:
    node, function = decorator.node, decorated_by(decorator)
    if function is None:
        return False
    if isinstance(node, ast.Lambda):
        return isinstance(node.body, ast.Name) and node.body.id == function
    inner = {n.name: n for n in node.body if isinstance(n, ast.FunctionDef)}
    returned = [_wrapped(n.value) for n in _own(node) if isinstance(n, ast.Return)]
    return bool(returned) and all(
        isinstance(value, ast.Name)
        and (value.id == function or value.id in inner and _calls_through(inner[value.id], function))
        for value in returned
    )


def _wrapped(value: ast.expr | None) -> ast.expr | None:
    """``wrapper`` of ``functools.update_wrapper(wrapper, function)`` and of ``functools.wraps(function)(wrapper)``."""
    if isinstance(value, ast.Call) and value.args:
        maker = value.func.func if isinstance(value.func, ast.Call) else value.func
        name = maker.id if isinstance(maker, ast.Name) else getattr(maker, "attr", "")
        return value.args[0] if name in ("update_wrapper", "wraps") else value
    return value


def _calls_through(wrapper: ast.FunctionDef, function: str) -> bool:
    """Whether a function gives its own arguments to ``function`` and returns the result."""
    through, nodes = _through(wrapper, function), list(_own(wrapper))
    results = {
        ast.unparse(n.targets[0]) for n in nodes if isinstance(n, ast.Assign) and ast.unparse(n.value) == through
    }
    stored = [n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)]
    returned = [n.value for n in nodes if isinstance(n, ast.Return)]
    return (
        not any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in nodes)
        and bool(returned)
        and _hands_over(wrapper, function, sure=False)
        and all(
            value is not None
            and (
                ast.unparse(value) == through
                or isinstance(value, ast.Name)
                and value.id in results
                and stored.count(value.id) == 1
            )
            for value in returned
        )
    )


def _hands_over(wrapper: ast.FunctionDef, function: str, sure: bool = True) -> bool:
    """Whether all calls of ``function`` get the arguments of the function around them, as they are.

    ``sure``: there must be one.
    """
    a, through, nodes = wrapper.args, _through(wrapper, function), list(_own(wrapper))
    own = {p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg)))} | {function}
    calls = [n for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == function]
    stored = {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    return (
        not (a.defaults or any(a.kw_defaults) or own & stored)
        and (bool(calls) or not sure)
        and all(ast.unparse(call) == through for call in calls)
    )


def _through(wrapper: ast.FunctionDef, function: str) -> str:
    """The call of ``function`` that hands on what its wrapper gets."""
    a = wrapper.args
    given = [
        *(p.arg for p in (*a.posonlyargs, *a.args)),
        *([f"*{a.vararg.arg}"] if a.vararg else []),
        *(f"{p.arg}={p.arg}" for p in a.kwonlyargs),
        *([f"**{a.kwarg.arg}"] if a.kwarg else []),
    ]
    return ast.unparse(ast.parse(f"{function}({', '.join(given)})", mode="eval"))


def _own(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function's body without those of functions inside."""
    waiting = [*getattr(function, "body", [])]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _FUNCTIONS):
            waiting += ast.iter_child_nodes(node)
