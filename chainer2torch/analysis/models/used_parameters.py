"""What a parameter must be by how the function uses it: one that only meets Chainer's functions is a tensor.

Chainer's functions take arrays of NumPy, too, and make Variables of them. PyTorch's functions raise for such a value,
as do the members that are allowed here: nothing goes wrong silently. So it is a tensor in the migrated program, if no
visible call passes anything else, and as long as nothing in the function would take a number or a list as well.
"""

from __future__ import annotations

import ast
from chainer2torch.analysis.interpreter import Interpreter
from chainer2torch.analysis.kinds import Inst, Kind, Ref, options
from chainer2torch.analysis.models.xp_modules import MODULE_OF
from chainer2torch.analysis.module_index import FuncInfo

# the first parameter of a function of Chainer's that is a tensor; those that take lists have other names
TENSOR_PARAMETERS = frozenset({"x", "x0", "x1", "a", "mean", "c_prev", "log_pi", "anchor"})
# what a tensor has as well, or what raises for an array of NumPy's; `dtype` does neither where it is compared
_NEUTRAL = frozenset({"array", "backward", "cleargrad", "data", "ndim", "shape", "size", "unchain_backward"})
LINKS_OF_LISTS = ("chainer.links.NStep", "chainer.ChainList", "chainer.Sequential")


def only_meets_functions(interpreter: Interpreter, func: FuncInfo, name: str) -> bool:
    """Whether every use of a parameter is one of a tensor, and one of them is a call of a function or link."""
    parents = func.module.source.parents
    met = False
    for use in func.uses.get(name, ()):
        node = _part_of_array(interpreter, use, parents.get(use))
        parent = parents.get(node)
        if _asks_for_module(interpreter, parent):
            continue
        if isinstance(parent, ast.Attribute):
            if parent.attr not in _NEUTRAL and not _gives_dtype(parent, parents.get(parent)):
                return False
        elif _is_length(interpreter, parent):
            continue
        elif isinstance(parent, ast.Call) and parent.args and parent.args[0] is node:
            if not any(_takes_tensor(interpreter, k) for k in options(interpreter.facts.get(parent.func, Ref("")))):
                return False
            met = True
        elif not isinstance(parent, (ast.BinOp, ast.UnaryOp, ast.Return)):
            return False
    return met


def _gives_dtype(node: ast.Attribute, parent: ast.AST | None) -> bool:
    """``np.zeros(n, dtype=x.dtype)``: what makes a tensor takes no other's dtype, and NumPy gets its own."""
    return node.attr == "dtype" and isinstance(parent, ast.keyword) and parent.arg == "dtype"


def _is_length(interpreter: Interpreter, call: ast.AST | None) -> bool:
    """``len(x)``, which is the same of tensors, arrays and lists."""
    return isinstance(call, ast.Call) and interpreter.facts.get(call.func) == Ref("builtins.len")


def _part_of_array(interpreter: Interpreter, use: ast.expr, parent: ast.AST | None) -> ast.expr:
    """``x[..., :3]`` of an array, which lists have not; else the use itself."""
    native = interpreter.rules.style == "native"
    is_part = native and isinstance(parent, ast.Subscript) and parent.value is use
    return parent if is_part and isinstance(parent.slice, ast.Tuple) else use  # type: ignore[union-attr, return-value]


def _asks_for_module(interpreter: Interpreter, call: ast.AST | None) -> bool:
    """``xp = get_array_module(x)``, which takes anything."""
    callee = interpreter.facts.get(call.func) if isinstance(call, ast.Call) else None
    return interpreter.rules.style == "native" and isinstance(callee, Ref) and callee.name in MODULE_OF


def _takes_tensor(interpreter: Interpreter, callee: Kind) -> bool:
    if isinstance(callee, Inst):
        return (
            isinstance(callee.cls, str)
            and callee.cls.startswith("chainer.links.")
            and not callee.cls.startswith(LINKS_OF_LISTS)
        )
    row = interpreter.rules.rows.get(callee.name) if isinstance(callee, Ref) else None
    if row is None or row.signature is None or not row.name.startswith("chainer.functions."):
        return False
    first = next(iter(row.signature.parameters), None)
    return first is not None and first.kind == "positional" and first.name in TENSOR_PARAMETERS
