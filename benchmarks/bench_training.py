"""What an iteration of migrated training costs, against the same loop written by hand and against the original.

    python benchmarks/bench_training.py EXAMPLES [--rounds N] [--iterations N]

EXAMPLES is the folder `examples` of a Chainer 7.8.1 checkout; it is migrated into a temporary folder. Each program runs
in a process of its own, in turns, with one thread, on synthetic data; the time of an iteration is what passes from one
optimizer step to the next, in CPU time: reading the batch, forward, backward, step, and what the loop adds up. The
median over a run, the least of the rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "tests" / "support")]

from chainer2torch.verify.script import synthetic_data  # noqa: E402

# program -> (migrated script and its arguments, the same loop by hand in by_hand.py)
PROGRAMS = {
    "mnist, loop": ("mnist", ["train_mnist_custom_loop.py", "-e", "1000", "-b", "100"], ["mnist"]),
    "mnist, Trainer": ("mnist", ["train_mnist.py", "-e", "1000", "-b", "100"], ["mnist"]),
    "cifar, loop": ("cifar", ["train_cifar_custom_loop.py", "-e", "1000", "-b", "32"], ["cifar"]),
    "cifar, Trainer": ("cifar", ["train_cifar.py", "-e", "1000", "-b", "32"], ["cifar"]),
}
# The first iterations make lazy parameters and warm caches.
WARM_UP = 5


class Enough(BaseException):
    """Ends a program when its iterations are counted."""


def run(side: str, iterations: int, argv: list[str]) -> None:
    """In a process of its own: runs a program and prints the CPU times between its optimizer steps."""
    import runpy
    import time

    stamps: list[float] = []

    def step(*args: object, **kwargs: object) -> None:
        stamps.append(time.process_time())
        if len(stamps) > iterations + WARM_UP:
            raise Enough

    if side == "chainer":
        from chainer2torch.verify.worker.chainer_patches import import_chainer

        chainer = import_chainer()
        update = chainer.GradientMethod.update

        def timed(self, *args, **kwargs):
            update(self, *args, **kwargs)
            step()

        chainer.GradientMethod.update = timed
    else:
        import torch
        from torch.optim.optimizer import register_optimizer_step_post_hook

        torch.set_num_threads(1)
        register_optimizer_step_post_hook(step)
    sys.argv = argv
    sys.path.insert(0, os.path.dirname(os.path.abspath(argv[0])))
    with open(os.devnull, "w") as nowhere:
        output, sys.stdout = sys.stdout, nowhere
        try:
            runpy.run_path(argv[0], run_name="__main__")
        except Enough:
            pass
        finally:
            sys.stdout = output
    print(json.dumps([b - a for a, b in zip(stamps[WARM_UP:], stamps[WARM_UP + 1 :])]))


def median(side: str, iterations: int, argv: list[str], folder: Path, root: Path) -> float:
    """Milliseconds of CPU time for an iteration."""
    env = {
        **os.environ,
        "CHAINER_DATASET_ROOT": str(root),
        "OMP_NUM_THREADS": "1",
        "MPLBACKEND": "agg",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, str(HERE / "bench_training.py"), "--run", side, str(iterations), *argv],
        capture_output=True,
        text=True,
        cwd=folder,
        env=env,
    )
    if done.returncode:
        raise RuntimeError(f"{side} {argv}: {done.stderr}")
    return 1000 * statistics.median(json.loads(done.stdout.strip().splitlines()[-1]))


def main() -> None:
    if sys.argv[1:2] == ["--run"]:
        run(sys.argv[2], int(sys.argv[3]), sys.argv[4:])
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("examples", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=40)
    parser.add_argument("--only", help="programs whose name contains this")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        root = work / "root"
        synthetic_data.write_mnist_like(root, n_train=6000)
        synthetic_data.write_cifar(root, n_train=2000)
        for example in ("mnist", "cifar"):
            subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "chainer2torch",
                    "migrate",
                    "-q",
                    str(args.examples / example),
                    "-o",
                    str(work / example),
                ],
                cwd=HERE.parent,
            )
        print("| program | migrated, ms | by hand, ms | ratio | Chainer, ms | ratio |\n|---|---|---|---|---|---|")
        for program, (example, argv, by_hand) in PROGRAMS.items():
            if args.only and args.only not in program:
                continue
            best = {"migrated": float("inf"), "by hand": float("inf"), "chainer": float("inf")}
            for _ in range(args.rounds):
                found = {
                    "migrated": median("torch", args.iterations, argv, work / example, root),
                    "by hand": median("torch", args.iterations, [str(HERE / "by_hand.py"), *by_hand], work, root),
                    "chainer": median("chainer", args.iterations, argv, args.examples.absolute() / example, root),
                }
                best = {side: min(best[side], found[side]) for side in best}
            print(
                f"| {program} | {best['migrated']:.2f} | {best['by hand']:.2f} | "
                f"{best['migrated'] / best['by hand']:.3f} | {best['chainer']:.2f} | "
                f"{best['migrated'] / best['chainer']:.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
