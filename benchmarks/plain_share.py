"""The share of the uses of ``chainer.functions`` in a tree that become torch expressions without a helper.

    python benchmarks/plain_share.py PATH...

Prints the share, and how often each function is left to a helper (as a call or as a value).
"""

from __future__ import annotations

import ast
import collections
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path


from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.module_index import Project
from chainer2torch.analysis.source import Source
from chainer2torch.plan.edits import Replace
from chainer2torch.plan.ledger import Ledger
from chainer2torch.plan.options import Options
from chainer2torch.plan.pipeline import decide
from chainer2torch.rules.table import load_rules

PREFIX = "chainer.functions."


def ledgers_of(sources: Mapping[str, str]) -> Iterator[Ledger]:
    """The decisions for every file of a tree; paths are relative, with ``/``. Files that do not parse are left out."""
    trees = {}
    for path, text in sources.items():
        try:
            trees[path] = Source(text, ast.parse(text))
        except SyntaxError as error:
            print(f"{path}: {error}", file=sys.stderr)
    analysis = Analysis(Project(trees), load_rules(), None).run()
    for module in analysis.project.modules.values():
        yield decide(analysis, module, Options())


def count(ledgers: Iterable[Ledger]) -> tuple[int, collections.Counter[str]]:
    """The number of function sites, and those with a helper (or without a conversion), by name and how it is used."""
    total, helped = 0, collections.Counter[str]()
    for ledger in ledgers:
        for node, site in ledger.sites.items():
            if not site.symbol.startswith(PREFIX):
                continue
            total += 1
            call = ledger.context.source.parents.get(node)
            is_call = isinstance(call, ast.Call) and call.func is node
            edit = ledger.edits.get(call if is_call and call in ledger.edits else node)
            if not isinstance(edit, Replace) or _needs_helper(edit):
                helped[site.symbol.removeprefix(PREFIX) + ("" if is_call else " (as a value)")] += 1
    return total, helped


def _needs_helper(edit: Replace) -> bool:
    names = {node.id for node in ast.walk(ast.parse(edit.template.strip())) if isinstance(node, ast.Name)}
    return "compat" in names or "TRAINING" in names and edit.training.startswith("compat.")


def main(paths: list[str]) -> None:
    """Prints the share of each tree."""
    for path in paths:
        root = Path(path)
        sources = {
            file.relative_to(root).as_posix(): file.read_text(encoding="utf-8") for file in sorted(root.rglob("*.py"))
        }
        total, helped = count(ledgers_of(sources))
        print(
            f"{path}: {total - helped.total()} of {total} uses of chainer.functions are plain torch "
            f"({1 - helped.total() / max(total, 1):.1%})"
        )
        for name, times in helped.most_common():
            print(f"{times:6} {name}")


if __name__ == "__main__":
    main(sys.argv[1:])
