"""Import statements: the ones that nobody uses any more go, the ones that are needed come."""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Collection, Sequence
from typing import Any

import libcst as cst

from chainer2torch.rewrite.layout import closing_comma
from chainer2torch.rewrite.printing import code_of, fields
from chainer2torch.rewrite.torch_names import COMPAT, dotted_name


def remove_aliases(node: Any, indices: Collection[int]) -> list[Any]:
    """An import statement without some of its aliases; nothing when none is left."""
    if isinstance(node.names, cst.ImportStar):
        return [node] if 0 not in indices else []
    kept = [alias for i, alias in enumerate(node.names) if i not in indices]
    if not kept:
        return []
    if kept[-1] is not node.names[-1]:
        kept[-1] = kept[-1].with_changes(comma=closing_comma(kept[-1].comma, node.names[-1].comma))
    return [node.with_changes(names=kept)]


def replaced_small(node: Any, indices: Collection[int], statements: Sequence[str]) -> list[Any]:
    """An import statement without some of its aliases, and the statements that import them from elsewhere."""
    others = [_parse(text, "\n").body[0] for text in statements]
    return [*remove_aliases(node, indices), *others]


def replaced(node: cst.SimpleStatementLine, indices: Collection[int], statements: Sequence[str]) -> list[Any]:
    """The line of an import without some of its aliases, and lines that import them from elsewhere."""
    parts = replaced_small(node.body[0], indices, statements)
    lines: list[Any] = [cst.SimpleStatementLine([part]) for part in parts]
    lines[0] = lines[0].with_changes(leading_lines=node.leading_lines, trailing_whitespace=node.trailing_whitespace)
    return lines


def with_lines_above(lines: list[Any], above: Sequence[str]) -> list[Any]:
    """Statements with lines of code above the first of them and above its comments; empty lines stay over all."""
    at = next((i for i, line in enumerate(lines) if not isinstance(line, cst.EmptyLine)), None)
    if at is None or not above:
        return lines
    first = lines[at]
    comment = next((i for i, line in enumerate(first.leading_lines) if line.comment), len(first.leading_lines))
    new: list[Any] = [cst.parse_statement(text) for text in above]
    new[0] = new[0].with_changes(leading_lines=first.leading_lines[:comment])
    rest = first.with_changes(leading_lines=first.leading_lines[comment:])
    return [*lines[:at], *new, rest, *lines[at + 1 :]]


_WHY = "# only what is marked below needs it"


def guarded(node: cst.SimpleStatementLine, stand_ins: Sequence[str] = ()) -> cst.Try:
    """An import in a ``try`` that lets it fail, whatever stops it: Chainer is there, but not on today's NumPy.

    ``stand_ins`` are the statements that bind its names then.
    """
    handler = cst.ExceptHandler(
        type=cst.Name("Exception"),
        whitespace_after_except=cst.SimpleWhitespace(" "),
        body=cst.IndentedBlock(
            [cst.parse_statement(text) for text in stand_ins] or [cst.SimpleStatementLine([cst.Pass()])],
            header=cst.TrailingWhitespace(cst.SimpleWhitespace("  "), cst.Comment(_WHY)),
        ),
    )
    return cst.Try(
        cst.IndentedBlock([node.with_changes(leading_lines=[])]), [handler], leading_lines=node.leading_lines
    )


def spaced(module: cst.Module) -> cst.Module:
    """A module in which guarded imports are paragraphs among the others."""
    body: list[Any] = list(module.body)
    for i, (before, node) in enumerate(zip(body, body[1:], strict=False), 1):
        if isinstance(node, cst.EmptyLine):  # a comment whose statement has gone
            continue
        blank = all(line.comment is None for line in node.leading_lines)
        if (
            blank
            and _is_import(before)
            and _is_guard(node)
            or not node.leading_lines
            and (_is_guard(node) or _is_import(node) and _is_guard(before))
        ):
            body[i] = node.with_changes(leading_lines=[_BLANK])
    return module.with_changes(body=body)


def _is_guard(node: Any) -> bool:
    if not isinstance(node, cst.Try) or not node.handlers:
        return False
    comment = node.handlers[0].body.header.comment if isinstance(node.handlers[0].body, cst.IndentedBlock) else None
    return comment is not None and comment.value == _WHY


PLACE = cst.SimpleStatementLine([cst.Pass()])
"""Stands where the first import of Chainer was, until the new imports take its place."""


