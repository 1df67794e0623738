"""Chainer signatures as data, and how a call's arguments bind to them."""

from __future__ import annotations

import ast
import dataclasses
import functools
from collections.abc import Mapping


class BindError(Exception):
    """The call does not fit the signature; the message says how."""


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One parameter: its kind is ``positional``, ``keyword`` (keyword only), ``args`` or ``kwargs``."""

    name: str
    kind: str
    default: str | None


@dataclasses.dataclass(frozen=True)
class Bound:
    """What a call passes: nodes by parameter name, the extra arguments, and whether ``*a`` or ``**k`` hides some."""

    given: Mapping[str, ast.expr]
    extra_args: tuple[ast.expr, ...] = ()
    extra_keywords: tuple[tuple[str, ast.expr], ...] = ()
    starred: bool = False

    def variadic(self, signature: Signature | None) -> frozenset[str]:
        """The names of the ``*args`` and ``**kwargs`` parameters that receive something."""
        parameters = signature.parameters if signature is not None else ()
        return frozenset(
            p.name
            for p in parameters
            if p.kind == "args" and self.extra_args or p.kind == "kwargs" and self.extra_keywords
        )


@dataclasses.dataclass(frozen=True)
class Signature:
    """A parsed signature such as ``(x, slope=0.2)``."""

    parameters: tuple[Parameter, ...]
    text: str

    @classmethod
    def parse(cls, text: str) -> Signature:
        """Parses the text of a parameter list; raises ValueError with the reason when it is not one."""
        try:
            code = f"def f{text.strip()}: pass"
            tree = ast.parse(code).body[0]
        except SyntaxError as error:
            raise ValueError(f"signature `{text}` is not a parameter list: {error.msg}") from None
        assert isinstance(tree, ast.FunctionDef)
        a = tree.args
        positional = [*a.posonlyargs, *a.args]
        defaults: list[ast.expr | None] = [None] * (len(positional) - len(a.defaults)) + list(a.defaults)
        parameters = [Parameter(p.arg, "positional", _source(d, code)) for p, d in zip(positional, defaults)]
        if a.vararg:
            parameters.append(Parameter(a.vararg.arg, "args", None))
        parameters += [Parameter(p.arg, "keyword", _source(d, code)) for p, d in zip(a.kwonlyargs, a.kw_defaults)]
        if a.kwarg:
            parameters.append(Parameter(a.kwarg.arg, "kwargs", None))
        return cls(tuple(parameters), text)

    @functools.cached_property
    def names(self) -> frozenset[str]:
        """The names of all parameters."""
        return frozenset(p.name for p in self.parameters)

    @functools.cached_property
    def defaults(self) -> Mapping[str, str]:
        """The default of each parameter that has one, as source text."""
        return {p.name: p.default for p in self.parameters if p.default is not None}

    @property
    def is_method(self) -> bool:
        """Whether the first parameter is the receiver."""
        return bool(self.parameters) and self.parameters[0].name == "self"

    def bind(self, args: list[ast.expr], keywords: list[ast.keyword], receiver: ast.expr | None = None) -> Bound:
        """Binds a call's arguments; raises :class:`BindError` when they do not fit."""
        if any(isinstance(a, ast.Starred) for a in args) or any(k.arg is None for k in keywords):
            return Bound({}, starred=True)
        if receiver is not None and self.is_method:
            args = [receiver, *args]
        positional = [p for p in self.parameters if p.kind == "positional"]
        has_args = any(p.kind == "args" for p in self.parameters)
        has_kwargs = any(p.kind == "kwargs" for p in self.parameters)
        given = {p.name: a for p, a in zip(positional, args)}
        extra = tuple(args[len(positional) :])
        if extra and not has_args:
            raise BindError(f"takes {len(positional)} positional arguments, {len(args)} were given")
        named = {p.name for p in self.parameters if p.kind in ("positional", "keyword")}
        extra_keywords = []
        for keyword in keywords:
            assert keyword.arg is not None
            if keyword.arg in given:
                raise BindError(f"argument `{keyword.arg}` is given twice")
            if keyword.arg in named:
                given[keyword.arg] = keyword.value
            elif has_kwargs:
                extra_keywords.append((keyword.arg, keyword.value))
            else:
                raise BindError(f"has no argument `{keyword.arg}`")
        for p in self.parameters:
            if p.kind in ("positional", "keyword") and p.default is None and p.name not in given:
                if not (p.name == "self" and receiver is None):
                    raise BindError(f"argument `{p.name}` is missing")
        return Bound(given, extra, tuple(extra_keywords))


def _source(node: ast.expr | None, code: str) -> str | None:
    if node is None:
        return None
    if code.isascii() and "\n" not in code:  # then offsets in bytes and in the line are those in the text
        return code[node.col_offset : node.end_col_offset]
    return ast.get_source_segment(code, node)
