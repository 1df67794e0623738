"""``chainer2torch`` and ``python -m chainer2torch``."""

import os
import sys

# Commands that are over in seconds or minutes: nothing in what they make is worth looking for, and looking costs a
# tenth of the time of a small project.
_WITHOUT_COLLECTOR = frozenset({"check", "migrate", "report"})


def main() -> None:
    """Runs the command line and exits with its status.

    ``python -m`` puts the current folder before all others, and that may be the project of a stranger: a ``click.py``
    in it would be run.
    """
    here = os.getcwd() if os.path.isdir(os.curdir) else ""
    if sys.path and sys.path[0] in ("", here):
        del sys.path[0]
    from chainer2torch import startup

    status = startup.answered(sys.argv[1:])
    if status is not None:
        sys.exit(status)
    import gc

    gc.disable()  # while modules are imported
    from chainer2torch.cli.app import cli
    from chainer2torch.cli.errors import guarded

    short = not _WITHOUT_COLLECTOR.isdisjoint(sys.argv[1:2])
    if not short:
        gc.enable()
    status = guarded(cli)
    if short:
        gc.freeze()  # else Python looks for garbage once more before it ends, though nobody asked
    sys.exit(status)


if __name__ == "__main__":
    main()
