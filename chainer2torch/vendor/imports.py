"""The import statements of ``chainer_compat.py``; in the native style few of them, with one spelling for each name.

A room imports ``Tensor`` where another says ``torch.Tensor``, or a function by its name where another takes the module.
In one file the module is enough.
"""

from __future__ import annotations

import ast
import dataclasses
import sys
from collections.abc import Iterable, Sequence

from chainer2torch.analysis.source import nodes_of
from chainer2torch.vendor.free_names import outer_names
from chainer2torch.vendor.rooms import Import, Piece, Room, VendorError, replaced

_WIDTH = 120
# modules that are imported under a short name; importing one of them loads all in it that helpers take
_SHORT = {
    "torch.nn.functional": "F",
    "torch.distributed": "dist",
    "torch.nn": "nn",
    "torch": "torch",
    "pytorch_pfn_extras": "ppe",
    "numpy": "np",
}
_HIDDEN = "torch.optim."  # takes the names of its modules away
_Homed = tuple[Room, Piece]


def in_one_spelling(pieces: Sequence[_Homed]) -> list[_Homed]:
    """The same pieces, with what they take from some modules said as members of these."""
    wanted = {item for room, piece in pieces for item in room.imports if item.needed_by(piece)}
    plain = {item.module for item in wanted if item.name is None and item.alias is None}
    result = list(pieces)
    for item in sorted(wanted, key=_order):
        spelled = spelling(item, plain)
        if spelled is not None and spelled[1] != item:
            changed = [_respelled(room, piece, item, *spelled) for room, piece in result]
            result = [pair for pair in changed if pair is not None] if None not in changed else result
    return result


def spelling(item: Import, plain: Iterable[str] = ()) -> tuple[str, Import] | None:
    """What is written for an imported name, and the import that this needs; ``plain``: modules that are there."""
    full = f"{item.module}.{item.name}" if item.name else item.module
    for module, short in _SHORT.items():
        if full == module or full.startswith(module + ".") and not item.module.startswith(_HIDDEN):
            text = short if item.name is None and item.alias is None else short + full.removeprefix(module)
            return text, Import(module, None, None if short == module else short)
    if item.name is not None and item.module in plain:
        return full, Import(item.module, None, None)
    return None


def _respelled(room: Room, piece: Piece, item: Import, text: str, instead: Import) -> _Homed | None:
    """A piece that says ``text`` for an imported name; None where that cannot be said, or a row gets too long."""
    if item not in room.imports or not item.needed_by(piece):
        return room, piece
    imports = (*(other for other in room.imports if other != item), instead)
    if text == item.binds:
        return dataclasses.replace(room, imports=imports), piece
    tree = ast.parse(piece.text)
    names = list(outer_names(tree, item.binds))
    lines = piece.text.split("\n")
    bound = {node.arg for node in nodes_of(tree) if isinstance(node, ast.arg)}
    bound |= {node.id for node in nodes_of(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    # up to Python 3.11 a name in a text of several parts has no place of its own
    placed = all(lines[node.lineno - 1].encode()[node.col_offset :].startswith(node.id.encode()) for node in names)
    new = replaced(piece.text, [(node, text) for node in names]) if placed else ""
    if not placed or instead.binds in bound or any(len(row) > _WIDTH for row in new.split("\n")):
        return None
    uses = piece.uses - {item.binds} | {instead.binds}
    return dataclasses.replace(room, imports=imports), dataclasses.replace(piece, text=new, uses=uses)


def imports_of(pieces: Sequence[_Homed], folder: str) -> list[Import]:
    """The imports that pieces need, each once."""
    bound: dict[str, tuple[str, str]] = {}
    found: dict[str, Import] = {}
    for room, piece in pieces:
        for item in room.imports:
            if not item.needed_by(piece):
                continue
            # `from torch import nn` is `import torch.nn as nn`
            meaning = f"{item.module}.{item.name}" if item.name else item.module if item.alias else item.binds
            previous = bound.setdefault(item.binds, (meaning, room.name))
            if previous[0] != meaning:
                raise VendorError(f"{folder}: {item.binds} means different things in {previous[1]} and {room.name}")
            # one statement for each name; `import torch.utils.data` is needed beside `import torch`
            found.setdefault(item.binds if item.name or item.alias else f"import {item.module}", item)
    return sorted(found.values(), key=_order)


def import_blocks(imports: Iterable[Import]) -> list[str]:
    """The texts of the two blocks of import statements: of the standard library, and others."""
    blocks: list[str] = []
    for standard in (True, False):
        lines: list[str] = []
        froms: dict[str, list[str]] = {}
        for item in imports:
            if (item.module.split(".")[0] in sys.stdlib_module_names) is not standard:
                continue
            if item.name is None:
                lines.append(f"import {item.module}" + (f" as {item.alias}" if item.alias else ""))
            else:
                text = item.name + (f" as {item.alias}" if item.alias else "")
                froms.setdefault(item.module, []).append(text)
        lines.extend(f"from {module} import {', '.join(items)}" for module, items in sorted(froms.items()))
        if lines:
            blocks.append("\n".join(lines))
    return blocks


def _order(item: Import) -> tuple[str, str, str]:
    return item.module, item.name or "", item.alias or ""
