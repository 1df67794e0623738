"""``total += loss.data`` before ``history.append(total)``: NumPy gives a new number, PyTorch changes the tensor."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN, Dct, HostArray, Kind, Ref, Tensor, options, scalar_type
from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.models.keyword_parameters import keywords_held
from chainer2torch.analysis.source import nodes_of, within
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.kept_elements import is_kept
from chainer2torch.plan.questions.augmented_assignments import HELPERS

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_HELD = frozenset({"array", "data", "grad"})
_OTHERS = (ast.Name, ast.Attribute, ast.Subscript)
_COPYING = frozenset({"copy", "dict", "list", "tuple", "sorted", "OrderedDict", "Counter", "defaultdict"})
_OF_OBJECTS = (Ref("copy.copy"), Ref("builtins.vars"))
_NUMBERS = ("int", "float", "bool")


def sum_of_its_own(context: Context, node: ast.AugAssign, sign: str) -> str | None:
    """What gives the new value of a number that is an array without axes, which changes while something else has it.

    What Variables hold (`x = loss.data`) is an array, which NumPy changes in place as well; arithmetic gives numbers.
    """
    if keeps_sum(context, node):
        return f"target {sign} value"
    kinds = [context.analysis.kind(part) for part in (node, node.target, node.value)]
    if type(node.op) in HELPERS and _is_of_copied_table(context, node, kinds):
        return f"compat.{HELPERS[type(node.op)]}(target, value, may_be_array=True)"
    unsure = all(all(_is_array(one) or scalar_type(one) in _NUMBERS for one in options(kind)) for kind in kinds)
    if not unsure or type(node.op) not in HELPERS or not _is_simple(context, node.target):
        return None
    if context.migrated or not context.imports_chainer or not any(map(_may_be_tensor, kinds[:2])):
        return None
    scope = _scope(context, node.target)
    held = any(isinstance(v, ast.Attribute) and v.attr in _HELD for v in _given(context, node.target, scope))
    if held or not _is_shared(context, node.target, scope):
        return None
    return f"compat.{HELPERS[type(node.op)]}(target, value, may_be_array=True)"


def _is_of_copied_table(context: Context, node: ast.AugAssign, kinds: list[Kind]) -> bool:
    """``table[key] += value`` of what nobody knows, and ``dict(table)``, which holds the same number."""
    target = node.target
    if not isinstance(target, ast.Subscript) or not _is_simple(context, target, of_unknown=True):
        return False
    if context.migrated or not context.imports_chainer or not all(map(_may_be_number, kinds)) or UNKNOWN not in kinds:
        return False
    if not _comes_from_model(context, node.value):
        return False
    if isinstance(target.value, ast.Name) and target.value.id == "self":
        return True  # a dictionary of the program's own, which others hold
    scope = context.source.tree if isinstance(target.value, ast.Attribute) else _scope(context, target)
    return any(_is_copy_of(call, target.value) for call in within(scope).of(ast.Call, ast.Subscript))


def _is_copy_of(node: ast.AST, table: ast.expr) -> bool:
    """Whether something holds all that a container does: ``dict(table)``, ``table.copy()``, ``row[:]``."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Slice) and isinstance(node.ctx, ast.Load) and _is_named(node.value, table)
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute) and node.func.attr == "copy" and _is_named(node.func.value, table):
        return True
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if called not in _COPYING or not node.args:
        return False
    given = node.args[0]
    if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and given.func.attr in ("items", "values"):
        given = given.func.value
    return _is_named(given, table)


def _is_named(node: ast.expr, table: ast.expr) -> bool:
    return isinstance(node, (ast.Name, ast.Attribute)) and _is_same(node, table)


def _comes_from_model(context: Context, value: ast.expr, around: frozenset[str] = frozenset()) -> bool:
    """Whether a value of unknown kind may be what a Variable holds: by a name of Chainer's, or by some caller.

    What a loop has a name for comes from what it goes through; ``around`` are the names of such loops.
    """
    function = context.source.enclosing(value, *_FUNCTIONS)
    info = context.analysis.functions.get(function) if function is not None else None
    for part in nodes_of(value):
        if isinstance(part, ast.Attribute) and part.attr in _HELD:
            return True
        if isinstance(part, ast.expr) and any(isinstance(k, Tensor) for k in options(context.analysis.kind(part))):
            return True
        if not isinstance(part, ast.Name) or info is None:
            continue
        if part.id in info.signature.names:
            return part.id in info.tensor_fed or not info.called
        keywords = info.node.args.kwarg
        if keywords is not None and part.id == keywords.arg:
            held = keywords_held(info)
            return not isinstance(held, Dct) or any(_may_be_tensor(kind) for _, kind in held.items)
        if part.id not in around:
            walked = [loop.iter for loop in within(info.node).of(ast.For) if part.id in _names(loop.target)]
            if any(_comes_from_model(context, one, around | {part.id}) for one in walked):
                return True
    return False


def _names(node: ast.expr) -> set[str]:
    return {part.id for part in nodes_of(node) if isinstance(part, ast.Name)}


def _is_array(kind: Kind) -> bool:
    return isinstance(kind, Tensor) and kind.array and kind.rank in (0, None)


