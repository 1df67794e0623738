"""What a project says about how its own links are made: at the places where it makes them, in its options, in its
configuration files. The values are texts of Python that mean the same on both sides.

Nothing is imported or run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Class, Inst, Ref, options as kinds_of
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo
from chainer2torch.verify.models import compared, tables
from chainer2torch.verify.models.fitting import fitting
from chainer2torch.verify.models.inferred_arguments import Calls, by_name
from chainer2torch.verify.models.inferred_inputs import Reader
from chainer2torch.verify.models.options import options, read_settings
from chainer2torch.verify.models.own_parameters import of_constructor, parameters
from chainer2torch.verify.models.targets import target_of
from chainer2torch.verify.worker import model_text
from chainer2torch.verify.worker.search_values import BATCH

_MOST_CALLS, _MOST_VALUES, _MAX_DEPTH = 6, 4, 4
_LINK = "chainer.Link"
_WIDE = 256  # units of a layer
_BATCHES = re.compile(r"(n_?)?batch_?(size)?$|bs$")
_RESETS = re.compile(r"_?(re)?set|init|clear|start|begin|prepare")
_EMBEDS = re.compile(r"EmbedID|embed_id|[Ee]mbed\w*\(")
_SORTS = (
    (re.compile(r"NStep(Bi)?(LSTM|GRU|RNN)"), "sequences"),
    (re.compile(r"EmbedID|embed_id|CRF1d"), "words"),
    (re.compile(r"onvolutionND\((ndim=)?3\b|onvolution3D|pooling_3d"), "films"),
    (re.compile(r"(Convolution|pooling_|Pooling)\w*2[dD]|Conv2D|conv2d|[Dd]econv|unpooling"), "images"),
    (re.compile(r"(Convolution|pooling_)\w*1[dD]|ConvolutionND"), "signals"),
    (re.compile(r"Linear|LSTM|GRU"), "vectors"),
    (re.compile(r"BatchNormalization"), "images"),
)


class Hints:
    """Answers for the classes of one analysed project whose files lie in ``src``."""

    def __init__(self, analysis: Analysis, reader: Reader, calls: Calls, src: Path):
        self._analysis, self._reader, self._calls, self._src = analysis, reader, calls, src
        self._settings = read_settings(src)
        self._options = options(analysis, calls, self._settings)

    def of(self, cls: ClassInfo) -> dict[str, Any]:
        """What the search for a class begins with, as the worker reads it: calls that make it (``recipes``), other
        values of its parameters (``values``), and its methods in the order of its code.
        """
        names = [name for name in of_constructor(self._analysis, cls) if name != "*_rest"]
        owners = [owner for owner in self._analysis.mro(cls) if isinstance(owner, ClassInfo)]
        for owner in owners:  # what ``**kwargs`` hands on
            init = owner.methods.get("__init__")
            if init is not None:
                names += [name for name, _ in parameters(init, every=True) if name not in names]
                names += [name for name in compared.read_by_name(init.node) if name not in names]
                if init.node.args.kwarg is None:
                    break
        by_keyword = self._reader.by_keyword(cls)
        recipes: list[dict[str, str]] = []
        for call in self._calls.that_make(cls)[:_MOST_CALLS]:
            recipe = self._arguments(cls, call, 0)
            if recipe and recipe not in recipes:
                recipes.append(recipe)
        values: dict[str, list[str]] = {}
        fit = fitting(self._analysis, cls)
        for name in names:
            size = self._reader.size(cls, name)
            found = [recipe[name] for recipe in recipes if name in recipe]
            found += [str(size)] if size is not None else []
            found += self._settings.get(name, [])
            scopes = [owner.node for owner in owners] + [owner.module.source.tree for owner in owners]
            found += [text for scope in scopes for text in compared.with_constants(scope, name)]
            if not found:
                found += [text for scope in scopes for text in compared.with_texts(scope, name)]
            if not found and (number := _called_with(self._init(cls), name)) is not None:
                found += self._classes_of(cls, number)
            found += [text for c in fit.get(name, ()) if (text := self._made(c, None, 1))]
            values[name] = list(dict.fromkeys(found))[:_MOST_VALUES]
        for name in self._always_given(cls):  # a value of another call, where one cannot be read
            known = [recipe[name] for recipe in recipes if name in recipe]
            for recipe in recipes if known else ():
                recipe.setdefault(name, known[0])
        recipes[:0] = self._smaller(cls, recipes[:1])
        methods = dict.fromkeys(name for owner in owners for name in owner.methods)
        return {
            "recipes": recipes,
            "values": {name: found for name, found in values.items() if found},
            "methods": list(methods),
            "by_keyword": sorted(by_keyword),
            "options": {name: found[:_MOST_VALUES] for name, found in self._options.items()},
            "first": self._as_floats(cls, self._first_sort(cls)),
            "setters": _setters(owners),
            "keys": tables.keys(owners),
            "given": sorted({k.arg for call in self._calls.that_make(cls) for k in call.keywords if k.arg}),
            "fitting": {name: [c.name for c in fit] for name, fit in fit.items()},
            "is_first_version": self._analysis.project.eras.get(cls.module.path) == 1,
        }

    def _smaller(self, cls: ClassInfo, recipes: Sequence[dict[str, str]]) -> Iterator[dict[str, str]]:
        """A recipe whose large layers are small, and whose batches are those of the search: it takes less, and shows as
        much.
        """
        for recipe in recipes:
            small = {
                name: str(size)
                for name, text in recipe.items()
                if text.isdigit() and int(text) >= _WIDE and (size := self._reader.size(cls, name)) is not None
            }
            small.update((name, str(BATCH)) for name, text in recipe.items() if _BATCHES.match(name) and text.isdigit())
            if any(recipe[name] != text for name, text in small.items()):
                yield {**recipe, **small}

    def _always_given(self, cls: ClassInfo) -> list[str]:
        """The parameters that every call of the project gives, by place or by name."""
        init, calls = self._init(cls), self._calls.that_make(cls)
        if init is None or any(k.arg is None for call in calls for k in call.keywords):
            return []
        if any(isinstance(arg, ast.Starred) for call in calls for arg in call.args):
            return []
        names = [name for name, _ in parameters(init, every=True)]
        given = [{*names[: len(call.args)], *(k.arg for k in call.keywords)} for call in calls]
        return [name for name in names if given and all(name in some for some in given)]

    def _arguments(self, cls: ClassInfo, call: ast.Call, depth: int) -> dict[str, str]:
        """The arguments of a call that makes a class, those that can be read."""
        if any(isinstance(arg, ast.Starred) for arg in call.args):
            return {}
        names = of_constructor(self._analysis, cls)
        init = self._init(cls)
        names += compared.read_by_name(init.node) if init is not None else []
        given = dict(zip(names, call.args, strict=False))
        given.update({keyword.arg: keyword.value for keyword in call.keywords if keyword.arg in names})
        found = {}
        for name, node in given.items():
            text = self._text(node, depth)
            if text is not None:
                found[name] = text
        return found

    def _init(self, cls: ClassInfo) -> FuncInfo | None:
        owners = (owner for owner in self._analysis.mro(cls) if isinstance(owner, ClassInfo))
        return next((owner.methods["__init__"] for owner in owners if "__init__" in owner.methods), None)

    def _classes_of(self, cls: ClassInfo, number: int) -> list[str]:
        """Classes of links that a constructor may make, for a parameter that it calls with so many arguments."""
        found = []
        for other in self._analysis.classes.values():
            init = self._init(other)
            if other is cls or init is None or not self._analysis.derives(other, _LINK):
                continue
            needed = [name for name, default in parameters(init) if default is None]
            if len(needed) <= number <= len(parameters(init, every=True)) and (text := _reference(self._src, other)):
                found.append((other.module is not cls.module, text))
        return [text for _, text in sorted(found)]

    def _first_sort(self, cls: ClassInfo) -> str:
        """What the layers that a class names say of its inputs, its own and its bases' first, then those of the links
        of the project that it makes.
        """
        used = self._first_used(cls, 0)
        if used is not None and used in ("images", "signals", "films"):
            return used
        owners = [owner for owner in self._analysis.mro(cls) if isinstance(owner, ClassInfo)]
        seen: list[ClassInfo] = []
        found: list[str] = []
        for _ in range(_MAX_DEPTH):
            seen += owners
            sort = _sort_of("\n".join(ast.unparse(owner.node) for owner in owners))
            if sort is not None and (not found or not sort.startswith("small")):
                found.append(sort)
                if sort != "vectors":  # a Linear may come behind layers of its parts that take more
                    return sort
            inner = [k.info for owner in owners for n in ast.walk(owner.node) for k in self._named(n)]
            owners = [c for c in dict.fromkeys(inner) if c not in seen and self._analysis.derives(c, _LINK)]
        return "vectors"

    def _as_floats(self, cls: ClassInfo, sort: str) -> str:
        """Sequences of words are such of floats where neither a class nor what it makes embeds anything."""
        owners = [owner for owner in self._analysis.mro(cls) if isinstance(owner, ClassInfo)]
        for _ in range(_MAX_DEPTH if sort == "sequences" else 0):
            if any(_EMBEDS.search(ast.unparse(owner.node)) for owner in owners):
                return sort
            inner = [k.info for owner in owners for n in ast.walk(owner.node) for k in self._named(n)]
            owners = [c for c in dict.fromkeys(inner) if self._analysis.derives(c, _LINK)]
        return "speech" if sort == "sequences" else sort

    def _first_used(self, cls: ClassInfo, depth: int) -> str | None:
        """What the first layer takes that a call of the model runs: convolutions may stand in front of recurrent
        layers.
        """
        owners = [owner for owner in self._analysis.mro(cls) if isinstance(owner, ClassInfo)]
        names = [(owner, name) for owner in owners for name in ("__call__", "forward") if name in owner.methods]
        if not names or depth > _MAX_DEPTH:
            return None
        owner, name = names[0]
        for node in _in_order(owner.methods[name].node):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                kind = self._analysis.kind(node.func)
                if isinstance(kind, Inst) and isinstance(kind.cls, ClassInfo):
                    if self._analysis.derives(kind.cls, _LINK):
                        inner = self._first_used(kind.cls, depth + 1)
                        return inner or self._first_sort(kind.cls) if kind.cls is not cls else None
                elif isinstance(kind, Inst) and kind.site in self._analysis.makers:
                    return _sort_of(ast.unparse(self._analysis.makers[kind.site]))
        return None

    def _named(self, node: ast.AST) -> list[Class]:
        if not isinstance(node, (ast.Name, ast.Attribute)):
            return []
        return [k for k in kinds_of(self._analysis.kind(node)) if isinstance(k, Class)]

    def _text(self, node: ast.expr, depth: int) -> str | None:
        """An expression as text that stands by itself; None where it cannot be read."""
        value = self._calls.value(node)
        if value is not ...:
            return repr(value)
        if depth > _MAX_DEPTH:
            return None
        if isinstance(node, (ast.List, ast.Tuple)):
            items = [self._text(item, depth + 1) for item in node.elts]
            if None in items:
                return None
            inner = ", ".join(item for item in items if item is not None)
            return f"[{inner}]" if isinstance(node, ast.List) else f"({inner},)"
        if isinstance(node, ast.Dict) and all(isinstance(key, ast.Constant) for key in node.keys):
            pairs = [
                (ast.unparse(k), self._text(v, depth + 1) or _guessed(v)) for k, v in zip(node.keys, node.values) if k
            ]
            return "{" + ", ".join(f"{key}: {value}" for key, value in pairs) + "}"
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv)):
            return _calculated(node.op, self._text(node.left, depth + 1), self._text(node.right, depth + 1))
        kind = self._analysis.kind(node)
        if isinstance(kind, Ref) and kind.name.rpartition(".")[0] == "chainer.functions":
            name = kind.name.rpartition(".")[2]
            return f"F.{name}" if name in model_text.FUNCTIONS else None
        for one in kinds_of(kind):  # one of several, as an option says
            if isinstance(one, Inst) and isinstance(one.cls, ClassInfo) and one.site:
                if text := self._made(one.cls, self._analysis.makers[one.site], depth + 1):
                    return text
        classes = sorted(
            text for k in kinds_of(kind) if isinstance(k, Class) and (text := _reference(self._src, k.info))
        )
        return classes[0] if classes else None

    def _made(self, cls: ClassInfo, call: ast.Call | None, depth: int) -> str | None:
        """The expression that makes another link of the project; what cannot be read goes by the parameter's name."""
        init = self._init(cls)
        given = self._arguments(cls, call, depth) if call is not None else {}
        for name, default in parameters(init) if init is not None else ():
            if default is None and name not in given:
                value = self._reader.size(cls, name) or by_name(name)
                if value is ...:
                    return None
                given[name] = repr(value)
        target = target_of(self._src, cls)
        if "/" in target:
            return None
        return str(model_text.maker(target, ", ".join(f"{name}={text}" for name, text in given.items())))


