"""Kills `chainer2torch migrate --write` at every step and at random moments, runs it again, and compares the result.

    python benchmarks/killed_writes.py [--trials 240] [--seed 0]

What has to hold (tests/support/killed.py): after the second run every file has the bytes and the mode that a run which
nobody killed gives, and no other file is there. The status is 1 when something did not hold.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.killed import Trials  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--trials", type=int, default=240)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    done: Counter[str] = Counter()
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        trials = Trials(Path(folder))
        for kind, complaint in trials.all(args.trials, args.seed):
            done[kind] += 1
            if complaint:
                wrong += 1
                print(complaint, flush=True)
        print(f"a write has {trials.steps} steps; seed {args.seed}")
    kinds = ", ".join(f"{count} {kind}" for kind, count in done.items())
    print(f"{sum(done.values())} trials (killed {kinds}): {wrong} with another result")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
