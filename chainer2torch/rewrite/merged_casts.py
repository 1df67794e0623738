"""A tensor is made with the dtype that it is cast to: ``torch.as_tensor(a, dtype=torch.float32, device=d)``.

Two rules write ``torch.as_tensor(a, device=d).to(torch.float32)``, one for the array and one for ``astype``. What the
source has in these words stays as it is.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.parsing import parse
from chainer2torch.analysis.source import Source

_MAKERS = frozenset({"torch.as_tensor", "torch.tensor"})
_SIGN = ".to(torch."
# what gives an array that nobody else holds: `copy=True` has nothing to do there
_FRESH = ("np.random.", "numpy.random.", "np.asarray(", "numpy.asarray(", "np.array(", "numpy.array(")


def with_merged_casts(code: str, before: str) -> str:
    """The text with such pairs in one call; ``before`` is the text of the source."""
    if _SIGN not in code:
        return code
    source = Source(code, parse(code))
    edits: list[tuple[int, int, str]] = []
    for node in source.of(ast.Call):
        made = node.func.value if isinstance(node.func, ast.Attribute) and node.func.attr == "to" else None
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
