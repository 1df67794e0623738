"""Values that are written as text, which look as they did in Chainer: arrays, shapes and dtypes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from chainer2torch.analysis.kinds import (
    UNKNOWN,
    Batch,
    Const,
    Dct,
    Func,
    Inst,
    Kind,
    Ref,
    Tensor,
    Union,
    options,
    scalar_type,
)
from chainer2torch.analysis.source import nodes_of, within
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.assigned_values import reaching, unpacked
from chainer2torch.plan.parts.host_values import is_held_by_anything, is_torch_dtype, to_host_if_array, wrap
from chainer2torch.plan.parts.shapes import is_shape, returned_here
from chainer2torch.plan.parts.written_objects import is_hashed, number_as_text, shows_fields
from chainer2torch.plan.parts.written_kinds import (
    holds_arrays,
    holds_arrays_inside,
    holds_kind,
    holds_shapes,
    is_array_of_either_side,
    is_number_at_times,
    is_reported,
    is_sized,
    is_written_anew,
    may_hold_tensors,
    may_be_number,
)
from chainer2torch.plan.parts.text_fields import as_they_are, converted_as_they_are, shows_whole
from chainer2torch.plan.parts.written_members import members_as_text
from chainer2torch.plan.questions.perhaps import may_be_tensor

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# a value that is formatted as it is: `{}`, `{loss}`, `{0.shape}`, not `{:.3f}`
_WHOLE_VALUE = re.compile(r"\{[\w.\[\]]*(?:![rsa](?::[^{}]*)?|:)?\}")
_OF_LOGGERS = frozenset({"critical", "debug", "error", "exception", "info", "log", "warn", "warning"})
_LOGGER = re.compile(r"(?i)(^|_)log(ger|ging)?$")
_TEXT = "chainer.Variable.__str__"
_FUNCTIONS_OF = "chainer.functions."
_FILLING = frozenset({"extend", "insert", "setdefault", "update"})
_WRITING = frozenset({f"builtins.{name}" for name in ("ascii", "print", "repr", "str")})
_WRITING |= {"click.echo", "pprint.pformat", "pprint.pprint", "rich.print", "tqdm.tqdm.write", "warnings.warn"}
_REPR = Ref("builtins.repr")
_RAISED = ("Error", "Exception", "Warning")  # classes of what is raised and written some day
_SHOW_PARTS = frozenset(f"builtins.{name}" for name in ("dict", "list", "map", "reversed", "set", "sorted", "tuple"))


def writes_text(context: Context, call: ast.Call, callee: Kind) -> bool:
    """Whether arguments are written as text, which looks like NumPy's: ``print(x)``, ``str(x)``, ``'{}'.format(x)``.

    So are those of a logger: ``logging.info('%s', x)``, ``self.logger.debug(x)``.
    """
    if isinstance(call.func, ast.Attribute) and call.func.attr in _OF_LOGGERS and call.args:
        owner, level = call.func.value, call.func.attr == "log" and len(call.args) > 1
        text = context.analysis.kind(call.args[int(level)])
        named = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
        known = isinstance(callee, Ref) and callee.name.startswith("logging.")
        if known or callee == UNKNOWN and _LOGGER.search(named):
            numbers_alone = isinstance(text, Const) and not shows_whole(str(text.value))
            return not numbers_alone or len(call.args) == 1 + level
    if isinstance(callee, Ref):
        if callee.name == "builtins.format":
            return len(call.args) == 1
        return callee.name in _WRITING or callee.name.startswith("builtins.") and callee.name.endswith(_RAISED)
    if not (isinstance(call.func, ast.Attribute) and call.func.attr == "format"):
        return False
    text = context.analysis.kind(call.func.value)
    return scalar_type(text) == "str" and (not isinstance(text, Const) or bool(_WHOLE_VALUE.search(text.value)))


def call_as_text(context: Context, decisions: Decisions, call: ast.Call, callee: Kind) -> None:
    """The arguments of a call that writes them: ``print(x, file=stream)``."""
    arguments = [*call.args, *(k.value for k in call.keywords if k.arg not in ("file", "sep", "end"))]
    text = context.analysis.kind(call.func.value) if isinstance(call.func, ast.Attribute) else UNKNOWN
    if isinstance(text, Const) and isinstance(text.value, str):
        arguments = as_they_are(text.value, call)
        members_as_text(context, decisions, call, text.value)
    elif call.args and isinstance(logged := context.analysis.kind(call.args[0]), Const) and len(call.args) > 1:
        if isinstance(call.func, ast.Attribute) and call.func.attr in _OF_LOGGERS and isinstance(logged.value, str):
            arguments = [*converted_as_they_are(logged.value, call.args[1:]), *(k.value for k in call.keywords)]
    for argument in arguments:
        as_text(context, decisions, argument, callee == _REPR and is_number_at_times(context.kind(argument)))


def part_as_text(context: Context, decisions: Decisions, node: ast.AST) -> None:
    """What a part of an f-string or an assertion writes as it is."""
    if isinstance(node, ast.FormattedValue) and (node.format_spec is None or node.conversion != -1):
        as_text(context, decisions, node.value)
    elif isinstance(node, ast.Assert) and node.msg is not None:
        for part in node.msg.elts if isinstance(node.msg, ast.Tuple) else [node.msg]:
            if is_shape(context, part) or is_sized(context.analysis.kind(part)):
                as_text(context, decisions, part)  # what else is asserted seldom says more than itself


def as_text(context: Context, decisions: Decisions, node: ast.expr, inside: bool = False) -> None:
    """Has a value that is written out look as it did: arrays, shapes (no ``torch.Size``) and dtypes.

    ``inside`` of a list, an element of an array looks unlike an array without axes.
    """
    if isinstance(node, ast.Starred):  # `print(*row)`: what is unpacked is written, item by item
        if not is_shape(context, node.value):
            as_text(context, decisions, node.value, inside)
        return
    parts = _parts(context, node)
    for part in parts:
        if isinstance(node, ast.Dict) and part in node.keys and is_array_of_either_side(context.analysis.kind(part)):
            wrap(context, decisions, part, "compat.shown(value)")  # an array of no axes has no hash
            continue
        if is_hashed(node, part) and isinstance(part, ast.Attribute) and may_be_number(context.analysis.kind(part)):
            number_as_text(context, decisions, part)
            continue
        as_text(context, decisions, part, inside or not isinstance(node, (ast.BoolOp, ast.IfExp)))
    if parts:
        return
    of_array = (
        isinstance(node, ast.Attribute)
        and node.attr == "dtype"
        and (
            any(isinstance(kind, Tensor) for kind in options(context.analysis.kind(node.value)))
            or may_be_tensor(context, node.value)
        )
    )
    if of_array or is_torch_dtype(context.analysis.kind(node)):
        wrap(context, decisions, node, "compat.numpy_dtype(value)")
    elif is_shape(context, node) or is_sized(context.analysis.kind(node)) or _is_shape_of_unknown(context, node):
        wrap(context, decisions, node, "tuple(value)")
    else:
        kind = context.analysis.kind(node)
        told = [_shapes_as_tuples(context, decisions, value) for value in _put_into(context, node)]
        still_sized = holds_shapes(kind) and not (told and all(told) and _is_filled_here_alone(context, node))
        of_shapes = isinstance(node, ast.Call) and any(
            isinstance(value, ast.Tuple) and any(is_shape(context, item) for item in value.elts)
            for value in returned_here(context, node)
        )
        several = isinstance(kind, Union) and not all(isinstance(one, Tensor) for one in kind.ordered)
        if (
            of_shapes
            or still_sized
            or may_hold_tensors(kind)
            or holds_kind(kind, lambda one: one == UNKNOWN)
            and any(
                _holds_unknown_array(context, value)
                for value in (*_put_into(context, node), *_put_under(context, node))
            )
            or several
            and is_written_anew(kind)
            or holds_arrays_inside(kind)
            or any(isinstance(one, Batch) for one in options(kind))
            or _is_out_of_table(context, node)
            or shows_fields(context, kind)
        ):
            variables = holds_kind(kind, lambda one: isinstance(one, Tensor) and one.either)
            (_array_of_variable if variables else wrap)(context, decisions, node, "compat.shown(value)")
        elif holds_arrays(kind) and isinstance(node, (ast.Name, ast.IfExp)) and _may_be_none(context, node):
            wrap(context, decisions, node, "compat.shown(value)" if inside else "compat.to_host(value)")
        elif inside and not isinstance(node, ast.Attribute) and may_be_number(kind):
            number_as_text(context, decisions, node)
        elif inside and not isinstance(node, ast.Attribute) and is_held_by_anything(context, node):
            wrap(context, decisions, node, "compat.shown(value)")
        elif is_reported(kind):
            _array_of_variable(context, decisions, node, "compat.shown(value)")
        elif _is_variable(context, node, kind):
            _array_of_variable(context, decisions, node)
        elif not context.migrated and all(isinstance(one, Tensor) for one in options(kind)) and _is_of_either(kind):
            _array_of_variable(context, decisions, node, "compat.shown(value)")
        else:
            to_host_if_array(context, decisions, node)


def items_as_text(context: Context, decisions: Decisions, node: ast.expr) -> None:
    """``map(str, values)``: what is inside is written, each for itself."""
    if holds_arrays_inside(context.analysis.kind(node)) or may_hold_tensors(context.analysis.kind(node)):
        as_text(context, decisions, node, True)
    else:
        to_host_if_array(context, decisions, node)


def row_of_text(context: Context, decisions: Decisions, node: ast.Tuple) -> None:
    """``rows.append(('conv', h.shape))``: what stands beside a text is written some day, wherever that is."""
    written = isinstance(node.ctx, ast.Load)  # no targets: `for name, shape in shapes`
    if written and any(scalar_type(context.analysis.kind(item)) == "str" for item in node.elts):
        for item in node.elts:
            if is_shape(context, item) or is_sized(context.analysis.kind(item)):
                wrap(context, decisions, item, "tuple(value)")


def _is_variable(context: Context, node: ast.expr, kind: Kind) -> bool:
    """Whether it is known for sure to be a tensor that is a Variable at times: what a parameter is taken for is not."""
    kinds = options(kind)
    if context.migrated or not all(isinstance(k, Tensor) for k in kinds):
        return False
    values = reaching(context, node) if isinstance(node, ast.Name) else [node]
    computed = bool(values) and all(_is_computed(context, value) for value in values)
    return computed and any(isinstance(k, Tensor) and not k.array for k in kinds)


def _is_of_either(kind: Kind) -> bool:
    """Whether it is an array on some ways, and a Variable on others: ``same(x.array)`` beside ``same(x)``."""
    return any(isinstance(one, Tensor) and one.either and not one.array for one in options(kind))


def _is_computed(context: Context, value: ast.expr) -> bool:
    """Whether a value is a result and no attribute, which may be None: the state of a layer, say."""
    if isinstance(value, ast.BinOp):
        return True
    if not isinstance(value, ast.Call):
        return False
    for callee in options(context.analysis.kind(value.func)):
        if isinstance(callee, Func):
            given = returned_here(context, value)
            if not given or not all(isinstance(one, (ast.BinOp, ast.Call)) for one in given):
                return False
        elif not isinstance(callee, Inst) and not (isinstance(callee, Ref) and callee.name.startswith(_FUNCTIONS_OF)):
            return False
    return True


def _array_of_variable(
    context: Context, decisions: Decisions, node: ast.expr, template: str = "value.detach().cpu().numpy()"
) -> None:
    """``print(loss)``: the text of the array, without `variable(...)` around it."""
    if wrap(context, decisions, node, template):
        row = context.rules.python[_TEXT]
        decisions.mark(node, row, row.name, row.state)


def _may_be_none(context: Context, node: ast.expr) -> bool:
    """Whether what is written is None for some way through the program, which kinds do not say.

    A name of which the function asks whether it is None, and then sets it, is taken for the value.
    """
    if not isinstance(node, ast.Name):
        return _is_none_at_times(context, node)
    function = context.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef) or context.source.tree
    for choice in within(function).of(ast.If):
        if f"{node.id} is None" in ast.unparse(choice.test):
            return False
    parts = [value for value, _ in unpacked(context, node, None)]
    return any(_is_none_at_times(context, value) for value in (*reaching(context, node), *parts))


def _is_none_at_times(context: Context, value: ast.expr) -> bool:
    if isinstance(value, ast.IfExp):
        return any(_is_none_at_times(context, side) for side in (value.body, value.orelse))
    if isinstance(value, ast.Call):
        return any(isinstance(one, ast.Constant) and one.value is None for one in returned_here(context, value))
    return isinstance(value, ast.Constant) and value.value is None


def _is_shape_of_unknown(context: Context, node: ast.expr) -> bool:
    """``getattr(net, name).shape``: a tuple of whatever has one; of a tensor only where it is written as one."""
    whole = node.value if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) else node
    return (
        isinstance(whole, ast.Attribute)
        and whole.attr == "shape"
        and context.imports_chainer
        and not context.migrated
        and context.analysis.kind(whole.value) == UNKNOWN
    )


def _is_out_of_table(context: Context, node: ast.expr) -> bool:
    """Whether a value of unknown kind is one of a dictionary in which arrays stand beside other things."""
    if context.analysis.kind(node) != UNKNOWN:
        return False
    if isinstance(node, ast.Subscript):
        table = context.analysis.kind(node.value)
        return isinstance(table, Dct) and holds_arrays(table)
    if not isinstance(node, ast.Name):
        return False
    for loop in context.source.ancestors(node):
        generators = getattr(loop, "generators", [loop] if isinstance(loop, ast.For) else [])
        for one in generators:
            names = [name.id for name in nodes_of(one.target) if isinstance(name, ast.Name)]
            if names[-1:] == [node.id]:  # behind the key
                return any(_is_table(context, call) for call in nodes_of(one.iter))
    return False


def _is_table(context: Context, call: ast.AST) -> bool:
    """Whether a call gives the values of a dictionary that holds arrays."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return False
    table = context.analysis.kind(call.func.value)
    return call.func.attr in ("items", "values") and isinstance(table, Dct) and holds_arrays(table)


