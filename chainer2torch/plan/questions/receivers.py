"""What the surroundings tell of a value whose kind is not known."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Inst, Ref, options
from chainer2torch.analysis.models.xp_modules import CUPY, EITHER, XP
from chainer2torch.analysis.source import nodes_of, within
from chainer2torch.plan.context import Context

_OF_ARRAYS = (Ref("numpy.ndarray"), Ref("chainer.backends.cuda.ndarray"), Ref("chainer.get_array_types"))
# methods of arrays that a tensor has, too, with another meaning or other arguments
OTHER_MEANING = frozenset("cumprod cumsum dot max min nonzero repeat round sort std take var".split())
_OF_VARIABLES = frozenset({"array", "backward", "cleargrad", "creator", "grad", "unchain_backward", "zerograd"})
_OF_ARRAYS_ALONE = frozenset({"argmax", "argmin", "argsort", "astype", "dtype", "max", "min", "ndim", "ravel", "shape"})


def is_of_arrays_alone(call: ast.Call, name: str) -> bool:
    """Whether a method is called as arrays have it, and tensors otherwise: ``x.round(3)``, ``x.std(axis=0)``.

    What is neither, a table of pandas say, is left to itself by the helper that looks at run time.
    """
    by_axis = name in OTHER_MEANING and any(keyword.arg == "axis" for keyword in call.keywords)
    return by_axis or name in ("max", "min", "round") and len(call.args) == 1 and not call.keywords


def seen_before(context: Context, node: ast.Attribute) -> bool:
    """Whether an earlier run decided on this receiver, which saw more of what it is, and left no marker here."""
    return context.migrated and not context.marked_before(node)


def among_tensors(context: Context, node: ast.expr) -> bool:
    """Whether a value of unknown kind stands where tensors are likely.

    That is in a method of a link, in a function with an array module, or beside a dtype of torch; and where the
    program asks a name for what Variables alone have.
    """
    if isinstance(node, ast.Attribute) and _is_variable_elsewhere(context, node.value):
        return True
    given = (*node.args, *(k.value for k in node.keywords)) if isinstance(node, ast.Call) else ()
    if any(isinstance(k, Inst) and k.cls == "torch.dtype" for k in map(context.analysis.kind, given)):
        return True
    if any(isinstance(n, ast.Attribute) and n.attr == "xp" for part in given for n in nodes_of(part)):
        return True  # `astype(model.xp.float32)`
    cls = context.enclosing_class(node)
    if cls is not None and context.analysis.derives(cls, "chainer.Link"):
        return True
    function = context.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef)
    if function is not None and isinstance(node, ast.Attribute) and _is_given_to_functions(context, node, function):
        return True
    return function is not None and any(
        isinstance(n, ast.Name) and any(k in (XP, EITHER) for k in options(context.analysis.kind(n)))
        for n in nodes_of(function)
    )


def _is_variable_elsewhere(context: Context, value: ast.expr) -> bool:
    """Whether the function around a name asks it for what Variables alone have: ``y.size`` beside ``y.array``."""
    if not isinstance(value, ast.Name):
        return False
    scope = context.source.enclosing(value, ast.FunctionDef, ast.AsyncFunctionDef) or context.source.tree
    return any(
        node.attr in _OF_VARIABLES and isinstance(node.value, ast.Name) and node.value.id == value.id
        for node in within(scope).of(ast.Attribute)
    )


def tested_as_array(context: Context, value: ast.expr) -> bool:
    """Whether a test around a name says that it is an array of NumPy's or CuPy's, which may be a tensor by now."""
    child: ast.AST = value
    for parent in context.source.ancestors(value) if isinstance(value, ast.Name) else ():
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            return False
        if any(_says_array(context, test, value) for test in _tests_before(parent, child)):
            return True
        child = parent
    return False


def _tests_before(parent: ast.AST, child: ast.AST) -> list[ast.expr]:
    """The conditions that hold where ``child``, a part of ``parent``, is reached."""
    if isinstance(parent, ast.BoolOp) and isinstance(parent.op, ast.And):
        return parent.values[: next(i for i, value in enumerate(parent.values) if value is child)]
    if isinstance(parent, (ast.If, ast.While)) and any(child is statement for statement in parent.body):
        return _conjuncts(parent.test)
    return _conjuncts(parent.test) if isinstance(parent, ast.IfExp) and child is parent.body else []


def _conjuncts(test: ast.expr) -> list[ast.expr]:
    return list(test.values) if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]


def _says_array(context: Context, test: ast.expr, value: ast.expr) -> bool:
    if not isinstance(test, ast.Call) or len(test.args) != 2:
        return False
    asked, classes = test.args
    if not isinstance(asked, ast.Name) or not isinstance(value, ast.Name) or asked.id != value.id:
        return False
    if context.analysis.kind(test.func) != Ref("builtins.isinstance"):
        return False
    return any(_is_of_arrays(context, c) for c in (classes.elts if isinstance(classes, ast.Tuple) else [classes]))


def _is_of_arrays(context: Context, cls: ast.expr) -> bool:
    """Whether a class is one of arrays, or a call gives all of them."""
    kind = context.analysis.kind(cls.func if isinstance(cls, ast.Call) else cls)
    owner = context.analysis.kind(cls.value) if isinstance(cls, ast.Attribute) and cls.attr == "ndarray" else None
    return kind in _OF_ARRAYS or isinstance(owner, Ref) and owner.name in CUPY


def is_asked_like_array(context: Context, node: ast.Attribute) -> bool:
    """Whether a function asks a name that it copies, or the copy, for what arrays alone have: ``x.argmax()``."""
    function = context.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef)
    call = context.source.parents.get(node)
    if node.attr != "copy" or function is None or not isinstance(node.value, ast.Name):
        return False
    if not isinstance(call, ast.Call) or call.args or call.keywords:
        return False
    statement = context.source.parents.get(call)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    names = {node.value.id, *(target.id for target in targets if isinstance(target, ast.Name))}
    asked = (n for n in nodes_of(function) if isinstance(n, ast.Attribute) and n.attr in _OF_ARRAYS_ALONE)
    return any(isinstance(n.value, ast.Name) and n.value.id in names for n in asked)


def _is_given_to_functions(context: Context, node: ast.Attribute, function: ast.AST) -> bool:
    """Whether functions of Chainer's are given the owner of a member, or what operators make of it."""
    owner = node.value.id if isinstance(node.value, ast.Name) else ""
    calls = [n for n in nodes_of(function) if isinstance(n, ast.Call)] if owner else []
    for call in calls:
        kind = context.analysis.kind(call.func)
        if not isinstance(kind, Ref) or not kind.name.startswith("chainer.functions."):
            continue
        parts: list[ast.expr] = list(call.args)
        while parts:
            part = parts.pop()
            if isinstance(part, ast.BinOp):
                parts += [part.left, part.right]
            elif isinstance(part, ast.Name) and part.id == owner:
                return True
    return False
