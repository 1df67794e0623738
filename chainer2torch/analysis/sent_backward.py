"""Which names hold a Variable because ``name.backward()`` is called: nothing else of a Chainer program has that call.

What a model of another file returns may not be known, but the loss that it gives goes backward in the next line. So
does what ``optimizer.update(lambda: name)`` gets, which calls its function for a loss.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.source import Source, nodes_of

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def names_sent_backward(source: Source) -> dict[ast.AST, frozenset[str]]:
    """For every function, and for the file itself: the local names that go backward there."""
    found: dict[ast.AST, set[str]] = {}
    if ".backward(" in source.text or ".update(" in source.text:
        for call in source.of(ast.Call):
            value = _sent_by(call)
            if isinstance(value, ast.Name):
                scope = source.enclosing(call, *_SCOPES) or source.tree
                found.setdefault(scope, set()).add(value.id)
    return {scope: frozenset(names) for scope, names in found.items()}


def _sent_by(call: ast.Call) -> ast.expr | None:
    """What a call sends backward: that of ``y.backward()`` and of ``optimizer.update(lambda: y)``."""
    if not isinstance(call.func, ast.Attribute):
        return None
    if call.func.attr == "backward":
        return call.func.value if not call.args else None
    if call.func.attr != "update":
        return None
    given = call.args[:1] or [keyword.value for keyword in call.keywords if keyword.arg == "lossfun"]
    loss = given[0] if given else None
    return loss.body if isinstance(loss, ast.Lambda) and not loss.args.args else None


def has_own_backward(source: Source) -> bool:
    """Whether a class of the file has a ``backward`` that needs no argument, as a Variable's does."""
    return "def backward" in source.text and any(
        node.name == "backward" and len(node.args.args) - len(node.args.defaults) <= 1
        for node in source.of(ast.FunctionDef)
    )


def losses_of_caller(loop: ast.For | ast.AsyncFor | ast.While) -> str:
    """The name through whose items a loop goes, each of which it sends backward: ``for name, loss in losses.items()``.

    Where nothing says what they were computed from, it may be the same: the losses of a GAN on one batch.
    """
    if isinstance(loop, ast.While):
        return ""
    targets = {n.id for n in nodes_of(loop.target) if isinstance(n, ast.Name)}
    items = loop.iter
    if isinstance(items, ast.Call) and isinstance(items.func, ast.Attribute) and items.func.attr in ("items", "values"):
        items = items.func.value
    sent = any(
        isinstance(n, ast.Attribute)
        and n.attr == "backward"
        and isinstance(n.value, ast.Name)
        and n.value.id in targets
        for statement in loop.body
        for n in nodes_of(statement)
    )
    return ast.unparse(items) if sent and isinstance(items, (ast.Name, ast.Attribute)) else ""
