"""How a worker gets its jobs: one folder on the command line, or many from a pipe, each in a process of its own.

Importing a framework takes longer than most jobs. A worker that serves imports it once and forks for each job: the
copy starts where a new process would stand behind its imports. Written for Python 3.6: both workers use it.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import gc
import os
import sys
import traceback

SERVE = "--serve"
STDOUT, STDERR = "stdout.txt", "stderr.txt"
# The exit status of a job, written when it has ended: negative for a signal.
STATUS = "status.txt"


def main(argv, prepare, run, rooms):
    """``run(folder)`` for the folder of the command line; or, with ``--serve``, for each that a line of stdin names.

    ``prepare`` makes the framework ready; ``rooms`` imports beforehand what one that serves is going to need, and so do
    the names behind ``--serve``. Of each job a line on stdout tells the process that leads its group.
    """
    prepare()
    if argv[1] != SERVE:
        run(os.path.abspath(argv[1]))
        return
    rooms()
    _import(argv[2:])
    gc.collect()
    if hasattr(gc, "freeze"):
        gc.freeze()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    for line in sys.stdin:
        folder = line.rstrip("\n")
        _reap()
        leader = os.fork()
        if not leader:
            os.setsid()  # before anybody can have ended the group
            answers.close()
            _lead(folder, argv, run)
        answers.write("{}\n".format(leader))
        answers.flush()


def _import(names):
    """Imports the modules that are there; of one that is not, the job says so where it needs it."""
    for name in names:
        try:
            __import__(name)
        except Exception:
            pass


def _reap():
    """Lets go of the jobs that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _lead(folder, argv, run):
    """Runs the job in a child, waits for it and says how it ended; never returns."""
    status = 1
    try:
        nothing = os.open(os.devnull, os.O_RDONLY)
        out = os.open(os.path.join(folder, STDOUT), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        err = os.open(os.path.join(folder, STDERR), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        for stream, number in ((nothing, 0), (out, 1), (err, 2)):
            os.dup2(stream, number)
        child = os.fork()
        if not child:
            _work(folder, argv, run)
        _, waited = os.waitpid(child, 0)
        status = -os.WTERMSIG(waited) if os.WIFSIGNALED(waited) else os.WEXITSTATUS(waited)
    finally:
        try:
            path = os.path.join(folder, STATUS)
            with open(path + ".new", "w") as stream:
                stream.write(str(status))
            os.rename(path + ".new", path)
        finally:
            os._exit(0)


def _work(folder, argv, run):
    """The job, and the end of its process as Python would end it."""
    status = 1
    try:
        sys.stdin = open(os.devnull)
        sys.argv[:] = [argv[0], folder]
        run(folder)
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if status and not isinstance(end.code, int):
            sys.stderr.write("{}\n".format(end.code))
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(status & 0xFF)
