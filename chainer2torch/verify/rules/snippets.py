"""Turns an example of a rule into a module text, migrates it, and reads the emitted expression back."""

from __future__ import annotations

import ast
import dataclasses
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

from chainer2torch.plan.options import Options
from chainer2torch.verify.rules import given as given_specs
from chainer2torch.verify.rules.callmatrix import Variant

IMPORTS = "import chainer\nimport chainer.functions as F\nimport chainer.links as L\nimport numpy as np\n"
_LEFT = ("manual",)
_VERSION = 7  # examples are written for the Chainer that runs them: positions mean what they mean there


@dataclasses.dataclass(frozen=True)
class Migrated:
    """The emitted module, the emitted text of ``before``, and why it cannot be run (None when it can)."""

    code: str
    after: str
    left: str | None
    exact: frozenset[tuple[str, str]] = (
        frozenset()
    )  # symbols and codes of the sites that are exact, or but for a declared difference
    made: str = ""  # the emitted text of ``setup``, where that stands at the top level


def build(variant: Variant, given: Mapping[str, Any]) -> str:
    """The module: imports, the example's ``setup``, and ``run`` with the inputs as parameters.

    Links are made at the top level, where the workers find them and give them the same weights. A ``setup`` that uses
    an input goes into ``run``.
    """
    names = [*given, *variant.values]
    setup, body = variant.setup.strip(), variant.before.strip()
    if setup and _uses(setup, given):
        setup, body = "", setup + "\n" + body
    last = ast.parse(body).body[-1]
    lines = body.splitlines()
    if isinstance(last, ast.Expr):
        lines[last.lineno - 1] = " " * last.col_offset + "return " + lines[last.lineno - 1][last.col_offset :]
    head = f"{IMPORTS}\n{setup}\n\n" if setup else f"{IMPORTS}\n"
    return f"{head}\ndef run({', '.join(names)}):\n{textwrap.indent(chr(10).join(lines), '    ')}\n"


def _uses(text: str, given: Mapping[str, Any]) -> bool:
    return any(isinstance(node, ast.Name) and node.id in given for node in ast.walk(ast.parse(text)))


def hints(given: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, str]:
    """The kinds of the inputs, for ``migrate_source``; none when the example says that they are not known."""
    found: dict[str, str] = {}
    if options.get("unknown", False):
        return found
    for name, spec in given.items():
        kind = given_specs.kind(spec, name in options.get("arrays", ()))
        if kind is not None:
            found[f"run.{name}"] = kind
    return found


def migrate(source: str, migrate_source: Callable[..., Any], rules: Any, known: Mapping[str, str]) -> Migrated:
    """Migrates a module text and says what is left in it."""
    result = migrate_source(source, rules=rules, hints=dict(known), options=Options(chainer_version=_VERSION))
    if result.error:
        return Migrated(source, "", f"error: {result.error}")
    left = [f"{site.symbol} is {site.state}: {site.message}" for site in result.sites if site.state in _LEFT]
    exact = frozenset((site.symbol, site.code) for site in result.sites if site.state in ("exact", "close"))
    return Migrated(result.code, emitted(result.code), "; ".join(left) or None, exact, made(result.code))


def after(example: Any, migrate_source: Callable[..., Any], rules: Any) -> str:
    """The emitted text of one example of a row, its inputs being what ``given`` says."""
    source = build(Variant("as written", example.options.get("setup", ""), example.before), example.given)
    result = migrate(source, migrate_source, rules, hints(example.given, example.options))
    return "\n".join(filter(None, [result.made, result.after]))


def made(code: str) -> str:
    """What a module does at its top level, apart from imports and functions: the example's ``setup``."""
    return "\n".join(
        ast.get_source_segment(code, node) or ""
        for node in ast.parse(code).body
        if not isinstance(node, (ast.Import, ast.ImportFrom, ast.FunctionDef))
    )


def emitted(code: str) -> str:
    """The text of the body of ``run``, as ``after`` states it: without the indent and the ``return``."""
    tree = ast.parse(code)
    run = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "run")
    lines = code.splitlines()[run.body[0].lineno - 1 : run.end_lineno]
    lines = textwrap.dedent("\n".join(lines)).splitlines()
    last = run.body[-1]
    if isinstance(last, ast.Return):
        at = last.lineno - run.body[0].lineno
        if lines[at].startswith("return "):
            lines[at] = lines[at][len("return ") :]
    return "\n".join(lines).strip()


def same_text(after: str, emitted_text: str) -> bool:
    """Whether the emitted text is the one that the example states, up to white space at the ends of lines."""
    return [line.rstrip() for line in after.strip().splitlines()] == [
        line.rstrip() for line in emitted_text.strip().splitlines()
    ]
