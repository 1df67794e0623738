"""Names that an import may leave unbound where it fails: what reads one raises a NameError, and nothing else happens.

```python
try:
    from scipy.misc import imresize
except Exception:  # only what is marked below needs it
    pass


def small(x):
    return imresize(x, 2)   # marked; raises
```
"""

from __future__ import annotations

import ast
import builtins

from chainer2torch.analysis.source import Source, nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.at_import import runs_at_import


def are_loud(context: Context) -> bool:
    """Whether a file stops at a NameError: none of its handlers names that, and no star may bind what an import did."""
    return context.ask(_are_loud, context.source.tree)


def _are_loud(context: Context, tree: ast.Module) -> bool:
    source = context.source
    types = (handler.type for handler in source.of(ast.ExceptHandler) if isinstance(handler, ast.ExceptHandler))
    handled = (n for kind in types if kind is not None for n in nodes_of(kind))
    stars = (alias.name == "*" for statement in source.of(ast.ImportFrom) for alias in statement.names)
    return not any(stars) and not any(isinstance(n, ast.Name) and n.id == "NameError" for n in handled)


def is_used_at_once(context: Context, name: str) -> bool:
    """Whether a file calls a name or asks for its members wherever it reads it: a stand-in would raise there, too."""
    parents = context.source.parents
    reads = [n for n in context.source.of(ast.Name) if n.id == name and isinstance(n.ctx, ast.Load)]
    return all(isinstance(p := parents[n], ast.Attribute) or isinstance(p, ast.Call) and p.func is n for n in reads)


def is_only_read_in_functions(context: Context, name: str) -> bool:
    """Whether one import binds a name, no other file asks this one for it, and functions alone read it."""
    source, project = context.source, context.analysis.project
    bound = [a for s in source.of(ast.Import, ast.ImportFrom) for a in s.names if _bound(a) == name]
    reads = [n for n in source.of(ast.Name) if n.id == name and isinstance(n.ctx, ast.Load)]
    return (
        len(bound) == 1
        and name not in source.assigned
        and not hasattr(builtins, name)
        and not any(runs_at_import(context, node, True) for node in reads)
        and not any(_asks(m.source, name) for m in project.modules.values() if m.source is not source)
        and not any(n.value == name for n in source.of(ast.Constant))  # __all__
    )


def _asks(source: Source, name: str) -> bool:
    """Whether a file imports a name, or everything, from some file, or names it as a member of something."""
    aliases = (alias.name for statement in source.of(ast.ImportFrom) for alias in statement.names)
    members = (node.attr for node in source.of(ast.Attribute) if isinstance(node, ast.Attribute))
    return not {name, "*"}.isdisjoint(aliases) or name in members


def _bound(alias: ast.alias) -> str:
    return alias.asname or alias.name.split(".")[0]


__all__ = ["are_loud", "is_only_read_in_functions", "is_used_at_once"]
