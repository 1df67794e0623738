"""Wrong copies of a row, each with one change: what the row's examples have to notice."""

from __future__ import annotations

import ast
import copy
import dataclasses
from collections.abc import Callable, Iterator

from chainer2torch.plan.match import renames
from chainer2torch.rules.row import Row
from chainer2torch.rules.signature import Signature
from chainer2torch.verify.rules.coverage import branches, with_template

# By the last part of a dotted name: functions that take the same arguments and mean something else.
_PAIRS = (
    ("relu", "elu"),
    ("max", "min"),
    ("amax", "amin"),
    ("argmax", "argmin"),
    ("maximum", "minimum"),
    ("sum", "mean"),
    ("var", "std"),
    ("sin", "cos"),
    ("sinh", "cosh"),
    ("asin", "acos"),
    ("arcsin", "arccos"),
    ("tan", "tanh"),
    ("exp", "expm1"),
    ("log", "log1p"),
    ("log2", "log10"),
    ("floor", "ceil"),
    ("softmax", "log_softmax"),
    ("sigmoid", "tanh"),
    ("softplus", "relu"),
    ("any", "all"),
    ("zeros", "ones"),
    ("zeros_like", "ones_like"),
    ("flatten", "ravel"),
    ("sqrt", "rsqrt"),
    ("square", "abs"),
    ("max_pool1d", "avg_pool1d"),
    ("max_pool2d", "avg_pool2d"),
    ("max_pool3d", "avg_pool3d"),
    ("fliplr", "flipud"),
    ("cumsum", "cumprod"),
    ("hstack", "vstack"),
    ("triu", "tril"),
    ("logical_and", "logical_or"),
)
NEIGHBOURS = {**dict(_PAIRS), **{b: a for a, b in reversed(_PAIRS)}}
_OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
# In the place of a `value`: a helper for a helper, as their calls are written alike.
_OTHER_VALUES = {
    "compat": ("compat.normalize", "compat.mean_squared_error"),
    "": ("torch.nn.functional.silu", "torch.abs"),
}


@dataclasses.dataclass(frozen=True)
class RowMutant:
    """A wrong row; ``what`` says where it differs from the right one, ``parameter`` whose default that is, if any."""

    row: Row
    what: str
    parameter: str = ""


def mutants(row: Row, native: bool = False) -> Iterator[RowMutant]:
    """Every mutant of a row. Parameters that no template and no guard names are left alone: nothing depends on them.

    ``native``: only of what the tables of the native style say.
    """
    if not native or "signature" in row.native:
        yield from _of_defaults(row)
    for branch in branches(row):
        if native and not branch.native:
            continue
        if branch.key == "value":
            value = _other_value(branch.template)
            yield RowMutant(with_template(row, branch, value), f"value: {branch.template} -> {value}")
            continue
        for text, what in expressions(branch.template):
            yield RowMutant(with_template(row, branch, text), f"{branch.label}: {what}")
    for index, case in enumerate(row.cases):
        if native and not case.native:
            continue
        for text, what in guards(case.when) if case.when else ():
            cases = list(row.cases)
            cases[index] = dataclasses.replace(case, when=text)
            yield RowMutant(dataclasses.replace(row, cases=tuple(cases)), f"guard `{case.when}`: {what}")


def is_equivalent(row: Row, mutant: Row) -> bool:
    """Whether a mutant emits what the row emits, whatever the call: nothing of it but a helper's name is emitted.

    Where a template hands every parameter on to the row's `value` under its own name, a call keeps its arguments as
    they stand and only its name is replaced (``match.renames``): the order in the template and the defaults in the
    signature are never emitted.
    """
    if row.value is None or row.value != mutant.value or row.signature is None or mutant.signature is None:
        return False
    if [case.when for case in row.cases] != [case.when for case in mutant.cases] or row.set != mutant.set:
        return False
    guards = [case.when for case in row.cases if case.when]
    changed = {name for name, text in row.signature.defaults.items() if mutant.signature.defaults[name] != text}
    if any(changed & _names(text) for text in guards):
        return False
    every = frozenset(row.signature.names)
    before, after = ([case.torch for case in one.cases] + [one.fallback or "None"] for one in (row, mutant))
    touched = [pair for pair in zip(before, after) if pair[0] != pair[1] or changed & _names(pair[0])]
    return bool(touched) and all(renames(text, row.value, every) for pair in touched for text in pair)


def _names(text: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(text.strip())) if isinstance(node, ast.Name)}


def _other_value(template: str) -> str:
    first, second = _OTHER_VALUES["compat" if template.startswith("compat.") else ""]
    return second if template == first else first


def _of_defaults(row: Row) -> Iterator[RowMutant]:
    if row.signature is None:
        return
    texts = [*row.templates, *(case.when for case in row.cases if case.when)]
    named = {node.id for text in texts for node in ast.walk(ast.parse(text.strip())) if isinstance(node, ast.Name)}
    for index, parameter in enumerate(row.signature.parameters):
        if parameter.default is None or parameter.name not in named or not _reads_default(row, parameter.name):
            continue
        other = _other_default(parameter.default)
        parameters = list(row.signature.parameters)
        parameters[index] = dataclasses.replace(parameter, default=other)
        signature = Signature(tuple(parameters), row.signature.text)
        yield RowMutant(
            dataclasses.replace(row, signature=signature),
            f"default {parameter.name}={parameter.default} -> {other}",
            parameter.name,
        )


