"""Entries that a program adds to Chainer's configuration."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from chainer2torch.analysis.kinds import Ref
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context

_OBJECTS = {"chainer.config": "own_config", "chainer.global_config": "own_global_config"}
_ASKING = frozenset({"builtins.delattr", "builtins.getattr", "builtins.hasattr", "builtins.setattr"})
_METHODS = frozenset({"show"})
_OF_CHAINERCV = "cv_"
_DOTS = 2  # of ``chainer.config.NAME``


def is_own(context: Context, name: str) -> bool:
    """Whether ``chainer.config.NAME`` is no entry of Chainer's, nor of ChainerCV's where that is another project."""
    owner, _, key = name.rpartition(".")
    if owner not in _OBJECTS or key.startswith("__") or key in _METHODS:
        return False
    if key.startswith(_OF_CHAINERCV):
        return "chainercv" not in context.analysis.libraries
    return context.rules.rows.get(f"chainer.config.{key}") is None


def entry_of(context: Context, node: ast.expr, name: str) -> tuple[ast.Attribute, str] | None:
    """The entry of the program's own in ``chainer.config.my_options.size``, or in the entry itself, and its name."""
    while name.count(".") >= _DOTS and isinstance(node, ast.Attribute):
        if is_own(context, name):
            return node, name
        node, name = node.value, name.rpartition(".")[0]
    return None


def entry(context: Context, decisions: Decisions, node: ast.Attribute, name: str) -> None:
    """``chainer.config.my_option``, read or assigned."""
    owner, _, key = name.rpartition(".")
    decisions.replace(node, f"compat.{_OBJECTS[owner]}.{key}", {})
    decisions.use(node)
    decisions.mark(node, context.rules.python["chainer.config.*"], name, "exact")


def asked_by_name(context: Context, decisions: Decisions, node: ast.expr, name: str) -> bool:
    """Decides ``hasattr(chainer.config, 'my_option')`` and its like, if it is one."""
    call = context.source.parents.get(node)
    if name not in _OBJECTS or not isinstance(call, ast.Call) or len(call.args) < 2 or call.args[0] is not node:
        return False
    key = call.args[1].value if isinstance(call.args[1], ast.Constant) else None
    kind = context.kind(call.func)
    if not isinstance(kind, Ref) or kind.name not in _ASKING or not isinstance(key, str):
        return False
    if not is_own(context, f"{name}.{key}"):
        return False
    decisions.replace(node, f"compat.{_OBJECTS[name]}", {})
    decisions.use(node)
    decisions.mark(node, context.rules.python["chainer.config.*"], f"{name}.{key}", "exact")
    return True


def using(context: Context, decisions: Decisions, call: ast.Call, node: ast.AST, given: Mapping[str, ast.expr]) -> None:
    """``chainer.using_config('my_option', 5)``."""
    operands = {name: context.operand(given[name]) for name in ("name", "value")}
    decisions.replace(call, "compat.using_own_config(name, value)", operands)
    decisions.use(node)
    decisions.mark(node, context.rules.python["chainer.config.*"], "chainer.using_config", "exact")
