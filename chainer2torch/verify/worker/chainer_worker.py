"""The worker that runs the original under Chainer: ``python chainer_worker.py FOLDER``; the job is FOLDER/job.json.

Written for Python 3.6 and newer and Chainer 3 and newer, with NumPy and Chainer only: it runs by its path under any
interpreter, so its neighbours are imported as a package of their own, without chainer2torch and its dependencies.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import os
import sys
import types


def main():
    """Runs the job. The exit status is 0 when every case was tried, whatever came of it."""
    if sys.version_info < (3, 6):  # noqa: UP036 - it runs by its path, under any interpreter
        raise SystemExit("Python 3.6 or newer is needed; this is " + sys.version.split()[0])
    here = os.path.dirname(os.path.abspath(__file__))
    # The folder of this file must not shadow the modules of the user's program (`models`, `run`, ...).
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != here]
    package = types.ModuleType("chainer2torch_worker")
    package.__path__ = [here]
    sys.modules[package.__name__] = package

    import chainer2torch_worker.chainer_patches as patches
    import chainer2torch_worker.serving as serving

    serving.main(sys.argv, patches.import_chainer, run, _rooms)


def _rooms():
    """Imports what a worker that serves needs for most jobs."""
    import chainer2torch_worker.chainer_models  # noqa: F401
    import chainer2torch_worker.chainer_trials  # noqa: F401


def run(folder):
    """Runs the job of a folder."""
    import chainer
    import chainer2torch_worker.wire as wire
    import numpy

    job = wire.read_job(folder)
    versions = {"python": sys.version.split()[0], "numpy": numpy.__version__, "chainer": chainer.__version__}
    wire.write_json(os.path.join(folder, "versions.json"), versions)
    import chainer2torch_worker.chainer_gpu as gpu

    device = job.get("device", "cpu")
    gpu.use(device)
    versions.update(gpu.describe(device))
    wire.write_json(os.path.join(folder, "versions.json"), versions)
    if job["kind"] == "device":
        return
    if job["kind"] == "snippets":
        import chainer2torch_worker.chainer_snippets as room
    elif job["kind"] == "models":
        import chainer2torch_worker.chainer_models as room
    elif job["kind"] == "trials":
        import chainer2torch_worker.chainer_trials as room
    elif job["kind"] == "trace":
        import chainer2torch_worker.chainer_trace as room
    elif job["kind"] == "script":
        import chainer2torch_worker.chainer_script as room
    else:
        raise SystemExit("unknown kind of job: " + job["kind"])
    room.work(job, folder)


if __name__ == "__main__":
    main()
