"""The new texts of expressions of one statement, inner ones first: names, and calls whose layout is the usual one."""

from __future__ import annotations

import ast
import functools
import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence

from chainer2torch.analysis.source import Source, child_nodes
from chainer2torch.plan.edits import AddKeyword, Operand, Replace, Span, Wrap
from chainer2torch.rewrite.skeletons import ATOM, CALL, OTHER, Skeleton, Stand, skeleton
from chainer2torch.rewrite.torch_names import Names
from chainer2torch.rules.row import TEMPLATE_ROOTS

_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.MatMult: "@",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitOr: "|",
    ast.BitAnd: "&",
    ast.BitXor: "^",
}
_ATOMS = (
    ast.Name,
    ast.Attribute,
    ast.Subscript,
    ast.Constant,
    ast.JoinedStr,
    ast.List,
    ast.Dict,
    ast.Set,
    ast.ListComp,
    ast.DictComp,
    ast.SetComp,
)
_OTHERS = (ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Lambda, ast.Await)
_LINE = re.compile(r"\n([ \t]*)(?=[^ \t\n])")
# where a line break may be part of something else than blanks between arguments
_HARD = ("\r", "#", "\\", '"""', "'''")


class ByLibCST(Exception):
    """A statement is none of ours."""


def with_texts(text: str, start: int, stop: int, spans: Sequence[Span], texts: Sequence[str]) -> str:
    parts: list[str] = []
    for (first, last), new in zip(spans, texts):
        parts += (text[start:first], new)
        start = last
    parts.append(text[start:stop])
    return "".join(parts)


