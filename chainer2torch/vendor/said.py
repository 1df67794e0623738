"""The names by which a text may reach a member of an object."""

from __future__ import annotations

import ast
import re

from chainer2torch.vendor.docstrings import docstrings

_WORD = re.compile(r"[^\W\d]\w*")
_BEHIND_DOT = re.compile(r"\.([^\W\d]\w*)")
_SENTENCE = re.compile(r"[^\W\d]\s+[^\W\d]")  # two words with nothing but a blank between them
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_BY_NAME = ("getattr", "setattr", "vars")
LOSS_GIVEN = "update_gets_a_loss"  # said where an optimizer's ``update`` may get a function, not only called
_LITERALS = (
    ast.Constant,
    ast.JoinedStr,
    ast.Dict,
    ast.DictComp,
    ast.List,
    ast.ListComp,
    ast.Set,
    ast.SetComp,
    ast.Tuple,
)
_OWN_SCOPE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def words(text: str) -> set[str]:
    """The members that a source text may name; all its words where it is no Python."""
    try:
        return said_in(ast.parse(text), own=True)
    except (SyntaxError, ValueError):
        return set(_WORD.findall(text))


def said_in(tree: ast.AST, own: bool = False) -> set[str]:
    """Attributes, imported names, keywords, what a class says in its body, and the words of strings.

    ``getattr`` is said where only the run tells the name. A variable of a function reaches no member, and neither does
    a docstring or a comment. ``own``: also the names of its functions, which may be methods in the place of a helper's.
    """
    documented = {id(docstring) for docstring in docstrings(tree)}
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.alias):
            found.update(node.name.split("."))
        elif isinstance(node, ast.keyword) and node.arg:
            found.add(node.arg)
        elif isinstance(node, ast.ClassDef):
            found |= _in_body(node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _BY_NAME:
            found.update([] if len(node.args) > 1 and isinstance(node.args[1], ast.Constant) else [node.func.id])
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
            found.update(_in_text(node.value))
        elif isinstance(node, _FUNCTIONS) and own:
            found.add(node.name)
    return found | ({LOSS_GIVEN} if "update" in found and _gives_loss(tree, own) else set())


def _gives_loss(tree: ast.AST, own: bool) -> bool:
    """Whether something named ``update`` gets what may be a function, or goes elsewhere as a value.

    Helpers call the ``update`` of an optimizer by that name only; other code may have any.
    """
    plain = {
        id(call.func)
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and (not call.args or isinstance(call.args[0], _LITERALS))
    }
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == "update"
        and id(node) not in plain
        and (own or "optimizer" in ast.unparse(node.value))
        or isinstance(node, ast.Constant)
        and node.value == "update"
        for node in ast.walk(tree)
    )


def _in_text(text: str) -> set[str]:
    """The words of a string that may be a name, a path or code; of a sentence only what stands behind a dot."""
    return set((_BEHIND_DOT if _SENTENCE.search(text) else _WORD).findall(text))


def _in_body(cls: ast.ClassDef) -> set[str]:
    """The names that the body of a class uses itself: ``next = __next__``, ``@epoch.setter``."""
    parts: list[ast.AST] = [part for child in cls.body for part in getattr(child, "decorator_list", [])]
    parts += [child for child in cls.body if not isinstance(child, _OWN_SCOPE)]
    return {node.id for part in parts for node in ast.walk(part) if isinstance(node, ast.Name)}
