"""Chainer in texts that are code: annotations in quotes change with the others, what runs as a text keeps what it
needs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from chainer2torch.analysis.kinds import Const, Ref, options
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.residue import runs_text
from chainer2torch.plan.sites import Plan
from chainer2torch.plan.stages import later

_DOTTED = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_RUN = "named in a text that runs; the text is kept as it is and needs Chainer"
_UNKNOWN_TEXT = (
    "runs a text that is not known here: where it names Chainer, or what this file imports of it, it needs another text"
)
_WITHIN = "named in an annotation in quotes that holds more than this name"


class Aliases:
    """The names that a file's imports bind to something of Chainer's, in any scope."""

    def __init__(self, plan: Plan):
        self._plan = plan
        self._bound: dict[str, list[tuple[ast.alias, str]]] = {}
        for alias in plan.source.of(ast.alias):
            kind = plan.analysis.bindings.get(alias)
            if isinstance(kind, Ref) and kind.name in plan.analysis.libraries:
                name = alias.asname or alias.name.split(".")[0]
                self._bound.setdefault(name, []).append((alias, kind.name))

    def resolve(self, dotted: str) -> str | None:
        """Chainer's name for a dotted name as the file spells it; None when no import binds it."""
        root, dot, rest = dotted.partition(".")
        found = self._bound.get(root)
        return self._plan.rules.canonical(found[0][1] + dot + rest) if found else None

    def keep(self, text: str) -> list[str]:
        """Chainer's names in a text that is code of this file; the imports that bind them stay."""
        names = []
        for match in _DOTTED.finditer(text):
            name = self.resolve(match[0])
            if name is None and match[0] in self._plan.analysis.libraries:
                names.append(match[0])
            elif name is not None:
                names.append(name)
                root = match[0].split(".")[0]
                self._plan.needed |= {(self._plan.scope(alias, root), root) for alias, _ in self._bound[root]}
        return names


def texts(plan: Plan) -> None:
    """Rewrites annotations in quotes that are one name of Chainer's; marks other ones, and what runs as a text."""
    aliases = Aliases(plan)
    for node in plan.source.of(ast.Call, ast.FunctionDef, ast.AsyncFunctionDef, ast.arg, ast.AnnAssign):
        if isinstance(node, ast.Call) and runs_text(node):
            names = [name for text in _given(plan, node) for name in aliases.keep(text)]
            if names:
                plan.mark(node, None, names[0], "manual", _RUN)
            elif plan.imports_chainer and not plan.migrated and not _is_known(plan, node):
                plan.mark(node, None, f"builtins.{ast.unparse(node.func)}", "review", _UNKNOWN_TEXT)
            continue
        annotation = (
            node.returns
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            else node.annotation
            if isinstance(node, (ast.arg, ast.AnnAssign))
            else None
        )
        for string, text in _quoted(annotation) if annotation is not None else ():
            _annotation(plan, aliases, string, text)


def _quoted(annotation: ast.expr) -> Iterator[tuple[ast.Constant, str]]:
    """The strings of an annotation that stand for types."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        yield annotation, annotation.value
    elif not (isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value).endswith("Literal")):
        for child in ast.iter_child_nodes(annotation):
            if isinstance(child, ast.expr):
                yield from _quoted(child)


def _annotation(plan: Plan, aliases: Aliases, node: ast.Constant, text: str) -> None:
    try:
        inner = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return
    outer = [n for n in nodes_of(inner) if isinstance(n, (ast.Name, ast.Attribute))]
    held = {n.value for n in outer if isinstance(n, ast.Attribute)}
    names = [name for n in outer if n not in held and (name := aliases.resolve(ast.unparse(n))) is not None]
    if not names:
        return
    row = plan.rules.rows.get(names[0])
    if later(plan, node, row, names[0]):
        aliases.keep(text)
        return
    if row is not None and isinstance(inner, (ast.Name, ast.Attribute)) and not plan.skipped.node(node):
        plan.value(node, row)
    else:
        plan.mark(node, row, names[0], "manual", _WITHIN)
    if plan.sites[node].state == "manual":
        aliases.keep(text)


def _is_known(plan: Plan, call: ast.Call) -> bool:
    """Whether the whole of what a call runs stands in the source, or is none of the file's names (a literal)."""
    text = call.args[0]
    kinds = options(plan.analysis.kind(text))
    if not all(isinstance(k, Const) and isinstance(k.value, str) for k in kinds):
        return False
    return not plan.module.stars or not any(_DOTTED.search(str(k.value)) for k in kinds if isinstance(k, Const))


def _given(plan: Plan, call: ast.Call) -> Iterator[str]:
    """The texts that are known of what a call runs."""
    for part in ast.walk(call.args[0]):
        if isinstance(part, ast.Constant):
            if isinstance(part.value, str):
                yield part.value
        elif isinstance(part, ast.expr):
            yield from (
                kind.value
                for kind in options(plan.analysis.kind(part))
                if isinstance(kind, Const) and isinstance(kind.value, str)
            )
