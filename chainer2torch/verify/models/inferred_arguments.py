"""What a Chain may be made from, for a trial: as the project itself makes it, or by the names of its parameters.

Nothing is imported or run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Const, Inst
from chainer2torch.analysis.module_index import ClassInfo

_MOST_CALLS = 3
# Parameters by their usual names; the first that fits. What is none of these is not guessed.
_BY_NAME: Sequence[tuple[re.Pattern[str], Any]] = tuple(
    (re.compile(pattern), value)
    for pattern, value in (
        (r"vocab|n_words", 20),
        (r"class|label|n_pos$", 10),
        (r"layers?$|n_loop|n_blocks?$|n_head", 2),
        (r"ksize|kernel|filter_size", 3),
        (r"stride|dilat|^pad$", 1),
        (r"drop|ratio$", 0.5),
        (r"ignore", -1),
        (r"scale$|^beta$|^gamma$|temperature", 1.0),
        (r"hidden_sizes|n_(hidden_)?channels_list", (8, 8)),
        (r"^(use|with|is|no|do)_", False),
        (r"^(min|low)(_|$)", -1),
        (r"^(max|high)(_|$)", 1),
        (r"(^|_)(n|in|out|mid|num|dim|ch|size|units?|hidden|width|channels?|embed|latent|features?)(_|\d|$)", 8),
    )
)


class Calls:
    """The calls of a project that make its own links, with the values that can be read."""

    def __init__(self, analysis: Analysis):
        self._analysis = analysis
        self._by_class: dict[int, list[ast.Call]] = {}
        for call in analysis.makers.values():
            kind = analysis.kind(call)
            if isinstance(kind, Inst) and isinstance(kind.cls, ClassInfo):
                self._by_class.setdefault(id(kind.cls), []).append(call)
        self._defaults: dict[int, Mapping[str, Any]] = {}

    def that_make(self, cls: ClassInfo) -> Sequence[ast.Call]:
        """The calls that make a class."""
        return self._by_class.get(id(cls), ())

    def value(self, node: ast.expr) -> Any:
        """A number, text or list that an expression stands for; ``...`` where that cannot be read."""
        module = next((m for m in self._analysis.project.modules.values() if node in m.source.parents), None)
        return ... if module is None else self._value(node, self._argparse(module.tree))

    def of(self, cls: ClassInfo, required: Sequence[str], positional: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Arguments by name of calls that make ``cls``; those of them that cannot be read have a default. ``required``
        are the parameters without one, ``positional`` all that may be given by place.
        """
        seen: list[dict[str, Any]] = []
        for call in self._by_class.get(id(cls), ()):
            module = next((m for m in self._analysis.project.modules.values() if call in m.source.parents), None)
            if (
                module is None
                or len(call.args) > len(positional)
                or any(isinstance(arg, ast.Starred) for arg in call.args)
                or any(k.arg is None for k in call.keywords)
            ):
                continue
            defaults = self._argparse(module.tree)
            given = dict(zip(positional, call.args, strict=False))
            given.update({k.arg: k.value for k in call.keywords if k.arg})
            found = {}
            for name, node in given.items():
                value = self._value(node, defaults)
                if value is not ...:
                    found[name] = value
            if set(required) <= set(found) and found not in seen:
                seen.append(found)
                yield found
                if len(seen) == _MOST_CALLS:
                    return

    def _value(self, node: ast.expr, defaults: Mapping[str, Any]) -> Any:
        """A number, text or list that an expression stands for; ``...`` where that cannot be read."""
        try:
            value = ast.literal_eval(node)
        except (ValueError, SyntaxError):
            kind = self._analysis.kind(node)
            if isinstance(kind, Const):
                value = kind.value
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in defaults:
                value = defaults[node.attr]
            else:
                return ...
        return value if value is None or isinstance(value, (bool, int, float, str, tuple, list)) else ...

    def options(self) -> dict[str, list[str]]:
        """The options of all scripts with their defaults, as texts."""
        found: dict[str, list[str]] = {}
        for module in self._analysis.project.modules.values():
            for name, value in self._argparse(module.tree).items():
                known = found.setdefault(name, [])
                if repr(value) not in known:
                    known.append(repr(value))
        return found

    def _argparse(self, tree: ast.Module) -> Mapping[str, Any]:
        """The options of a script by the names under which it reads them, with their defaults."""
        if id(tree) not in self._defaults:
            found = {}
            for node in ast.walk(tree):
                if (
                    isinstance(node, ast.Call)
                    and isinstance(node.func, ast.Attribute)
                    and (node.func.attr == "add_argument")
                ):
                    words = [
                        arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)
                    ]
                    more = {k.arg: k.value.value for k in node.keywords if isinstance(k.value, ast.Constant)}
                    name = more.get("dest") or next((w for w in words if w.startswith("--")), (words or [""])[0])
                    if isinstance(more.get("default"), (int, float, str)):
                        found[str(name).lstrip("-").replace("-", "_")] = more["default"]
            self._defaults[id(tree)] = found
        return self._defaults[id(tree)]


def by_name(name: str) -> Any:
    """A value for a parameter of this name; ``...`` where the name says nothing."""
    return next((value for pattern, value in _BY_NAME if pattern.search(name)), ...)
