"""What a second run costs when nothing, or one file, has changed since the first.

    python benchmarks/bench_incremental.py [TREE] [--copies N]

Without TREE the fixtures are copied N times, each copy a program of its own. CPU time of the whole command, from its
start to its end, with a folder for results that is empty at first; the tool's own modules are compiled already. Each
result is compared with that of a run without it (`--no-cache`): a difference ends the benchmark.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FIXTURES = Path(__file__).parents[1] / "fixtures"
COMMANDS = (["check"], ["report"], ["migrate", "--diff"])


def run(command: list[str], tree: Path, cache: list[str], bytecode: Path) -> tuple[float, float, bytes]:
    """CPU seconds, seconds, and what was printed; with compiled modules, as a tool that is installed has them."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(bytecode)
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    arguments = [sys.executable, "-m", "chainer2torch", *command, str(tree), "-j", "1", *cache]
    done = subprocess.run(arguments, capture_output=True, check=False, env=environment)
    if done.returncode not in (0, 1):
        print(done.stderr.decode(errors="replace"), file=sys.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, time.perf_counter() - start, done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tree", nargs="?", type=Path)
    parser.add_argument("--copies", type=int, default=50)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "tree")
        if args.tree is not None:
            shutil.copytree(args.tree, tree, ignore=shutil.ignore_patterns(".git"))
        else:
            for number in range(args.copies):
                shutil.copytree(FIXTURES, tree / f"copy{number}")
        changed = max((path for path in tree.rglob("*.py") if b"chainer" in path.read_bytes()), key=os.path.getsize)
        text = changed.read_bytes()
        print(f"{len(list(tree.rglob('*.py')))} files; the one that changes has {len(text.splitlines())} lines")
        bytecode = Path(folder, "bytecode")
        run(["migrate", "--diff"], changed, ["--no-cache"], bytecode)
        print("| command | first, s | unchanged, s | one file changed, s |\n|---|---|---|---|")
        for command in COMMANDS:
            changed.write_bytes(text)
            cache = ["--cache-dir", str(Path(folder, command[0]))]
            first = run(command, tree, cache, bytecode)
            same = run(command, tree, cache, bytecode)
            changed.write_bytes(text + b"\n\nimport chainer.functions as F_\nprint(F_.relu)\n")
            one = run(command, tree, cache, bytecode)
            if same[2] != first[2] or one[2] != run(command, tree, ["--no-cache"], bytecode)[2]:
                raise SystemExit(f"{' '.join(command)}: not what a run without the cache gives")
            shares = [f"{seconds[0]:.2f} ({seconds[0] / first[0]:.0%})" for seconds in (same, one)]
            print(f"| {' '.join(command)} | {first[0]:.2f} | {' | '.join(shares)} |", flush=True)


if __name__ == "__main__":
    main()
