"""The worker that runs the migrated code under PyTorch: ``python torch_worker.py FOLDER``; the job is FOLDER/job.json.

It needs PyTorch and NumPy, not an installed chainer2torch: the helpers come from the package folder it lies in.
"""

import os
import sys
import types


def main() -> None:
    """Runs the job. The exit status is 0 when every case was tried, whatever came of it."""
    if sys.version_info < (3, 10):  # noqa: UP036 - it runs by its path, under any interpreter
        raise SystemExit("Python 3.10 or newer is needed; this is " + sys.version.split()[0])
    here = os.path.dirname(os.path.abspath(__file__))
    # The folder of this file must not shadow the modules of the user's program (`models`, `run`, ...).
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != here]
    for name, folder in (("chainer2torch_worker", here), ("chainer2torch", os.path.dirname(os.path.dirname(here)))):
        package = types.ModuleType(name)
        package.__path__ = [folder]
        sys.modules[name] = package

    import chainer2torch_worker.serving as serving

    serving.main(sys.argv, lambda: None, run, _rooms)


def _rooms() -> None:
    """Imports what a worker that serves needs for most jobs."""
    import chainer2torch_worker.torch_models  # noqa: F401


def run(folder: str) -> None:
    """Runs the job of a folder."""
    import chainer2torch_worker.torch_gpu as gpu
    import chainer2torch_worker.wire as wire

    job = wire.read_job(folder)
    device = job.get("device", "cpu")
    gpu.prepare_environment(device)
    import numpy
    import torch

    torch.set_num_threads(int(job.get("threads", 1)))
    gpu.use(device)
    wire.write_json(
        os.path.join(folder, "versions.json"),
        {
            "python": sys.version.split()[0],
            "numpy": numpy.__version__,
            "torch": torch.__version__,
            **gpu.describe(device),
        },
    )
    if job["kind"] == "device":
        return
    if job["kind"] == "snippets":
        import chainer2torch_worker.torch_snippets as room
    elif job["kind"] == "models":
        import chainer2torch_worker.torch_models as room
    elif job["kind"] == "script":
        import chainer2torch_worker.torch_script as room
    else:
        raise SystemExit("unknown kind of job: " + job["kind"])
    room.work(job, folder)


if __name__ == "__main__":
    main()
