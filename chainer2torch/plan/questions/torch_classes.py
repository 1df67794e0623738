"""What links of Chainer's become, and whether a project names one."""

from __future__ import annotations

import ast
import re

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import NONE, Lst, Ref, Tup, options
from chainer2torch.analysis.source import Source
from chainer2torch.plan.questions.nones import parameters_of_none
from chainer2torch.rules.table import Row

BATCH_NORMALIZATION = "chainer.links.BatchNormalization"
_TESTS = ("builtins.isinstance", "builtins.issubclass")


def torch_classes(row: Row) -> frozenset[str]:
    """The layers of torch.nn among the templates of a link (lazy ones derive from the others)."""
    return frozenset(
        f"torch.nn.{name}" for case in row.cases for name in re.findall(r"\btorch\.nn\.(?:Lazy)?([A-Z]\w*)", case.torch)
    )


def words(analysis: Analysis) -> frozenset[str]:
    """Every word of the project's files."""
    return frozenset(
        word for module in analysis.project.modules.values() for word in re.findall(r"\w+", module.source.text)
    )


def may_have_axes(analysis: Analysis) -> bool:
    """Whether some batch normalization of the project may be the long helper, which is none of torch's classes.

    It has axes, a size or a dtype that only the run says; so may one that is made with ``**``, or by a name.
    """
    if any(BATCH_NORMALIZATION in analysis.mro(cls) for cls in analysis.classes.values()):
        return True
    for module in analysis.project.modules.values():
        for node in module.source.of(ast.Name, ast.Attribute):
            if analysis.kind(node) == Ref(BATCH_NORMALIZATION) and not _is_plain(analysis, module.source, node):
                return True
    return False


def _is_plain(analysis: Analysis, source: Source, node: ast.AST) -> bool:
    """Whether a mention of the class is a call with a known number of channels, or a question for it."""
    call = source.parents.get(node)
    if isinstance(call, (ast.Tuple, ast.alias)):
        call = source.parents.get(call)
    if not isinstance(call, ast.Call):
        return False
    if call.func is not node:
        callee = analysis.kind(call.func)
        return isinstance(callee, Ref) and callee.name in _TESTS
    sizes = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "size")]
    return (
        len(call.args) < 4
        and not any(isinstance(argument, ast.Starred) for argument in call.args)
        and not any(k.arg in (None, "axis", "dtype") for k in call.keywords)
        and bool(sizes)
        and not _may_be_no_number(analysis, source, sizes[0])
    )


def _may_be_no_number(analysis: Analysis, source: Source, size: ast.expr) -> bool:
    """Whether a size may be a tuple, or None."""
    function = source.enclosing(size, ast.FunctionDef, ast.AsyncFunctionDef)
    return (
        isinstance(size, (ast.IfExp, ast.BoolOp))
        or any(k == NONE or isinstance(k, (Lst, Tup)) for k in options(analysis.kind(size)))
        or isinstance(size, ast.Name)
        and (function, size.id) in analysis.once(parameters_of_none)
    )
