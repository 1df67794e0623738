"""One run of the Chainer side for many tests that compare variants of the migrated script with the same original."""

import dataclasses
import shutil

from chainer2torch.verify import worker_process


def cached(folder):
    """A ``run_worker`` that keeps what the Chainer worker left in ``folder``: the same job is not run a second time."""
    plain, kept = worker_process.run_worker, {}

    def run_worker(worker, results, job, **options):
        if worker != worker_process.CHAINER_WORKER:
            return plain(worker, results, job, **options)
        tree = options["cwd"]
        sources = {str(path.relative_to(tree)): path.read_text() for path in sorted(tree.rglob("*.py"))}
        key = repr((sources, {name: value for name, value in job.items() if name != "tree"}, options["timeout"]))
        if key not in kept:
            result = plain(worker, results, job, **options)
            copy = folder / str(len(kept))
            shutil.copytree(results, copy)
            kept[key] = result, copy
        result, copy = kept[key]
        shutil.copytree(copy, results, dirs_exist_ok=True)
        return dataclasses.replace(result, folder=results)

    return run_worker
