"""Functions of NumPy that ParameterStatistics calls: it gives them tensors now."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Dct, Ref, options
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.host_values import wrap
from chainer2torch.plan.questions.only_values import only_value

_OF_ARRAY = "lambda x: value(x.cpu().numpy())"
_ELSEWHERE = "a statistic that is a function of NumPy gets a tensor now; write `lambda x: np.mean(x.cpu().numpy())`"


def of_numpy(context: Context, decisions: Decisions, call: ast.Call) -> None:
    """``ParameterStatistics(model, {'mean': np.mean})``."""
    given = [*call.args[1:2], *(keyword.value for keyword in call.keywords if keyword.arg == "statistics")]
    for node in given:
        kind = context.analysis.kind(node)
        if not isinstance(kind, Dct) or not any(map(_is_numpys, options(kind.element))):
            continue
        table = only_value(context, node) if isinstance(node, ast.Name) else node
        if isinstance(table, ast.Dict):
            functions: list[ast.expr] = table.values
        elif isinstance(table, ast.Call) and context.analysis.kind(table.func) == Ref("builtins.dict"):
            functions = [keyword.value for keyword in table.keywords]
        else:
            decisions.mark(
                node, None, "chainer.training.extensions.ParameterStatistics", "review", _ELSEWHERE, "C2T320"
            )
            continue
        for function in functions:
            if _is_numpys(context.analysis.kind(function)):
                wrap(context, decisions, function, _OF_ARRAY)


def _is_numpys(kind: object) -> bool:
    return isinstance(kind, Ref) and kind.name.startswith("numpy.")


__all__ = ["of_numpy"]