def insert(module: cst.Module, groups: list[list[str]], behind: str = "", way: str = "") -> cst.Module:
    """Puts import statements where Chainer's were; else behind the file's leading imports or its docstring.

    ``behind`` is the statement behind which those of helpers have to stand, ``way`` one that makes them known: it
    stands with them behind all other imports.
    """
    ours = [text for group in groups for text in group if COMPAT in text] if behind or way else []
    early = _first_use(module.body, {ours[-1].split()[-1].split(".")[0]}) if way and ours else None
    given = ("import os", "import sys") if early is not None and early < after_imports(list(module.body)) else ()
    groups = [rest for group in groups if (rest := [text for text in group if text not in (*ours, *given)])]
    if behind and not way:
        module = _insert_behind(module, ours, behind)
    module = _insert_groups(module, groups)
    return _insert_way(module, [way, *ours]) if way else module


def _insert_groups(module: cst.Module, groups: list[list[str]]) -> cst.Module:
    body = list(module.body)
    groups = _in_the_standard_paragraph(body, groups, module.default_newline)
    marked = [i for i, node in enumerate(body) if _is_place(node)]
    place = marked[0] if marked else after_imports(body)
    leading: Sequence[cst.EmptyLine] | None = None
    if marked:
        leading = body.pop(place).leading_lines
        groups = _own_paragraph(body, place, groups, module.default_newline)
        place, leading = _in_order(body, place, leading, groups)
    if not groups:
        behind = body[place : place + 1]
        is_paragraph = bool(place and behind) and _is_import(behind[0]) and not behind[0].leading_lines
        if leading and (is_paragraph or any(line.comment for line in leading)):
            body[place:] = above(body[place:], leading)
        return module.with_changes(body=body)
    first = _first_use(body[:place], {text.split()[-1].split(".")[0] for group in groups for text in group})
    if first is not None:
        if leading is not None:
            body[place:] = above(body[place:], [line for line in leading if line.comment])
        place, leading = first, None
    lines: list[Any] = []
    for group in groups:
        for i, text in enumerate(group):
            statement = _parse(text, module.default_newline)
            if i == 0 and lines and (len(groups) > 1):
                statement = statement.with_changes(leading_lines=[_BLANK])
            lines.append(statement)
    if leading is None:
        leading = [_BLANK] if place else []
        # comments in the file's header stay above; what follows keeps its distance
        if place == 0 and body and not isinstance(body[0], cst.EmptyLine):
            markers = [line for line in body[0].leading_lines if is_marker(line)]
            leading = [line for line in body[0].leading_lines if not is_marker(line)]
            body[0] = body[0].with_changes(leading_lines=[_BLANK, _BLANK, *markers])
    lines[0] = lines[0].with_changes(leading_lines=leading)
    return module.with_changes(body=[*body[:place], *lines, *body[place:]])


def _own_paragraph(body: list[Any], place: int, groups: list[list[str]], newline: str) -> list[list[str]]:
    """Puts the import of the helpers behind the paragraph of imports that ``place`` is in; gives the other groups.

    The helpers are a module of the project: they stand apart from the libraries, as the project's other modules do.
    """
    ours = [text for group in groups for text in group if COMPAT in text]
    end = _end_of_paragraph(body, place)
    if (
        not ours
        or end == place
        or _first_use(body[:end], {text.split()[-1].split(".")[0] for text in ours}) is not None
    ):
        return groups
    lines = [_parse(text, newline) for text in ours]
    lines[0] = lines[0].with_changes(leading_lines=[_BLANK])
    body[end:end] = lines
    others = [[text for text in group if text not in ours] for group in groups]
    return [group for group in others if group]


def _in_the_standard_paragraph(body: list[Any], groups: list[list[str]], newline: str) -> list[list[str]]:
    """Puts modules of the standard library into the paragraph of these at the head of the file; gives the others."""
    ours = [text for group in groups for text in group if text.split()[1].split(".")[0] in sys.stdlib_module_names]
    head = next((i for i, node in enumerate(body) if _is_import(node) and not _is_future(node)), len(body))
    end = head + 1 + sum(1 for _ in itertools.takewhile(_joins_on, body[head + 1 :]))
    names = [_plain_import(node) for node in body[head:end]]
    plain = list(itertools.takewhile(bool, names))
    if (
        not plain
        or plain != sorted(plain)
        or not all(_first_module(node) in sys.stdlib_module_names for node in body[head:end])
        or any(not text.startswith("import ") or " as " in text for text in ours)
        or end == len(body)
    ):
        return _behind_standard(body, head, ours, groups, newline)
    for text in ours:
        place = head + sum(1 for name in plain if name < text.split()[1])
        line = _parse(text, newline)
        if place == head:
            line = line.with_changes(leading_lines=body[head].leading_lines)
            body[head] = body[head].with_changes(leading_lines=[])
        body.insert(place, line)
        plain.append(text.split()[1])
    others = [[text for text in group if text not in ours] for group in groups]
    return [group for group in others if group]


