"""What links of Chainer's become, and whether a project names one."""

from __future__ import annotations

import ast
import re

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Ref, Tup, options
from chainer2torch.rules.table import Row

BATCH_NORMALIZATION = "chainer.links.BatchNormalization"


def torch_classes(row: Row) -> frozenset[str]:
    """The layers of torch.nn among the templates of a link (lazy ones derive from the others)."""
    return frozenset(
        f"torch.nn.{name}" for case in row.cases for name in re.findall(r"\btorch\.nn\.(?:Lazy)?([A-Z]\w*)", case.torch)
    )


def words(analysis: Analysis) -> frozenset[str]:
    """Every word of the project's files."""
    return frozenset().union(*(re.findall(r"\w+", m.source.text) for m in analysis.project.modules.values()))


def may_have_axes(analysis: Analysis) -> bool:
    """Whether some batch normalization of the project is the long helper, which is none of torch's classes.

    It has axes, several sizes, or a dtype.
    """
    return any(
        analysis.kind(call.func) == Ref(BATCH_NORMALIZATION) and not _is_plain(analysis, call)
        for module in analysis.project.modules.values()
        for call in module.source.of(ast.Call)
    )


def _is_plain(analysis: Analysis, call: ast.Call) -> bool:
    """Whether a call states one number of channels, or says by ``*`` and ``**`` what torch's class takes, too."""
    if any(isinstance(argument, ast.Starred) for argument in call.args) or any(k.arg is None for k in call.keywords):
        return True
    sizes = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "size")]
    return (
        len(call.args) < 4
        and not any(k.arg in ("axis", "dtype") for k in call.keywords)
        and bool(sizes)
        and not any(isinstance(k, Tup) for k in options(analysis.kind(sizes[0])))
    )
