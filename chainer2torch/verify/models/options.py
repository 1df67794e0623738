"""The settings of a project by their names, with values that they have somewhere: options of scripts, configuration
files, tables, and classes that hold nothing else. The values are texts of Python.

Nothing is imported or run.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from chainer2torch.analysis.flow import Analysis
from chainer2torch.verify.models.inferred_arguments import Calls

_CONFIG = (".yaml", ".yml", ".json", ".toml", ".cfg", ".ini", ".conf")
_LARGEST_CONFIG = 200_000
_SETTING = re.compile(r"""^[\s"']*([A-Za-z_]\w*)["']?\s*[:=]\s*([^#\n]+?)\s*,?\s*$""", re.MULTILINE)
# A larger size is as well guessed by the name: a model of the program's own size takes long.
_SMALL = 16


def options(analysis: Analysis, calls: Calls, settings: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """All settings by name; those of ``settings`` come behind the options of scripts."""
    found = calls.options()
    for name, values in settings.items():
        found.setdefault(name, []).extend(values)
    for module in analysis.project.modules.values():
        for name, value in (*_in_tables(module.tree), *_asked_for(module.tree)):
            known = found.setdefault(name, [])
            if value not in known:
                known.append(value)
    return found


def _in_tables(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The texts, flags and small numbers of dictionaries, of constructors' defaults, and of the bodies of classes."""
    pairs: list[tuple[str | None, ast.expr]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
            pairs += [(key, value) for key, value in zip(keys, node.values) if isinstance(key, str)]
        elif isinstance(node, ast.FunctionDef) and node.name == "__init__":
            names = [argument.arg for argument in node.args.args[len(node.args.args) - len(node.args.defaults) :]]
            pairs += zip(names, node.args.defaults)
        elif isinstance(node, ast.ClassDef):
            for statement in node.body:
                if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                    pairs.append((statement.targets[0].id, statement.value))
    for name, value in pairs:
        constant = value.value if isinstance(value, ast.Constant) else ...
        if name and (isinstance(constant, (str, bool)) or isinstance(constant, (int, float)) and constant <= _SMALL):
            yield name, repr(constant)


def _asked_for(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The keys of a module's tables that are asked for what a name or an attribute holds: ``ACTIVATIONS[cfg.afn]``."""
    tables = {
        statement.targets[0].id: statement.value
        for statement in tree.body
        if isinstance(statement, ast.Assign)
        and isinstance(statement.targets[0], ast.Name)
        and isinstance(statement.value, ast.Dict)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in tables:
            name = getattr(node.slice, "id", None) or getattr(node.slice, "attr", None)
            for key in tables[node.value.id].keys if name else ():
                if isinstance(key, ast.Constant) and isinstance(key.value, (str, int)):
                    yield str(name), repr(key.value)


def read_settings(src: Path) -> Mapping[str, list[str]]:
    """The numbers, texts and lists of configuration files by their names."""
    found: dict[str, list[str]] = {}
    for path in sorted(src.rglob("*")):
        if path.suffix in _CONFIG and path.is_file() and path.stat().st_size < _LARGEST_CONFIG:
            try:
                text = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):
                continue
            for name, value in _pairs(path, text):
                known = found.setdefault(name, [])
                if value not in known:
                    known.append(value)
    return found


def _pairs(path: Path, text: str) -> Iterator[tuple[str, str]]:
    if path.suffix == ".json":
        try:
            yield from _leaves(json.loads(text))
        except (ValueError, RecursionError):
            pass
        return
    for name, value in _SETTING.findall(text):
        read = {"true": True, "false": False, "null": None, "~": None}.get(value.lower(), ...)
        if read is ...:
            try:
                read = ast.literal_eval(value)
            except (ValueError, SyntaxError):
                continue
        if _is_plain(read):
            yield name, repr(read)


def _leaves(data: Any) -> Iterator[tuple[str, str]]:
    if isinstance(data, dict):
        for name, value in data.items():
            if _is_plain(value):
                yield name, repr(value)
            else:
                yield from _leaves(value)


def _is_plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return len(value) < 20 and all(isinstance(item, (int, float)) for item in value)
    return value is None or isinstance(value, (bool, int, float, str))
