"""``chainer.testing.parameterize`` in the native style: ``parameterized_class`` of the package parameterized.

Both make a class of each dictionary, with its entries as attributes. Chainer's leaves functions alone that are such
entries; as attributes of a class they would become methods, so values that may be functions keep the helper. So do a
class with further decorators (what Chainer's gives them is no class), and one that inherits tests: it stays beside
those that are made of it, and they would run once more.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from chainer2torch.analysis.kinds import (
    Class,
    Const,
    Dct,
    HostArray,
    Inst,
    Kind,
    Lst,
    Ref,
    Scalar,
    Tup,
    options,
    scalar_type,
)
from chainer2torch.analysis.models.array_kinds import dtype_of
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand
from chainer2torch.plan.parts.calls import emit_call
from chainer2torch.plan.parts.names import emit_value
from chainer2torch.rules.table import Row

_MAKES = "parameterized.parameterized_class"
_PRODUCTS = frozenset({"chainer.testing.product", "chainer.testing.product_dict"})
_BASES = frozenset({"builtins.object", "unittest.TestCase"})
_SHORT = 90


def parameterize(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """``@parameterize(*product({...}))`` and ``@parameterize({...}, {...})`` above a class."""
    call = context.source.parents.get(node)
    assert isinstance(node, (ast.Name, ast.Attribute))
    if not isinstance(call, ast.Call) or call.func is not node:
        emit_value(context, decisions, node, row)
        return
    cls = context.source.parents.get(call)
    alone = isinstance(cls, ast.ClassDef) and cls.decorator_list == [call] and _has_all_tests(context, cls.bases)
    template, operands = _written(context, call)
    if not alone or not template or _has_comments(context, call) or not _are_plain(context, call):
        emit_call(context, decisions, call, row, node)
        return
    decisions.replace(call, template, operands)
    decisions.use(node)
    decisions.mark(node, row, row.name, row.state)


def _has_comments(context: Context, call: ast.Call) -> bool:
    """Whether there are comments between the dictionaries; what stands inside of one argument is written as it is."""
    text = context.source.segment(call)
    if len(call.args) == 1 and isinstance(call.args[0], ast.Starred):
        text = text.replace(context.source.segment(call.args[0].value), "", 1)
    return "#" in text


def _has_all_tests(context: Context, bases: Sequence[ast.expr]) -> bool:
    """Whether a class inherits no tests, as far as its bases tell: the class itself stays beside those made of it."""
    for base in bases:
        for kind in options(context.kind(base)):
            if isinstance(kind, Class):
                mro = context.analysis.mro(kind.info)
                names = {name for cls in mro if isinstance(cls, ClassInfo) for name in cls.methods}
                others = {cls for cls in mro if not isinstance(cls, ClassInfo)}
                if any(name.startswith("test") for name in names) or not others <= _BASES:
                    return False
            elif not isinstance(kind, Ref) or kind.name not in _BASES:
                return False
    return True


def _written(context: Context, call: ast.Call) -> tuple[str, dict[str, Operand]]:
    """The call of parameterized_class, and its operands; an empty text: the dictionaries do not stand there."""
    if call.keywords or not call.args:
        return "", {}
    if len(call.args) == 1 and isinstance(call.args[0], ast.Starred):
        return f"{_MAKES}(params)", {"params": context.operand(call.args[0].value)}
    if not all(isinstance(argument, ast.Dict) for argument in call.args):
        return "", {}
    names = [f"case{number}" for number in range(len(call.args))]
    length = sum(len(context.source.segment(argument)) for argument in call.args)
    rows = "".join(f"    {name},\n" for name in names)
    text = f"[{', '.join(names)}]" if length <= _SHORT else f"[\n{rows}]"
    return f"{_MAKES}({text})", {name: context.operand(value) for name, value in zip(names, call.args)}


def _are_plain(context: Context, call: ast.Call) -> bool:
    """Whether no value in the cases may be a function: no name, and nothing that a call gives."""
    bound = {
        name.id
        for node in nodes_of(call)
        if isinstance(node, ast.comprehension)
        for name in nodes_of(node.target)
        if isinstance(name, ast.Name)
    }
    inside = [node for argument in call.args for node in nodes_of(argument)]
    owners = {id(node.value) for node in inside if isinstance(node, ast.Attribute)}
    calls = [node for node in inside if isinstance(node, ast.Call)]
    owners |= {id(node.func) for node in calls} | {id(call) for call in calls if _makes_cases(context, call)}
    return not any(
        isinstance(node, ast.Lambda)
        or isinstance(node, (ast.Name, ast.Attribute, ast.Call))
        and id(node) not in owners
        and not (isinstance(node, ast.Name) and node.id in bound)
        and not all(map(_is_plain, options(context.kind(node))))
        for node in inside
    )


def _makes_cases(context: Context, call: ast.Call) -> bool:
    """``product({...})``, whose values stand in it."""
    callee = context.kind(call.func)
    return isinstance(callee, Ref) and callee.name in _PRODUCTS


def _is_plain(kind: Kind) -> bool:
    if isinstance(kind, Ref):
        constant = kind.name.rpartition(".")[2].isupper()  # `PIL.Image.NEAREST`
        return constant or kind.name in _PRODUCTS or dtype_of(kind) is not None or scalar_type(kind) is not None
    if isinstance(kind, (Dct, Lst)):
        return all(map(_is_plain, options(kind.element)))
    if isinstance(kind, Tup):
        return all(_is_plain(one) for item in kind.items for one in options(item))
    return isinstance(kind, (Class, Const, HostArray, Inst, Scalar))


__all__ = ["parameterize"]