def _setters(owners: Sequence[ClassInfo]) -> dict[str, dict[str, list[str]]]:
    """For each attribute that methods other than the constructor set: those methods, with the parameters that they
    need. Methods that reset are first; one that makes links has an ``@`` before its name.
    """
    found: dict[str, dict[str, list[str]]] = {}
    for owner in owners:
        methods = sorted(owner.methods.items(), key=lambda pair: not _RESETS.match(pair[0]))
        for name, method in methods:
            needed = [parameter for parameter, default in parameters(method) if default is None]
            if name.startswith("__") or not method.node.args.args:
                continue
            made = list(_made_in(method.node))
            for attribute in (*made, *_set_in(method.node, method.node.args.args[0].arg)):
                found.setdefault(attribute, {}).setdefault("@" * bool(made) + name, needed)
    return found


def _set_in(function: ast.AST, own: str) -> Iterator[str]:
    """The attributes that a method sets."""
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if isinstance(node.value, ast.Name) and node.value.id == own:
                yield node.attr


def _made_in(function: ast.AST) -> Iterator[str]:
    """The links that a method makes, as a constructor does: it is called once."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "__init__":
                yield from (keyword.arg for keyword in node.keywords if keyword.arg)
            elif node.func.attr == "add_link" and node.args and isinstance(node.args[0], ast.Constant):
                yield str(node.args[0].value)


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes, those inside of others first, as they are computed."""
    for child in ast.iter_child_nodes(node):
        yield from _in_order(child)
    yield node


