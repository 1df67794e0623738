"""Generates programs, migrates them, trains both versions from the same weights, and compares what they say.

    python -m tests.generated --count 500 --seed 0 [--keep FOLDER]
    python -m tests.generated --values --count 2000 [--style faithful]   # one value each: where from, how, to what end
    python -m tests.generated --values --library --count 2000   # in a function that nobody calls

Program number N of a seed is the same in every run. A program that Chainer itself refuses counts for nothing; one with
places for a person is counted apart. The status is 1 when values differ, or PyTorch raises at what nobody was told of.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from pathlib import Path

from tests.generated import judge, printed_judge


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.generated", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="number of the first program")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write the programs with which something is wrong")
    parser.add_argument("--values", action="store_true", help="programs of single values, which print")
    parser.add_argument("--style", choices=("native", "faithful"), default="native", help="of --values")
    parser.add_argument("--library", action="store_true", help="of --values: a function that other programs call")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()
    for number in range(args.start, args.start + args.count):
        seed = args.seed * 1_000_003 + number
        verdict, detail, text = printed_judge.of(seed, args.style, args.library) if args.values else judge.of(seed)
        counts[verdict] += 1
        if verdict in judge.WRONG:
            print(f"program {number}: {verdict}: {detail[:400]}", flush=True)
            if args.keep:
                args.keep.mkdir(parents=True, exist_ok=True)
                (args.keep / f"{args.seed}_{number}.py").write_text(text)
    said = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
    print(f"{args.count} programs (seed {args.seed}): {said}")
    return int(any(counts[verdict] for verdict in judge.WRONG))


if __name__ == "__main__":
    sys.exit(main())
