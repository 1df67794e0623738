"""What a report says of each file: its state and its sites, those of a notebook with their cells."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import TypeVar

from chainer2torch.plan.site import Mention, Site
from chainer2torch.project import notebooks
from chainer2torch.project.tree import MovedLike, Tree
from chainer2torch.project.visible import visible, visible_lines
from chainer2torch.report.model import CLEAN, ERROR, LEFT, MIGRATED, NO_CHAINER, PARTIAL, FileRow

Item = TypeVar("Item", Site, Mention)


def row_of(tree: Tree, path: str, migrated: bool) -> FileRow:
    """What became of a Python file; ``migrated`` says that texts were made."""
    shown, result = tree.named(path), tree.results.get(path)
    if path in tree.broken:
        return FileRow(shown, ERROR)
    if result is None or path in tree.packages and not (result.changed or result.sites or result.kept):
        return FileRow(shown, NO_CHAINER)
    source = tree.sources.get(path)
    sites, kept, mentions = tuple(map(_site, result.sites)), tuple(map(_site, result.kept)), tuple(result.mentions)
    before, after = source.text if source is not None else None, result.code
    if isinstance(source, notebooks.Notebook):
        sites, kept, mentions = _in_cells(source, sites), _placed(source, kept), _placed(source, mentions)
        before, after = source.shown(), source.shown(source.sources(after)) if migrated else ""
    if not migrated:
        status = LEFT if sites else CLEAN
        return FileRow(shown, status, sites, None, before, None, mentions, kept, result.python2)
    unfinished = result.left > 0 or any(site.open for site in sites)
    if result.changed:
        status = PARTIAL if unfinished else MIGRATED
    else:
        status = LEFT if unfinished else CLEAN
    return FileRow(shown, status, sites, result.left, before, after, mentions, kept, result.python2)


def _site(site: Site) -> Site:
    """The site as a report may show it: a text of the source in it can hold anything."""
    if site.symbol.isprintable() and site.message.isprintable():
        return site
    return dataclasses.replace(site, symbol=visible(site.symbol), message=visible_lines(site.message))


def row_of_requirements(tree: Tree, path: str, moved: MovedLike, migrated: bool) -> FileRow:
    """What became of a file that says which packages are needed."""
    shown, open_ = tree.named(path), any(site.open for site in moved.sites)
    if path in tree.broken:
        return FileRow(shown, ERROR)
    if not migrated:
        return FileRow(shown, LEFT, tuple(moved.sites), before=moved.source.text)
    status = (PARTIAL if open_ else MIGRATED) if moved.text != moved.source.text else LEFT if open_ else CLEAN
    return FileRow(shown, status, tuple(moved.sites), 0, moved.source.text, moved.text)


def _placed(notebook: notebooks.Notebook, found: Iterable[Item]) -> tuple[Item, ...]:
    """The same sites or mentions, with the cells in which they stand."""
    return tuple(
        item.in_cell(notebook.shown_line(place), notebook.column(item.line, item.column), place)
        for item in found
        for place in [notebook.place(item.line)]
    )


def _in_cells(notebook: notebooks.Notebook, rows: Iterable[Site]) -> tuple[Site, ...]:
    """The sites with their cells, and the magics that name Chainer."""
    placed = list(_placed(notebook, rows))
    placed += [
        Site(
            notebook.shown_line(place),
            1,
            name,
            "manual",
            notebooks.MAGIC,
            "named in a magic or a shell line, which is kept as it is",
            place,
        )
        for place, name in notebook.mentions()
    ]
    return tuple(sorted(placed, key=lambda site: (site.line, site.column, site.symbol)))