def _called_with(init: FuncInfo | None, name: str) -> int | None:
    """With how many arguments a constructor calls one of its parameters: ``block(n_in, n_out)``."""
    calls = [n for n in ast.walk(init.node) if isinstance(n, ast.Call)] if init is not None else []
    own = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == name]
    return len(own[0].args) + len(own[0].keywords) if own else None


def _reference(src: Path, cls: ClassInfo) -> str:
    """The expression for a class itself; empty where it cannot be imported by its name."""
    target = target_of(src, cls)
    return "" if "/" in target else str(model_text.reference(target))


def _guessed(node: ast.expr) -> str:
    """A value of a dictionary that cannot be read, by its name."""
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    value = by_name(name) if name else ...
    return "2" if value is ... else repr(value)


def _sort_of(text: str) -> str | None:
    """What the layers in a text take; None where it has none, or such as take anything."""
    if "Deconvolution" in text and "Convolution" not in text:  # it enlarges what it is given
        is_film = re.search(r"DeconvolutionND\((ndim=)?3\b|Deconvolution3D", text)
        return "vectors" if "Linear" in text else "small films" if is_film else "small images"
    return next((sort for pattern, sort in _SORTS if pattern.search(text)), None)


def _calculated(op: ast.operator, left: str | None, right: str | None) -> str | None:
    try:
        a, b = int(left or ""), int(right or "")
    except ValueError:
        return None
    if isinstance(op, ast.FloorDiv):
        return str(a // b) if b else None
    return str(a + b if isinstance(op, ast.Add) else a - b if isinstance(op, ast.Sub) else a * b)
