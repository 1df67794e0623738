"""Files of pickles that Python 2 opens as texts: Python 3 wants them opened as bytes, and fails at once without.

Python 2 reads and writes the same on every system that knows no other line ends.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from chainer2torch.analysis.source import Source

_WORDS = re.compile(r"\bopen\s*\(")
_MODULES = frozenset({"pickle", "cPickle", "cloudpickle", "dill"})
_MODES = ("r", "w", "a", "r+", "w+")
_OF_BOTH = frozenset({"close", "fileno", "flush", "seek"})  # methods of files of texts and of bytes
_READS, _WRITES = frozenset({"load", "Unpickler"}), frozenset({"dump", "Pickler"})


def as_bytes(text: str) -> str:
    """The text with ``b`` in the modes of files that only ``pickle`` reads or writes."""
    if "ickle" not in text or _WORDS.search(text) is None:
        return text
    source = Source(text, ast.parse(text))
    edits = sorted(set(_edits(source)), reverse=True)
    for at, new in edits:
        text = text[:at] + new + text[at:]
    return text


def _edits(source: Source) -> Iterator[tuple[int, str]]:
    """Places, and what is put in there."""
    modules = {"pickle", *_names(source)}
    for call in source.of(ast.Call):
        if not (isinstance(call.func, ast.Name) and call.func.id == "open" and 0 < len(call.args) < 3):
            continue
        uses = list(_uses(source, call))
        taken = {_taken(source, use, modules) for use in uses}
        if not uses or None in taken:
            continue
        keywords = [keyword for keyword in call.keywords if keyword.arg == "mode"]
        if len(keywords) != len(call.keywords):
            continue
        mode = call.args[1] if len(call.args) == 2 else keywords[0].value if keywords else None
        if mode is None:
            if taken <= _READS:
                yield source.span(call.args[0])[1], ", 'rb'"
        elif isinstance(mode, ast.Constant) and mode.value in _MODES:
            begin, end = source.span(mode)
            if source.text[begin] in "\"'" and end - begin == len(str(mode.value)) + 2:
                yield begin + 2, "b"


def _names(source: Source) -> Iterator[str]:
    """What the modules are called here."""
    found = [alias for node in source.of(ast.Import) for alias in node.names]
    found += [alias for node in source.of(ast.ImportFrom) for alias in node.names]
    for alias in found:
        if alias.name.rpartition(".")[2] in _MODULES:
            yield alias.asname or alias.name.rpartition(".")[2]


def _uses(source: Source, call: ast.Call) -> Iterator[ast.expr]:
    """The expressions that are the file: the call itself, or the name that it is given, wherever that is read."""
    parent = source.parents[call]
    if isinstance(parent, ast.withitem):
        target, around = parent.optional_vars, source.parents[parent]
    elif isinstance(parent, ast.Assign) and len(parent.targets) == 1:
        target, around = parent.targets[0], parent
        while not isinstance(around, (ast.FunctionDef, ast.Module)):
            around = source.parents[around]
    else:
        yield call
        return
    for name in ast.walk(around):
        if isinstance(target, ast.Name) and isinstance(name, ast.Name) and name.id == target.id:
            member = source.parents[name]
            either = isinstance(member, ast.Attribute) and member.attr in _OF_BOTH
            if isinstance(name.ctx, ast.Load) and not either:
                yield name


def _taken(source: Source, use: ast.expr, modules: set[str]) -> str | None:
    """The function of ``pickle`` that is handed the file; None if it is something else."""
    call = source.parents[use]
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    module, name = call.func.value, call.func.attr
    called = module.attr if isinstance(module, ast.Attribute) else module.id if isinstance(module, ast.Name) else ""
    if called not in modules | _MODULES:
        return None
    if name in _READS and call.args[:1] == [use]:
        return name
    if name in _WRITES and use in call.args[: 2 if name == "dump" else 1]:
        return name
    return None
