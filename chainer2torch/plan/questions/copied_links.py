"""Links that are copied with their arrays shared: ``link.copy()``.

A parameter of such a copy has its array in the same place as the original's: when one of them is given another array
(``copy.W.array = a``), the other has it as well. In torch each of them holds an array of its own from then on.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import options
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.rows import PARAMETERS

SHARED = "a copy of a link shares its parameters' arrays: in Chainer the other one has the new array as well, here not"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def set_beside_copies(context: Context, node: ast.Attribute) -> bool:
    """Whether what gets another array may be a parameter that a copy of its link has, too."""
    function = context.source.enclosing(node, *_FUNCTIONS)
    if isinstance(function, ast.FunctionDef) and function.name == "__init__":
        return False  # nobody has copied yet what is being made
    if isinstance(node.value, ast.Attribute):
        held = node.value.attr in PARAMETERS
    else:  # `for param in link.params(): param.array = a`; what a function computed is no parameter
        held = isinstance(node.value, ast.Name) and not _is_computed(context, node.value)
    return held and context.analysis.once(_copies)


def _is_computed(context: Context, name: ast.Name) -> bool:
    """Whether a name of the same function is assigned what a call gives."""
    scope = context.source.enclosing(name, *_FUNCTIONS) or context.source.tree
    return any(
        isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.Call)
        and any(isinstance(target, ast.Name) and target.id == name.id for target in statement.targets)
        for statement in nodes_of(scope)
    )


def _copies(analysis: Analysis) -> bool:
    """Whether the project copies a link so."""
    return any(
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "copy"
        and not call.args
        and not call.keywords
        and any(analysis.is_link(kind) for kind in options(analysis.kind(call.func.value)))
        for module in analysis.project.modules.values()
        for call in module.source.of(ast.Call)
    )
