"""Functions that are written into a file: each above the first statement that calls it."""

from __future__ import annotations

from typing import Any

import libcst as cst

from chainer2torch.rewrite.import_edits import after_imports, names_any
from chainer2torch.rewrite.template import Operands, statements
from chainer2torch.rewrite.torch_names import Names

_BLANK = cst.EmptyLine(indent=False)


def with_own_functions(module: cst.Module, names: Names) -> cst.Module:
    """A module with the functions that its edits call."""
    body: list[Any] = list(module.body)
    for function in list(names.called.values()):
        (definition,) = statements(function.text, Operands({}, lambda span: None), names)
        first = next((i for i, node in enumerate(body) if names_any(node, {function.name})), None)
        place = after_imports(body) if first is None else first
        if place < len(body) and not isinstance(body[place], cst.EmptyLine):
            above = list(body[place].leading_lines)
            blank = [line for line in above[:2] if line.comment is None]
            missing = [_BLANK] * (2 - len(blank))
            body[place] = body[place].with_changes(leading_lines=[*missing, *above])
        definition = definition.with_changes(leading_lines=[_BLANK] * 2 if place else [])
        body.insert(place, definition)
    return module.with_changes(body=body)


__all__ = ["with_own_functions"]
