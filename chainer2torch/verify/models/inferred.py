"""The Chains of a project that nobody has described: models for ``verify models``, as far as their code tells.

The classes are found by the analysis that the migration uses; nothing is imported here.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.module_index import ClassInfo, Project
from chainer2torch.analysis.source import Source, nodes_of
from chainer2torch.project.scan import collect
from chainer2torch.rules.table import load_rules
from chainer2torch.verify.models.inferred_arguments import Calls, by_name
from chainer2torch.verify.models.inferred_inputs import Reader, Unclear
from chainer2torch.verify.models.entries import ModelEntry
from chainer2torch.verify.models.hints import Hints
from chainer2torch.verify.models.inner_classes import must_be_reachable
from chainer2torch.verify.models.ports import Ports
from chainer2torch.verify.models.script_state import ScriptState
from chainer2torch.verify.models.twins import Twins
from chainer2torch.verify.models.first_attempts import attempts, variants
from chainer2torch.verify.models.targets import target_of
from chainer2torch.verify.models.trials import Left, Open, plain_spec

_LINKS = ("chainer.Chain", "chainer.ChainList", "chainer.Link", "chainer.Sequential")


def infer(src: Path, out: Path, known: Collection[str], ports: Ports) -> tuple[list[Open], list[Left]]:
    """Models for the links of ``src`` that are not in ``known`` (targets such as ``net:MLP``), each with variants for
    a trial, and those whose arguments or inputs the code does not tell, with what may be tried. ``ports`` says which
    classes of ``out`` stand for them.
    """
    analysis = _analysis(src, out)
    reader, calls = Reader(analysis), Calls(analysis)
    hints = Hints(analysis, reader, calls, src)
    twins, state = Twins(analysis, out), ScriptState(analysis)
    found: list[Open] = []
    left: list[Left] = []
    for cls in sorted(analysis.classes.values(), key=lambda c: (c.module.path, c.node.lineno)):
        if not any(analysis.derives(cls, base) for base in _LINKS):
            continue
        target = target_of(src, cls)
        if target in known:
            continue
        known = {*known, target}  # of two classes of one name in one file the last one stands
        try:
            _must_be_importable(cls, target, ports)
        except Unclear as why:
            left.append(Left(target, str(why)))
            continue
        twin = twins.of(cls, target)
        if twin:
            left.append(Left(target, f"its file has the same text as that of {twin}", twin=twin))
            continue
        searched = {**hints.of(cls), "side": _side(cls), "started": state.of(cls)}
        try:
            arguments = _as_always_made(reader, cls, reader.arguments(cls), searched["recipes"])
            inputs = reader.inputs(cls, {name: n for name, n in arguments.items() if type(n) is int})
            if _leaves_to_heirs(analysis, calls, cls):
                raise Unclear("it is made nowhere, and asks for what only classes that derive from it have")
        except Unclear as why:
            what = _left(reader, calls, cls, target, str(why), searched)
            left.append(dataclasses.replace(what, derived=_derived(src, analysis, calls, cls)))
            continue
        entry = ModelEntry(
            target,
            *_split(reader, cls, arguments),
            {f"x{i}": array for i, array in enumerate(inputs.values())},
            ["train", "eval"],
            inferred=True,
            started=searched["started"],
        )
        searched["inputs"] = {name: plain_spec(array) for name, array in inputs.items()}
        found.append(Open(variants(entry, _side(cls)), searched))
    return found, left


def _as_always_made(
    reader: Reader, cls: ClassInfo, arguments: Mapping[str, Any], recipes: list[dict[str, str]]
) -> dict[str, Any]:
    """The arguments, with those that have a default and that every call of the project gives: it is never used."""
    found = dict(arguments)
    for name, default in reader.constructor(cls):
        if default is not None and name not in found and recipes and all(name in recipe for recipe in recipes):
            with contextlib.suppress(ValueError, SyntaxError):
                found[name] = ast.literal_eval(recipes[0][name])
    return found


def _derived(src: Path, analysis: Analysis, calls: Calls, cls: ClassInfo) -> list[str]:
    """The classes of the project that derive from one that is made nowhere itself."""
    if calls.that_make(cls):
        return []
    return [
        target_of(src, other) for other in analysis.classes.values() if other is not cls and cls in analysis.mro(other)
    ]


def _leaves_to_heirs(analysis: Analysis, calls: Calls, cls: ClassInfo) -> bool:
    """Whether a class that is made nowhere itself asks for attributes that only classes that derive from it have."""
    heirs = analysis.heirs(cls)
    if calls.that_make(cls) or not heirs:
        return False
    asked = {
        node.attr
        for method in cls.methods.values()
        for node in nodes_of(method.node)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    }
    own = {name for base in analysis.mro(cls) if isinstance(base, ClassInfo) for name in (*base.attrs, *base.methods)}
    return any(name in heir.attrs or name in heir.methods for name in asked - own for heir in heirs)


def _split(reader: Reader, cls: ClassInfo, arguments: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Arguments by place and by name, as a constructor takes them: from the first one left out on by name."""
    names = [name for name, _ in reader.constructor(cls)]
    named = reader.by_keyword(cls)
    places = [name for name in names if name not in named]
    first = next((i for i, name in enumerate(places) if name not in arguments), len(places))
    args = [arguments[name] for name in places[:first]]
    return args, {name: value for name, value in arguments.items() if name not in places[:first]}


