"""``migrate --trace``: what one run showed decides what the code leaves open, and the report says where it did."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Mapping
from typing import Any

from chainer2torch import engine
from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.module_index import Project
from chainer2torch.analysis.related import related
from chainer2torch.analysis.source import Source
from chainer2torch.plan.pipeline import decide
from chainer2torch.rules.table import Rules

NOTE = "decided by a trace of one run"
_Place = tuple[int, int]


def migrate_with_trace(
    sources: Mapping[str, str],
    hints: Mapping[str, str],
    *,
    rules: Rules,
    rewrite: bool = True,
    options: engine.Options | None = None,
    **settings: Any,
) -> dict[str, engine.FileResult]:
    """``engine.migrate_sources`` with the hints of a trace.

    A site whose decision would be another one without them says so in its message, and is ``close`` at best: it holds
    for runs like the one that was traced.
    """
    results = engine.migrate_sources(sources, rules=rules, hints=hints, rewrite=rewrite, options=options, **settings)
    without, with_hints = (_decisions(sources, rules, given, options) for given in ({}, hints))
    for path, result in results.items():
        before, after = without.get(path, {}), with_hints.get(path, {})
        changed = {place for place in {*before, *after} if before.get(place) != after.get(place)}
        if changed:
            result.sites = [_noted(site, changed) for site in result.sites]
    return results


def _noted(site: Any, changed: set[_Place]) -> Any:
    if (site.line, site.column) not in changed or site.state in ("manual", "review"):
        return site
    message = f"{site.message.rstrip('.')}; {NOTE}" if site.message else NOTE
    return dataclasses.replace(site, state="close", message=message)


def _decisions(
    sources: Mapping[str, str], rules: Rules, hints: Mapping[str, str], options: engine.Options | None
) -> dict[str, dict[_Place, str]]:
    """What is done at each place of each file, in words that can be compared."""
    start = {path for path, text in sources.items() if engine.mentions_chainer(text.encode("utf-8", "surrogatepass"))}
    trees = {}
    for path in related(sources, start) if start else ():
        try:
            trees[path] = Source(sources[path], ast.parse(sources[path]))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    analysis = Analysis(Project(trees, options.pinned if options else None), rules, hints).run()
    found: dict[str, dict[_Place, str]] = {}
    for path, module in analysis.project.modules.items():
        ledger = decide(analysis, module, options or engine.Options())
        places = found.setdefault(path, {})
        for kind, decisions in (("edit", ledger.edits), ("wrap", ledger.wraps), ("site", ledger.sites)):
            for node, decision in decisions.items():
                # Sites are counted from column 1.
                place = (getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1)
                places[place] = places.get(place, "") + f"{kind} {type(node).__name__} {decision!r}\n"
    return found
