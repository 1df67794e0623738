"""Binds a call to a rule and picks the case whose guard holds."""

from __future__ import annotations

import ast
import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from chainer2torch.analysis.kinds import (
    NONE,
    UNKNOWN,
    Class,
    Func,
    HostArray,
    Inst,
    Kind,
    Lst,
    Method,
    Ref,
    Scalar,
    Tensor,
    Tup,
    Union,
    scalar_type,
)
from chainer2torch.analysis.source import nodes_of
from chainer2torch.analysis.versions import COMPARISONS
from chainer2torch.plan.argument_guards import calls_nothing, is_negative
from chainer2torch.plan.array_guards import ARRAY_TESTS, dtype_named, is_torch_dtype, property_of
from chainer2torch.plan.question import ARITHMETIC, UNDECIDED, Question, Undecided, parsed
from chainer2torch.rules.row import Case


def choose(question: Question) -> tuple[str | None, bool]:
    """The template for a call, and whether it is the fallback because a guard could not be decided."""
    case, undecided = case_for(question)
    return None if case is None else case.torch, undecided


def case_for(question: Question) -> tuple[Case | None, bool]:
    """The case for a call, or the fallback, and whether it is the fallback because a guard could not be decided."""
    found = _case_for(question, question.row.cases)
    while ignored := _ignored_nones(question, found[0]):  # what callers give that nobody sees is not known
        question = dataclasses.replace(question, kind=_open_at(question.kind, ignored))
        loud = question.row.loud  # such forms may raise for None, which the callers that are seen give
        found = _case_for(question, [case for case in question.row.cases if not (loud and case.native)])
    return found


def _open_at(kind: Callable[[ast.AST], Kind], nodes: Sequence[ast.expr]) -> Callable[[ast.AST], Kind]:
    anything = Union(frozenset({NONE, UNKNOWN}), (NONE, UNKNOWN))
    return lambda node: anything if node in nodes else kind(node)


def _case_for(question: Question, cases: Sequence[Case]) -> tuple[Case | None, bool]:
    row = question.row
    fallback = Case(None, row.fallback) if row.fallback is not None else None
    for case in cases:
        if case.native and not question.fits(case.torch):
            continue
        if case.when is None:
            return case, False
        truth = evaluate(parsed(case.when), question)
        if truth is UNDECIDED:
            if case.native:  # the cases of the faithful style come after it
                continue
            return (None if _drops_argument(question, row.fallback) else fallback), True
        if truth:
            return case, False
    return fallback, False


def constant(text: str, question: Question) -> Any:
    """The value of a constant expression of parameters, else UNDECIDED."""
    return evaluate(parsed(text), question)


