"""What the scripts of a project do before they make a model: functions that choose the array module for it.

Many a program keeps NumPy or CuPy in a global or in an attribute of a class (``XP.set_library(args)``), and its links
compute with that. Nothing is imported or run here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.module_index import ClassInfo, ModuleInfo

_ARRAY_MODULES = frozenset("np numpy cupy cp xp get_array_module".split())
_QUIET = (ast.Assign, ast.If, ast.Global, ast.Pass, ast.Return, ast.Expr)
_FLAGS = re.compile(r"^(use|is|with|has|on|enable)(_|$)|^(gpu|cuda)_?(flag|on|mode)$")
_DEVICES = re.compile(r"gpu|device|cuda|^id$")
_OPTIONS = re.compile(r"arg|opt|conf|cfg|param|setting|flags")
_MOST = 12  # statements of such a function


class ScriptState:
    """Answers for the classes of one analysed project."""

    def __init__(self, analysis: Analysis):
        self._project = analysis.project
        called = {_last(call.func) for module in self._project.modules.values() for call in _calls(module.tree)}
        self._setters: dict[str, list[str]] = {}
        for path, module in sorted(self._project.modules.items()):
            texts = [text for name, text in _setters(module.tree) if name in called]
            if texts:
                self._setters[path] = texts

    def of(self, cls: ClassInfo) -> list[str]:
        """The calls that go before a model of ``cls`` is made, each with its file: ``util.py: XP.set_library(-1)``."""
        if not self._setters:
            return []
        return [f"{path}: {text}" for path in self._reached(cls.module) for text in self._setters.get(path, ())]

    def _reached(self, module: ModuleInfo) -> list[str]:
        """The files that a module imports, itself first."""
        seen: dict[str, None] = {}
        waiting = [module]
        while waiting:
            some = waiting.pop()
            if some.path not in seen:
                seen[some.path] = None
                waiting += self._imported(some)
        return list(seen)

    def _imported(self, module: ModuleInfo) -> Iterator[ModuleInfo]:
        for node in ast.walk(module.tree):
            found = []
            if isinstance(node, ast.Import):
                found += [self._project.find(name.name, module) for name in node.names]
            elif isinstance(node, ast.ImportFrom):
                dotted = node.module or ""
                level = node.level
                parent = (
                    self._project.find_relative(level, dotted, module) if level else self._project.find(dotted, module)
                )
                found.append(parent)
                if parent is not None:
                    found += [self._project.submodule(parent, name.name) for name in node.names]
            yield from (some for some in found if isinstance(some, ModuleInfo))


def _setters(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Functions that choose an array module, by their names, with the text that calls them for the CPU."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            text = _call_of(node, node.name, {name for part in ast.walk(node) for name in _globals(part)}, 0)
            if text:
                yield node.name, text
        elif isinstance(node, ast.ClassDef):
            for inner in (part for part in node.body if isinstance(part, ast.FunctionDef)):
                kinds = {_last(decorator) for decorator in inner.decorator_list}
                if kinds & {"staticmethod", "classmethod"}:
                    name = f"{node.name}.{inner.name}"
                    text = _call_of(inner, name, {node.name, "cls"}, int("classmethod" in kinds))
                    if text:
                        yield inner.name, text


def _globals(node: ast.AST) -> list[str]:
    return node.names if isinstance(node, ast.Global) else []


def _call_of(function: ast.FunctionDef, name: str, owners: set[str], skipped: int) -> str:
    """The call of a function that keeps an array module in one of ``owners`` and does nothing else; else empty."""
    statements = [node for node in ast.walk(function) if isinstance(node, ast.stmt) and node is not function]
    if len(statements) > _MOST or not all(isinstance(node, _QUIET) for node in statements):
        return ""
    if not any(_keeps(node, owners) for node in statements):
        return ""
    a = function.args
    if a.vararg or a.kwarg or a.kwonlyargs:
        return ""
    given = []
    for parameter in a.args[skipped : len(a.args) - len(a.defaults)]:
        value = _value(parameter.arg, function)
        if value is None:
            return ""
        given.append(value)
    return f"{name}({', '.join(given)})"


def _keeps(node: ast.stmt, owners: set[str]) -> bool:
    """Whether a statement binds one of the names, or an attribute of one, to an array module."""
    if not isinstance(node, ast.Assign) or not any(
        _last_known(part) in _ARRAY_MODULES for part in ast.walk(node.value)
    ):
        return False
    return any(
        isinstance(target, ast.Name)
        and target.id in owners
        or isinstance(target, ast.Attribute)
        and isinstance(target.value, ast.Name)
        and target.value.id in owners
        for target in node.targets
    )


def _value(name: str, function: ast.FunctionDef) -> str | None:
    """What means the CPU, for a parameter: a flag, the number of a device, or options with such attributes."""
    plain = name.lower()
    asked = {
        node.attr
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name
    }
    if asked or _OPTIONS.search(plain):
        values = {attribute: _value(attribute, function) for attribute in sorted(asked)}
        if None in values.values():
            return None
        return f"types.SimpleNamespace({', '.join(f'{key}={value}' for key, value in values.items())})"
    return "False" if _FLAGS.search(plain) else "-1" if _DEVICES.search(plain) else None


def _calls(tree: ast.Module) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def _last_known(node: ast.AST) -> str:
    return _last(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""


def _last(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
