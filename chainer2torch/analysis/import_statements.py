"""Import statements: which module of the project, or which dotted name outside it, an imported name stands for."""

from __future__ import annotations

import ast

from chainer2torch.analysis.interpreter import Interpreter
from chainer2torch.analysis.kinds import UNKNOWN, Folder, Kind, Mod, Ref
from chainer2torch.analysis.libraries import HELPERS
from chainer2torch.analysis.module_index import ModuleInfo
from chainer2torch.analysis.source import Source


def hidden_imports(source: Source) -> frozenset[ast.alias]:
    """The names that the next imports of a file bind anew: ``from chainer import datasets`` above scikit-learn's.

    Nothing reads what they gave: there are only imports in between.
    """
    hidden: set[ast.alias] = set()
    bound: dict[str, ast.alias] = {}
    for statement in source.tree.body:
        if not isinstance(statement, (ast.Import, ast.ImportFrom)):
            bound.clear()
            continue
        for alias in statement.names:
            name = alias.asname or alias.name
            if isinstance(statement, ast.Import) and "." in name:
                continue  # `import a.b` adds to what `a` is
            if name in bound:
                hidden.add(bound[name])
            bound[name] = alias
    return frozenset(hidden)


class ImportStatements(Interpreter):
    """The part of the interpreter that runs ``import`` and ``from ... import``."""

    def _stmt_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            found = self.project.find(alias.name, self.module)
            if alias in self.once_a_file(hidden_imports, self.module.source):
                self.bindings[alias] = UNKNOWN if found is not None else self._outside(alias.name)
                continue
            if alias.asname:
                kind = self.module_kind(found) if found is not None else self._outside(alias.name)
                self.store(alias.asname, kind)
            else:
                top = alias.name.split(".")[0]
                first = self.project.find(top, self.module) if found is not None else None
                kind = self.module_kind(first) if first is not None else Ref(self.rules.canonical(top))
                self.store(top, kind)
                if found is not None:
                    self.module_kind(found)
            self.bindings[alias] = kind

    def _stmt_ImportFrom(self, node: ast.ImportFrom) -> None:
        name = node.module or ""
        if node.level:
            found = self.project.find_relative(node.level, name, self.module)
        else:
            found = self.project.find(name, self.module)
        source = self.module_kind(found) if found is not None else None
        for alias in node.names:
            if alias.name == "*":
                self._import_star(source, name, node.level)
                continue
            if alias.name == HELPERS:
                kind: Kind = Ref(HELPERS)
            elif source is not None:
                kind = self.attribute(source, alias.name)
            elif node.level:
                kind = UNKNOWN
            else:
                kind = self._outside(f"{name}.{alias.name}")
            self.bindings[alias] = kind
            if alias not in self.once_a_file(hidden_imports, self.module.source):
                self.store(alias.asname or alias.name, kind)

    def _outside(self, name: str) -> Ref:
        """A name outside the project. The helpers of an earlier run are the same wherever they lie."""
        parts = name.split(".")
        return Ref(".".join(parts[parts.index(HELPERS) :]) if HELPERS in parts else self.rules.canonical(name))

    def _import_star(self, source: Kind | None, name: str, level: int) -> None:
        if isinstance(source, Mod):
            self.reads(source.info, "*")
            for key, kind in list(source.info.env.items()):
                if not key.startswith("_"):
                    self.store(key, kind)
            self.module.stars.extend(s for s in source.info.stars if s not in self.module.stars)
        elif not level:  # the last one wins
            self.module.stars[:] = [*(star for star in self.module.stars if star != name), name]

    def module_kind(self, found: ModuleInfo | str) -> Kind:
        if isinstance(found, ModuleInfo):
            self.ensure_bound(found)
            return Mod(found)
        return Folder(found)
