"""Classes that a function defines: one that uses nothing of the function is run as a class of its module."""

from __future__ import annotations

import ast
import symtable

from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.verify.models.inferred_inputs import Unclear
from chainer2torch.verify.worker import definitions


def must_be_reachable(cls: ClassInfo) -> None:
    """Raises Unclear for a class that no import gives: what a function or class around it defines."""
    source = cls.module.source
    if source.enclosing(cls.node, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef) is None:
        return
    inner = list(definitions.inner_classes(source.tree.body))
    if cls.node not in inner:
        raise Unclear("it is defined inside of a class")
    if any(isinstance(node, ast.ClassDef) and node.name == cls.name for node in source.tree.body):
        raise Unclear("it is defined inside of a function, in a module that has another class of its name")
    lacks = sorted(_of_function(source.text, cls) - {node.name for node in inner})
    if lacks:
        raise Unclear(
            f"it is defined inside of a function, and uses {', '.join(lacks[:3])} of that: "
            "a function that makes and returns it can be named (target in pyproject.toml)"
        )


def _of_function(text: str, cls: ClassInfo) -> set[str]:
    """The names of the function around a class that the class uses."""
    waiting = [symtable.symtable(text, cls.module.path, "exec")]
    while waiting:
        table = waiting.pop()
        if table.get_type() == "class" and table.get_name() == cls.name and table.get_lineno() == cls.node.lineno:
            return _free(table)
        waiting += table.get_children()
    return set()


def _free(table: symtable.SymbolTable) -> set[str]:
    """What a class takes from around it: its methods' free names that it does not bind, and those of its own body."""
    found = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_free()}
    return found - {"__class__"}


__all__ = ["must_be_reachable"]
