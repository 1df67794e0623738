"""LinearShift as a scheduler of PyTorch's: a lambda that reads the rate off a line.

torch.optim.lr_scheduler.LambdaLR(
    optimizer, lambda t: float(np.interp(t, (0, 100), (0.1, 0.01))) / 0.1)

Chainer works its ranges out once. So what calls something has a name: a parameter of the lambda, and a variable where
the first rate is needed before.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand
from chainer2torch.plan.native import places
from chainer2torch.plan.native.programs import names_in
from chainer2torch.rules.signature import Bound

_LR = "torch.optim.lr_scheduler."
_RATE_OF_LINEAR = "float(numpy.interp(t, TIMES, VALUES)) / FIRST"
_NAMES = ("times", "values", "rates")
_BREAK = "\n            "


def are_pairs(bound: Bound) -> bool:
    """Whether a LinearShift gets two pairs that are written down, in an order that its lambda keeps."""
    times, values = bound.given["time_range"], bound.given["value_range"]
    ordered = (values.lineno, values.col_offset) < (times.lineno, times.col_offset)
    return _is_pair(times) and _is_pair(values) and (ordered or not (_calls(times) and _calls(values)))


def _is_pair(node: ast.expr) -> bool:
    return len(parts_of(node)) == 2 and not any(isinstance(n, (ast.NamedExpr, ast.Starred)) for n in nodes_of(node))


def _calls(node: ast.expr) -> bool:
    """Whether an expression may do something: it stands in one place, and is worked out once."""
    return any(isinstance(n, (ast.Call, ast.Await, ast.Yield, ast.YieldFrom)) for n in nodes_of(node))


class Linear:
    """What a LinearShift is written with: values that a call gives have names, the first rate perhaps a statement."""

    def __init__(self, context: Context, bound: Bound):
        self.times, self.values = bound.given["time_range"], bound.given["value_range"]
        self.first = parts_of(self.values)[0]
        nodes = [n for given in bound.given.values() for n in nodes_of(given)]
        own = frozenset(node.id for node in nodes if isinstance(node, ast.Name))
        taken = own | names_in(context, places.function_of(context, self.values))
        self.names = dict(zip(("TIMES", "VALUES", "RATES"), (_free(name, taken) for name in _NAMES)))
        self.has_variable = _calls(self.first)

    def scheduler(self) -> str:
        """The scheduler, with operands."""
        named = [name for name, node in (("VALUES", self.values), ("TIMES", self.times)) if _calls(node)]
        body = _RATE_OF_LINEAR.replace("FIRST", f"{self.names['VALUES']}[0]") if self.has_variable else _RATE_OF_LINEAR
        for name in named:
            body = body.replace(name, self.names[name])
        given = ", ".join(["t", *(f"{self.names[name]}={name}" for name in named)])
        return f"{_LR}LambdaLR(\n        OPTIMIZER, lambda {given}:{_BREAK if named else ' '}{body})"

    def operands(self, context: Context) -> dict[str, Operand]:
        """Its operands; the values may have a name already."""
        values = Operand(code=self.names["RATES"]) if self.has_variable else context.operand(self.values)
        first = Operand(code=context.source.segment(self.first))
        return {"TIMES": context.operand(self.times), "VALUES": values, "FIRST": first}


def parts_of(node: ast.expr) -> list[ast.expr]:
    """The parts of a pair that is written down."""
    return node.elts if isinstance(node, (ast.Tuple, ast.List)) else []


def _free(name: str, taken: frozenset[str]) -> str:
    return next(n for n in (name, *(f"{name}_{i}" for i in range(1, len(taken) + 2))) if n not in taken)


__all__ = ["Linear", "are_pairs", "parts_of"]