def _parts(context: Context, node: ast.expr) -> list[ast.expr]:
    """The values that are written when ``node`` is: items, both branches of a choice, what a comprehension gives."""
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return node.elts
    if isinstance(node, ast.Dict):
        return [*filter(None, node.keys), *node.values]
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
        return [node.elt]
    if isinstance(node, ast.DictComp):
        return [node.key, node.value]
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        return _parts(context, node.value)
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.BoolOp):
        return node.values
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and isinstance(node.left, (ast.List, ast.Tuple)):
        return [node.left, node.right]
    if isinstance(node, ast.Call) and node.args and not isinstance(node.args[0], ast.Starred):
        callee, given = context.analysis.kind(node.func), node.args[0]
        if isinstance(callee, Ref) and callee.name in _SHOW_PARTS:
            return [given.body] if isinstance(given, ast.Lambda) else _parts(context, given)
    return []


def _put_into(context: Context, node: ast.expr) -> Iterator[ast.expr]:
    """What a function puts into a list, tuple or dict that it has a name for, and writes."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if not isinstance(node, ast.Name):
        return
    for other in within(context.source.enclosing(node, *_FUNCTIONS) or context.source.tree).of(ast.Assign, ast.Call):
        if isinstance(other, ast.Assign):
            for target in other.targets:
                whole = target.value if isinstance(target, ast.Subscript) else target
                if _is(whole, node) and (_parts(context, other.value) or whole is not target):
                    yield other.value
        elif isinstance(other.func, ast.Attribute) and other.func.attr == "append" and _is(other.func.value, node):
            yield from other.args


def _put_under(context: Context, written: ast.expr) -> Iterator[ast.expr]:
    """What the file puts under the name of an attribute: ``self.best = loss.data``, ``self.log.append(loss.data)``."""
    while isinstance(written, ast.Subscript):
        written = written.value
    for node in context.source.attributes.get(written.attr, ()) if isinstance(written, ast.Attribute) else ():
        whole: ast.AST = node
        parent = context.source.parents.get(node)
        if isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Store):
            whole, parent = parent, context.source.parents.get(parent)
        if isinstance(parent, ast.Assign) and any(target is whole for target in parent.targets):
            yield parent.value
        elif isinstance(parent, ast.Attribute) and parent.attr == "append":
            call = context.source.parents.get(parent)
            yield from call.args if isinstance(call, ast.Call) else ()


def _is(node: ast.expr, name: ast.Name) -> bool:
    return isinstance(node, ast.Name) and node.id == name.id


def _shapes_as_tuples(context: Context, decisions: Decisions, node: ast.expr) -> bool:
    """Whether no shape is left inside that is none of a tuple."""
    parts = _parts(context, node)
    if parts:
        left = [part for part in parts if not _shapes_as_tuples(context, decisions, part)]
        return not left
    if is_shape(context, node):
        wrap(context, decisions, node, "tuple(value)")
        return True
    kind = context.analysis.kind(node)
    return not is_sized(kind) and not holds_shapes(kind)


def _holds_unknown_array(context: Context, node: ast.expr) -> bool:
    """Whether a value is, or shows, what Variables hold of which nothing is known: ``rows.append((i, y.data))``."""
    parts = _parts(context, node)
    if parts:
        return any(_holds_unknown_array(context, part) for part in parts)
    known = context.analysis.kind(node)
    shape = is_sized(known) or is_shape(context, node) or _is_shape_of_unknown(context, node)
    return shape or holds_arrays(known) or is_held_by_anything(context, node)


def _is_filled_here_alone(context: Context, node: ast.expr) -> bool:
    """Whether what a name stands for is filled by displays, `append` and items alone, in the function that names it."""
    while isinstance(node, ast.Subscript):
        node = node.value
    scope = context.source.enclosing(node, *_FUNCTIONS) or context.source.tree
    return isinstance(node, ast.Name) and not any(
        isinstance(other, ast.AugAssign)
        and _is(other.target, node)
        or isinstance(other, ast.Attribute)
        and _is(other.value, node)
        and other.attr in _FILLING
        for other in within(scope).of(ast.AugAssign, ast.Attribute)
    )


def formatted(context: Context, decisions: Decisions, text: Kind, values: ast.expr) -> None:
    """``'%s %s' % (x.data, x.shape)``"""
    if isinstance(text, Const) and isinstance(values, ast.Tuple):
        for value in converted_as_they_are(text.value, values.elts):
            as_text(context, decisions, value)
    elif not isinstance(text, Const) or shows_whole(text.value):
        as_text(context, decisions, values)
