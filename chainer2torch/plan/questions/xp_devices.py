"""Which array modules become a ``torch.device`` in the native style.

``xp = cuda.get_array_module(x)`` is read as "the device of x" where everything that is done with ``xp`` has a form in
torch: ``xp.zeros(3)`` is ``torch.zeros(3, dtype=torch.float64, device=device)``. All uses of one variable change
together or none does; where ``xp`` goes to a function of the project, its parameter changes, too, with all its calls
(xp_handed.py). What goes elsewhere, or into an attribute, keeps the helper.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.models.xp_modules import CUPY
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.cupy_guards import chosen_module
from chainer2torch.plan.questions.xp_attributes import of_attribute
from chainer2torch.plan.questions.xp_handed import handed
from chainer2torch.plan.questions.xp_origins import Origin, of_any_array, origin_of
from chainer2torch.plan.questions.xp_uses import only_asked, set_attribute, used
from chainer2torch.plan.questions.xp_variables import Variable, is_own, variables_in


def is_device(context: Context, node: ast.AST) -> bool:
    """Whether an array module stands as a device in the output, with all its uses."""
    if context.choices.style != "native" or not context.with_models or not isinstance(node, ast.expr):
        return False
    if isinstance(node, ast.Name) and context.reference(node) not in CUPY:
        return variable(context, node) is not None or parameter(context, node) is not None
    return context.ask(_alone, node)


def _alone(context: Context, node: ast.expr) -> bool:
    """Whether an array module that no name holds is used in a way that has a form."""
    if device_in(context, node) is None:
        return False
    parent = context.source.parents.get(node)
    if isinstance(parent, ast.Assign) and parent.value is node and isinstance(parent.targets[0], ast.Name):
        return len(parent.targets) == 1 and variable(context, parent.targets[0]) is not None
    return used(context, node, context.analysis.once(handed)) is not None


def device_in(context: Context, node: ast.expr) -> Origin | None:
    """The device that an expression is: of an attribute that has become one, or of what it finds it by."""
    found = of_attribute(context, node, context.analysis.once(handed)) or origin_of(context, node)
    return of_any_array(context, node) if found is None and only_asked(context, node) else found


def is_set(context: Context, statement: ast.Assign) -> bool:
    """Whether a statement gives an attribute that is a device in the output its value."""
    return (
        context.choices.style == "native"
        and set_attribute(context, statement, context.analysis.once(handed)) is not None
    )


def variable(context: Context, name: ast.Name) -> Variable | None:
    """The variable of a name, if all that it holds are array modules and all that is done with them has a form."""
    scope = context.scopes.get(name)
    if not isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)) and not (
        isinstance(scope, ast.Module) and is_own(context, name.id)
    ):
        return None
    found = context.ask(_variables, scope)
    return found.get(name.id)


def imported(context: Context, block: ast.Try) -> Variable | None:
    """The variable of a ``try`` that imports CuPy or NumPy under its name, if it is a device in the output."""
    found = chosen_module(context, block)
    uses = [n for n in context.source.of(ast.Name) if found is not None and n.id == found[2]]
    if not uses or not is_device(context, uses[0]):
        return None
    made = variable(context, uses[0])
    return made if made is not None and found is not None and made.imports == found[:2] else None


def _variables(context: Context, scope: ast.FunctionDef | ast.AsyncFunctionDef | ast.Module) -> dict[str, Variable]:
    return variables_in(context, scope, context.analysis.once(handed))


def parameter(context: Context, name: ast.Name) -> str | None:
    """The new name of a parameter that is an array module and becomes a device."""
    scope = context.scopes.get(name)
    info = context.analysis.functions.get(scope) if isinstance(scope, ast.FunctionDef) else None
    return None if info is None else context.analysis.once(handed).get((info, name.id))
