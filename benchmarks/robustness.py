"""Runs the migrator over generated programs and over damaged real ones, and counts what is wrong with the results.

    python benchmarks/robustness.py [--generated 1000] [--mutated 1000] [--seed 0] [--keep FOLDER] [TREE...]

Generated programs come from hypothesmith (half from Python's grammar, half from LibCST's nodes). Each is run as it
is, where nothing may change, and with Chainer's imports and calls in some places. Damaged ones are files of the given
trees (the fixtures) with tokens and lines deleted, doubled, renamed or exchanged; a third of them is analysed together,
in trees. What has to hold: no crash, valid output, no change without Chainer, a second run changes nothing
(tests/support/mutations.py). The status is 1 when something did not hold; --keep writes those files.
"""

from __future__ import annotations

import argparse
import ast
import random
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from chainer2torch.rules.table import load_rules  # noqa: E402
from tests.support.mutations import complaint, complaints, mutated, seasoned  # noqa: E402

_TREE = 40  # files that are analysed together


def generated(count: int, seed: int) -> list[str]:
    """So many different programs that are valid Python; which ones, the seed says."""
    import hypothesmith
    from hypothesis import HealthCheck, given, settings
    from hypothesis import seed as seeded

    found: dict[str, None] = {}
    strategies = [hypothesmith.from_grammar(), hypothesmith.from_node()]
    for turn in range(1000):
        if len(found) >= count:
            break
        enough = count // 2 if turn == 0 else count  # half of them from each

        def collect(text: str) -> None:
            if text.strip() and len(found) < enough and _parses(text):  # noqa: B023 - it runs in this turn
                found.setdefault(text)

        run = settings(
            max_examples=max(20, enough - len(found)),
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        )(given(strategies[turn % 2])(collect))
        seeded(seed * 1000 + turn)(run)()
    return list(found)


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def sources(trees: list[Path]) -> list[str]:
    """The programs that get damaged: what can be read, with Chainer in it."""
    paths = sorted(path for tree in trees for path in tree.rglob("*.py") if path.is_file())
    texts = []
    for path in paths:
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        if "chainer" in text and len(text) < 60_000:
            texts.append(text)
    return texts


def runs(args: argparse.Namespace) -> Iterator[tuple[str, str, str | None]]:
    """Every program with the kind of run and what is wrong with it (None: nothing)."""
    rules = load_rules()
    draw = random.Random(args.seed)
    for text in generated(args.generated, args.seed):
        yield "generated, without Chainer", text, complaint(text, rules)
        text = seasoned(draw, text)
        yield "generated, with Chainer", text, complaint(text, rules)
    originals = sources(args.trees)
    together = args.mutated // 3
    for _ in range(args.mutated - together):
        text = mutated(draw, draw.choice(originals))
        yield "damaged", text, complaint(text, rules)
    for start in range(0, together, _TREE):
        tree = {f"m{i}.py": mutated(draw, draw.choice(originals)) for i in range(min(_TREE, together - start))}
        wrong = complaints(tree, rules)
        for path, text in tree.items():
            yield "damaged, in a tree", text, wrong.get(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--generated", type=int, default=1000)
    parser.add_argument("--mutated", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write the programs with which something is wrong")
    parser.add_argument("trees", nargs="*", type=Path, default=[ROOT / "fixtures", ROOT / "tests/programs/wild"])
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    start = time.process_time()
    counts: dict[str, list[int]] = {}
    for kind, text, wrong in runs(args):
        count = counts.setdefault(kind, [0, 0, 0])
        count[0] += 1
        count[1] += _parses(text)
        count[2] += wrong is not None
        if wrong is not None:
            print(f"{kind}: {wrong.strip().splitlines()[-1] if wrong.startswith('crash') else wrong}", flush=True)
            if args.keep:
                args.keep.mkdir(parents=True, exist_ok=True)
                (args.keep / f"{sum(c[2] for c in counts.values()):03}.py").write_text(text, "utf-8", "surrogatepass")
    print(f"\n{'':<28} files  valid Python  wrong      (seed {args.seed}, {time.process_time() - start:.0f} s)")
    for kind, (files, valid, wrong_ones) in counts.items():
        print(f"{kind:<28} {files:>5} {valid:>13} {wrong_ones:>6}")
    return int(any(count[2] for count in counts.values()))


if __name__ == "__main__":
    sys.exit(main())