def evaluate(node: ast.expr, q: Question) -> Any:
    """Evaluates a guard with three values."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return q.literal(node.id)
    if isinstance(node, (ast.Tuple, ast.List)):
        items = [evaluate(e, q) for e in node.elts]
        return UNDECIDED if UNDECIDED in items else tuple(items)
    if isinstance(node, ast.BoolOp):
        return _boolean(node, q)
    if isinstance(node, ast.UnaryOp):
        if (value := evaluate(node.operand, q)) is UNDECIDED:
            return UNDECIDED
        return not value if isinstance(node.op, ast.Not) else -value if isinstance(node.op, ast.USub) else UNDECIDED
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        return _apply(ARITHMETIC[type(node.op)], evaluate(node.left, q), evaluate(node.right, q))
    if isinstance(node, ast.IfExp):
        test = evaluate(node.test, q)
        return UNDECIDED if test is UNDECIDED else evaluate(node.body if test else node.orelse, q)
    if isinstance(node, ast.Compare):
        return _compare(node, q)
    if isinstance(node, ast.Subscript):
        return _item(evaluate(node.value, q), evaluate(node.slice, q))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _ask(node.func.id, node.args, q)
    return UNDECIDED


def _item(value: Any, index: Any) -> Any:
    """An element of a tuple that a call states."""
    return value[index] if isinstance(value, tuple) and isinstance(index, int) and index < len(value) else UNDECIDED


def _boolean(node: ast.BoolOp, q: Question) -> Any:
    stop = isinstance(node.op, ast.Or)
    undecided = False
    for part in node.values:
        value = evaluate(part, q)
        if value is UNDECIDED:
            undecided = True
        elif bool(value) is stop:
            return stop
    return UNDECIDED if undecided else not stop


_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def _compare(node: ast.Compare, q: Question) -> Any:
    left, undecided = node.left, False
    for op, right in zip(node.ops, node.comparators):
        if isinstance(op, (ast.Is, ast.IsNot)) and isinstance(right, ast.Constant) and right.value is None:
            value = _is_none(left, q)
            if value is not UNDECIDED and isinstance(op, ast.IsNot):
                value = not value
        elif isinstance(op, (ast.Is, ast.IsNot)):
            a, b = evaluate(left, q), evaluate(right, q)
            value = UNDECIDED if UNDECIDED in (a, b) else (a is b) is isinstance(op, ast.Is)
        else:
            value = _ordered(COMPARISONS[type(op)], evaluate(left, q), evaluate(right, q), isinstance(op, _ORDERS))
            if value is UNDECIDED and isinstance(op, (ast.Eq, ast.NotEq)) and _has_items(left, right, q):
                value = isinstance(op, ast.NotEq)
        if value is UNDECIDED:
            undecided = True
        elif not value:
            return False
        left = right
    return UNDECIDED if undecided else True


def _has_items(left: ast.expr, right: ast.expr, q: Question) -> bool:
    """Whether a name is compared with ``()`` and is a tuple that is not empty: ``axis = (2, 3)``."""
    if not (isinstance(left, ast.Name) and isinstance(right, ast.Tuple) and not right.elts):
        return False
    kinds = q.kinds(left.id)
    return bool(kinds) and all(isinstance(kind, Tup) and kind.items for kind in kinds)


def _ordered(function: Callable[[Any, Any], Any], a: Any, b: Any, orders: bool) -> Any:
    """A comparison. Of two sequences `<` is that of each pair, undecided where they differ; Python asks the first."""
    if not orders or not isinstance(a, (tuple, list)) or not isinstance(b, (tuple, list)):
        return _apply(function, a, b)
    answers = {_apply(function, *pair) for pair in zip(a, b)} if len(a) == len(b) else set()
    return answers.pop() if len(answers) == 1 else UNDECIDED


def _apply(function: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    if isinstance(a, Undecided) or isinstance(b, Undecided):
        return UNDECIDED
    try:
        return function(a, b)
    except (TypeError, ArithmeticError):
        return UNDECIDED


def _ignored_nones(q: Question, case: Case | None) -> list[ast.expr]:
    """The arguments of a call that a case leaves out, and that are None only as far as the callers are seen."""
    if case is None or case.torch is None or case.when is None:
        return []
    asked = names_of(case.when) & q.bound.given.keys() - names_of(case.torch)
    given = [q.bound.given[name] for name in sorted(asked) if _is_none(ast.Name(name), q) is True]
    return [node for node in given if q.is_open_none(node)]


def _drops_argument(q: Question, fallback: str | None) -> bool:
    """Whether the fallback forgets an argument of the call that a guard asks about, such as NumPy's ``out``."""
    if fallback is None:
        return False
    asked = {name for case in q.row.cases if case.when for name in names_of(case.when)} - set(names_of(fallback))
    return any(name in q.bound.given and _is_none(ast.Name(name), q) is not True for name in asked)


# expressions that make a value of their own, whatever the names in them stand for
_NEVER_NONE = (
    *(ast.List, ast.ListComp, ast.Dict, ast.DictComp, ast.Set, ast.SetComp, ast.GeneratorExp),
    *(ast.Tuple, ast.JoinedStr, ast.Lambda, ast.BinOp, ast.Compare),
)


def _is_none(node: ast.expr, q: Question) -> Any:
    if isinstance(node, ast.Name):
        if node.id not in q.bound.given and q.row.signature and node.id not in q.row.signature.defaults:
            return UNDECIDED
        if isinstance(q.bound.given.get(node.id), _NEVER_NONE):
            return False
        found = _every(q.kinds(node.id), lambda k: k == NONE, _may_be_none)
        given = q.bound.given.get(node.id)
        if found is False and isinstance(given, (ast.Name, ast.Attribute)) and q.may_be_none(given):
            return UNDECIDED  # a number for one caller, and None for another: kinds keep the number
        return found
    value = evaluate(node, q)
    return UNDECIDED if value is UNDECIDED else value is None


def _may_be_none(kind: Kind) -> bool:
    # An array or a layer may still be None at run time (`join` drops None), so only plain values rule it out.
    return kind == NONE or scalar_type(kind) is None and not isinstance(kind, (Tup, Class, Func, Ref))


