"""How long `migrate` takes over a tree, against LibCST's own parse and `.code` of the same files.

    python benchmarks/bench_migrate.py [TREE] [--repeat N] [--runs N] [--style native|faithful]

Without TREE the fixtures are copied N times into a temporary folder. Both sides run in this process, in turns, and the
least of the runs counts: what is left is the work, not the noise. CPU time, with reading the files in both.
"""

from __future__ import annotations

import argparse
import functools
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import libcst

from chainer2torch.project import candidates, files, output, scan
from chainer2torch.project.dependencies.pinned import pinned
from chainer2torch.engine import Options, migrate_sources
from chainer2torch.rules.table import load_rules

FIXTURES = Path(__file__).parents[1] / "fixtures"


def floor(tree: Path) -> tuple[int, int]:
    """Parses and prints every file that mentions Chainer with LibCST; gives their number and their lines."""
    count = lines = 0
    for entry in files.walk(tree, print):
        if not entry.python:
            continue
        raw = files.read(entry.path)
        if candidates.mentions_chainer(raw):
            try:
                module = libcst.parse_module(files.decode(raw, entry.path).text)
            except (libcst.ParserSyntaxError, files.FileError):
                continue
            lines += module.code.count("\n")
            count += 1
    return count, lines


def migrate(tree: Path, style: str = "native") -> None:
    """What `chainer2torch migrate` does up to the bytes that it would write, rule tables included."""
    rules = load_rules(lazy=True, style=style)
    found = scan.collect([tree])
    for one in found.trees:
        one.pin = pinned(one)
    scan.analyse(
        found, lambda texts, pin: migrate_sources(texts, rules=rules, options=Options(pinned=pin, style=style))
    )
    if any("internal error" in problem.message for problem in found.problems):
        raise SystemExit(str(found.problems))
    output.changes(found)


def best(work: Callable[[Path], object], tree: Path, times: list[float]) -> None:
    start = time.process_time()
    work(tree)
    times.append(time.process_time() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tree", nargs="?", type=Path, help="default: the fixtures, repeated")
    parser.add_argument("--repeat", type=int, default=20, help="copies of the fixtures (default 20)")
    parser.add_argument("--runs", type=int, default=3, help="runs of each side; the best counts (default 3)")
    parser.add_argument("--style", choices=("native", "faithful"), default="native", help="default: native")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tree = args.tree
        if tree is None:
            tree = Path(folder)
            for i in range(args.repeat):
                shutil.copytree(FIXTURES, tree / f"copy{i}")
        count, lines = floor(tree)
        if not lines:
            raise SystemExit(f"{tree}: no file mentions Chainer")
        start = time.process_time()
        load_rules(lazy=True, style=args.style)
        tables = time.process_time() - start
        base: list[float] = []
        full: list[float] = []
        for _ in range(args.runs):
            best(floor, tree, base)
            best(functools.partial(migrate, style=args.style), tree, full)
    low, high = min(base), min(full)
    print(f"{count} files with Chainer, {lines} lines")
    print(f"LibCST parse + code: {low:.2f} s CPU, {low / lines * 1e6:.0f} us a line, {lines / low:,.0f} lines/s")
    print(
        f"migrate:             {high:.2f} s CPU, {high / lines * 1e6:.0f} us a line, {lines / high:,.0f} lines/s "
        f"(of this {tables:.2f} s for the rule tables)"
    )
    print(f"ratio: {high / low:.2f} (limit 1.5)")


if __name__ == "__main__":
    main()
