"""The call matrix: the ways to write one call, made from an example's own call and the row's signature."""

from __future__ import annotations

import ast
import builtins
import copy
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chainer2torch.rules.signature import BindError, Bound, Signature

# What a snippet's imports make of its names.
_MODULES = {"F": "chainer.functions", "L": "chainer.links", "np": "numpy", "chainer": "chainer"}


@dataclasses.dataclass(frozen=True)
class Variant:
    """One way to write an example: its texts, and the plain values that became arguments of the snippet."""

    label: str
    setup: str
    before: str
    values: Mapping[str, Any] = dataclasses.field(default_factory=dict)


def variants(name: str, signature: Signature | None, setup: str, before: str, given: Sequence[str]) -> list[Variant]:
    """The example as it stands, and its first call of ``name`` (a dotted Chainer name) written in every other way.

    Positional, by keyword, shuffled keywords, defaults left out, defaults written out, and values in variables.
    Ways that give the same text are left out.
    """
    found = [Variant("as written", setup, before)]
    if signature is None:
        return found
    seen = {_normal(setup, before)}
    for part, text in (("setup", setup), ("before", before)):
        tree = ast.parse(text)
        place = find_call(tree, name, signature)
        if place is None:
            continue
        call, receiver = place
        try:
            bound = signature.bind(call.args, call.keywords, receiver)
        except BindError:
            return found  # an example of an error that Chainer raises
        if bound.starred or bound.extra_args:
            return found
        for label, args, keywords, values in _ways(
            signature, bound, copy.copy(call), receiver is not None, part, given
        ):
            call.args, call.keywords = args, keywords
            texts = (ast.unparse(tree), before) if part == "setup" else (setup, ast.unparse(tree))
            if _normal(*texts) not in seen:
                seen.add(_normal(*texts))
                found.append(Variant(label, *texts, values))
        return found
    return found


def _normal(setup: str, before: str) -> str:
    return ast.unparse(ast.parse(setup)) + "\0" + ast.unparse(ast.parse(before))


def find_call(tree: ast.AST, name: str, signature: Signature) -> tuple[ast.Call, ast.expr | None] | None:
    """The first call of the name; for a method also its receiver."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        dotted = _dotted(node.func)
        if dotted == name:
            return node, None
        if (
            signature.is_method
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == name.rsplit(".", 1)[1]
            and not _is_module(node.func.value)
        ):
            return node, node.func.value
    return None


def _dotted(node: ast.expr) -> str | None:
    if isinstance(node, ast.Attribute):
        base = _dotted(node.value)
        return None if base is None else f"{base}.{node.attr}"
    return _MODULES.get(node.id) if isinstance(node, ast.Name) else None


def _is_module(node: ast.expr) -> bool:
    return _dotted(node) is not None


_Way = tuple[str, list[ast.expr], list[ast.keyword], dict[str, Any]]


def _ways(
    signature: Signature, bound: Bound, original: ast.Call, method: bool, part: str, given: Sequence[str]
) -> Iterator[_Way]:
    positional = [p.name for p in signature.parameters if p.kind == "positional" and not (method and p.name == "self")]
    keyword_only = [p.name for p in signature.parameters if p.kind == "keyword"]
    values = {name: node for name, node in bound.given.items() if not (method and name == "self")}
    extra = [ast.keyword(key, node) for key, node in bound.extra_keywords]
    defaults = {name: text for name, text in signature.defaults.items() if _is_plain(text)}

    def keywords(names: Sequence[str], source: Mapping[str, ast.expr]) -> list[ast.keyword]:
        return [ast.keyword(name, copy.deepcopy(source[name])) for name in names] + extra

    by_order = [name for name in positional if name in values]
    last = max((positional.index(name) for name in by_order), default=-1)
    filled = dict(values)
    for name in positional[: last + 1]:
        if name not in filled and name in defaults:
            filled[name] = ast.parse(defaults[name], mode="eval").body
    rest = [name for name in keyword_only if name in values]
    if all(name in filled for name in positional[: last + 1]):
        yield "positional", [copy.deepcopy(filled[name]) for name in positional[: last + 1]], keywords(rest, values), {}
    named = by_order + rest
    yield "by keyword", [], keywords(named, values), {}
    yield "shuffled keywords", [], keywords(named[1::2] + named[::2][::-1], values), {}
    kept = [name for name in named if not _equals_default(values[name], defaults.get(name))]
    yield "defaults left out", [], keywords(kept, values), {}
    everything = {**{name: ast.parse(text, mode="eval").body for name, text in defaults.items()}, **values}
    order = [name for name in positional + keyword_only if name in everything]
    required = [name for name in by_order if name not in signature.defaults]
    yield (
        "defaults written out",
        [copy.deepcopy(values[name]) for name in required],
        keywords([name for name in order if name not in required], everything),
        {},
    )
    hoisted: dict[str, Any] = {}
    variables = {id(node): _hoist(name, node, hoisted, given) for name, node in values.items()}
    if hoisted and part == "before":
        yield (
            "values in variables",
            [variables[id(node)] for node in original.args],
            [ast.keyword(k.arg, variables.get(id(k.value), k.value)) for k in original.keywords],
            hoisted,
        )


def _hoist(name: str, node: ast.expr, hoisted: dict[str, Any], given: Sequence[str]) -> ast.expr:
    """A literal becomes a variable whose value is only known when the snippet runs."""
    try:
        value = ast.literal_eval(node)
    except (ValueError, SyntaxError, TypeError):
        return copy.deepcopy(node)
    if not _is_json(value):
        return copy.deepcopy(node)
    variable = f"{name}_" if f"{name}_" not in given else f"{name}_value"
    hoisted[variable] = value
    return ast.Name(variable, ast.Load())


def _is_json(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return all(map(_is_json, value))
    return value is None or isinstance(value, (bool, int, float, str))


def _is_plain(text: str) -> bool:
    """Whether a default can be written in a snippet: only literals and names that it imports."""
    return all(
        node.id in _MODULES or hasattr(builtins, node.id)
        for node in ast.walk(ast.parse(text, mode="eval"))
        if isinstance(node, ast.Name)
    )


def _equals_default(node: ast.expr, default: str | None) -> bool:
    return default is not None and ast.unparse(node) == ast.unparse(ast.parse(default, mode="eval"))
