"""Damages programs at random, migrates them, and stops at nothing: what is wrong with a result is said and kept.

    python -m tests.fuzz --count 2000 --seed 0 [--style native] [--keep FOLDER] [TREE...]

The programs are those of the given trees (default: the fixtures and tests/programs). Mutant number N of a seed is the
same in every run. What has to hold is in tests/support/mutations.py: no crash, valid output, no change without Chainer,
a second run changes nothing; and none may take longer than --limit seconds. A case that was mended goes into corpus/,
which the tests run. The status is 1 when something did not hold.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

from chainer2torch.rules.stage_names import STYLES
from tests.fuzz.mutants import ROOT, Limit, mutants, programs, rules_of, wrong

TREES = [ROOT / "fixtures", ROOT / "tests/programs"]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="number of the first mutant")
    parser.add_argument("--style", choices=STYLES, default="native")
    parser.add_argument("--limit", type=int, default=60, help="seconds for one mutant")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write the mutants with which something is wrong")
    parser.add_argument("trees", nargs="*", type=Path, default=TREES)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    rules, limit = rules_of(args.style), Limit(args.limit)
    start, found = time.process_time(), 0
    for number, text in mutants(programs(args.trees), args.seed, args.start, args.count):
        complaint = wrong(text, rules, limit)
        if complaint is None:
            continue
        found += 1
        said = complaint.strip().splitlines()
        print(f"mutant {number}: {said[-1] if complaint.startswith('crash') else complaint}", flush=True)
        if args.keep:
            args.keep.mkdir(parents=True, exist_ok=True)
            (args.keep / f"{args.style}_{args.seed}_{number}.py").write_text(text, "utf-8", "surrogatepass")
    seconds = time.process_time() - start
    print(f"{args.count} mutants ({args.style}, seed {args.seed}): {found} wrong, {seconds:.0f} s")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
