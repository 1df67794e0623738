"""The call matrix: the ways to write one call, made from an example's own call and the row's signature."""

from __future__ import annotations

import ast
import builtins
import copy
import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from chainer2torch.rules.signature import BindError, Bound, Signature

# What a snippet's imports make of its names.
_MODULES = {"F": "chainer.functions", "L": "chainer.links", "np": "numpy", "chainer": "chainer"}
AS_WRITTEN, AS_VALUE, OTHER = "as written", "as a value", "another "
# Values for options whose default says nothing of what they take.
_OPTIONS = {
    "axis": "1",
    "class_weight": "np.array([0.5, 2, 1], 'f')",
    "dtype": "np.float64",
    "pad_value": "1.0",
    "reduce": "'no'",
    "seed": "1",
    "stride": "2",
}


@dataclasses.dataclass(frozen=True)
class Variant:
    """One way to write an example: its texts, and the plain values that became arguments of the snippet."""

    label: str
    setup: str
    before: str
    values: Mapping[str, Any] = dataclasses.field(default_factory=dict)


def variants(name: str, signature: Signature | None, setup: str, before: str, given: Sequence[str]) -> list[Variant]:
    """The example as it stands, and its first call of ``name`` (a dotted Chainer name) written in every other way.

    Positional, by keyword (in another order than the signature's, where there are several), defaults left out, defaults
    written out, and values in variables.
    Ways that give the same text are left out.
    """
    found = [Variant(AS_WRITTEN, setup, before)]
    if signature is None:
        return found
    seen = {_normal(setup, before)}
    modules = _imported(setup, before)
    for part, text in (("setup", setup), ("before", before)):
        tree = ast.parse(text)
        place = find_call(tree, name, signature, modules)
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


def as_value(name: str, signature: Signature, setup: str, before: str, value: str) -> Variant | None:
    """The example with the name in a variable that is called in its place: ``function = F.elu``, ``function(x)``.

    So what stands for the name itself, the row's ``value``, is run. The helpers have Chainer's parameter names;
    anything else of PyTorch's promises the order of the arguments only. None when no call of the example can be
    written so.
    """
    modules = _imported(setup, before)
    for part, text in (("setup", setup), ("before", before)):
        tree = ast.parse(text)
        place = find_call(tree, name, signature, modules)
        if place is None:
            continue
        call, receiver = place
        if receiver is not None:
            return None
        if not value.startswith("compat."):
            try:
                bound = signature.bind(call.args, call.keywords, None)
            except BindError:
                return None
            positional = [p.name for p in signature.parameters if p.kind == "positional"]
            given = [name for name in positional if name in bound.given]
            if bound.starred or bound.extra_keywords or given != positional[: len(bound.given)]:
                return None
            call.args, call.keywords = [*(bound.given[name] for name in given), *bound.extra_args], []
        statement = next(node for node in tree.body if any(inner is call for inner in ast.walk(node)))
        variable = _unused(f"{setup}\n{before}")
        # with a second name: one that is only called would go, as another way to write the name itself
        targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in (variable, f"{variable}_too")]
        assignment = ast.Assign(targets, call.func, lineno=0)
        call.func = ast.Name(variable, ast.Load())
        tree.body.insert(tree.body.index(statement), assignment)
        texts = (ast.unparse(tree), before) if part == "setup" else (setup, ast.unparse(tree))
        return Variant(AS_VALUE, *texts)
    return None


def with_options(
    name: str, signature: Signature, setup: str, before: str, wanted: Collection[str]
) -> Iterator[Variant]:
    """The example with one more argument: each of the ``wanted`` parameters once, in another value than its default.

    Nobody has written these calls; Chainer may refuse them.
    """
    modules = _imported(setup, before)
    for part, text in (("setup", setup), ("before", before)):
        tree = ast.parse(text)
        place = find_call(tree, name, signature, modules)
        if place is None:
            continue
        call, receiver = place
        try:
            passed = signature.bind(call.args, call.keywords, receiver).given
        except BindError:
            return
        plain = [keyword for keyword in call.keywords if keyword.arg not in wanted]
        if any(passed.get(option) in call.args for option in wanted):
            return  # written by position: such an example gives it
        for option, default in signature.defaults.items():
            value = _other_value(option, default) if option in wanted else None
            if value is not None:
                call.keywords = [*plain, ast.keyword(option, ast.parse(value, mode="eval").body)]
                texts = (ast.unparse(tree), before) if part == "setup" else (setup, ast.unparse(tree))
                yield Variant(OTHER + option, *texts)
        return


def given_options(name: str, signature: Signature, setup: str, before: str) -> frozenset[str]:
    """The parameters to which the first call of an example gives another value than the default."""
    modules = _imported(setup, before)
    for text in (setup, before):
        place = find_call(ast.parse(text), name, signature, modules)
        if place is not None:
            try:
                given = signature.bind(place[0].args, place[0].keywords, place[1]).given
            except BindError:
                return frozenset()
            return frozenset(n for n, node in given.items() if not _equals_default(node, signature.defaults.get(n)))
    return frozenset()


def _other_value(option: str, default: str) -> str | None:
    try:
        value = ast.literal_eval(default)
    except (ValueError, SyntaxError):
        return _OPTIONS.get(option)
    if isinstance(value, bool):
        return repr(not value)
    if isinstance(value, int):
        return repr(value + 1)
    if isinstance(value, float):
        return repr(value / 2 + 0.25)
    return "0.5" if option.startswith("initial") else _OPTIONS.get(option)


def _unused(text: str) -> str:
    names = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    return next(name for name in ("chosen", "chosen_one", "chosen_two") if name not in names)


def _normal(setup: str, before: str) -> str:
    return ast.unparse(ast.parse(setup)) + "\0" + ast.unparse(ast.parse(before))


def _imported(*texts: str) -> dict[str, str]:
    """What the names of a snippet stand for: those of every snippet, and what its own texts import."""
    found = dict(_MODULES)
    for node in (node for text in texts for node in ast.walk(ast.parse(text))):
        if isinstance(node, ast.Import):
            found.update((a.asname, a.name) if a.asname else (a.name.split(".")[0],) * 2 for a in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.update((a.asname or a.name, f"{node.module}.{a.name}") for a in node.names)
    return found


def find_call(
    tree: ast.AST, name: str, signature: Signature, modules: Mapping[str, str] = _MODULES
) -> tuple[ast.Call, ast.expr | None] | None:
    """The first call of the name; for a method also its receiver. ``modules``: what the snippet's names stand for."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        dotted = _dotted(node.func, modules)
        if dotted == name:
            return node, None
        if (
            signature.is_method
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == name.rsplit(".", 1)[1]
            and _dotted(node.func.value, modules) is None
        ):
            return node, node.func.value
    return None


def _dotted(node: ast.expr, modules: Mapping[str, str]) -> str | None:
    if isinstance(node, ast.Attribute):
        base = _dotted(node.value, modules)
        return None if base is None else f"{base}.{node.attr}"
    return modules.get(node.id) if isinstance(node, ast.Name) else None


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
    # Python binds by name whatever the order is: another order than the signature's proves this one, too
    yield (
        "by keyword" if len(named) < 2 else "shuffled keywords",
        [],
        keywords(named[1::2] + named[::2][::-1], values),
        {},
    )
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
