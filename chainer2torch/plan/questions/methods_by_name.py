"""What the functions and methods of a project are by their names alone, for receivers of which nothing is known."""

from __future__ import annotations

import ast

from chainer2torch.analysis.facts import Facts
from chainer2torch.analysis.module_index import FuncInfo
from chainer2torch.plan.questions.runs_no_module import OF_ENVIRONMENTS, OF_HOST_OBJECTS


def decorators(analysis: Facts) -> frozenset[str]:
    """What decorates functions, by the last part of its name; ``functools.wraps(f)`` with what it is given."""
    found: set[str] = set()
    for module in analysis.project.modules.values():
        for node in module.source.of(ast.FunctionDef, ast.AsyncFunctionDef):
            for decorator in getattr(node, "decorator_list", ()):
                name = ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator).rpartition(".")[2]
                given = decorator.args[:1] if isinstance(decorator, ast.Call) and name == "wraps" else []
                found.update([name, *(f"wraps({ast.unparse(argument)})" for argument in given)])
    return frozenset(found)


def methods_of_links(analysis: Facts) -> frozenset[str]:
    """The methods that only links of the project have: what is asked for one is a module, or PyTorch raises."""
    of_links: set[str] = {"forward"}
    others: set[str] = set()
    for info in analysis.functions.values():
        is_link = info.cls is not None and not info.is_static and analysis.derives(info.cls, "chainer.Link")
        (of_links if is_link else others).add(info.node.name if not isinstance(info.node, ast.Lambda) else "")
    return frozenset(name for name in of_links - others if not name.startswith("__"))


def methods_of_objects(analysis: Facts) -> dict[str, list[FuncInfo]]:
    """The methods that no link of the project has, by name: what is asked for one is no module, but may run some."""
    of_links = analysis.once(names_of_links)
    found: dict[str, list[FuncInfo]] = {}
    for info in analysis.functions.values():
        name = "" if info.cls is None or isinstance(info.node, ast.Lambda) else info.node.name
        if name and not name.startswith("__") and name not in of_links:
            found.setdefault(name, []).append(info)
    return found


def runs_none(analysis: Facts, name: str) -> bool:
    """Whether a method of this name is one of containers, files, environments and the like, and runs no module."""
    if name in OF_ENVIRONMENTS:
        return name not in analysis.once(names_of_links) and name not in analysis.once(methods_of_objects)
    return name in OF_HOST_OBJECTS


def names_of_links(analysis: Facts) -> frozenset[str]:
    """The methods that some link of the project has."""
    links = (cls for cls in analysis.classes.values() if analysis.derives(cls, "chainer.Link"))
    return frozenset(name for cls in links for name in cls.methods)


__all__ = ["decorators", "methods_of_links", "methods_of_objects", "names_of_links", "runs_none"]
