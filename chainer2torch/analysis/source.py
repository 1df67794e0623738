"""A source file as text with offsets, and the tree with parent links."""

from __future__ import annotations

import ast
import bisect
import functools
import itertools
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, overload

A = TypeVar("A", bound=ast.AST)
B = TypeVar("B", bound=ast.AST)
C = TypeVar("C", bound=ast.AST)
Span = tuple[int, int]
_NO_NODES = frozenset({"ctx", "op", "ops", "id", "attr", "kind", "type_comment"})
_NOT_ALL_NODES = frozenset({"names", "keys", "kw_defaults", "kwd_attrs"})  # lists that also hold texts, or None
_INSIDE = "nodes inside"  # under this name a module, function or class of a source keeps its nodes
_NEWLINE = re.compile(r"\r\n|\r|\n")


def _child_fields(node_type: Any) -> tuple[str, ...]:
    """The fields in which nodes stand, without those for operators and contexts (Load, Add): they have no place."""
    return () if node_type is ast.Constant else tuple(name for name in node_type._fields if name not in _NO_NODES)


_children: Callable[[Any], tuple[str, ...]] = functools.cache(_child_fields)


def child_nodes(node: ast.AST) -> list[ast.AST]:
    """The children of a node that have a place: ``ast.iter_child_nodes`` without its generators."""
    found: list[ast.AST] = []
    for name in _children(node.__class__):
        value = getattr(node, name, None)
        if isinstance(value, ast.AST):
            found.append(value)
        elif isinstance(value, list):
            found += [child for child in value if isinstance(child, ast.AST)]
    return found


def nodes_of(tree: ast.AST) -> list[ast.AST]:
    """All nodes of a tree that have a place, outer ones before inner ones: the order of ``ast.walk``."""
    if _INSIDE in vars(tree):
        return [tree, *within(tree).nodes]
    return _walked(tree)


def within(tree: ast.AST) -> Nodes:
    """What ``nodes_of`` gives, by types; a module, function or class of a source keeps it, without itself."""
    own = vars(tree)
    if _INSIDE not in own:
        return Nodes(_walked(tree))
    found: Nodes | None = own[_INSIDE]
    if found is None:
        own[_INSIDE] = found = Nodes(_walked(tree)[1:])
    return found


def _walked(tree: ast.AST) -> list[ast.AST]:
    nodes: list[ast.AST] = [tree]
    append = nodes.append
    for node in nodes:
        for name in _children(type(node)):
            value = getattr(node, name, None)
            if value.__class__ is list:
                if name in _NOT_ALL_NODES:
                    value = [child for child in value if isinstance(child, ast.AST)]
                nodes += value
            elif isinstance(value, ast.AST):
                append(value)
    return nodes


class Nodes:
    """The nodes of a tree, outer ones before inner ones, sorted out by their types once."""

    def __init__(self, nodes: list[ast.AST]):
        self.nodes = nodes
        self._of: dict[tuple[type[ast.AST], ...], tuple[ast.AST, ...]] = {}

    @functools.cached_property
    def _places(self) -> dict[type[ast.AST], list[int]]:
        """Where in ``nodes`` the nodes of each type stand."""
        places: defaultdict[type[ast.AST], list[int]] = defaultdict(list)
        for i, node in enumerate(self.nodes):
            places[node.__class__].append(i)
        return dict(places)

    @functools.cached_property
    def attributes(self) -> dict[str, list[ast.Attribute]]:
        """The nodes of members by their names."""
        found: dict[str, list[ast.Attribute]] = {}
        for node in self.of(ast.Attribute):
            found.setdefault(node.attr, []).append(node)
        return found

    @functools.cached_property
    def named(self) -> dict[str, list[ast.Name]]:
        """The nodes of variables by their names."""
        found: dict[str, list[ast.Name]] = {}
        for node in self.of(ast.Name):
            found.setdefault(node.id, []).append(node)
        return found

    @functools.cached_property
    def open(self) -> frozenset[str]:
        """The names of what may be a function or a caller's value."""
        names = {n.func.id for n in self.of(ast.Call) if isinstance(n.func, ast.Name)}
        names |= {n.name for n in self.of(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)}
        return frozenset(names | {n.arg for n in self.of(ast.arg)})

    @functools.cached_property
    def kept(self) -> frozenset[str]:
        """The names of members that something is kept under."""
        return frozenset(node.attr for node in self.of(ast.Attribute) if node.ctx.__class__ is not ast.Load)

    @functools.cached_property
    def keywords(self) -> dict[str | None, list[ast.keyword]]:
        """The arguments by keyword by their names; those of ``**`` have none."""
        found: dict[str | None, list[ast.keyword]] = {}
        for node in self.of(ast.keyword):
            found.setdefault(node.arg, []).append(node)
        return found

    @overload
    def of(self, first: type[A], /) -> tuple[A, ...]: ...

    @overload
    def of(self, first: type[A], second: type[B], /) -> tuple[A | B, ...]: ...

    @overload
    def of(self, first: type[A], second: type[B], third: type[C], /) -> tuple[A | B | C, ...]: ...

    @overload
    def of(self, *types: type[ast.AST]) -> tuple[ast.AST, ...]: ...

    def of(self, *types: type[ast.AST]) -> tuple[Any, ...]:
        """The nodes of these types (no abstract ones), in the order of ``nodes``, without a walk over all of them."""
        found = self._of.get(types)
        if found is None:
            known = [self._places[node_type] for node_type in types if node_type in self._places]
            places = known[0] if len(known) == 1 else sorted(itertools.chain.from_iterable(known))
            self._of[types] = found = tuple(map(self.nodes.__getitem__, places))
        return found


