"""Names that only Python 2 has, in files that Python 3 parses: whoever runs these lines gets an error today."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator

from chainer2torch.analysis.scopes import bindings
from chainer2torch.analysis.source import Source
from chainer2torch.python2 import byte_buffers, pickles

_TODAY = {
    "xrange": "range",
    "unicode": "str",
    "basestring": "str",
    "unichr": "chr",
    "long": "int",
    "raw_input": "input",
}
# modules that have another name today and hold the same
_MODULES = {"cPickle": "pickle", "ConfigParser": "configparser", "cStringIO": "io", "StringIO": "io"}
_VIEWS = {"iteritems": "items", "itervalues": "values", "iterkeys": "keys"}
# what a program asks that runs under both
_ASKS = re.compile(r"\bPY[23]\b|\bversion_info\b|\bversion\b|\bhexversion\b")
_GUARDS = (ast.Try, ast.If, ast.IfExp)
_VIEW = re.compile(rf"\.(?:{'|'.join(_VIEWS)})\(\)")
_WORDS = re.compile(  # not `torch.long`
    rf"(?<![\w.])(?:{'|'.join(_TODAY)})\b|__dict__\.(?:{'|'.join(_VIEWS)})\("
    rf"|^[ \t]*(?:import|from)[ \t][^\n#]*\b(?:{'|'.join(_MODULES)})\b",
    re.MULTILINE,
)


def suspected(text: str) -> bool:
    """Whether a text has a word that may be one of these names: only then it is parsed."""
    return any(word in text for word in (*_TODAY, *_MODULES, "__dict__.iter")) and _WORDS.search(text) is not None


def of_today(text: str) -> str | None:
    """A text that Python 3 parses, with names of today; None where nothing says that Python 2 alone runs it."""
    new, only = names_of_today(Source(text, ast.parse(text)))
    return byte_buffers.of_bytes(pickles.as_bytes(new)) if only else None


def names_of_today(source: Source) -> tuple[str, bool]:
    """The text with these names as Python 3 has them, and whether the file can run under Python 2 alone.

    Code that asks for the version stays as it is, and so does a name that the file or a star import may bind.
    """
    edits: list[tuple[int, int, str]] = []
    names = [name for name in source.of(ast.Name) if name.id in _TODAY]
    scopes = bindings(source.tree) if names else {}
    starred = any(alias.name == "*" for node in source.of(ast.ImportFrom) for alias in node.names)
    for name in names:
        if starred or not isinstance(name.ctx, ast.Load) or hasattr(builtins, name.id):
            continue
        if scopes.get(name) is None and name.id not in source.assigned and not _guarded(source, name):
            edits.append((*source.span(name), _TODAY[name.id]))
    edits += _imports(source)
    views = list(_views(source))
    only = bool(edits) or any(
        isinstance(owner := view.value, ast.Attribute) and owner.attr == "__dict__" for view in views
    )
    if only:  # a dictionary is a guess, but one that a file of Python 2 confirms
        edits += _renamed(source, views)
    return replaced(source.text, edits), only


def imports_of_then(text: str) -> bool:
    """Whether a text that Python 3 parses imports what only Python 2 has, without another way: nobody runs it today."""
    return suspected(text) and any(True for _ in _imports(Source(text, ast.parse(text))))


def with_views(text: str) -> str | None:
    """A text that files of Python 2 run with, whose ``d.iteritems()`` is ``d.items()``; None where it has no such."""
    if _VIEW.search(text) is None:
        return None
    source = Source(text, ast.parse(text))
    edits = list(_renamed(source, _views(source)))
    return replaced(text, edits) if edits else None


def _views(source: Source) -> Iterator[ast.Attribute]:
    for member in source.of(ast.Attribute):
        call = source.parents.get(member)
        bare = isinstance(call, ast.Call) and call.func is member and not call.args and not call.keywords
        if member.attr in _VIEWS and bare and member.attr not in source.assigned and not _guarded(source, member):
            yield member


def _renamed(source: Source, views: Iterable[ast.Attribute]) -> Iterator[tuple[int, int, str]]:
    for view in views:
        end = source.span(view)[1]
        yield end - len(view.attr), end, _VIEWS[view.attr]


def _imports(source: Source) -> Iterator[tuple[int, int, str]]:
    """The imports of modules that have another name today; those that something else stands beside stay."""
    for node in source.of(ast.Import):
        if any(alias.name in _MODULES for alias in node.names) and not _may_fail(source, node):
            names = [_imported(alias) for alias in node.names]
            yield (*source.span(node), f"import {', '.join(names)}")
    for found in source.of(ast.ImportFrom):
        if found.module in _MODULES and not found.level and not _may_fail(source, found):
            start = source.span(found)[0] + len("from ")
            if source.text.startswith(found.module, start):
                yield start, start + len(found.module), _MODULES[found.module]


def _imported(alias: ast.alias) -> str:
    new, own = _MODULES.get(alias.name, alias.name), alias.asname or alias.name
    return new if new == own else f"{new} as {own}"


def _may_fail(source: Source, node: ast.AST) -> bool:
    """Whether a program has thought of an import that fails."""
    return any(isinstance(around, ast.Try) for around in source.ancestors(node)) or _guarded(source, node)


def replaced(text: str, edits: list[tuple[int, int, str]]) -> str:
    """The text with each of the places, which do not overlap, written anew."""
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _guarded(source: Source, node: ast.AST) -> bool:
    for around in source.ancestors(node):
        if isinstance(around, ast.Try) and any(_ignores(handler) for handler in around.handlers):
            return True
        if isinstance(around, (ast.If, ast.IfExp)) and _ASKS.search(source.segment(around.test)):
            return True
    return False


def _ignores(handler: ast.ExceptHandler) -> bool:
    return handler.type is None or "NameError" in ast.dump(handler.type)
