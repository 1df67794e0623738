"""How a torch name is spelled in one file, and which imports that needs."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import re
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import libcst as cst

from chainer2torch.analysis.source import Source
from chainer2torch.analysis.values import dataclass
from chainer2torch.plan.edits import Span
from chainer2torch.rewrite.printing import Printer
from chainer2torch.vendor.compat_file import FAITHFUL
from chainer2torch.vendor.short_forms import SHORT_FORMS

COMPAT = "chainer_compat"
# module -> the name under which people import it
_ALIASES = {
    "torch": "torch",
    "torch.nn": "nn",
    "torch.nn.functional": "F",
    "torch.utils.data.DataLoader": "DataLoader",
    "torch.utils.data.StackDataset": "StackDataset",
    "numpy": "np",
    "pytorch_pfn_extras": "ppe",
    "pytorch_pfn_extras.training.extensions": "extensions",
    "pytorch_pfn_extras.training.triggers": "triggers",
    "compat": "compat",
    "contextlib": "contextlib",
    "collections.abc": "abc",
    "copy": "copy",
    "functools": "functools",
    "inspect": "inspect",
    "math": "math",
    "os": "os",
    "ignite": "ignite",
    "ignite.engine.Engine": "Engine",
    "parameterized.parameterized_class": "parameterized_class",
    "pfrl": "pfrl",
    "PIL.Image": "Image",
    "matplotlib.pyplot": "plt",
    "torchvision": "torchvision",
    "sys": "sys",
    "time": "time",
    "warnings": "warnings",
    "pytest": "pytest",
    "builtins": "builtins",
}
_MODULES_OF_TORCH = frozenset({"torch.nn"})  # imported by `import torch.nn as nn`, not from their package
_BUILTINS = frozenset(dir(builtins))
_SPARE = {
    "compat": "chainer_compat",
    "numpy": "numpy",
    "collections.abc": "collections_abc",
    "PIL.Image": "PILImage",
    "matplotlib.pyplot": "pyplot",
}


@dataclass(frozen=True)
class Helpers:
    """The module of helpers of one file: its dotted name, and which of its names are the native style's.

    ``behind`` is the text of the statement behind which the file can import it; empty: it can everywhere. ``way`` leads
    to its folder where the file has to add that to ``sys.path``, from where ``in_notebook`` files run or from the file.
    """

    package: str = ""
    native: frozenset[str] = frozenset()
    behind: str = ""
    way: str = ""
    in_notebook: bool = False

    @property
    def module(self) -> str:
        """The dotted name under which the file imports it."""
        return f"{self.package}.{COMPAT}" if self.package else COMPAT


class OwnFunction(NamedTuple):
    """A function that is written into the file, if something calls it: how templates call it, its name and its text."""

    dotted: str
    name: str
    text: str


@dataclasses.dataclass
class Names:
    """Spells dotted names with the file's own aliases where it has them, with the usual ones where they are free."""

    taken: Collection[str]
    existing: dict[str, str]
    needed: dict[str, str] = dataclasses.field(default_factory=dict)
    helpers: Helpers = Helpers()
    rebound: Mapping[str, Sequence[Span]] = dataclasses.field(default_factory=dict)
    own: Mapping[str, OwnFunction] = dataclasses.field(default_factory=dict)
    called: dict[str, OwnFunction] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(
        cls,
        source: Source,
        removed: Collection[str],
        helpers: Helpers | None = None,
        own: Sequence[OwnFunction] = (),
    ) -> Names:
        """Looks at what a file binds; ``removed`` are the names whose imports go, ``own`` functions it may get."""
        bound = {alias.asname or alias.name.split(".")[0] for alias in source.of(ast.alias)}
        taken = source.assigned | bound.difference(removed)
        several = source.assigned | _several(source)  # such a name may be something else where it is needed
        existing: dict[str, str] = {}
        for node in source.tree.body:  # aliases inside functions are not there for the rest of the file
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.asname or "." not in alias.name:
                        existing.setdefault(_module(alias.name), alias.asname or alias.name)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                for alias in node.names:
                    existing.setdefault(_module(f"{node.module}.{alias.name}"), alias.asname or alias.name)
        known = {module: alias for module, alias in existing.items() if alias not in several}
        functions = {function.dotted: function for function in own}
        rebound = _rebound(source, taken & _BUILTINS)
        return cls(taken, known, helpers=helpers or Helpers(), rebound=rebound, own=functions)

    def builtin(self, name: str, span: Span) -> str | None:
        """How a function of Python's own is called in some place: ``builtins.bool`` where the file has another `bool`
        there; None: by its name."""
        places = self.rebound.get(name, ())
        hidden = any(first <= span[0] and span[1] <= last for first, last in places)
        return self.spell(f"builtins.{name}") if hidden else None

    def spell(self, dotted: str) -> str:
        """The spelling of a dotted name, with the needed import noted.

        ``native.name`` and ``compat.name`` are helpers of one module. Where both exist, the second has another name,
        unless the first takes its place.
        """
        if dotted in self.own:
            self.called[dotted] = self.own[dotted]
            return self.own[dotted].name
        parts = dotted.split(".")
        if parts[0] == "native":
            parts[0] = "compat"
        elif parts[0] == "compat" and len(parts) > 1 and parts[1] in self.helpers.native - SHORT_FORMS:
            parts[1] = FAITHFUL + parts[1]
        for length in range(len(parts), 0, -1):
            module = ".".join(parts[:length])
            alias = self._alias(module)
            if alias is not None:
                return ".".join([alias, *parts[length:]])
        return dotted

    def way(self) -> str:
        """The statement that adds the folder of the helpers to ``sys.path``, if this file needs it and imports them."""
        if not self.helpers.way or "compat" not in self.needed:
            return ""
        system = self._alias("sys") or "sys"
        if self.helpers.in_notebook:
            return f'{system}.path.append("{self.helpers.way}")'
        os = self._alias("os") or "os"
        steps = "".join(f', "{step}"' for step in self.helpers.way.split("/"))
        return f"{system}.path.append({os}.path.join({os}.path.dirname({os}.path.abspath(__file__)){steps}))"

    def _alias(self, module: str) -> str | None:
        if module in self.existing:
            return self.existing[module]
        if module in self.needed:
            return self.needed[module]
        last = f"_{module}" if module in ("torch", "compat", "os", "sys") else None
        for alias in (_ALIASES.get(module), _SPARE.get(module), last):
            if alias is not None and alias not in self.taken and alias not in self.needed.values():
                self.needed[module] = alias
                return alias
        return None

    def forget_unsaid(self, module: cst.Module, others: Iterable[str], printer: Printer) -> None:
        """Leaves out the helpers, NumPy and modules of Python whose name was spelled for what then took another form.

        ``others`` are texts that belong to the file as well.
        """
        own = [n for n in self.needed if n in ("compat", "numpy") or n.split(".")[0] in sys.stdlib_module_names]
        texts = [printer.code(module), *others] if own else []
        for name in own:
            said = re.compile(rf"\b{re.escape(self.needed[name])}\b")
            if not any(said.search(text) for text in texts):
                del self.needed[name]

    def statements(self) -> list[list[str]]:
        """The import statements that were needed: standard library, third party, the helpers; a group each."""
        groups: list[list[str]] = [[], [], []]
        for module, alias in sorted(self.needed.items()):
            name = self.helpers.module if module == "compat" else module
            parent, _, last = name.rpartition(".")
            if alias == last and parent and name not in _MODULES_OF_TORCH:
                text = f"from {parent} import {last}"
            elif module == "compat" and parent:
                text = f"from {parent} import {last} as {alias}"
            else:
                text = f"import {name}" + (f" as {alias}" if alias != name else "")
            is_own = module.split(".")[0] in sys.stdlib_module_names
            groups[0 if is_own else 2 if module == "compat" else 1].append(text)
        groups[1].sort(key=lambda text: (text.startswith("from"), text))
        return [_joined(g) for g in groups if g]


