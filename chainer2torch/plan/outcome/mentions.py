"""Chainer's names in strings, docstrings and comments: nothing changes them, the report lists them."""

from __future__ import annotations

import ast
import functools
import re
from bisect import bisect_right
from collections.abc import Iterable

from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.aliases import Aliases
from chainer2torch.plan.site import Mention

# dotted names (not parts of paths and addresses), imports, and strings that are one name
_NAMES = re.compile(
    r"(?<![\w./@-])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+(?![\w/-])"
    r"|(?<=\bimport )[A-Za-z_]\w*(?![\w.-])|(?<=\bfrom )[A-Za-z_]\w*(?= import\b)"
    r"|(?<=['\"])[A-Za-z_]\w*(?=['\"])"
)
_FILES = (".org", ".com", ".io", ".py", ".rst", ".md", ".txt", ".html")
_OURS = ("# TODO(chainer2torch", "# chainer2torch:")


def mentions(context: Context, sites: Iterable[ast.AST]) -> list[Mention]:
    """All of a file, by line: where a name of Chainer's stands in a text that is not code as far as it can be known."""
    aliases, source = Aliases(context), context.source
    strings = _Strings(context, sites)
    symbols: dict[str, str | None] = {}
    found = {}
    for begin, end in strings.regions():
        for match in _NAMES.finditer(source.text, begin, end):
            name = match[0]
            if name not in symbols:
                symbols[name] = _symbol(context, aliases, name)
            symbol = symbols[name]
            where = symbol and (strings.at(match.start(), name) or strings.comment(match.start()))
            if symbol and where:
                line = bisect_right(source.line_starts, match.start())
                before = source.text[source.line_starts[line - 1] : match.start()]
                column = len(before.encode("utf-8", "surrogatepass")) + 1
                found[match.start()] = Mention(line, column, symbol, where)
    return [found[start] for start in sorted(found)]


def _symbol(context: Context, aliases: Aliases, name: str) -> str | None:
    if name in context.analysis.libraries:
        return None if name.endswith(_FILES) else name
    resolved = aliases.resolve(name) if "." in name else None
    # a sentence may hold "F.some": only what Chainer has is meant
    return resolved if resolved is not None and resolved in context.rules.rows else None


class _Strings:
    """The strings of a file by their places, without those that have a site of their own."""

    def __init__(self, context: Context, sites: Iterable[ast.AST]):
        self._sites, self._source = frozenset(sites), context.source
        parents = context.source.parents
        self._code = [context.source.span(node.value) for node in context.source.of(ast.FormattedValue)]
        self._found: list[tuple[int, int, ast.AST]] = []  # start, end, the node
        for node in context.source.of(ast.JoinedStr, ast.Constant):
            if (isinstance(node, ast.JoinedStr) or isinstance(node.value, str)) and not isinstance(
                parents.get(node), (ast.JoinedStr, ast.FormattedValue)
            ):
                self._found.append((*context.source.span(node), node))
        self._found.sort(key=lambda entry: entry[:2])
        self._starts = [entry[0] for entry in self._found]

    def regions(self) -> list[tuple[int, int]]:
        """Where text stands that is not code: strings and comments."""
        found = [entry[:2] for entry in self._found]
        text = self._source.text
        at = text.find("#")
        while at >= 0:
            if self._in_string(at):
                at = text.find("#", at + 1)
            else:
                line, start = self._source.line_at(at)
                found.append((at, start + len(line)))
                at = text.find("#", start + len(line))
        return found

    @functools.cached_property
    def _told(self) -> set[ast.AST]:
        return {
            part
            for site in self._sites
            if isinstance(site, (ast.Call, ast.Constant))
            for part in nodes_of(site)
            if isinstance(part, ast.Constant)
        }

    def _in_string(self, offset: int) -> bool:
        number = bisect_right(self._starts, offset) - 1
        return number >= 0 and offset < self._found[number][1]

    def at(self, offset: int, name: str) -> str:
        """What a name stands in: "string", "docstring", or "" when it is code, a comment, or has a site."""
        if not self._in_string(offset) or any(start <= offset < end for start, end in self._code):
            return ""
        node = self._found[bisect_right(self._starts, offset) - 1][2]
        if isinstance(node, ast.JoinedStr):
            parts = [p for p in nodes_of(node) if isinstance(p, ast.Constant) and isinstance(p.value, str)]
            text = "" if self._told.intersection(parts) else "\n".join(str(p.value) for p in parts)
            return "string" if name in text else ""
        if node in self._told:
            return ""
        return "docstring" if isinstance(self._source.parents.get(node), ast.Expr) else "string"

    def comment(self, offset: int) -> str:
        """ "comment" when a comment begins before this place on its line, except for the tool's own."""
        line, start = self._source.line_at(offset)
        for match in re.finditer("#", line[: offset - start]):
            if not self._in_string(start + match.start()):
                return "" if line[match.start() :].startswith(_OURS) else "comment"
        return ""