def _every(kinds: tuple[Kind, ...], test: Callable[[Kind], bool], maybe: Callable[[Kind], bool]) -> Any:
    if all(test(k) for k in kinds):
        return True
    return UNDECIDED if any(maybe(k) for k in kinds) else False


def holds_ints(kind: Kind) -> bool:
    """Whether a value is a list or a tuple of whole numbers."""
    items = kind.items if isinstance(kind, Tup) else (kind.element,) if isinstance(kind, Lst) else ()
    return bool(items) and all(scalar_type(item) == "int" for item in items)


_TYPE_TESTS: Mapping[str, tuple[Callable[[Kind], bool], Callable[[Kind], bool]]] = {
    "is_int": (lambda k: scalar_type(k) == "int", lambda k: False),
    "is_float": (lambda k: scalar_type(k) == "float", lambda k: False),
    "is_bool": (lambda k: scalar_type(k) == "bool", lambda k: False),
    "is_str": (lambda k: scalar_type(k) == "str", lambda k: False),
    "is_tuple": (lambda k: isinstance(k, Tup), lambda k: isinstance(k, Lst)),
    "is_list": (lambda k: isinstance(k, (Lst, Tup)), lambda k: False),
    "holds_ints": (holds_ints, lambda k: isinstance(k, Lst)),
    "is_tensor": (lambda k: isinstance(k, Tensor), lambda k: False),
    "is_array": (lambda k: isinstance(k, HostArray), lambda k: False),
    "saves_npz": (lambda k: k == Ref("chainer.serializers.save_npz"), lambda k: False),
    "is_callable": (lambda k: isinstance(k, (Func, Method, Class)), lambda k: isinstance(k, Inst)),
}


# what is asked of the call as a whole
_OF_THE_CALL: Mapping[str, Callable[[Question], Any]] = {
    "called_plainly": lambda q: q.input_kind is None or q.input_kind != UNKNOWN,  # with the input and nothing else
    "is_statement": lambda q: q.is_statement(),
    "walks_freely": lambda q: q.walks_freely(),
    "pairs_freely": lambda q: q.pairs_freely(),
    "walks_in_order": lambda q: q.walks_in_order(),
    "walks_named": lambda q: q.walks_named(),
    "names_paired": lambda q: q.names_paired(),
    "names_keyed": lambda q: q.names_keyed(),
    "names_asked": lambda q: q.names_asked(),
    "resized": lambda q: q.resized(),
    "plain_rates": lambda q: q.plain_rates(),
    "graph_shared": lambda q: q.graph().shared,
    "graph_cut": lambda q: q.graph().cut,
    "seeded": lambda q: q.seeded(),
    "brought_back": lambda q: q.brought_back(),
    "unrecorded": lambda q: q.unrecorded(),
    "flags_asked": lambda q: q.flags_asked(),
    "defined": lambda q: q.defined(),
    "summed": lambda q: q.summed(),
    "plain_batch": lambda q: q.plain_batch(),
    "single_examples": lambda q: q.single_examples(),
    "made_here": lambda q: q.made_here(),
    "plain_sequences": lambda q: q.plain_sequences(),
    "may_lack_parameters": lambda q: q.may_lack_parameters(),
    "gradient_asked": lambda q: q.asked(),
    "on_device": lambda q: q.on_device,
}


# what is asked of how one argument is written; one that is left out has none of it
_OF_ONE_ARGUMENT: Mapping[str, Callable[[Question], Callable[[ast.expr], bool]]] = {
    "is_gpu_number": lambda q: q.is_gpu_number,
    "is_item": lambda q: q.is_item,
    "is_made": lambda q: q.is_made,
    "is_single": lambda q: q.is_single,
    "calls_nothing": lambda q: calls_nothing,
    "is_filled": lambda q: q.is_filled,
    "is_path": lambda q: q.is_path,
    "is_steady": lambda q: q.is_steady,
    "is_negative": lambda q: lambda node: is_negative(node, q.kind(node)),
}