def _joined(statements: list[str]) -> list[str]:
    """One statement for all names that come from one module."""
    joined: list[str] = []
    for text in statements:
        head, _, names = text.partition(" import ")
        if joined and head.startswith("from ") and joined[-1].startswith(f"{head} import "):
            joined[-1] += f", {names}"
        else:
            joined.append(text)
    return joined


def _rebound(source: Source, names: Collection[str]) -> dict[str, list[Span]]:
    """Where names of Python's own are something else: the functions that bind them, or the whole file."""
    found: dict[str, list[Span]] = {}
    if not names:
        return found
    for node in source.of(ast.Name, ast.arg, ast.alias, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            continue
        bound = (getattr(node, field, None) for field in ("id", "arg", "asname", "name"))
        name = next(filter(None, bound), "")
        owner = source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
        if name in names and not isinstance(owner, ast.ClassDef):  # what a class binds, its methods do not see
            found.setdefault(name, []).append((0, len(source.text)) if owner is None else source.span(owner))
    return found


def _several(source: Source) -> set[str]:
    """The names that imports bind to different things: F of ``torch.nn as F`` and of ``chainer.functions as F``."""
    first: dict[str, str] = {}
    found: set[str] = set()
    for statement in source.of(ast.Import, ast.ImportFrom):
        for alias in statement.names:
            name = alias.asname or alias.name.split(".")[0]
            own = alias.name if alias.asname else name
            dotted = own if isinstance(statement, ast.Import) else f"{statement.module}.{alias.name}"
            if first.setdefault(name, dotted) != dotted:
                found.add(name)
    return found


def _module(dotted: str) -> str:
    return "compat" if dotted.rpartition(".")[2] == COMPAT else dotted


def dotted_name(node: cst.BaseExpression) -> str | None:
    """``a.b.c`` of a chain of attributes, None for anything else."""
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    if not isinstance(node, cst.Name):
        return None
    return ".".join([node.value, *reversed(parts)])
