"""Chainer in texts that are code: annotations in quotes change with the others, what runs as a text keeps what it
needs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.kinds import Const, options
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.keeping import later
from chainer2torch.plan.parts.names import emit_value
from chainer2torch.plan.questions.aliases import DOTTED, Aliases
from chainer2torch.plan.residue import runs_text

_RUN = "named in a text that runs; the text is kept as it is and needs Chainer"
_UNKNOWN_TEXT = (
    "runs a text that is not known here: where it names Chainer, or what this file imports of it, it needs another text"
)
_WITHIN = "named in an annotation in quotes that holds more than this name"


def run(context: Context) -> Decisions:
    """Rewrites annotations in quotes that are one name of Chainer's; marks other ones, and what runs as a text."""
    decisions = Decisions(context)
    aliases = Aliases(context)
    for node in context.source.of(ast.Call, ast.FunctionDef, ast.AsyncFunctionDef, ast.arg, ast.AnnAssign):
        if isinstance(node, ast.Call) and runs_text(node):
            names = [name for text in _given(context, node) for name in _keep(decisions, aliases, text)]
            if names:
                decisions.mark(node, None, names[0], "manual", _RUN)
            elif context.imports_chainer and not context.migrated and not _is_known(context, node):
                decisions.mark(node, None, f"builtins.{ast.unparse(node.func)}", "review", _UNKNOWN_TEXT)
            continue
        annotation = (
            node.returns
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            else node.annotation
            if isinstance(node, (ast.arg, ast.AnnAssign))
            else None
        )
        for string, text in _quoted(annotation) if annotation is not None else ():
            _annotation(context, decisions, aliases, string, text)
    return decisions


def _keep(decisions: Decisions, aliases: Aliases, text: str) -> list[str]:
    """Chainer's names in a text that is code of this file; the imports that bind them stay."""
    names, bound = aliases.named(text)
    if bound:
        decisions.need(decisions.context.source.tree, bound)
    return names


def _quoted(annotation: ast.expr) -> Iterator[tuple[ast.Constant, str]]:
    """The strings of an annotation that stand for types."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        yield annotation, annotation.value
    elif not (isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value).endswith("Literal")):
        for child in ast.iter_child_nodes(annotation):
            if isinstance(child, ast.expr):
                yield from _quoted(child)


def _annotation(context: Context, decisions: Decisions, aliases: Aliases, node: ast.Constant, text: str) -> None:
    try:
        inner = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return
    outer = [n for n in nodes_of(inner) if isinstance(n, (ast.Name, ast.Attribute))]
    held = {n.value for n in outer if isinstance(n, ast.Attribute)}
    names = [name for n in outer if n not in held and (name := aliases.resolve(ast.unparse(n))) is not None]
    if not names:
        return
    row = context.rules.rows.get(names[0])
    if later(context, decisions, node, row, names[0]):
        _keep(decisions, aliases, text)
        return
    if row is not None and isinstance(inner, (ast.Name, ast.Attribute)) and not context.skipped.node(node):
        emit_value(context, decisions, node, row)
    else:
        decisions.mark(node, row, names[0], "manual", _WITHIN)
    if decisions.state(node) == "manual":
        _keep(decisions, aliases, text)


def _is_known(context: Context, call: ast.Call) -> bool:
    """Whether the whole of what a call runs stands in the source, or is none of the file's names (a literal)."""
    text = call.args[0]
    kinds = options(context.analysis.kind(text))
    if not all(isinstance(k, Const) and isinstance(k.value, str) for k in kinds):
        return False
    return not context.module.stars or not any(DOTTED.search(str(k.value)) for k in kinds if isinstance(k, Const))


def _given(context: Context, call: ast.Call) -> Iterator[str]:
    """The texts that are known of what a call runs."""
    for part in nodes_of(call.args[0]):
        if isinstance(part, ast.Constant):
            if isinstance(part.value, str):
                yield part.value
        elif isinstance(part, ast.expr):
            yield from (
                kind.value
                for kind in options(context.analysis.kind(part))
                if isinstance(kind, Const) and isinstance(kind.value, str)
            )
