"""What grows faster than a file: each file is written out N and 2 N times in one text, and both are migrated.

    python benchmarks/bench_long_files.py FILE... [--lines 3000]

Copies get names of their own (`Net_0`, `Net_1`, ...), so that each is analysed and planned like the first. For each
file: the processor time of both texts under a profiler, and the functions of the tool whose time grew by more than the
text did. A text of twice the length may take twice the time.
"""

from __future__ import annotations

import argparse
import ast
import cProfile
import pstats
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from chainer2torch.engine import migrate_source  # noqa: E402
from chainer2torch.plan.options import Options  # noqa: E402

Profile = dict[tuple[str, int, str], tuple[int, float]]
_GROWN = 2.7  # times the time, where the text grew twofold
_SHOWN = 0.05  # seconds


def copies(text: str, count: int) -> str:
    """A text whose imports stand once, and everything else ``count`` times under other names."""
    tree, lines = ast.parse(text), text.splitlines(keepends=True)
    imports = {
        number
        for node in tree.body
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for number in range(node.lineno - 1, node.end_lineno or node.lineno)
    }
    names = sorted(_own_names(tree), key=len, reverse=True)
    head = "".join(lines[number] for number in sorted(imports))
    body = "".join(line for number, line in enumerate(lines) if number not in imports)
    if not names:
        return "\n\n".join([head, *[body] * count])
    own = re.compile(rf"(?<![.\w])({'|'.join(map(re.escape, names))})\b(?!\s*=[^=])")
    return "\n\n".join([head, *(own.sub(rf"\g<1>_{number}", body) for number in range(count))])


def _own_names(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            yield node.name


def profile(text: str) -> Profile:
    """How often each function was called, and how long it took by itself."""
    profiler = cProfile.Profile(time.process_time)
    profiler.enable()
    migrate_source(text, "module.py", options=Options(style="native"))
    profiler.disable()
    stats: Profile = {
        place: (calls, own)
        for place, (_, calls, own, _, _) in pstats.Stats(profiler).stats.items()  # type: ignore[attr-defined]
    }
    return stats


def grown(less: Profile, more: Profile) -> list[str]:
    """A line for each function that grew by more than the text, the dearest first."""
    found = [
        (own, f"{own:8.2f} s, before {less.get(place, (0, 0.0))[1]:.2f} s, {calls} calls  {_shown(place)}")
        for place, (calls, own) in more.items()
        if own > _SHOWN and own > _GROWN * less.get(place, (0, 0.0))[1]
    ]
    return [line for _, line in sorted(found, reverse=True)]


def _shown(place: tuple[str, int, str]) -> str:
    path, line, name = place
    return f"{path.rpartition('chainer2torch/')[2]}:{line}:{name}"


def main() -> None:
    """Prints the growth for each file that is named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--lines", type=int, default=3000, help="how long the shorter text is")
    options = parser.parse_args()
    migrate_source("import chainer.functions as F\n\n\ndef f(x):\n    return F.relu(x)\n")  # what is loaded once
    for path in options.files:
        text = path.read_text(encoding="utf-8")
        count = max(options.lines // max(text.count("\n"), 1), 1)
        less, more = (profile(copies(text, times * count)) for times in (1, 2))
        total = [sum(own for _, own in found.values()) for found in (less, more)]
        print(f"{path}: {count} copies {total[0]:.1f} s, {2 * count} copies {total[1]:.1f} s")
        for line in grown(less, more):
            print(line)


if __name__ == "__main__":
    main()