def _ask(function: str, args: list[ast.expr], q: Question) -> Any:
    if function in ("input_rank", "input_dtype"):
        value = property_of(q.input_kind if isinstance(q.input_kind, Tensor) else UNKNOWN, function[6:])
        return UNDECIDED if value is None else value
    if function in _OF_THE_CALL:
        return _OF_THE_CALL[function](q)
    name = args[0].id if args and isinstance(args[0], ast.Name) else ""
    if function in ARRAY_TESTS:
        return ARRAY_TESTS[function](name, q)
    if function == "given":
        return name in q.bound.given or name in q.bound.variadic(q.row.signature)
    if function == "count":  # of what *args takes; what is unpacked there counts as it will be at run time
        return len(q.bound.extra_args)
    if function == "may_be_none":
        node = q.bound.given.get(name)
        return q.literal(name) is None if node is None else q.may_be_none(node)
    if function in _OF_ONE_ARGUMENT:
        return name in q.bound.given and _OF_ONE_ARGUMENT[function](q)(q.bound.given[name])
    if function == "states_none":  # a parameter that is None in all calls that are seen says nothing of other calls
        return q.literal(name) is None
    if function == "is_known":
        return q.literal(name) is not UNDECIDED
    if function == "ends_with":  # of a text that the call states
        text = q.literal(name)
        ending = args[1].value if len(args) > 1 and isinstance(args[1], ast.Constant) else ""
        return text.endswith(str(ending)) if isinstance(text, str) else UNDECIDED
    if function == "has_items":  # of a list that stands in the call
        node = q.bound.given.get(name)
        return isinstance(node, (ast.List, ast.Tuple)) and any(not isinstance(e, ast.Starred) for e in node.elts)
    if function == "is_name":
        return isinstance(q.bound.given.get(name), ast.Name)
    kinds = q.kinds(name)
    if function == "is_array_at_times":  # what is not known is not taken for one
        return any(isinstance(k, (HostArray, Tensor)) for k in kinds)
    if function in ("rank", "dtype"):
        values = {property_of(k, function) for k in kinds}
        return UNDECIDED if len(values) != 1 or None in values else values.pop()
    if function == "is_none":
        return _is_none(args[0], q)
    if function == "is_instance":
        wanted = args[1].value if len(args) > 1 and isinstance(args[1], ast.Constant) else ""
        answers = {q.is_instance(k, str(wanted)) for k in kinds}
        return answers.pop() if len(answers) == 1 else UNDECIDED
    if function in ("len", "min", "max", "abs", "isinstance"):
        return UNDECIDED if function == "isinstance" else _builtin(function, args, q)
    if function in _TYPE_TESTS:
        test, maybe = _TYPE_TESTS[function]
        return _every(kinds, test, lambda k: k == UNKNOWN or maybe(k))
    return UNDECIDED


_BUILTINS: Mapping[str, Callable[..., Any]] = {"len": len, "min": min, "max": max, "abs": abs}


def _builtin(function: str, args: list[ast.expr], q: Question) -> Any:
    values = [evaluate(a, q) for a in args]
    if UNDECIDED in values:
        return UNDECIDED
    try:
        return _BUILTINS[function](*values)
    except TypeError:
        return UNDECIDED


@functools.cache
def constants_of(template: str) -> tuple[str, ...]:
    """The texts inside the CONST(...) of a template."""
    return tuple(
        ast.unparse(n.args[0])
        for n in nodes_of(parsed(template))
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "CONST"
    )


@functools.cache
def renames(template: str, value: str, given: frozenset[str]) -> bool:
    """Whether a template passes all given arguments under their own names to ``value``, which takes them as Chainer."""
    call = parsed(template)
    # only the helpers have Chainer's parameter names; torch calls the same things otherwise
    if not isinstance(call, ast.Call) or ast.unparse(call.func) != value or not value.startswith("compat."):
        return False
    passed = {a.id for a in call.args if isinstance(a, ast.Name)}
    passed |= {k.arg for k in call.keywords if isinstance(k.value, ast.Name) and k.value.id == k.arg and k.arg}
    return len(passed) == len(call.args) + len(call.keywords) and given <= passed


@functools.cache
def names_of(template: str) -> frozenset[str]:
    """The names in a template."""
    return frozenset(n.id for n in nodes_of(parsed(template)) if isinstance(n, ast.Name))


__all__ = [
    "UNDECIDED",
    "Question",
    "Scalar",
    "Undecided",
    "case_for",
    "choose",
    "constant",
    "constants_of",
    "dtype_named",
    "evaluate",
    "holds_ints",
    "is_torch_dtype",
    "names_of",
    "parsed",
    "renames",
]
