"""Where a value goes from one expression: into a name, an attribute, a parameter, out of a function.

A flow is understood when every place where the value may come out again is one at which the analysis knows the value.
These questions are the same for all kinds of objects; what is done with an object is the matter of its concern.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.facts import Facts
from chainer2torch.analysis.kinds import UNKNOWN, Class, Func, Inst, Kind, Union, options
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo
from chainer2torch.plan.context import Context

_UNSEEN = "{} also holds what is not known"


def stored(context: Context, target: ast.expr) -> str:
    """Why the loads of what is stored in ``target`` are not all known; "" if they are."""
    if isinstance(target, ast.Name):
        return _loads_of_name(context, target.id, context.scope(target, target.id))
    if isinstance(target, ast.Attribute):
        return _loads_of_attribute(context, target)
    return "kept in a container"


def _loads_of_name(context: Context, name: str, scope: ast.AST | None) -> str:
    unseen = any(
        isinstance(node.ctx, ast.Load) and context.kind(node) == UNKNOWN and context.scope(node, name) is scope
        for node in context.source.named.get(name, ())
    )
    if not unseen and scope is context.source.tree:
        unseen = any(
            context.analysis.kind(node) == UNKNOWN
            for module in context.analysis.project.modules.values()
            if module is not context.module and any(alias.name == name for alias in module.source.of(ast.alias))
            for node in module.source.named.get(name, ())
            if isinstance(node.ctx, ast.Load)
        )
    return _UNSEEN.format(f"`{name}`") if unseen else ""


def _loads_of_attribute(context: Context, target: ast.Attribute) -> str:
    """An attribute may be read in every file of the project."""
    owner = _classes(context.kind(target.value))
    for module in context.analysis.project.modules.values():
        for node in module.source.attributes.get(target.attr, ()):
            if (
                isinstance(node.ctx, ast.Load)
                and context.analysis.kind(node) == UNKNOWN
                and _may_be(context, context.analysis.kind(node.value), owner)
            ):
                return _UNSEEN.format(f"`.{target.attr}`")
    return ""


def is_own_attribute(context: Context, owner: Inst, name: str) -> bool:
    """Whether an attribute of an object is one that a class of the program's own stores, and Chainer's base lacks."""
    found = context.analysis.mro(owner.cls)
    own = any(isinstance(cls, ClassInfo) and name in cls.attrs for cls in found)
    return own and not any(isinstance(cls, str) and context.rules.member(cls, name) is not None for cls in found)


def _classes(kind: Kind) -> frozenset[str | ClassInfo]:
    return frozenset(k.cls for k in options(kind) if isinstance(k, Inst))


def _may_be(context: Context, kind: Kind, classes: frozenset[str | ClassInfo]) -> bool:
    """Whether a receiver may be an object of one of these classes, or of one below or above them."""
    if kind == UNKNOWN:
        return True
    mro = context.analysis.mro
    return any(a in mro(b) or b in mro(a) for a in _classes(kind) for b in classes)


def calls_of_display(context: Context, display: ast.expr, seen: frozenset[str] = frozenset()) -> list[ast.Call] | None:
    """The calls that get what stands in a dictionary with a name, as an argument or by ``**``; None: not known.

    ``options = {'optimizer': optimizers}; Updater(**options)``; ``options['optimizer'] = optimizers`` puts it there,
    too. What is looked up in it has to be known there.
    """
    statement = context.source.parents.get(display)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    holder = put_into(statement)
    target = statement.targets[0] if holder is None else holder
    known = isinstance(display, ast.Dict) if holder is None else _is_display(context, holder)
    if not known or not isinstance(target, ast.Name) or target.id in seen:
        return None
    if context.source.enclosing(target, ast.Global, ast.ClassDef) is not None:
        return None
    scope, calls = context.scope(target, target.id), list[ast.Call]()
    if scope is context.source.tree and any(
        alias.name in (target.id, "*")
        for module in context.analysis.project.modules.values()
        for alias in module.source.of(ast.alias)
    ):
        return None
    for node in context.source.of(ast.Name):
        if node.id != target.id or context.scope(node, node.id) is not scope or node is target:
            continue
        found = _calls_of_load(context, node, seen | {target.id})
        if found is None:
            return None
        calls += found
    return calls


def takers_of_display(context: Context, node: ast.expr) -> list[ast.Call]:
    """The calls that get an object in a dictionary with a name, or in a part of one; none: it stands in no such one."""
    inner: ast.expr = node
    for outer in context.source.ancestors(node):
        if isinstance(outer, ast.Assign):
            held = isinstance(inner, ast.Dict) or put_into(outer) is not None
            return calls_of_display(context, inner) or [] if held else []
        if not isinstance(outer, ast.Dict):
            break
        inner = outer
    return []


def put_into(statement: ast.AST) -> ast.Name | None:
    """The name of the dictionary in ``options['optimizer'] = optimizer``."""
    target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    if not isinstance(target, ast.Subscript) or not isinstance(target.slice, ast.Constant):
        return None
    return target.value if isinstance(target.value, ast.Name) else None


def written_in(context: Context, name: ast.expr) -> list[tuple[str, ast.expr]] | None:
    """What stands in a dictionary with a name, in the order of the text, by its keys; None: not all of it is known."""
    if not isinstance(name, ast.Name) or not _is_display(context, name):
        return None
    scope, found = context.scope(name, name.id), list[tuple[str, ast.expr]]()
    for node in context.source.of(ast.Name):
        if node.id != name.id or context.scope(node, node.id) is not scope:
            continue
        parent = context.source.parents[node]
        if isinstance(parent, ast.Assign) and isinstance(parent.value, ast.Dict) and node in parent.targets:
            pairs = list(zip(parent.value.keys, parent.value.values))
        elif isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Store):
            statement = context.source.parents[parent]
            if put_into(statement) is not node:
                return None
            assert isinstance(statement, ast.Assign)
            pairs = [(parent.slice, statement.value)]
        elif isinstance(parent, (ast.Attribute, ast.Starred, ast.Delete)):
            return None  # `options.update(more)`
        else:
            continue
        for key, value in pairs:
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                return None
            found.append((key.value, value))
    return found


def _is_display(context: Context, name: ast.Name) -> bool:
    """Whether a name stands for nothing but dictionaries that are written down where it gets its value."""
    scope = context.scope(name, name.id)
    stores = [n for n in context.source.named.get(name.id, ()) if isinstance(n.ctx, ast.Store)]
    bound = [context.source.parents[n] for n in stores if context.scope(n, n.id) is scope]
    return bool(bound) and all(isinstance(s, ast.Assign) and isinstance(s.value, ast.Dict) for s in bound)


def _calls_of_load(context: Context, node: ast.Name, seen: frozenset[str]) -> list[ast.Call] | None:
    parent = context.source.parents[node]
    if not isinstance(node.ctx, ast.Load):
        return [] if isinstance(parent, ast.Assign) and isinstance(parent.value, ast.Dict) else None
    if isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Store) and parent.value is node:
        return []
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Subscript):
        return calls_of_display(context, node, seen)  # a part of another one
    if isinstance(parent, ast.Subscript) and parent.value is node and isinstance(parent.ctx, ast.Load):
        return [] if context.kind(parent) != UNKNOWN else None
    if isinstance(parent, ast.Dict):
        return calls_of_display(context, parent, seen)
    call = context.source.parents[parent] if isinstance(parent, ast.keyword) else parent
    return [call] if isinstance(call, ast.Call) and call.func is not node else None


def passed(context: Context, call: ast.Call, argument: ast.expr) -> str | None:
    """Why an argument of a call is not known inside of what is called; None: nothing of the project is called."""
    callees = options(context.kind(call.func))
    functions = [_function(k) for k in callees]
    if not functions or any(f is None for f in functions):
        return None
    for function, callee in zip(functions, callees):
        assert function is not None
        name = _parameter(function, isinstance(callee, Class) or _is_bound(callee), call, argument)
        if name is None:
            return "passed in a way that is not followed"
        own = _context_of(context, function)
        node = next((a for a in _arguments(function) if a.arg == name), None)
        reason = _loads_of_name(own, name, function.node) if node is not None else "passed among other arguments"
        if reason:
            return reason
    return ""


def _function(kind: Kind) -> FuncInfo | None:
    if isinstance(kind, Func):
        return kind.info
    if isinstance(kind, Class):
        classes: list[ClassInfo] = [kind.info]
        for cls in classes:
            if "__init__" in cls.methods:
                return cls.methods["__init__"]
            classes += [k.info for base in cls.bases for k in options(base) if isinstance(k, Class)]
    return None


def _is_bound(kind: Kind) -> bool:
    return isinstance(kind, Func) and kind.receiver is not None and not kind.info.is_static


def _arguments(function: FuncInfo) -> list[ast.arg]:
    a = function.node.args
    return [*a.posonlyargs, *a.args, *a.kwonlyargs]


def _parameter(function: FuncInfo, bound: bool, call: ast.Call, argument: ast.expr) -> str | None:
    """The name of the parameter that gets an argument."""
    if function.is_changed or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    for keyword in call.keywords:
        if keyword.value is argument:
            return keyword.arg
    a = function.node.args
    positional = [*a.posonlyargs, *a.args][bound:]
    at = call.args.index(argument)
    return positional[at].arg if at < len(positional) else None


def _context_of(context: Context, function: FuncInfo) -> Context:
    if function.module is context.module:
        return context
    return Context(context.analysis, function.module, context.choices)


def returned(context: Context, node: ast.AST) -> str:
    """Why what a function returns here is not known where the function is called; "" if it is."""
    function = context.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    info = context.analysis.functions.get(function) if function is not None else None
    if info is None or info.is_changed or info.is_generator:
        return "returned by a function that is not followed"
    for parent, reference in references(context, info):
        if not isinstance(parent, ast.Call) or parent.func is not reference:
            return f"`{info.name}` returns it, and goes elsewhere as a value"
        if context.analysis.kind(parent) == UNKNOWN:
            return f"`{info.name}` also returns what is not known"
    return ""


def references(context: Context, info: FuncInfo) -> list[tuple[ast.AST | None, ast.AST]]:
    """The expressions that are a function, with what they stand in."""
    return context.analysis.once(_read_functions).get(info, [])


def _read_functions(analysis: Facts) -> dict[FuncInfo, list[tuple[ast.AST | None, ast.AST]]]:
    found: dict[FuncInfo, list[tuple[ast.AST | None, ast.AST]]] = {}
    for module in analysis.project.modules.values():
        for node in module.source.of(ast.Name, ast.Attribute):
            kind = analysis.kind(node)
            if isinstance(kind, (Func, Union)) and isinstance(node.ctx, ast.Load):
                for info in {k.info for k in options(kind) if isinstance(k, Func)}:
                    found.setdefault(info, []).append((module.source.parents.get(node), node))
    return found


def is_in_class(context: Context, node: ast.AST, base: str) -> bool:
    """Whether a node stands in a class of the program's own on one of Chainer's."""
    cls = context.source.enclosing(node, ast.ClassDef)
    info = context.analysis.classes.get(cls) if isinstance(cls, ast.ClassDef) else None
    return info is not None and context.analysis.derives(info, base)


def class_around(context: Context, node: ast.expr) -> ClassInfo | None:
    """The class of the program's own whose object ``super()``, or ``super().setup(x)``, is; None: it is another one."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    is_super = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"
    cls = context.source.enclosing(node, ast.ClassDef) if is_super else None
    return context.analysis.classes.get(cls) if isinstance(cls, ast.ClassDef) else None


