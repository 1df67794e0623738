"""Texts into LibCST's nodes and back: what ``Module.code`` gives, without a context manager for each node.

Between two texts of one module only a few of its statements change: those that stay are printed once.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

import libcst as cst
from libcst._nodes.internal import CodegenState


@functools.lru_cache(maxsize=1)  # a file whose last use of an import has gone is rewritten twice
def parse_module(text: str) -> cst.Module:
    """The tree of a text."""
    try:
        return cst.parse_module(text)
    except ValueError:  # a form feed in the first indentation: LibCST cannot take that for the usual one
        return cst.parse_module(text, cst.PartialParserConfig(default_indent="    "))


# fields of LibCST nodes that hold no expression, apart from whitespace: nothing in them is ever replaced
_PUNCTUATION = frozenset(
    """
    lpar rpar lbracket rbracket lbrace rbrace comma equal colon semicolon dot operator keyword attr leading_lines header
    footer
    """.split()
)
N = TypeVar("N", bound=cst.CSTNode)


class _State(CodegenState):
    """LibCST's own state while it prints; nobody asks for positions here."""

    def __init__(self, indent: str, newline: str):
        super().__init__(indent, newline)
        self._nothing = nullcontext()

    def record_syntactic_position(self, node: cst.CSTNode, **_: Any) -> AbstractContextManager[None]:  # type: ignore[override]
        return self._nothing


class Printer:
    """Prints texts of one module, as it is and as it becomes."""

    def __init__(self) -> None:
        self._known: dict[cst.CSTNode, list[str]] = {}

    def code(self, module: cst.Module) -> str:
        """The text of the whole module."""
        tokens: list[str] = []
        for node in (*module.header, *module.body, *module.footer):
            if node not in self._known:
                self._known[node] = _tokens(node, module)
            tokens += self._known[node]
        if not module.has_trailing_newline:
            del tokens[-1:]
        elif not tokens:
            tokens.append(module.default_newline)
        return "".join(tokens)


def _tokens(node: cst.CSTNode, module: cst.Module) -> list[str]:
    state = _State(module.default_indent, module.default_newline)
    node._codegen(state)
    return state.tokens


@functools.cache
def fields(node_type: type) -> tuple[str, ...]:
    """The fields of a LibCST node in which expressions and statements stand."""
    return tuple(
        f.name
        for f in dataclasses.fields(node_type)
        if f.name not in _PUNCTUATION and not f.name.startswith("whitespace")
    )


@functools.cache
def all_fields(node_type: type[cst.CSTNode]) -> tuple[str, ...]:
    """All fields of a LibCST node."""
    return tuple(field.name for field in dataclasses.fields(node_type))


def changed(node: N, changes: Mapping[str, Any]) -> N:
    """A node with other values in some of its fields: ``node.with_changes``, which looks at every field twice."""
    kind = node.__class__
    new = object.__new__(kind)
    for name in all_fields(kind):
        object.__setattr__(new, name, changes[name] if name in changes else getattr(node, name))
    new.__post_init__()  # is it code?
    return new


@functools.cache
def _empty() -> cst.Module:
    return cst.Module([])


def code_of(node: cst.CSTNode, module: cst.Module | None = None) -> str:
    """The text of a node as it would stand in a module; without one, with four blanks and line feeds."""
    return "".join(_tokens(node, module or _empty()))


__all__ = ["Printer", "all_fields", "changed", "code_of", "fields", "parse_module"]
