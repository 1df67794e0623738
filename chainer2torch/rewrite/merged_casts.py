"""A tensor is made with the dtype that it is cast to: ``torch.as_tensor(a, dtype=torch.float32, device=d)``.

Two rules write ``torch.as_tensor(a, device=d).to(torch.float32)``, one for the array and one for ``astype``. Ones and
zeros, ``torch.ones(n, dtype=torch.int32).long()``, are the same numbers in any dtype. And a number is taken out of a
tensor, not of an array that is made for that: ``float(loss.item())``. What the source has in these words stays as
it is.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.parsing import parse
from chainer2torch.analysis.source import Source

_MAKERS = frozenset({"torch.as_tensor", "torch.tensor"})
_FILLED = frozenset({"torch.zeros", "torch.ones"})
_SIGNS = (".to(torch.", ".long()", ".dtype)", ".cpu().numpy())")
# what gives an array that nobody else holds: `copy=True` has nothing to do there
_FRESH = ("np.random.", "numpy.random.", "np.asarray(", "numpy.asarray(", "np.array(", "numpy.array(")


def with_merged_casts(code: str, before: str) -> str:
    """The text with such pairs in one call; ``before`` is the text of the source."""
    if not any(sign in code for sign in _SIGNS):
        return code
    source = Source(code, parse(code))
    edits: list[tuple[int, int, str]] = []
    for node in source.of(ast.Call):
        if (tensor := _made_a_number(node)) is not None:
            end, last = source.span(tensor)[1], source.span(node.args[0])[1]
            if code[slice(*source.span(node))] not in before and "\n" not in code[end:last]:
                edits.append((end, last, ".item()"))
            continue
        made = node.func.value if isinstance(node.func, ast.Attribute) else None
        if made is not None and (given := _dtype_of_filled(made)) is not None and (dtype := _cast_to(node)):
            (start, end), (_, last) = source.span(made), source.span(node)
            if code[start:last] not in before and code.startswith(".", end):
                edits += [(*source.span(given), dtype), (end, last, "")]
            continue
        made = made if isinstance(node.func, ast.Attribute) and node.func.attr == "to" else None
        if not isinstance(made, ast.Call) or not _is_plain(made) or not _casts(node, made):
            continue
        (start, end), (_, last) = source.span(made), source.span(node)
        behind = source.span(made.args[0])[1]
        whole = code[start:last]
        if whole in before or not code.startswith(".to(", end) or code[behind] not in ",)":
            continue
        edits += [(behind, behind, f", dtype={ast.unparse(node.args[0])}"), (end, last, "")]
    for first, stop, new in sorted(edits, reverse=True):
        code = code[:first] + new + code[stop:]
    return code


def _made_a_number(node: ast.Call) -> ast.expr | None:
    """The tensor in ``float(x.detach().cpu().numpy())``: an array of more than one element is no number either."""
    if not isinstance(node.func, ast.Name) or node.func.id not in ("float", "int") or len(node.args) != 1:
        return None
    value: ast.expr = node.args[0]
    for name in ("numpy", "cpu", "detach"):
        asked = value.func if isinstance(value, ast.Call) and not value.args and not value.keywords else None
        if isinstance(asked, ast.Attribute) and asked.attr == name:
            value = asked.value
        elif name != "detach":
            return None
    return value if not node.keywords and not isinstance(value, ast.Starred) else None


def _dtype_of_filled(made: ast.expr) -> ast.expr | None:
    """The dtype in ``torch.ones(n, dtype=torch.int32, device=d)``."""
    if not isinstance(made, ast.Call) or ast.unparse(made.func) not in _FILLED:
        return None
    given = {keyword.arg: keyword.value for keyword in made.keywords}
    return given.get("dtype") if given.keys() <= {"dtype", "device"} else None


def _cast_to(node: ast.Call) -> str:
    """The dtype in ``.long()``, ``.to(torch.float32)`` and ``.to(y.dtype)``, as code; "" for any other call."""
    method, args = getattr(node.func, "attr", ""), node.args
    if method == "long" and not args and not node.keywords:
        return "torch.int64"
    dtype = args[0] if method == "to" and len(args) == 1 and not node.keywords else None
    if not isinstance(dtype, ast.Attribute):
        return ""
    text = ast.unparse(dtype)
    named = text.startswith("torch.") and text.count(".") == 1
    return text if named or dtype.attr == "dtype" and isinstance(dtype.value, (ast.Name, ast.Attribute)) else ""


def _is_plain(made: ast.Call) -> bool:
    """``torch.as_tensor(a, device=d)``, without a dtype of its own."""
    return (
        ast.unparse(made.func) in _MAKERS
        and len(made.args) == 1
        and not isinstance(made.args[0], ast.Starred)
        and all(keyword.arg == "device" for keyword in made.keywords)
    )


def _casts(node: ast.Call, made: ast.Call) -> bool:
    """Whether ``.to(...)`` names a dtype and asks for nothing that making the tensor does not give."""
    dtype = node.args[0] if len(node.args) == 1 else None
    if not isinstance(dtype, ast.Attribute) or not ast.unparse(dtype).startswith("torch."):
        return False
    copies = [
        k for k in node.keywords if k.arg == "copy" and isinstance(k.value, ast.Constant) and k.value.value is True
    ]
    fresh = ast.unparse(made.func) == "torch.tensor" or ast.unparse(made.args[0]).startswith(_FRESH)
    return not node.keywords or len(copies) == len(node.keywords) == 1 and fresh


__all__ = ["with_merged_casts"]