def is_test(parent: ast.AST, node: ast.expr) -> bool:
    """``if optimizer:``, ``optimizer is None``: true of both."""
    if isinstance(parent, ast.Compare):
        operands = [parent.left, *parent.comparators]
        none = all(o is node or isinstance(o, ast.Constant) and o.value is None for o in operands)
        return none and all(isinstance(op, (ast.Is, ast.IsNot)) for op in parent.ops)
    if isinstance(parent, (ast.If, ast.While, ast.IfExp)):
        return parent.test is node
    return isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)


def unpacked(context: Context, display: ast.Tuple, node: ast.expr) -> ast.expr | None:
    """The target that gets ``node`` in ``a, b = x, node``."""
    statement = context.source.parents[display]
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        if isinstance(target, ast.Tuple) and len(target.elts) == len(display.elts):
            if not any(isinstance(e, ast.Starred) for e in (*target.elts, *display.elts)):
                return target.elts[display.elts.index(node)]
    return None


def short(node: ast.expr) -> str:
    """An expression in one line of a message."""
    return ast.unparse(node).partition("\n")[0][:40]


__all__ = [
    "calls_of_display",
    "class_around",
    "is_in_class",
    "is_own_attribute",
    "is_test",
    "passed",
    "references",
    "returned",
    "short",
    "stored",
    "unpacked",
]
