"""What links of Chainer's become, and whether a project names one."""

from __future__ import annotations

import re

from chainer2torch.analysis.flow import Analysis
from chainer2torch.rules.table import Row


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