def _reads_default(row: Row, name: str) -> bool:
    """Whether anything of a row depends on the default of a parameter.

    Nothing does where guards ask only whether it is given, and only templates of cases that ask for that say it.
    """
    guards = [ast.parse(case.when.strip(), mode="eval").body for case in row.cases if case.when]
    asked = [node for guard in guards for node in ast.walk(guard) if isinstance(node, ast.Name) and node.id == name]
    if len(asked) > sum(ast.unparse(node) == f"given({name})" for guard in guards for node in ast.walk(guard)):
        return True
    others = (row.fallback, row.set)
    return any(name in _names(text) for text in others if text is not None) or any(
        name in _names(case.torch) and not _asks_for(case.when, name) for case in row.cases
    )


def _asks_for(guard: str | None, name: str) -> bool:
    """Whether a guard holds only where a parameter is given."""
    if guard is None:
        return False
    tree = ast.parse(guard.strip(), mode="eval").body
    parts = tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) else [tree]
    return any(ast.unparse(part) == f"given({name})" for part in parts)


def _other_default(text: str) -> str:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return "1"
    if value is None:
        return "1"
    return repr(_other(value)) if isinstance(value, (bool, int, float, str)) else "1"


def _other(value: bool | int | float | str) -> bool | int | float | str:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * 2 + 1 if value < 0.5 else value / 2
    return value + "_"


def expressions(text: str) -> Iterator[tuple[str, str]]:
    """The wrong copies of a template, each with what was changed."""
    yield from _changed(text, _expression_changes)


def guards(text: str) -> Iterator[tuple[str, str]]:
    """The wrong copies of a guard: comparisons flipped and shifted, `not` left out, `and` and `or` exchanged."""
    yield from _changed(text, _guard_changes)


_Change = Callable[[], None]


def _changed(text: str, changes: Callable[[ast.AST], Iterator[tuple[str, _Change]]]) -> Iterator[tuple[str, str]]:
    tree = ast.parse(text.strip())  # an expression, or the assignment of a `set`
    count = sum(1 for node in ast.walk(tree) for _ in changes(node))
    for number in range(count):
        other = copy.deepcopy(tree)
        what, change = [found for node in ast.walk(other) for found in changes(node)][number]
        change()
        new = ast.unparse(other)
        if new != ast.unparse(tree):
            yield new, what


def _set(node: ast.AST, field: str, value: object) -> _Change:
    return lambda: setattr(node, field, value)


def _constant(node: ast.Constant) -> Iterator[tuple[str, _Change]]:
    if isinstance(node.value, (bool, int, float)):
        yield f"{node.value!r} -> {_other(node.value)!r}", _set(node, "value", _other(node.value))


def _guard_changes(node: ast.AST) -> Iterator[tuple[str, _Change]]:
    if isinstance(node, ast.Constant):
        yield from _constant(node)
    elif isinstance(node, ast.Compare):
        op = node.ops[0]
        yield f"{type(op).__name__} flipped", _set(node, "ops", [_OPERATORS[type(op)](), *node.ops[1:]])
    elif isinstance(node, ast.BoolOp):
        yield f"{type(node.op).__name__} exchanged", _set(node, "op", _OPERATORS[type(node.op)]())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        # twice negated: the very node cannot leave its parent
        yield "`not` left out", _set(node, "operand", ast.UnaryOp(ast.Not(), node.operand))


def _expression_changes(node: ast.AST) -> Iterator[tuple[str, _Change]]:
    if isinstance(node, ast.Constant):
        yield from _constant(node)
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        yield f"{type(node.op).__name__} exchanged", _set(node, "op", _OPERATORS[type(node.op)]())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "sign", _set(node, "op", ast.UAdd())
    elif isinstance(node, ast.Compare):
        op = node.ops[0]
        yield f"{type(op).__name__} flipped", _set(node, "ops", [_OPERATORS[type(op)](), *node.ops[1:]])
    elif isinstance(node, ast.Call):
        yield from _call_changes(node)


def _call_changes(node: ast.Call) -> Iterator[tuple[str, _Change]]:
    if isinstance(node.func, ast.Name):
        return  # macros
    for index, keyword in enumerate(node.keywords):
        left = node.keywords[:index] + node.keywords[index + 1 :]
        yield f"{keyword.arg or '**'}= left out", _set(node, "keywords", left)
    if len(node.args) > 1:
        yield f"`{ast.unparse(node.args[-1])}` left out", _set(node, "args", node.args[:-1])
    for index, (a, b) in enumerate(zip(node.args, node.args[1:])):
        if not isinstance(a, ast.Starred) and not isinstance(b, ast.Starred):
            args = [*node.args[:index], b, a, *node.args[index + 2 :]]
            yield f"`{ast.unparse(a)}` and `{ast.unparse(b)}` swapped", _set(node, "args", args)
    if isinstance(node.func, ast.Attribute) and node.func.attr in NEIGHBOURS:
        other = NEIGHBOURS[node.func.attr]
        yield f"{node.func.attr} -> {other}", _set(node.func, "attr", other)