class Writer:
    """Writes what the edits of one statement make of its expressions, inner ones first."""

    def __init__(
        self,
        source: Source,
        names: Names,
        by_span: Mapping[Span, Sequence[Replace | Wrap | AddKeyword]],
        points: Sequence[Span],
        start: int,
        indent: str,
    ):
        self.source, self.names, self.by_span = source, names, by_span
        self.points, self.start, self.indent = points, start, indent
        self.left = set(points)
        # as in `Patches`: what is done up to now
        self.spans: list[Span] = []
        self.texts: list[str] = []
        self.kinds: dict[Span, str] = {}

    def visit(self, node: ast.AST, parent: ast.AST | None) -> None:
        """Makes the edits of a node and of those below it."""
        span = None
        if hasattr(node, "lineno"):
            span = self.source.span(node)
            at = bisect_left(self.points, (span[0], 0))
            if at == len(self.points) or self.points[at][0] >= span[1]:
                return
            if isinstance(node, ast.JoinedStr):
                raise ByLibCST
        for child in child_nodes(node):
            self.visit(child, node)
        if span in self.left and isinstance(node, ast.expr):
            assert span is not None
            self.left.discard(span)
            self._edit(node, parent, span)

    def finish(self, statement: ast.stmt) -> None:
        """Is it all? What would be ``x = x`` goes, and LibCST takes it away."""
        if self.left:
            raise ByLibCST
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            if isinstance(target, ast.Name) and self._text(self.source.span(statement.value)).strip() == target.id:
                raise ByLibCST

    def _text(self, span: Span) -> str:
        """The new text of a place."""
        first, behind = bisect_left(self.spans, (span[0], 0)), bisect_left(self.spans, (span[1], 0))
        return with_texts(self.source.text, *span, self.spans[first:behind], self.texts[first:behind])

    def _old(self, span: Span) -> str:
        return self.source.text[span[0] : span[1]]

    def _edit(self, node: ast.expr, parent: ast.AST | None, span: Span) -> None:
        edits = self.by_span[span]
        replaces = [e for e in edits if isinstance(e, Replace)]
        keywords = [e for e in edits if isinstance(e, AddKeyword)]
        wraps = [e for e in edits if isinstance(e, Wrap)]
        several = "\n" in (old := self._old(span)) or "\r" in old
        if (
            max(len(replaces), len(keywords), len(wraps)) > 1
            or several
            and (keywords or not self._is_plain(node, span))
        ):
            raise ByLibCST
        by_name = bool(replaces) and _is_name(replaces[0]) and not wraps and not keywords
        if not by_name and self._in_parentheses(node, parent, span):
            raise ByLibCST
        text, kind = self._replaced(node, span, replaces[0]) if replaces else (self._text(span), self._kind(node))
        for keyword in keywords:
            text = self._with_keyword(node, text, kind, keyword)
        for wrap in wraps:
            text, kind = self._wrapped(wrap, text, kind)
        first, behind = bisect_left(self.spans, (span[0], 0)), bisect_left(self.spans, (span[1], 0))
        self.spans[first:behind], self.texts[first:behind] = [span], [text]
        self.kinds[span] = kind

    def _in_parentheses(self, node: ast.expr, parent: ast.AST | None, span: Span) -> bool:
        """Whether a node has parentheses around it that are nothing else's."""
        text = self.source.text
        before, behind = span[0] - 1, span[1]
        while before >= self.start and text[before] in " \t\r\n\\":
            if text[before] == "\n" and "#" in self.source.line_at(before)[0]:
                return True  # who knows what comes before a comment
            before -= 1
        if before < self.start or text[before] != "(":
            return False
        while behind < len(text) and text[behind] in " \t\r\n\\":
            behind += 1
        if behind < len(text) and text[behind] not in ")#":
            return False
        if isinstance(parent, ast.Call) and parent.args == [node] and not parent.keywords:
            return self.source.span(parent.func)[1] != before  # `f((x))`, `(f)(x)`
        return True

    def _is_plain(self, node: ast.expr, span: Span) -> bool:
        """Whether this is a call whose line breaks are between arguments, and inside of these."""
        if not isinstance(node, ast.Call) or self.source.start(node.func) != span[0]:
            return False
        if any(word in self._old(span) for word in _HARD):
            return False
        return "\n" not in self._old(self.source.span(node.func))

    def _replaced(self, node: ast.expr, span: Span, edit: Replace) -> tuple[str, str]:
        if isinstance(node, ast.Call) and "\n" in self._old(span):
            return self._on_lines(node, span, edit), CALL
        if edit.callee_only:
            if not isinstance(node, ast.Call) or self.source.start(node.func) != span[0]:
                raise ByLibCST
            behind = self.source.span(node.func)[1]
            return self._spelled(edit.template) + self._text((behind, span[1])), CALL
        if _is_name(edit):
            return self._spelled(edit.template), ATOM
        if "\n" in edit.template:
            raise ByLibCST
        places = self._places(node, span)
        stands, extra, texts = self._stands(edit, places)
        if any("\n" in text for text in texts):
            raise ByLibCST
        filled = self._skeleton(edit, stands, extra)
        return filled.whole.filled(self.names, texts), filled.kind

    def _stands(
        self, edit: Replace, places: dict[Span, ast.expr]
    ) -> tuple[dict[str, Stand], tuple[Stand, ...], list[str]]:
        """What stands for the operands of an edit, and for those of its ``*args`` and ``**options``; their texts."""
        texts: list[str] = []
        stands = {name: self._stand(operand, places, edit, texts) for name, operand in edit.operands.items()}
        return stands, tuple(self._stand(operand, places, edit, texts) for operand in _more(edit)), texts

    def _on_lines(self, node: ast.Call, span: Span, edit: Replace) -> str:
        """A call with line breaks between its arguments, where these stay as they are and in their order."""
        function = self.source.span(node.func)
        places, gaps = self._arguments_on_lines(node, function[1], span[1])
        *gaps, closing = gaps
        values = list(places)
        if edit.callee_only:
            name, more = self._spelled(edit.template), ""
            before = [_argument(part)[1] for part in _in_order(self.source, node)]
        elif "\n" in edit.template:
            raise ByLibCST
        else:
            stands, extra, texts = self._stands(edit, places)
            filled = self._skeleton(edit, stands, extra)
            spans = [operand.span for operand in (*edit.operands.values(), *_more(edit))]
            own, added = filled.arguments[: len(values)], filled.arguments[len(values) :]
            numbers = [one.value.operand for one in own]
            if filled.function is None or [None if n is None else spans[n] for n in numbers] != values:
                raise ByLibCST
            name, before = filled.function.filled(self.names, texts), [one.before for one in own]
            more = "".join(f", {one.before}{one.value.filled(self.names, texts)}" for one in added)
        if "\n" in name or more and ("\n" in more or closing != ")"):
            raise ByLibCST
        parts = [part for gap, word, value in zip(gaps, before, values) for part in (gap, word, self._text(value))]
        arguments = "".join([*parts, more, closing])
        shift = len(name) - (function[1] - function[0])
        return name + (arguments if "\n" in gaps[0] else self._shifted(arguments, span[0], function[1], shift))

    def _arguments_on_lines(self, node: ast.Call, at: int, end: int) -> tuple[dict[Span, ast.expr], list[str]]:
        """The arguments of a call by their places, and what stands before, between and behind them."""
        text, places, gaps = self.source.text, dict[Span, ast.expr](), list[str]()
        for part in _in_order(self.source, node):
            (start, stop), (value, opening) = self.source.span(part), _argument(part)
            place = self.source.span(value)
            if isinstance(value, (ast.GeneratorExp, ast.Starred)) or opening.startswith("*"):
                raise ByLibCST
            if text[start : place[0]] != opening or place[1] != stop:
                raise ByLibCST
            gaps.append(text[at:start])
            places[place] = value
            at = stop
        gaps.append(text[at:end])
        usual = [gap.replace("\n", " ").strip() for gap in gaps]
        usual[-1] = usual[-1].replace(" ", "")
        if not places or usual[0] != "(" or set(usual[1:-1]) - {","} or usual[-1] not in (")", ",)"):
            raise ByLibCST
        if any(gap[0] not in "(," for gap in gaps[:-1]):  # blanks before a comma
            raise ByLibCST
        return places, gaps

    def _shifted(self, arguments: str, start: int, end: int, shift: int) -> str:
        """Arguments that stand under the first one go on doing so: what `layout.realign` does with nodes."""
        line, line_start = self.source.line_at(start)
        column, indent = end - line_start + 1, len(line) - len(line.lstrip())
        outer = self.indent

        def moved(found: re.Match[str]) -> str:
            blanks = found[1]
            inside = blanks.startswith(outer)
            own = blanks[len(outer) :] if inside else blanks
            if len(own) + (indent if inside else 0) < column or own.strip(" "):
                return found[0]
            return "\n" + (outer if inside else "") + " " * max(len(own) + shift, 0)

        return _LINE.sub(moved, arguments) if shift else arguments

    def _skeleton(self, edit: Replace, stands: dict[str, Stand], extra: tuple[Stand, ...]) -> Skeleton:
        filled = skeleton(edit, stands, extra, bool(self.names.helpers.native))
        if filled is None or any(name in self.names.rebound for name in filled.builtins):
            raise ByLibCST
        if any(dotted in self.names.own for dotted in filled.whole.dotted):
            raise ByLibCST
        return filled

    def _spelled(self, dotted: str) -> str:
        if dotted in self.names.own:
            raise ByLibCST
        return self.names.spell(dotted)

    def _stand(self, operand: Operand, places: dict[Span, ast.expr], edit: Replace, texts: list[str]) -> Stand:
        if operand.code is not None:
            texts.append(operand.code)
            return Stand(text=operand.code)
        assert operand.span is not None
        node = places.get(operand.span)
        if node is None:
            raise ByLibCST
        text = self._text(operand.span)
        texts.append(text)
        literals = edit.drop.values()
        if edit.drop and (text in literals or _is_literal(text)):  # what a keyword may be left out for
            return Stand(text=text)
        return Stand(self.kinds.get(operand.span) or self._kind(node))

    def _kind(self, node: ast.expr) -> str:
        if isinstance(node, ast.Call):
            return CALL
        if isinstance(node, _ATOMS):
            return ATOM
        if isinstance(node, ast.BinOp):
            return _OPERATORS[type(node.op)]
        if isinstance(node, ast.Tuple) and self.source.text[self.source.start(node)] == "(":
            opening = self.source.start(node.elts[0]) if node.elts else -1
            if opening != self.source.start(node) and self.source.text[self.source.span(node)[1] - 1] == ")":
                return ATOM
        if isinstance(node, _OTHERS):
            return OTHER
        raise ByLibCST

    def _places(self, node: ast.expr, span: Span) -> dict[Span, ast.expr]:
        """The parts of a node that can be operands: it is written in the usual way, without needless parentheses."""
        span_of, text = self.source.span, self.source.text
        places: dict[Span, ast.expr] = {}
        if isinstance(node, ast.Attribute):
            self._receiver(node, span, places)
        elif isinstance(node, ast.Call):
            function = span_of(node.func)
            if function[0] != span[0]:
                raise ByLibCST
            places[function] = node.func
            if isinstance(node.func, ast.Attribute):
                self._receiver(node.func, function, places, needed=False)
            at, between = function[1], "("
            for part in _in_order(self.source, node):
                start, end = span_of(part)
                if text[at:start] != between:
                    raise ByLibCST
                value, opening = _argument(part)
                place = span_of(value) if value is not part else (start, end)
                if isinstance(value, ast.GeneratorExp) or text[start : place[0]] != opening or place[1] != end:
                    raise ByLibCST
                places[place] = value
                at, between = end, ", "
            if text[at : span[1]] != (")" if between == ", " else "()"):
                raise ByLibCST
        elif not isinstance(node, ast.Name):
            raise ByLibCST
        return places

    def _receiver(self, node: ast.Attribute, span: Span, places: dict[Span, ast.expr], needed: bool = True) -> None:
        place = self.source.span(node.value)
        if place[0] == span[0] and self.source.text[place[1] : span[1]] == f".{node.attr}":
            places[place] = node.value
        elif needed:
            raise ByLibCST

    def _with_keyword(self, node: ast.expr, text: str, kind: str, edit: AddKeyword) -> str:
        if kind != CALL:
            return text
        if not isinstance(node, ast.Call):
            raise ByLibCST
        self._places(node, self.source.span(node))
        comma = "" if text.endswith("()") else ", "
        head, bracket, rest = edit.value.strip().partition("(")
        value = self._spelled(head) if head.startswith("compat.") else head
        return f"{text[:-1]}{comma}{edit.name}={value}{bracket}{rest})"

    def _wrapped(self, wrap: Wrap, text: str, kind: str) -> tuple[str, str]:
        if "\n" in wrap.template or any(o.code is None for o in wrap.operands.values()):
            raise ByLibCST
        around = Replace(wrap.span, wrap.template, {})
        stands: dict[str, Stand] = {}
        texts: list[str] = []
        for name, operand in wrap.operands.items():
            assert operand.code is not None
            stands[name] = Stand(text=operand.code)
            texts.append(operand.code)
        stands["value"] = Stand(kind)
        filled = self._skeleton(around, stands, ())
        if "\n" in text and (filled.kind != CALL or kind != CALL):
            raise ByLibCST
        return filled.whole.filled(self.names, [*texts, text]), filled.kind


def _is_name(edit: Replace) -> bool:
    """Whether a name takes the place of what was there."""
    template = edit.template
    return (
        not edit.operands
        and not edit.callee_only
        and template.replace(".", "").isidentifier()
        and template.split(".")[0] in TEMPLATE_ROOTS
    )


@functools.lru_cache(maxsize=4096)
def _is_literal(text: str) -> bool:
    try:
        ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _more(edit: Replace) -> list[Operand]:
    return [*edit.extra, *(operand for _, operand in edit.extra_keywords)]


def _in_order(source: Source, call: ast.Call) -> list[ast.expr | ast.keyword]:
    """The arguments as they stand in the text."""
    parts: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    return sorted(parts, key=source.start)


def _argument(part: ast.expr | ast.keyword) -> tuple[ast.expr, str]:
    """The value of an argument, and what stands before it."""
    if isinstance(part, ast.keyword):
        return part.value, "**" if part.arg is None else f"{part.arg}="
    return (part.value, "*") if isinstance(part, ast.Starred) else (part, "")


__all__ = ["ByLibCST", "Writer", "with_texts"]
