"""Names that a template binds itself, ``[lst[i] for i in indices]``: none that its operands say.

``permutate_list(batches[i], order, inv=False)`` would become ``[batches[i][i] for i in order]``, another value.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import re

from chainer2torch.plan.edits import Replace

_BINDERS = (" for ", "lambda ")


def with_names_of_its_own(text: str, edit: Replace) -> Replace:
    """The edit, with a template whose own names are none that stand in the operands, which are cut from ``text``."""
    if not any(word in edit.template for word in _BINDERS):
        return edit
    bound = _bound(edit.template) - edit.operands.keys()
    if not bound:
        return edit
    operands = (*edit.operands.values(), *edit.extra, *(operand for _, operand in edit.extra_keywords))
    said = {
        name
        for operand in operands
        for name in _names(operand.code or (text[slice(*operand.span)] if operand.span else ""))
    }
    template = edit.template
    for name in sorted(bound & said):
        new = f"{name}_"
        while new in said or new in bound:
            new += "_"
        template = re.sub(rf"(?<![.\w]){name}(?!\w|\s*=[^=])", new, template)
    return edit if template is edit.template else dataclasses.replace(edit, template=template)


def _names(text: str) -> set[str]:
    """The names in an expression; every word where it is none by itself."""
    try:
        tree = ast.parse(f"({text}\n)", mode="eval")
    except SyntaxError:
        return set(re.findall(r"\w+", text))
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


@functools.lru_cache(maxsize=1024)
def _bound(template: str) -> frozenset[str]:
    """The names that comprehensions and lambdas of a template bind; none where it is no expression."""
    try:
        tree = ast.parse(template.strip(), mode="eval")
    except SyntaxError:
        return frozenset()
    found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda):  # `lambda t, rate=rate: ...` holds a name of the operands on purpose
            places = [*node.args.posonlyargs, *node.args.args]
            found |= {place.arg for place in places[: len(places) - len(node.args.defaults)]}
    return frozenset(found)