def keeps_sum(context: Context, node: ast.AugAssign) -> bool:
    """Whether it is known to be such a number."""
    target = node.target
    if context.migrated or not context.imports_chainer or not _is_simple(context, target):
        return False
    kinds = [context.analysis.kind(part) for part in (node, target, node.value)]
    known = all(_is_number(kind) for kind in kinds)
    if not any(_may_be_tensor(kind) for kind in kinds) or not known and not all(map(_may_be_number, kinds)):
        return False
    scope = _scope(context, target)
    begun = _given(context, target, scope)
    if any(isinstance(value, ast.Attribute) and value.attr in _HELD for value in begun):
        return False
    if not known and not (begun and all(scalar_type(context.analysis.kind(value)) in _NUMBERS for value in begun)):
        return False
    if not known and not _comes_from_model(context, node.value):
        return False
    if known and (isinstance(target, ast.Subscript) or _is_parameter(context, target)):
        return True  # who else has it is not looked for
    if known and any(isinstance(v, _OTHERS) and _may_be_tensor(context.analysis.kind(v)) for v in begun):
        return True  # it had another name before
    return _is_shared(context, target, scope)


def _is_simple(context: Context, target: ast.expr, of_unknown: bool = False) -> bool:
    """A name, an attribute, or what a container has under a name or a literal: it may be said twice.

    ``of_unknown``: also what something has that may be an array.
    """
    if not isinstance(target, ast.Subscript):
        named = isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.attr not in _HELD
        return isinstance(target, ast.Name) or named
    held = options(context.analysis.kind(target.value))
    return (
        isinstance(target.value, (ast.Name, ast.Attribute))
        and not any(isinstance(part, (ast.Call, ast.Slice, ast.NamedExpr)) for part in nodes_of(target.slice))
        and not any(kind == UNKNOWN and not of_unknown or isinstance(kind, (HostArray, Tensor)) for kind in held)
    )


def _is_number(kind: Kind) -> bool:
    return all(
        isinstance(one, Tensor) and one.array and one.rank == 0 or scalar_type(one) in _NUMBERS for one in options(kind)
    )


def _may_be_number(kind: Kind) -> bool:
    return all(one == UNKNOWN or _is_number(one) for one in options(kind))


def _may_be_tensor(kind: Kind) -> bool:
    return any(one == UNKNOWN or isinstance(one, Tensor) for one in options(kind))


def _is_parameter(context: Context, target: ast.expr) -> bool:
    """Whether it is what a function is called with: the caller has it, too."""
    function = context.source.enclosing(target, *_FUNCTIONS)
    info = context.analysis.functions.get(function) if function is not None else None
    return isinstance(target, ast.Name) and info is not None and target.id in info.signature.names


def _scope(context: Context, target: ast.expr) -> ast.AST:
    """Where a name, or an attribute of an object, is given a value and read."""
    if isinstance(target, ast.Attribute):
        return context.source.tree
    return context.source.enclosing(target, *_FUNCTIONS) or context.source.tree


def _given(context: Context, target: ast.expr, scope: ast.AST) -> list[ast.expr]:
    return [
        statement.value
        for statement in within(scope).of(ast.Assign)
        if any(_is_same(one, target) for one in statement.targets)
    ]


def _is_same(node: ast.expr, target: ast.expr) -> bool:
    """The name; an attribute of this name, of whichever object; an item of the same container, under whichever key."""
    if isinstance(node, ast.Attribute) and isinstance(target, ast.Attribute):
        return node.attr == target.attr
    if isinstance(node, ast.Subscript) and isinstance(target, ast.Subscript):
        return ast.unparse(node.value) == ast.unparse(target.value)
    return isinstance(node, ast.Name) and isinstance(target, ast.Name) and node.id == target.id


def _copies_objects(analysis: Analysis) -> bool:
    """Whether a program makes objects that hold what others hold: ``copy.copy(meter)``, ``vars(meter)``."""
    for module in analysis.project.modules.values():
        source = module.source
        if any(node.attr == "__dict__" for node in source.of(ast.Attribute)):
            return True
        called = (analysis.kind(call.func) for call in source.of(ast.Call))
        if any(kind in _OF_OBJECTS for kind in called):
            return True
    return False


def _is_shared(context: Context, target: ast.expr, scope: ast.AST) -> bool:
    """Whether a name, a container or a caller gets the number while it goes on being added to."""
    if isinstance(target, ast.Attribute) and context.analysis.once(_copies_objects):
        return True
    for statement in within(scope).of(ast.Assign):
        if len(statement.targets) > 1 and any(_is_same(one, target) for one in statement.targets):
            return True
    for read in within(scope).of(type(target)):
        if not isinstance(read, ast.expr) or not _is_same(read, target):
            continue
        parent = context.source.parents.get(read)
        if not isinstance(getattr(read, "ctx", None), ast.Load):
            continue
        if isinstance(parent, ast.Return):
            if not isinstance(target, ast.Name):
                return True
        elif isinstance(parent, ast.Yield) or is_kept(context, read):
            return True
    return False


__all__ = ["sum_of_its_own"]
