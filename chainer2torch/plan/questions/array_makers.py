"""Arrays of NumPy that a call makes, and what makes the same tensor: ``np.zeros(3, np.float32)``.

Where such a call stands inside of ``chainer.Variable(...)``, nobody else ever has the array, so PyTorch can make the
tensor itself: ``torch.zeros(3, dtype=torch.float32)``. The forms are those that array modules have, without their
device (rules/native/xp.toml). What draws random numbers stays NumPy's: the numbers would be others.
"""

from __future__ import annotations

import ast
import dataclasses
import functools

from chainer2torch.analysis.kinds import Kind, Lst, Tup, options, scalar_type
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.match import Question, evaluate, parsed
from chainer2torch.plan.questions.paths import is_parameter
from chainer2torch.rules.signature import BindError, Bound

_MAKERS = frozenset({"zeros", "ones", "empty", "full", "eye", "identity", "arange", "array", "asarray"})
_OF_VALUES = frozenset({"array", "asarray"})
_HELPERS = frozenset({"native", "numpy"})


@dataclasses.dataclass(frozen=True, eq=False)
class Maker:
    """What makes the same values as a tensor: the template, and what it is filled with."""

    template: str
    question: Question


def maker(context: Context, node: ast.AST | None) -> Maker | None:
    """What makes the tensor of an array that a call of NumPy makes; None: no such call, or no plain form in torch."""
    if context.choices.style != "native" or not isinstance(node, ast.Call):
        return None
    return context.ask(_maker, node)


def _maker(context: Context, node: ast.Call) -> Maker | None:
    call, dtype = _without_cast(node)
    kind = context.kind(call.func)
    name = getattr(kind, "name", "")
    if not isinstance(call.func, ast.Attribute) or name != f"numpy.{call.func.attr}" or call.func.attr not in _MAKERS:
        return None
    row = context.rules.member("xp.Module", call.func.attr)
    if row is None or row.signature is None:
        return None
    try:
        bound = row.signature.bind(call.args, [*call.keywords, *dtype], call.func.value)
    except BindError:
        return None
    if bound.starred or is_parameter(context, bound.given.get("dtype")):
        return None
    if call.func.attr in _OF_VALUES and not _are_numbers(context, bound):
        return None
    question = Question(row, bound, context.kind, context.is_instance, on_device=True)
    for case in row.cases:
        if case.native and case.when is not None and evaluate(parsed(case.when), question) is True:
            template = _without_device(case.torch)
            return None if template is None else Maker(template, question)
    return None


def _without_cast(node: ast.Call) -> tuple[ast.Call, list[ast.keyword]]:
    """The call in ``np.ones(3).astype(np.float32)``, and its dtype as an argument of that call."""
    cast = node.func
    if not isinstance(cast, ast.Attribute) or cast.attr != "astype" or len(node.args) != 1 or node.keywords:
        return node, []
    return (cast.value, [ast.keyword("dtype", node.args[0])]) if isinstance(cast.value, ast.Call) else (node, [])


def _are_numbers(context: Context, bound: Bound) -> bool:
    """Whether what an array is made of are numbers, and lists of them: torch.tensor is slow with arrays in a list."""
    node = bound.given.get("object", bound.given.get("a"))
    return node is not None and all(map(_is_number, options(context.kind(node))))


def _is_number(kind: Kind) -> bool:
    if isinstance(kind, (Lst, Tup)):
        items = (kind.element,) if isinstance(kind, Lst) else kind.items
        return all(_is_number(one) for item in items for one in options(item))
    return scalar_type(kind) in ("int", "float", "bool")


@functools.cache
def _without_device(template: str) -> str | None:
    """A form without its device; None where it needs a helper or NumPy, or asks for the device otherwise."""
    tree = ast.parse(template, mode="eval").body
    if not isinstance(tree, ast.Call):
        return None
    tree.keywords = [keyword for keyword in tree.keywords if keyword.arg != "device"]
    names = {node.id for node in nodes_of(tree) if isinstance(node, ast.Name)}
    return None if "self" in names or names & _HELPERS else ast.unparse(tree)


__all__ = ["Maker", "maker"]