def _left(reader: Reader, calls: Calls, cls: ClassInfo, target: str, why: str, hints: dict[str, Any]) -> Left:
    """A Chain that the code does not tell all about, with what may be tried."""
    parameters = reader.constructor(cls)
    required = [name for name, default in parameters if default is None]
    made: list[Mapping[str, Any]] = []
    try:
        made.append(reader.arguments(cls))
    except Unclear:
        named = reader.by_keyword(cls)
        made += calls.of(cls, required, [name for name, _ in parameters if name not in named])
        guessed: dict[str, Any] = {name: reader.size(cls, name) for name in required}
        guessed.update({name: by_name(name) for name, value in guessed.items() if value is None})
        if ... not in guessed.values() and guessed not in made:
            made.append(guessed)
    try:
        inputs = reader.open_inputs(cls, made[0] if made else {})
    except Unclear as also:
        inputs, why = {}, str(also)
    hints["inputs"] = {name: plain_spec(array) for name, array in inputs.items() if array}
    # what is tried first has no such things
    is_film = hints["first"].endswith("films") and None in inputs.values()
    tables = hints["keys"].get("__call__") or hints["keys"].get("forward") or {}
    if not made or not inputs or is_film or any(key.isdigit() for keys in tables.values() for key in keys):
        return Left(target, why, required, list(inputs), settled_by_table=True, hints=hints)
    tries = [
        dataclasses.replace(entry, started=hints["started"])
        for entry in attempts(target, [_split(reader, cls, arguments) for arguments in made], inputs, _side(cls))
    ]
    return Left(target, why, required, list(inputs), tries, settled_by_table=True, hints=hints)


def _side(cls: ClassInfo) -> int | None:
    """The size of images that a class names, as ``insize = 224``."""
    for node in cls.node.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and type(node.value.value) is int:
            if re.fullmatch("insize|in(put)?_size|image_size|img_size", ast.unparse(node.targets[0])):
                return node.value.value
    return None


def _analysis(src: Path, out: Path) -> Analysis:
    trees: dict[str, Source] = {}
    for tree in collect([src]).trees:
        for path, source in tree.sources.items():
            if path.endswith(".py") and out.resolve() not in (src / path).resolve().parents:
                try:
                    trees[path] = Source(source.text, ast.parse(source.text))
                except (SyntaxError, ValueError, RecursionError, MemoryError):
                    continue
    return Analysis(Project(trees), load_rules(lazy=True)).run()


def _must_be_importable(cls: ClassInfo, target: str, ports: Ports) -> None:
    """Raises Unclear unless the class can be had by importing its module, here and in the port."""
    must_be_reachable(cls)
    ports.look_for(target, cls.module.path)