class Source(Nodes):
    """Text, line starts, and for each node its parent."""

    def __init__(self, text: str, tree: ast.Module):
        super().__init__([tree])  # all nodes that have a place come behind it, below
        self.text = text
        self.tree = tree
        self.line_starts = [0, *(m.end() for m in _NEWLINE.finditer(text))]
        self._ascii = text.isascii()
        self.parents: dict[ast.AST, ast.AST] = {}
        self.generators: set[ast.AST] = set()
        parents, append = self.parents, self.nodes.append
        for node in self.nodes:
            for name in _children(type(node)):
                value = getattr(node, name, None)
                if value.__class__ is list:
                    for child in value:
                        if isinstance(child, ast.AST):
                            parents[child] = node
                            append(child)
                elif isinstance(value, ast.AST):
                    parents[value] = node
                    append(value)
        for scope in (tree, *self.of(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            vars(scope)[_INSIDE] = None  # nobody changes the tree of a source
        for found in self.of(ast.Yield, ast.YieldFrom):
            function = self.enclosing(found, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
            if function is not None:
                self.generators.add(function)

    @functools.cached_property
    def assigned(self) -> frozenset[str]:
        """The names that something other than an import binds, in any scope."""
        names = {node.id for node in self.of(ast.Name) if node.ctx.__class__ is not ast.Load}
        names |= {node.name for node in self.of(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)}
        names |= {node.arg for node in self.of(ast.arg)}
        names |= {node.name for node in self.of(ast.ExceptHandler, ast.MatchAs, ast.MatchStar) if node.name}
        names |= {node.rest for node in self.of(ast.MatchMapping) if node.rest}
        return frozenset(names)

    @functools.cached_property
    def strings(self) -> list[Span]:
        """Where strings stand, in order; what is inside of an f-string is part of it."""
        spans: list[Span] = []
        for span in sorted(
            self.span(node)
            for node in self.of(ast.Constant, ast.JoinedStr)
            if isinstance(node, ast.JoinedStr) or isinstance(node.value, (str, bytes))
        ):
            if not spans or span[0] >= spans[-1][1]:
                spans.append(span)
        return spans

    def in_string(self, offset: int) -> bool:
        """Whether a place is in a string."""
        number = bisect.bisect_right(self.strings, (offset, len(self.text))) - 1
        return number >= 0 and offset < self.strings[number][1]

    def comment_before(self, offset: int) -> int | None:
        """Where the comment begins that holds a place; None when it is in none."""
        line, start = self.line_at(offset)
        at = line.find("#", 0, offset - start)
        while at >= 0 and self.in_string(start + at):
            at = line.find("#", at + 1, offset - start)
        return start + at if at >= 0 else None

    def offset(self, line: int, column: int) -> int:
        """The offset of a position that ``ast`` gives (columns count UTF-8 bytes there)."""
        start = self.line_starts[line - 1]
        if self._ascii:
            return start + column
        end = self.line_starts[line] if line < len(self.line_starts) else len(self.text)
        return start + len(self.text[start:end].encode()[:column].decode(errors="replace"))

    def line_at(self, offset: int) -> tuple[str, int]:
        """The line in which an offset lies, and the offset of its start."""
        number = bisect.bisect_right(self.line_starts, offset) - 1
        start = self.line_starts[number]
        end = self.line_starts[number + 1] if number + 1 < len(self.line_starts) else len(self.text)
        return self.text[start:end], start

    def start(self, node: ast.AST) -> int:
        """The offset at which a node starts."""
        return self.offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]

    def span(self, node: ast.AST) -> Span:
        """The offsets of a node."""
        return self.start(node), self.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def segment(self, node: ast.AST) -> str:
        """The source text of a node."""
        start, end = self.span(node)
        return self.text[start:end]

    def block(self, statement: ast.AST) -> list[ast.AST]:
        """The statements among which one stands, itself included: a body, an ``else`` or a ``finally``."""
        parent = self.parents.get(statement)
        blocks = (getattr(parent, field, None) for field in ("body", "orelse", "finalbody"))
        return next((block for block in blocks if isinstance(block, list) and statement in block), [])

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """The parents of a node, innermost first."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def statement(self, node: ast.AST) -> ast.stmt:
        """The innermost statement that holds a node."""
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def line_statement(self, node: ast.AST) -> ast.stmt:
        """The innermost statement that holds a node and begins its line, so that a comment can stand above it."""
        statement = self.statement(node)
        while self.text[self.line_starts[statement.lineno - 1] : self.start(statement)].strip():
            before = self._before_on_line(statement)
            if before is None:
                return statement
            statement = before
        return statement

    def _before_on_line(self, statement: ast.stmt) -> ast.stmt | None:
        """What stands in front of a statement on its line: another one and ``;``, or the ``if x:`` of its suite."""
        parent = self.parents[statement]
        for siblings in (getattr(parent, name, None) for name in ("body", "orelse", "finalbody")):
            if isinstance(siblings, list) and statement in siblings:
                at = siblings.index(statement)
                before: ast.stmt | None = siblings[at - 1] if at else None
                if before is not None and before.end_lineno == statement.lineno:
                    return before
        while not isinstance(parent, ast.stmt):
            if parent not in self.parents:
                return None
            parent = self.parents[parent]
        return parent

    def enclosing(self, node: ast.AST, *types: type[ast.AST]) -> ast.AST | None:
        """The innermost ancestor of one of the types."""
        parents = self.parents
        above = parents.get(node)
        while above is not None and not isinstance(above, types):
            above = parents.get(above)
        return above