def _behind_standard(
    body: list[Any], head: int, ours: list[str], groups: list[list[str]], newline: str
) -> list[list[str]]:
    """Puts modules of the standard library behind the last of these above the new imports, else above all others."""
    run = list(itertools.takewhile(_is_import, body[head:]))
    standard = [i for i, node in enumerate(run) if _first_module(node) in sys.stdlib_module_names]
    first = any(map(_is_place, body[:head]))  # the new imports come first, and their groups are in order
    if first or not run or not ours or any(line.comment for line in run[0].leading_lines):
        return groups
    lines = [_parse(text, newline) for text in ours]
    if standard:
        place = head + standard[-1] + 1
        if place < len(body) and _is_place(body[place]) and not body[place].leading_lines:
            body[place] = body[place].with_changes(leading_lines=[_BLANK])
    else:
        place = head
        lines[0] = lines[0].with_changes(leading_lines=run[0].leading_lines)
        body[head] = run[0].with_changes(leading_lines=[_BLANK])
    body[place:place] = lines
    others = [[text for text in group if text not in ours] for group in groups]
    return [group for group in others if group]


def _joins_on(node: Any) -> bool:
    return _is_import(node) and not _is_place(node) and not node.leading_lines


def _is_future(node: Any) -> bool:
    return _first_module(node) == "__future__"


def _first_module(node: cst.SimpleStatementLine) -> str:
    part = node.body[0]
    if isinstance(part, cst.ImportFrom):
        return "" if part.relative or part.module is None else (dotted_name(part.module) or "").split(".")[0]
    assert isinstance(part, cst.Import)
    return (dotted_name(part.names[0].name) or "").split(".")[0]


def _end_of_paragraph(body: Sequence[Any], place: int) -> int:
    while place < len(body) and _is_import(body[place]) and not body[place].leading_lines:
        place += 1
    return place


def _in_order(
    body: list[Any], place: int, leading: Sequence[cst.EmptyLine], groups: Sequence[Sequence[str]]
) -> tuple[int, Sequence[cst.EmptyLine]]:
    """Where the imports go in a paragraph that is sorted: behind ``import numpy``, which comes before torch."""
    behind = [_plain_import(node) for node in body[place : _end_of_paragraph(body, place)]]
    names = list(itertools.takewhile(bool, behind))
    first = next((text.split()[1] for group in groups for text in group), "")
    if not names or names != sorted(names) or names[0] < "chainer" or any(line.comment for line in leading):
        return place, leading
    passed = sum(1 for name in names if name < first)
    if not passed:
        return place, leading
    body[place] = body[place].with_changes(leading_lines=leading)
    return place + passed, []


def _plain_import(node: cst.SimpleStatementLine) -> str:
    """The module of an ``import module`` that stands alone on its line; "" for others."""
    part = node.body[0]
    if len(node.body) > 1 or not isinstance(part, cst.Import) or len(part.names) > 1:
        return ""
    return dotted_name(part.names[0].name) or ""


def _insert_behind(module: cst.Module, statements: Sequence[str], behind: str) -> cst.Module:
    body = list(module.body)
    places = [
        i for i, node in enumerate(body) if isinstance(node, cst.SimpleStatementLine) and _says(module, node, behind)
    ]
    place = places[-1] + 1 if places else after_imports(body)
    lines = [_parse(text, module.default_newline) for text in statements]
    # what stands in for a left import is a helper's: such a guard, also one inside of another `try`, comes behind them
    bound = {text.split()[-1].split(".")[0] for text in statements}
    early = [node for node in body[:place] if isinstance(node, cst.Try) and names_any(node, bound)]
    before = [node for node in body[:place] if not any(node is guard for guard in early)]
    return module.with_changes(body=[*before, *lines, *early, *body[place:]])


