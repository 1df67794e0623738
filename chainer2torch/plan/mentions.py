"""Chainer's names in strings, docstrings and comments: nothing changes them, the report lists them."""
from __future__ import annotations

import ast
import re
from bisect import bisect_right

from chainer2torch.plan.edits import Mention
from chainer2torch.plan.sites import Plan
from chainer2torch.plan.texts import Aliases

# dotted names (not parts of paths and addresses), imports, and strings that are one name
_NAMES = re.compile(r"(?<![\w./@-])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+(?![\w/-])"
                    r"|(?<=\bimport )[A-Za-z_]\w*(?![\w.-])|(?<=\bfrom )[A-Za-z_]\w*(?= import\b)"
                    r"|(?<=['\"])[A-Za-z_]\w*(?=['\"])")
_FILES = (".org", ".com", ".io", ".py", ".rst", ".md", ".txt", ".html")
_OURS = ("# TODO(chainer2torch", "# chainer2torch:")


def mentions(plan: Plan) -> list[Mention]:
    """All of a file, by line: where a name of Chainer's stands in a text that is not code as far as it can be known."""
    aliases, source = Aliases(plan), plan.source
    strings: _Strings | None = None
    found = []
    for match in _NAMES.finditer(source.text):
        symbol = _symbol(plan, aliases, match[0])
        if symbol is None:
            continue
        strings = strings or _Strings(plan)
        where = strings.at(match.start(), match[0]) or strings.comment(match.start())
        if where:
            line = bisect_right(source.line_starts, match.start())
            before = source.text[source.line_starts[line - 1]:match.start()]
            found.append(Mention(line, len(before.encode("utf-8", "surrogatepass")) + 1, symbol, where))
    return found


def _symbol(plan: Plan, aliases: Aliases, name: str) -> str | None:
    if name in plan.analysis.libraries:
        return None if name.endswith(_FILES) else name
    resolved = aliases.resolve(name) if "." in name else None
    # a sentence may hold "F.some": only what Chainer has is meant
    return resolved if resolved is not None and resolved in plan.rules.rows else None


class _Strings:
    """The strings of a file by their places, without those that have a site of their own."""

    def __init__(self, plan: Plan):
        self._source = plan.source
        told = {part for site in plan.sites if isinstance(site, (ast.Call, ast.Constant)) for part in ast.walk(site)
                if isinstance(part, ast.Constant)}
        parents = plan.source.parents
        self._code = [plan.source.span(node.value) for node in plan.source.nodes
                      if isinstance(node, ast.FormattedValue)]
        self._found: list[tuple[int, int, str, str | None]] = []  # start, end, where, the text of an f-string
        for node in plan.source.nodes:
            if isinstance(node, ast.JoinedStr) and not isinstance(parents.get(node), (ast.JoinedStr,
                                                                                      ast.FormattedValue)):
                parts = [p for p in ast.walk(node) if isinstance(p, ast.Constant) and isinstance(p.value, str)]
                text = "" if told.intersection(parts) else "\n".join(str(p.value) for p in parts)
                self._found.append((*plan.source.span(node), "string", text))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and \
                    not isinstance(parents.get(node), (ast.JoinedStr, ast.FormattedValue)):
                where = "docstring" if isinstance(parents.get(node), ast.Expr) else "string"
                self._found.append((*plan.source.span(node), where, "" if node in told else None))
        self._found.sort(key=lambda entry: entry[:2])
        self._starts = [entry[0] for entry in self._found]

    def at(self, offset: int, name: str) -> str:
        """What a name stands in: "string", "docstring", or "" when it is code, a comment, or has a site."""
        number = bisect_right(self._starts, offset) - 1
        if number < 0 or offset >= self._found[number][1]:
            return ""
        if any(start <= offset < end for start, end in self._code):
            return ""
        _, _, where, text = self._found[number]
        return where if text is None or name in text else ""

    def comment(self, offset: int) -> str:
        """"comment" when a comment begins before this place on its line, except for the tool's own."""
        line, start = self._source.line_at(offset)
        for match in re.finditer("#", line[:offset - start]):
            number = bisect_right(self._starts, start + match.start()) - 1
            if number < 0 or start + match.start() >= self._found[number][1]:
                return "" if line[match.start():].startswith(_OURS) else "comment"
        return ""
