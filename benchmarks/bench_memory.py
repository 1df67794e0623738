"""How much memory `migrate` takes as a tree gets larger: the peak of the process and of the largest of its helpers.

    python benchmarks/bench_memory.py [--files 100 300 1000] [-j N]

Each tree has so many files that all use Chainer, copies of the fixtures, in packages of a few files. The floor is one
LibCST tree at a time. Every figure comes from a process of its own. Needs a system with fork (Linux, macOS).
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FIXTURES = Path(__file__).parents[1] / "fixtures"
FLOOR = """
import libcst, pathlib, sys
for path in pathlib.Path(sys.argv[1]).rglob("*.py"):
    libcst.parse_module(path.read_text()).code
"""


def build(tree: Path, files: int) -> int:
    """Copies fixtures until there are so many files; gives the number of their lines."""
    sources = [path for path in sorted(FIXTURES.rglob("*.py")) if "chainer" in path.read_text()]
    lines = 0
    for i in range(files):
        source = sources[i % len(sources)]
        target = tree / f"part{i // len(sources)}" / source.relative_to(FIXTURES)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
        lines += source.read_text().count("\n")
    return lines


def peak(*command: str) -> float:
    """The largest resident size in MB of a process with all that it has started, each by itself."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    unit = 1 if sys.platform == "darwin" else 1024
    return usage.ru_maxrss * unit / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--files", type=int, nargs="+", default=[100, 300, 1000])
    parser.add_argument("-j", "--jobs", default="1", help="processes of migrate (default 1)")
    args = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    print("files   lines   LibCST, MB   migrate, MB")
    for files in args.files:
        with tempfile.TemporaryDirectory() as folder:
            tree, out = Path(folder) / "in", Path(folder) / "out"
            lines = build(tree, files)
            floor = peak(sys.executable, "-c", FLOOR, str(tree))
            full = peak(sys.executable, "-m", "chainer2torch", "migrate", str(tree), "-o", str(out), "-j", args.jobs)
        print(f"{files:5} {lines:7} {floor:12.0f} {full:13.0f}")


if __name__ == "__main__":
    main()
