"""The Chains of a project that nobody has described: models for ``verify models``, as far as their code tells.

The classes are found by the analysis that the migration uses; nothing is imported here.
"""
from __future__ import annotations

import ast
from collections.abc import Collection
from pathlib import Path

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.names import ClassInfo, Project
from chainer2torch.analysis.source import Source
from chainer2torch.project import collect
from chainer2torch.rules import load_rules
from chainer2torch.verify.inferred_inputs import Reader, Unclear
from chainer2torch.verify.models import ModelEntry

_HARMLESS_CALLS = ("sys.path.", "matplotlib.use", "warnings.", "logging.")


def infer(src: Path, out: Path, known: Collection[str]) -> tuple[list[ModelEntry], list[str]]:
    """Models for the Chains of ``src`` that are not in ``known`` (targets such as ``net:MLP``), and a line
    ``net:MLP: why`` for each whose arguments or inputs the code does not tell.
    """
    analysis = _analysis(src, out)
    reader = Reader(analysis)
    found, left = [], []
    for cls in sorted(analysis.classes.values(), key=lambda c: (c.module.path, c.node.lineno)):
        if not (analysis.derives(cls, "chainer.Chain") or analysis.derives(cls, "chainer.ChainList")):
            continue
        target = f"{_module(cls.module.path)}:{cls.name}"
        if target in known:
            continue
        try:
            _must_be_importable(cls, out)
            arguments = reader.arguments(cls)
            inputs = reader.inputs(cls, arguments)
        except Unclear as why:
            left.append(f"{target}: {why}")
            continue
        named = reader.by_keyword(cls)
        found.append(ModelEntry(
            target, [value for name, value in arguments.items() if name not in named],
            {name: value for name, value in arguments.items() if name in named},
            {f"x{i}": array for i, array in enumerate(inputs.values())}, ["train", "eval"], inferred=True))
    return found, left


def _analysis(src: Path, out: Path) -> Analysis:
    trees: dict[str, Source] = {}
    for tree in collect([src]).trees:
        for path, source in tree.sources.items():
            if path.endswith(".py") and out.resolve() not in (src / path).resolve().parents:
                try:
                    trees[path] = Source(source.text, ast.parse(source.text))
                except (SyntaxError, ValueError, RecursionError, MemoryError):
                    continue
    return Analysis(Project(trees), load_rules()).run()


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _must_be_importable(cls: ClassInfo, out: Path) -> None:
    """Raises Unclear unless the class can be had by importing its module, here and in ``out``, and nothing runs."""
    if cls.module.source.enclosing(cls.node, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef) is not None:
        raise Unclear("it is defined inside of a function or class")
    if "." in cls.module.path.removesuffix(".py"):
        raise Unclear("its file cannot be imported by its name")
    line = _first_action(cls.module.tree.body)
    if line is not None:
        raise Unclear(f"its module does something when it is imported, in line {line}")
    port = out / cls.module.path
    if not port.is_file():
        raise Unclear(f"{out.name} has no {cls.module.path}")
    try:
        tree = ast.parse(port.read_bytes())
    except (SyntaxError, ValueError):
        return  # the comparison says so
    bound = [node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    bound += [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    bound += [(name.asname or name.name) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
              for name in node.names]
    if cls.name not in bound:
        raise Unclear(f"{cls.module.path} of {out.name} has no class of this name")


def _first_action(body: list[ast.stmt]) -> int | None:
    """The first line of a module that does more than define something; what it does as a script apart."""
    for node in body:
        if isinstance(node, (ast.For, ast.While, ast.With)):
            return node.lineno
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and not ast.unparse(
                node.value.func).startswith(_HARMLESS_CALLS):
            return node.lineno
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and ast.unparse(
                node.value.func).endswith(("parse_args", "parse_known_args", "input")):
            return node.lineno
        if isinstance(node, ast.If) and "__name__" in ast.unparse(node.test):
            continue
        line = _first_action([*node.body, *node.orelse]) if isinstance(node, (ast.If, ast.Try)) else None
        if line is not None:
            return line
    return None