def _insert_way(module: cst.Module, statements: Sequence[str]) -> cst.Module:
    body = list(module.body)
    bound = {statements[-1].split()[-1].split(".")[0]}
    early = _first_use(body, bound)
    place = after_imports(body) if early is None else min(after_imports(body), early)
    modules = [name for name in ("os", "sys") if f"{name}.path" in statements[0] and not _binds(body[:place], name)]
    texts = [*(f"import {name}" for name in modules), *statements]  # the file may import them further below
    lines = [_parse(text, module.default_newline) for text in texts]
    lines[0] = lines[0].with_changes(leading_lines=[_BLANK] if place else [])
    return module.with_changes(body=[*body[:place], *lines, *body[place:]])


def _binds(body: Sequence[Any], name: str) -> bool:
    """Whether a statement imports a module under its own name."""
    imports = [part for node in body if _is_import(node) for part in node.body if isinstance(part, cst.Import)]
    names = [alias for part in imports for alias in part.names]
    return any((alias.evaluated_alias or alias.evaluated_name.split(".")[0]) == name for alias in names)


def _says(module: cst.Module, line: cst.SimpleStatementLine, text: str) -> bool:
    return any(code_of(part, module).strip().rstrip(";").rstrip() == text for part in line.body)


@functools.lru_cache(maxsize=1024)
def _parse(text: str, newline: str) -> Any:
    return cst.parse_statement(text, config=cst.PartialParserConfig(default_newline=newline))


def above(lines: list[Any], leading: Sequence[cst.EmptyLine]) -> list[Any]:
    """Lines of a suite (statements, or comments that belong to no statement any more) with others put above them."""
    if not lines:
        return [line for line in leading if line.comment]
    if isinstance(lines[0], cst.EmptyLine):
        return [*leading, *lines]
    if isinstance(lines[0], cst.FunctionDef) and all(line.comment for line in leading):
        leading = [cst.EmptyLine(indent=False), *leading]
    return [lines[0].with_changes(leading_lines=[*leading, *lines[0].leading_lines]), *lines[1:]]


def is_marker(line: cst.EmptyLine) -> bool:
    """Whether a line is a comment of ours that says what is left to do."""
    return line.comment is not None and line.comment.value.startswith("# TODO(chainer2torch ")


def _first_use(body: Sequence[Any], names: Collection[str]) -> int | None:
    """The first statement that needs one of the names when the file is run from the top; functions run later."""
    return next(
        (
            i
            for i, node in enumerate(body)
            if not _is_import(node) and not isinstance(node, cst.FunctionDef) and names_any(node, names)
        ),
        None,
    )


def names_any(node: cst.CSTNode, names: Collection[str]) -> bool:
    """Whether a statement reads or calls something by one of the names."""
    pending: list[Any] = [node]
    while pending:
        one = pending.pop()
        kind = one.__class__
        if kind is cst.Name:
            if one.value in names:
                return True
        elif kind is cst.Attribute or kind is cst.Arg:  # not what is behind the dot, and not the keyword
            pending.append(one.value)
        elif isinstance(one, (list, tuple)):
            pending.extend(one)
        elif isinstance(one, cst.CSTNode):
            pending.extend(getattr(one, field) for field in fields(kind))
    return False


_BLANK = cst.EmptyLine(indent=False)


def _is_place(node: Any) -> bool:
    return isinstance(node, cst.SimpleStatementLine) and node.body is PLACE.body


def _is_import(node: Any) -> bool:
    return (
        isinstance(node, cst.SimpleStatementLine)
        and bool(node.body)
        and isinstance(node.body[0], (cst.Import, cst.ImportFrom))
    )


def after_imports(body: list[Any]) -> int:
    """The index behind the last import of the file's head; the docstring and __future__ imports come before."""
    place = 0
    for i, node in enumerate(body):
        if _is_import(node):
            place = i + 1
        elif i == 0 and _is_docstring(node):
            place = 1
        elif isinstance(node, (cst.ClassDef, cst.FunctionDef, cst.If, cst.For, cst.While, cst.With)):
            break
    return place


def _is_docstring(node: Any) -> bool:
    return (
        isinstance(node, cst.SimpleStatementLine)
        and len(node.body) == 1
        and isinstance(node.body[0], cst.Expr)
        and isinstance(node.body[0].value, cst.BaseString)
    )
