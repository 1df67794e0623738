"""What the commands do, apart from parsing their arguments; heavy modules are imported where they are needed."""

from __future__ import annotations

import dataclasses
import functools
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Any

import click

from chainer2torch.cli import config
from chainer2torch.project import files
from chainer2torch.project.scan import STDIN, Engine, Project, analyse, collect
from chainer2torch.cli.progress import shown
from chainer2torch.report.model import Report

DONE, LEFT, FAILED = 0, 1, 2
_LONG_RUN = 20
# what verify, trace and weights need and the core does not
_EXTRAS = frozenset({"numpy", "torch", "chainer"})


class Failure(Exception):
    """Ends the command with status 2; the message says what, where, and what to do."""


@dataclasses.dataclass(frozen=True)
class Goal:
    """What a report is compared with, and what makes its command fail: nothing left, nothing new, or a share."""

    baseline: Path | None = None
    fail_under: float | None = None
    verified: tuple[Path, ...] = ()

    def over(self, base: Goal) -> Goal:
        """This goal, with what it does not say taken from another."""
        return Goal(
            self.baseline or base.baseline,
            base.fail_under if self.fail_under is None else self.fail_under,
            self.verified,
        )


@dataclasses.dataclass(frozen=True)
class Settings:
    """The common options of a command, joined with the project's pyproject.toml."""

    rules: tuple[Path, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    quiet: bool = False
    gitignore: bool = True
    stdin: str = "stdin.py"
    trace: Path | None = None
    chainer_version: int | None = None
    jobs: int = 0
    init: str = "chainer"
    only: tuple[str, ...] = ()
    parallel_updater: str = "ddp"
    goal: Goal = Goal()


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
    except OSError as error:  # of the terminal or the file that the output goes to; files of the project have messages
        if "--debug" in sys.argv:
            raise
        where = f"{error.filename}: " if error.filename else "the output cannot be written: "
        click.echo(f"chainer2torch: {where}{files.reason(error)}", err=True)
        return FAILED
    except ModuleNotFoundError as error:
        if "--debug" in sys.argv:
            raise
        if error.name not in _EXTRAS:
            click.echo(f"chainer2torch: internal error: {error} (--debug shows where)", err=True)
            return FAILED
        click.echo(
            f"chainer2torch: {error.name} is not installed here; this command runs programs and needs it: "
            "pip install 'chainer2torch[verify]' (the README says with which constraints)",
            err=True,
        )
        return FAILED
    except Exception as error:
        if "--debug" in sys.argv:
            raise
        known = isinstance(error, (Failure, config.ConfigError, files.FileError)) or type(error).__name__ in (
            "UsageError",
            "RulesError",
            "VendorError",
            "ModelsError",
            "WorkerError",
            "DeviceError",
            "BaselineError",
            "VerificationError",
            "TraceError",
        )
        message = str(error) if known else f"internal error: {type(error).__name__}: {error} (--debug shows where)"
        click.echo(f"chainer2torch: {message}", err=True)
        return FAILED


def _usage(error: click.ClickException) -> str:
    """What is wrong with a command line, and whose --help tells how it is right; without arguments the help itself."""
    context = getattr(error, "ctx", None)
    if isinstance(error, click.exceptions.NoArgsIsHelpError) or context is None:
        return error.format_message()
    name = context.command_path
    message = error.format_message().rstrip(".")
    return f"{name}: {message[:1].lower()}{message[1:]}\n`{name} --help` says how it is called"


def settings(
    paths: tuple[Path, ...],
    rules: tuple[Path, ...],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    exclude: tuple[str, ...],
    quiet: bool,
    gitignore: bool = True,
    stdin: str = "stdin.py",
) -> Settings:
    """The command line's options on top of those of the nearest pyproject.toml."""
    if STDIN in paths and len(paths) > 1:
        raise Failure("- (the standard input) cannot be combined with other paths")
    start = Path(stdin) if paths == (STDIN,) else paths[0] if paths and paths[0].exists() else Path()
    base = config.load(start if start.is_dir() else start.parent)
    for code in (*select, *base.select, *ignore, *base.ignore):
        _known(code)
    for folder in (*base.rules, *rules):
        if not folder.is_dir():
            raise Failure(f"{folder}: no such directory of rule tables")
    return Settings(
        (*base.rules, *rules),
        select or base.select,
        (*base.ignore, *ignore),
        (*base.exclude, *exclude),
        quiet,
        gitignore and base.gitignore,
        stdin,
        chainer_version=base.chainer_version,
        jobs=base.jobs,
        init=base.init,
        only=base.only,
        parallel_updater=base.parallel_updater,
        goal=Goal(base.baseline, base.fail_under),
    )


def _known(beginning: str) -> None:
    """A code to select or to ignore must be the beginning of one that exists: else nothing would ever be found."""
    from chainer2torch.rules import codes

    if not beginning or not any(code.startswith(beginning) for code in codes.table()):
        near = codes.nearest(beginning)
        raise Failure(
            f"{beginning or 'an empty code'}: no code begins so"
            + (f"; did you mean {near}?" if near else "; codes look like C2T203, or C2T2 for all of links")
        )


def run(paths: tuple[Path, ...], options: Settings, rewrite: bool = True, kinds: bool = False) -> Project:
    """Finds, reads and analyses the files; LibCST is only imported when something is rewritten."""
    project = collect(paths, options.exclude, gitignore=options.gitignore, stdin=options.stdin)
    count = sum(len(tree.sources) for tree in project.trees)
    if count:
        if options.chainer_version is None:
            from chainer2torch.project.dependencies.pinned import pinned

            for tree in project.trees:
                tree.pin = pinned(tree) if tree.sources else None
        with shown(count, wanted=count > _LONG_RUN and not options.quiet) as progress:
            analyse(project, _engine(options, rewrite, kinds, progress))
    if any(tree.place for tree in project.trees):
        from chainer2torch.project import dependencies

        dependencies.move(project, lambda: _rules(options.rules).libraries, rewrite)
    return project


def _engine(options: Settings, rewrite: bool, kinds: bool, progress: Any) -> Engine:
    from chainer2torch import engine as room

    rules = _rules(options.rules)
    if options.trace is not None:
        from chainer2torch.verify import trace

        hints = trace.hints(trace.read(options.trace))

    def engine(texts: Mapping[str, str], pinned: int | None) -> Mapping[str, Any]:
        settings: dict[str, Any] = {
            "rules": rules,
            "rewrite": rewrite,
            "jobs": options.jobs,
            "progress": progress,
            "options": room.Options(
                options.init,
                chainer_version=options.chainer_version,
                pinned=pinned,
                kinds=kinds,
                only=frozenset(options.only),
                parallel_updater=options.parallel_updater,
            ),
        }
        if options.trace is not None:
            return trace.migrate_with_trace(texts, hints, **settings)
        return room.migrate_sources(texts, **settings)

    return engine


def migrate(
    paths: tuple[Path, ...],
    options: Settings,
    out: Path | None,
    write: bool,
    force: bool,
    report_file: Path | None,
    diff: bool = False,
) -> int:
    """``migrate``: -o, --write or (the default) the patch on stdout; the summary goes to stderr."""
    from chainer2torch.project import output
    from chainer2torch.report import text as text_report

    form = _format_for(report_file) if report_file else ""
    if paths == (STDIN,) and not diff:
        if out is not None or write:
            raise Failure("-: the standard input is migrated to the standard output; leave out -o and --write")
        return _filter(options, report_file, form)
    project = run(paths, options)
    wanted = output.changes(project)
    if out is not None:
        output.write_out(project, wanted, out, force)
    elif write:
        output.write_back(project, wanted, force)
    else:
        for line in output.patch(wanted):
            click.echo(_coloured(line), nl=False)
    report = project.report(migrated=True).filtered(options.select, options.ignore)
    report.written = out is not None or write
    _show_problems(report)
    if not options.quiet:
        advice = ""
        if not report.written and wanted and not report.problems:
            advice = "this was a dry run: -o OUT writes a migrated copy, --write changes the files"
        text_report.show(text_report.summary(report, advice), sys.stderr)
        if options.init == "torch":
            click.echo(
                "first values: PyTorch's own (--init torch), which are not Chainer's: new models start, and so "
                "train, differently",
                err=True,
            )
    if report_file:
        _write_report(report_file, form, report, _extras(report, options, Goal()))
    return _exit_code(report, report.something_left() or (not report.written and bool(wanted)))


def _coloured(line: str) -> str:
    """A line of a patch as git shows it on a terminal; in a pipe, or where NO_COLOR is set, as it is."""
    if os.environ.get("NO_COLOR") or not sys.stdout.isatty():
        return line
    colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
    head = line.startswith(("+++ ", "--- "))
    return click.style(line, bold=True) if head else click.style(line, fg=colour) if colour else line


def _filter(options: Settings, report_file: Path | None, form: str) -> int:
    """Standard input to standard output, for editors: the text as it is where nothing changes."""
    project = run((STDIN,), options)
    tree = project.trees[0] if project.trees else None
    helpers: frozenset[str] = frozenset()
    if tree is not None:
        name = tree.reported[0]
        raw = tree.unread.get(name) or (tree.sources[name].raw if name in tree.sources else b"")
        result = tree.results.get(name)
        if result is not None and name not in tree.broken:
            raw, helpers = tree.sources[name].encode(result.code), result.helpers
        sys.stdout.flush()
        sys.stdout.buffer.write(raw)
    report = project.report(migrated=True).filtered(options.select, options.ignore)
    report.written = True
    _show_problems(report)
    if helpers and not options.quiet:
        click.echo(
            "chainer2torch: the text imports chainer_compat; `chainer2torch migrate FOLDER` writes that module",
            err=True,
        )
    if report_file:
        _write_report(report_file, form, report, _extras(report, options, Goal()))
    return _exit_code(report, report.something_left())


def kinds(paths: tuple[Path, ...], options: Settings) -> int:
    """``check --kinds``: prints what each name, attribute and call was found to be."""
    project = run(paths, options, rewrite=False, kinds=True)
    for tree in project.trees:
        for path in tree.reported:
            result = tree.results.get(path)
            for line in result.kinds if result is not None and path not in tree.broken else ():
                click.echo(line if line.startswith(" ") else tree.shown + line)
    report = project.report(migrated=False)
    _show_problems(report)
    return _exit_code(report, False)


def check(paths: tuple[Path, ...], options: Settings, form: str = "text", goal: Goal | None = None) -> int:
    """``check``: prints every place that needs Chainer; status 1 when there is one."""
    from chainer2torch.report import text as text_report

    goal = (goal or Goal()).over(options.goal)
    options = dataclasses.replace(options, only=())  # whatever is being migrated: everything counts here
    report = run(paths, options, rewrite=False).report(migrated=False).filtered(options.select, options.ignore)
    extras = _extras(report, options, goal)
    found = bool(report.leftovers())
    if form == "text":
        shown = text_report.sites(report, extras)
    else:
        from chainer2torch.report import formats

        shown = formats.render(form, report, extras)
    text_report.show(shown, sys.stdout)
    _show_problems(report)
    if not options.quiet:
        advice = "migrate it: `chainer2torch migrate PATH -o OUT`" if found and not report.problems else ""
        text_report.show(text_report.summary(report, advice, extras), sys.stderr)
    return _exit_code(report, _missed(report, extras, goal, found, options.quiet))


def report(
    paths: tuple[Path, ...], options: Settings, form: str | None, out: Path | None, goal: Goal | None = None
) -> int:
    """``report``: what a migration would do, in the format that is asked for."""
    from chainer2torch.report import formats, text

    goal = (goal or Goal()).over(options.goal)
    form = form or (_format_for(out) if out else "text")
    result = run(paths, options).report(migrated=True).filtered(options.select, options.ignore)
    extras = _extras(result, options, goal)
    _show_problems(result)
    if out is not None:
        _write_report(out, form, result, extras)
        if not options.quiet:
            text.show(text.summary(result, "", extras), sys.stderr)
            click.echo(f"written: {out}", err=True)
    else:
        text.show(formats.render(form, result, extras), sys.stdout)
    return _exit_code(result, _missed(result, extras, goal, result.something_left(), options.quiet))


def _missed(report: Report, extras: Any, goal: Goal, left: bool, quiet: bool) -> bool:
    """Whether the goal is missed: something new or too small a share where that was asked for, else anything left."""
    if goal.baseline is None and goal.fail_under is None:
        return left
    share = report.share_done()
    low = goal.fail_under is not None and share < goal.fail_under
    if low and not quiet:
        click.echo(
            f"chainer2torch: {share:.1f} % of the sites are exact or close, less than {goal.fail_under:g} %", err=True
        )
    return low or bool(extras.comparison and extras.comparison.new)


def _extras(report: Report, options: Settings, goal: Goal) -> Any:
    from chainer2torch.report import baseline, verification
    from chainer2torch.report.extras import Extras

    checks = tuple(found for path in goal.verified for found in verification.read(path))
    comparison = baseline.compare(report, goal.baseline) if goal.baseline else None
    return Extras(functools.cache(functools.partial(_next_step, options.rules)), comparison, checks)


def _next_step(rule_dirs: tuple[Path, ...], symbol: str) -> str:
    """What the rule of a symbol tells a person to do."""
    row = _rules(rule_dirs).find(symbol)
    return row.next if row is not None else ""


@functools.lru_cache(maxsize=1)
def _rules(rule_dirs: tuple[Path, ...]) -> Any:
    from chainer2torch.rules.table import load_rules

    return load_rules(rule_dirs, lazy=True)


def _write_report(path: Path, form: str, report: Report, extras: Any) -> None:
    from chainer2torch.report import formats

    files.write_atomic(path, formats.render(form, report, extras).encode("utf-8", "replace"))


def _format_for(path: Path) -> str:
    from chainer2torch.report import formats

    form = formats.format_of(path.name)
    if form is None:
        raise Failure(
            f"{path}: the report's format follows the ending, which must be .txt, .json, .md, .html or .sarif"
        )
    return form


def _show_problems(report: Report) -> None:
    for problem in report.problems:
        click.echo(str(problem), err=True)


def _exit_code(report: Report, left: bool) -> int:
    return FAILED if report.problems else LEFT if left else DONE


def trace(script: tuple[str, ...], out: Path, **options: Any) -> int:
    """``trace``: runs the script in the current folder and writes what it saw."""
    import json

    from chainer2torch.verify import trace as room

    data = room.run_trace(Path(), script, **options)
    files.write_atomic(out, (json.dumps(data, indent=1) + "\n").encode())
    click.echo(
        f"{out}: {len(data['functions'])} functions, {len(data['calls'])} calls of Chainer, "
        f"{len(data['classes'])} classes of links",
        err=True,
    )
    if data["problem"]:
        raise Failure(f"the script failed: {data['problem']}; the trace holds what it did until then")
    return DONE


def weights(source: Path, model: str, args: str, out: Path, prefix: str = "", allow_extra: bool = False) -> int:
    """``weights``: imports the migrated model (this runs its module), loads the file into it, writes its weights."""
    import json

    try:
        given = json.loads(args)
    except ValueError as error:
        raise Failure(f"--args {args}: not JSON: {error}") from None
    if not isinstance(given, (list, dict)):
        raise Failure(f"--args {args}: must be a JSON list (positional) or object (by keyword)")
    try:
        from chainer2torch import weights as room
    except ImportError as error:
        raise Failure(f"weights needs PyTorch ({error}): pip install 'chainer2torch[torch]'") from None
    try:
        keys = room.convert(source, model, given, out, prefix=prefix, allow_extra=allow_extra)
    except (room.WeightsError, OSError) as error:
        text = " ".join(str(error).split())
        text = text.replace("pass allow_extra=True", "give --allow-extra")
        raise Failure(text + (" (here: --prefix)" if "path=" in text else "")) from error
    click.echo(f"{out}: {len(keys)} arrays of {model}")
    return DONE
