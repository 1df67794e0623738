"""Another parameter of a function, another argument of a call, another order of bases: in the layout that is there."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

_PLAIN_EQUAL = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))


def with_parameter(function: cst.FunctionDef, name: str, default: str) -> cst.FunctionDef:
    """The function with a parameter behind the last one that may be passed by position, else among the keyword ones."""
    parameters = function.params
    new = cst.Param(cst.Name(name))
    if default:
        new = new.with_changes(default=cst.parse_expression(default), equal=_PLAIN_EQUAL)
    by_keyword = isinstance(parameters.star_arg, (cst.Param, cst.ParamStar))
    field = "kwonly_params" if by_keyword else "params"
    before: Sequence[cst.Param] = getattr(parameters, field)
    last = before[-1].comma if before else cst.MaybeSentinel.DEFAULT
    between = before[-2].comma if len(before) > 1 else cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    if isinstance(last, cst.Comma):
        new = new.with_changes(comma=last)
    items = [*before[:-1], *(p.with_changes(comma=between) for p in before[-1:]), new]
    return function.with_changes(params=parameters.with_changes(**{field: items}))


def with_keyword(call: cst.Call, name: str, value: cst.BaseExpression) -> cst.Call:
    """The call with one more argument by keyword, at the end."""
    new = cst.Arg(value, keyword=cst.Name(name), equal=_PLAIN_EQUAL)
    before = call.args
    last = before[-1].comma if before else cst.MaybeSentinel.DEFAULT
    between = before[-2].comma if len(before) > 1 else cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    if isinstance(last, cst.Comma):
        new = new.with_changes(comma=last)
    items = [*before[:-1], *(a.with_changes(comma=between) for a in before[-1:]), new]
    return call.with_changes(args=items)


def with_last(bases: Sequence[cst.Arg], index: int) -> list[cst.Arg]:
    """The bases of a class with one of them behind the others, and the commas where they were."""
    order = [base for i, base in enumerate(bases) if i != index] + [bases[index]]
    return [base.with_changes(comma=old.comma) for base, old in zip(order, bases)]
