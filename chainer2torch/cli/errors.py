"""How a command ends: exit statuses, and one message on stderr in place of a traceback."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

import click

from chainer2torch.cli import config
from chainer2torch.project import files
from chainer2torch.project.visible import visible, visible_lines

DONE, LEFT, FAILED = 0, 1, 2
# what verify, trace and weights need and the core does not
_EXTRAS = frozenset({"numpy", "torch", "chainer"})
# Errors of other packages whose message is for the user. By name, because importing them would import NumPy.
_KNOWN = frozenset(
    {
        "UsageError",
        "RulesError",
        "VendorError",
        "ModelsError",
        "WorkerError",
        "DeviceError",
        "BaselineError",
        "VerificationError",
        "TraceError",
        "Busy",
        "StateError",
    }
)


class Failure(Exception):
    """Ends the command with status 2; the message says what, where, and what to do."""


class _Terminated(KeyboardInterrupt):
    """SIGTERM ends a command as Ctrl-C does: its programs are ended, its temporary folders taken away."""


def _terminate(number: int, frame: FrameType | None) -> None:
    raise _Terminated


def guarded(command: click.Command) -> int:
    """Runs a click command; every expected error is one message on stderr and status 2 (--debug: a traceback)."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        result = command.main(standalone_mode=False, prog_name="chainer2torch")
        return result if isinstance(result, int) else DONE
    except click.ClickException as error:
        click.echo(_usage(error), err=True)
        return FAILED
    except click.exceptions.Exit as error:
        return error.exit_code
    except (click.Abort, KeyboardInterrupt) as error:
        click.echo("chainer2torch: interrupted; no file is half-written", err=True)
        ended = isinstance(error, _Terminated) or isinstance(error.__cause__, _Terminated)
        return 128 + (signal.SIGTERM if ended else signal.SIGINT)
    except BrokenPipeError:  # the reader of a pipe has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception as error:
        if "--debug" in sys.argv:
            raise
        click.echo(f"chainer2torch: {visible_lines(_message(error))}", err=True)
        return FAILED


def _message(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno is None:  # one of this tool's own: it says all
        return str(error)
    if isinstance(error, OSError):  # of the terminal or the output's file; files of the project have messages
        where = f"{visible(str(error.filename))}: " if error.filename else "the output cannot be written: "
        return where + files.reason(error)
    if isinstance(error, ModuleNotFoundError):
        if error.name not in _EXTRAS:
            return f"internal error: {error} (--debug shows where)"
        return (
            f"{error.name} is not installed here; this command runs programs and needs it: "
            "pip install 'chainer2torch[verify]' (the README says with which constraints)"
        )
    if isinstance(error, (Failure, config.ConfigError, files.FileError)) or type(error).__name__ in _KNOWN:
        return str(error)
    return f"internal error: {type(error).__name__}: {error} (--debug shows where)"


def _usage(error: click.ClickException) -> str:
    """What is wrong with a command line, and whose --help tells how it is right; without arguments the help itself."""
    context = getattr(error, "ctx", None)
    if isinstance(error, click.exceptions.NoArgsIsHelpError) or context is None:
        return error.format_message()
    name = context.command_path
    message = error.format_message().rstrip(".")
    return f"{name}: {message[:1].lower()}{message[1:]}\n`{name} --help` says how it is called"
