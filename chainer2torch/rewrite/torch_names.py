"""How a torch name is spelled in one file, and which imports that needs."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Collection

import libcst as cst

from chainer2torch.analysis.source import Source

COMPAT = "chainer_compat"
# module -> the name under which people import it
_ALIASES = {
    "torch": "torch",
    "torch.nn": "nn",
    "torch.nn.functional": "F",
    "numpy": "np",
    "pytorch_pfn_extras": "ppe",
    "pytorch_pfn_extras.training.extensions": "extensions",
    "pytorch_pfn_extras.training.triggers": "triggers",
    "compat": "compat",
    "contextlib": "contextlib",
    "functools": "functools",
    "math": "math",
    "ignite": "ignite",
    "pfrl": "pfrl",
    "torchvision": "torchvision",
}
_SPARE = {"compat": "chainer_compat", "numpy": "numpy"}


@dataclasses.dataclass
class Names:
    """Spells dotted names with the file's own aliases where it has them, with the usual ones where they are free."""

    taken: Collection[str]
    existing: dict[str, str]
    needed: dict[str, str] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, source: Source, removed: Collection[str]) -> Names:
        """Looks at what a file binds; ``removed`` are the names whose imports go."""
        bound = {alias.asname or alias.name.split(".")[0] for alias in source.of(ast.alias)}
        taken = source.assigned | bound.difference(removed)
        existing: dict[str, str] = {}
        for node in source.tree.body:  # aliases inside functions are not there for the rest of the file
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.asname or "." not in alias.name:
                        existing.setdefault(_module(alias.name), alias.asname or alias.name)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                for alias in node.names:
                    existing.setdefault(_module(f"{node.module}.{alias.name}"), alias.asname or alias.name)
        return cls(taken, existing)

    def spell(self, dotted: str) -> str:
        """The spelling of a dotted name, with the needed import noted."""
        parts = dotted.split(".")
        for length in range(len(parts), 0, -1):
            module = ".".join(parts[:length])
            alias = self._alias(module)
            if alias is not None:
                return ".".join([alias, *parts[length:]])
        return dotted

    def _alias(self, module: str) -> str | None:
        if module in self.existing:
            return self.existing[module]
        if module in self.needed:
            return self.needed[module]
        last = f"_{module}" if module in ("torch", "compat") else None
        for alias in (_ALIASES.get(module), _SPARE.get(module), last):
            if alias is not None and alias not in self.taken and alias not in self.needed.values():
                self.needed[module] = alias
                return alias
        return None

    def statements(self) -> list[list[str]]:
        """The import statements that were needed: standard library, third party, the helpers; a group each."""
        groups: list[list[str]] = [[], [], []]
        for module, alias in sorted(self.needed.items()):
            name = COMPAT if module == "compat" else module
            parent, _, last = name.rpartition(".")
            if alias == last and parent and not name.startswith("torch."):
                text = f"from {parent} import {last}"
            else:
                text = f"import {name}" + (f" as {alias}" if alias != name else "")
            groups[0 if module in ("contextlib", "functools", "math") else 2 if module == "compat" else 1].append(text)
        groups[1].sort(key=lambda text: (text.startswith("from"), text))
        return [g for g in groups if g]


def _module(dotted: str) -> str:
    return "compat" if dotted == COMPAT else dotted


def dotted_name(node: cst.BaseExpression) -> str | None:
    """``a.b.c`` of a chain of attributes, None for anything else."""
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    if not isinstance(node, cst.Name):
        return None
    return ".".join([node.value, *reversed(parts)])
