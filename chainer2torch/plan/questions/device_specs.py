"""How the torch.device of a number of Chainer's is written: negative numbers are the CPU."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence

from chainer2torch.analysis.kinds import NONE, Const, Inst, Kind, Unknown, options, scalar_type
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.native.flows import references
from chainer2torch.plan.questions.device_names import is_called_device, is_gpu_number, is_number_in_text
from chainer2torch.plan.questions.nones import may_be_none
from chainer2torch.plan.questions.paths import is_path

_ORDERED = (ast.Gt, ast.GtE, ast.Lt, ast.LtE)
_Test = tuple[str, str]  # an operator and what stands behind it
_OF_GPUS: frozenset[_Test] = frozenset({("GtE", "0"), ("Gt", "-1")})
_OF_THE_CPU: frozenset[_Test] = frozenset({("Lt", "0"), ("LtE", "-1")})
_THERE: frozenset[_Test] = frozenset({("IsNot", "None")})
_NOT_THERE: frozenset[_Test] = frozenset({("Is", "None")})
_HELPER = "native.get_device({})"
_MADE = re.compile(r"(native\.get_device\((\w+)\))")
_OR_NONE = re.compile(r"((DEVICE|HANDED)\((\w+)\))")
_DEVICE = "chainer.backend.Device"


def device_of_number(context: Context, spec: ast.expr, name: str) -> str:
    """The template of the device of a spec, which the template calls ``name``; a helper where it may be no number."""
    kind = context.kind(spec)
    if isinstance(kind, Const) and isinstance(kind.value, int) and not is_path(spec):
        return f"torch.device('cuda', {name})" if kind.value >= 0 else "torch.device('cpu')"
    if _is_device(context, kind):
        return name
    if is_number_in_text(context, spec):
        return f"torch.device('cuda', int({name})) if int({name}) >= 0 else torch.device('cpu')"
    if not is_path(spec) or not (is_number(context, spec) or is_gpu_number(context, spec)):
        return _HELPER.format(name)
    if is_gpu(context, spec):
        return f"torch.device('cuda', {name})"
    if _is_cpu(context, spec):
        return "torch.device('cpu')"
    if _is_asked_for_none(context, spec):
        return f"torch.device('cuda', {name}) if {name} is not None and {name} >= 0 else torch.device('cpu')"
    return f"torch.device('cuda', {name}) if {name} >= 0 else torch.device('cpu')"


def _is_asked_for_none(context: Context, spec: ast.expr) -> bool:
    """Whether the function around a number asks somewhere if it is None, and has not asked around this place."""
    function = context.source.enclosing(spec, ast.FunctionDef, ast.AsyncFunctionDef) or context.source.tree
    dumped = ast.dump(spec)
    asked = any(
        isinstance(node, ast.Compare)
        and len(node.ops) == 1
        and isinstance(node.ops[0], (ast.Is, ast.IsNot))
        and _is_none(node.comparators[0])
        and ast.dump(node.left) == dumped
        for node in nodes_of(function)
    )
    return asked and not _is_known(context, spec, _THERE, _NOT_THERE)


def device_or_none(context: Context, spec: ast.expr, name: str) -> str:
    """The template of the device of a spec that may be None, which stays: what is there is not moved."""
    if context.kind(spec) == NONE or _is_none(spec):
        return name
    made = device_of_number(context, spec, name)
    return f"None if {name} is None else {made}" if made != name and may_be_none(context, spec) else made


def with_devices(context: Context, template: str, given: Mapping[str, ast.expr]) -> str:
    """A template with its devices: ``DEVICE(device)``, and ``native.get_device(device)`` where that is a number.

    ``HANDED(device)`` is a device, too, but for the parameter of a converter, which updaters give a torch.device.
    """
    for text, macro, name in _OR_NONE.findall(template):
        spec = given.get(name)
        stays = spec is None or macro == "HANDED" and _is_of_converter(context, spec)
        made = name if spec is None or stays else device_or_none(context, spec, name)
        template = template.replace(text, made)
    for text, name in _MADE.findall(template):
        if name in given and not may_be_none(context, given[name]):
            template = template.replace(text, device_of_number(context, given[name], name))
    return template


def _is_of_converter(context: Context, node: ast.expr) -> bool:
    """Whether a value is a parameter of a function that goes on as a value: who calls it is not seen."""
    function = context.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    while isinstance(node, ast.Name) and isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        a = function.args
        if node.id in {arg.arg for arg in (*a.posonlyargs, *a.args, *a.kwonlyargs)}:
            return _goes_on(context, function)
        function = context.source.enclosing(function, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    return False


def _goes_on(context: Context, function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> bool:
    info = context.analysis.functions.get(function)
    if info is None or isinstance(function, ast.Lambda):
        return True
    calls = [isinstance(p, ast.Call) and p.func is reference for p, reference in references(context, info)]
    return not calls or not all(calls)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_device(context: Context, kind: Kind) -> bool:
    return all(isinstance(k, Inst) and context.analysis.derives(k.cls, _DEVICE) for k in options(kind))


def is_number(context: Context, node: ast.expr) -> bool:
    """Whether a value is a whole number: by its kind, or since the code stands where it was compared with one."""
    return all(scalar_type(k) == "int" for k in options(context.kind(node))) or _is_compared(context, node)


def moves_by_number(context: Context, node: ast.expr) -> bool:
    """Whether the device to which something is moved is given as a number.

    Updaters give a torch.device to the parameter of a converter, which only a comparison shows to be a number.
    """
    if not is_path(node) or _is_compared(context, node):
        return is_path(node)
    number = is_number(context, node) or is_gpu_number(context, node)
    return number and not _is_of_converter(context, node)


def _is_compared(context: Context, node: ast.expr) -> bool:
    """Whether the code stands where a value was compared with a whole number."""
    return any(
        isinstance(test, ast.Compare)
        and isinstance(test.ops[0], _ORDERED)
        and ast.dump(test.left) == ast.dump(node)
        and scalar_type(context.kind(test.comparators[0])) == "int"
        for outer in _conditions(context, node)
        for test in nodes_of(outer.test)
    )


def names_gpu(context: Context, node: ast.expr) -> bool:
    """Whether a value is a number, as far as it is known: torch.cuda refuses None, names and arrays, which raises."""
    kinds = options(context.kind(node))
    known = all(isinstance(k, Unknown) or scalar_type(k) == "int" for k in kinds)
    return is_number(context, node) or known and not may_be_none(context, node) and not is_called_device(node)


def is_gpu(context: Context, node: ast.expr) -> bool:
    """Whether a number is that of a GPU: ``if gpu >= 0:`` is around the code, or it stands behind the ``else`` of
    ``if gpu < 0:``.
    """
    return _is_known(context, node, _OF_GPUS | {("Gt", "0")}, _OF_THE_CPU)


def _is_cpu(context: Context, node: ast.expr) -> bool:
    """Whether a number is negative: ``if gpu < 0:`` is around the code."""
    return _is_known(context, node, _OF_THE_CPU, _OF_GPUS)


def _is_known(context: Context, node: ast.expr, wanted: frozenset[_Test], others: frozenset[_Test]) -> bool:
    """Whether the conditions around a place say so: one holds, or another does not."""
    dumped = ast.dump(node)
    for outer in _conditions(context, node):
        body, orelse = (part if isinstance(part, list) else [part] for part in (outer.body, outer.orelse))
        if _is_inside(context, node, body) and any(_says(test, dumped, wanted) for test in _parts(outer.test)):
            return True
        if _is_inside(context, node, orelse) and _says(outer.test, dumped, others):
            return True
    return False


def _parts(test: ast.expr) -> list[ast.expr]:
    """What a condition says: all parts of an ``and``."""
    return test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]


def _says(test: ast.expr, dumped: str, wanted: frozenset[_Test]) -> bool:
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or ast.dump(test.left) != dumped:
        return False
    return (type(test.ops[0]).__name__, ast.unparse(test.comparators[0])) in wanted


def _conditions(context: Context, node: ast.expr) -> list[ast.If | ast.IfExp]:
    """The conditions around a place in its function."""
    found: list[ast.If | ast.IfExp] = []
    for outer in context.source.ancestors(node):
        if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            break
        if isinstance(outer, (ast.If, ast.IfExp)):
            found.append(outer)
    return found


def _is_inside(context: Context, node: ast.expr, body: Sequence[ast.AST]) -> bool:
    """Whether a place is in one of these statements or expressions."""
    return any(part is node or part in context.source.ancestors(node) for part in body)


__all__ = ["device_of_number", "device_or_none", "is_gpu", "is_number", "moves_by_number", "names_gpu", "with_devices"]
