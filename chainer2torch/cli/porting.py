"""``chainer2torch port``: one guided command from an old repository to a pull request."""

from __future__ import annotations

import dataclasses
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from chainer2torch.cli import options
from chainer2torch.cli.command import Command
from chainer2torch.cli.errors import Failure
from chainer2torch.cli.options import PATH
from chainer2torch.cli.running import asks_nothing, checked, exit_code, extras_of, run, show_problems, write_report
from chainer2torch.cli.settings import Goal, Settings, settings, version_fields
from chainer2torch.project.scan import Project
from chainer2torch.project.tree import Tree
from chainer2torch.project.visible import visible, visible_lines
from chainer2torch.rules.stage_names import STYLES, TRAINERS

if TYPE_CHECKING:
    from chainer2torch.project.output import Change

PAGE = "chainer2torch.html"
_UPDATES = 20  # of each optimizer, that are compared


@click.command(
    cls=Command,
    short_help="Start here: look, migrate, compare, and say what is next.",
    examples=[
        (
            "chainer2torch port src -o out",
            "Look at src, migrate it to out, compare the models. Call it again to go on.",
        ),
        ("chainer2torch port src -o out --run 'train.py --epoch 1'", "Also run a script in both frameworks."),
        ("chainer2torch port src -o out --yes --page port.html", "Ask nothing: for continuous integration."),
    ],
)
@click.argument("src", type=PATH)
@click.option("-o", "--output", "out", type=PATH, required=True, metavar="OUT", help="The migrated copy.")
@click.option("--page", type=PATH, metavar="FILE", help=f"Where to write the page (default: OUT/{PAGE}).")
@click.option(
    "-y", "--yes", is_flag=True, help="Ask nothing. Nothing is installed, and no script is run but with --run."
)
@click.option("--no-verify", is_flag=True, help="Compare nothing: no code of the project runs.")
@click.option("--run", "scripts", multiple=True, metavar="'SCRIPT ARGS'", help="Compare a script in lockstep, too.")
@click.option("--force", is_flag=True, help="Write into a folder that is not empty and was not made by this command.")
@click.option("--style", type=click.Choice(STYLES), help="As for migrate.")
@click.option("--trainer", type=click.Choice(TRAINERS), help="As for migrate.")
@click.option("--chainer-version", type=options.Version(), metavar="N[.M]", help="As for migrate.")
@click.option("--no-modernize", is_flag=True, help="As for migrate: leave Python 2 and dropped names as they are.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="Leave these files alone (as in .gitignore).")
@options.comparing
def port(
    src: Path,
    out: Path,
    page: Path | None,
    yes: bool,
    no_verify: bool,
    scripts: tuple[str, ...],
    force: bool,
    style: str | None,
    trainer: str | None,
    chainer_version: tuple[int, int | None] | None,
    no_modernize: bool,
    exclude: tuple[str, ...],
    **comparing: Any,
) -> int:
    """Port a repository: look at SRC, migrate it to OUT, compare both, and say what a person does next.

    A second call goes on: it keeps what you have changed in OUT, and compares only what is new.
    """
    from chainer2torch.port import state, summary
    from chainer2torch.project import output

    if not src.is_dir():
        raise Failure(f"{src}: no such folder")
    for command in scripts:
        if not shlex.split(command) or not (src / shlex.split(command)[0]).is_file():
            raise Failure(f"--run {shlex.quote(command)}: no such script in {src}")
    chosen = settings((src,), (), (), (), exclude, quiet=True)
    chosen = dataclasses.replace(
        chosen,
        style=style or chosen.style,
        trainer=trainer or chosen.trainer,
        modernize=chosen.modernize and not no_modernize,
        only=(),
        **version_fields(chainer_version),
    )
    remembered = state.load(out)
    asks = not yes and sys.stdin.isatty() and sys.stdout.isatty()
    project = run((src,), chosen)
    changes = output.changes(project)
    if remembered is None:  # later calls write what this one has looked at, or a little more
        checked(project, changes, chosen)
    stand = _stand(
        project, changes, chosen, src, out, page or out / PAGE, remembered, force, no_verify, scripts, asks, comparing
    )
    report = stand.report
    show_problems(report)
    extras = dataclasses.replace(
        extras_of(report, chosen, Goal()),
        checks=tuple(check for compared in stand.compared for check in compared.checks),
        facts=tuple(stand.facts()),
        steps=tuple(stand.steps()),
    )
    write_report(stand.page, "html", report, extras)
    click.echo(visible_lines("\n".join(summary.lines(stand))))
    return exit_code(report, stand.open)


def _stand(
    project: Project,
    changes: list[Change],
    chosen: Settings,
    src: Path,
    out: Path,
    page: Path,
    remembered: Any,
    force: bool,
    no_verify: bool,
    scripts: tuple[str, ...],
    asks: bool,
    comparing: dict[str, Any],
) -> Any:
    from chainer2torch.port import left, look, summary, writing

    tree = project.trees[0]
    python2 = tuple(path for path, result in tree.results.items() if result.python2 and path in tree.reported)
    texts = {path: source.text for path, source in tree.sources.items()}
    modern = _modern(tree, texts, python2)
    found = look.look(tree, {**texts, **modern}, python2)
    if not found.files:
        raise Failure(f"{src}: there are no Python files")
    if asks:
        click.echo(f"{visible(str(src))}: {visible(found.line())}", err=True)
    written, state = writing.write(project, changes, out, remembered, force)
    report = project.report(migrated=True)
    report.written = True
    compared = _compared(src, out, state, found, no_verify, scripts, asks, comparing)
    manual = {(site.code, site.symbol) for site in report.sites if site.state == "manual"}
    paths = [path for path in tree.reported if path not in tree.broken]
    tasks = left.tasks(out, paths, manual)
    importing = tuple(left.importing(out, paths))
    if state.first is None:
        state.first = sum(len(task.places) for task in tasks)
        state.save(out)
    unproved = sum(site.state == "review" and asks_nothing(chosen, tree.style, site.symbol) for site in report.sites)
    return summary.Stand(
        src, out, page, found, report, written, compared, tuple(tasks), importing, state.first, unproved
    )


def _modern(tree: Tree, texts: dict[str, str], python2: tuple[str, ...]) -> dict[str, str]:
    """The files of Python 2 as Python 3, with Chainer in them still."""
    if not python2:
        return {}
    from chainer2torch import engine
    from chainer2torch.python2 import engine as room

    found = room.modernised(texts, engine.facts, [entry.relative for entry in tree.entries])
    return {path: modern.text for path, modern in found.items()}


def _compared(
    src: Path,
    out: Path,
    state: Any,
    found: Any,
    no_verify: bool,
    scripts: tuple[str, ...],
    asks: bool,
    comparing: dict[str, Any],
) -> tuple[Any, ...]:
    """Compares the models, and the scripts that were asked for."""
    from chainer2torch.port import checks

    if no_verify:
        return (checks.Compared(checks.MODELS, why="--no-verify"),)
    missing = checks.missing(comparing)
    if asks and not missing:
        if not click.confirm("Compare the models now? This runs the code of both versions.", default=True):
            return (checks.Compared(checks.MODELS, why="you said no"),)
        ready = [script for script in found.scripts if not script.needs][:9]
        if not scripts and ready:
            for number, script in enumerate(ready, 1):
                click.echo(f"  {number}. {visible(script.command)}")
            chosen = click.prompt(
                "Which script to run in lockstep, too (0: none)?",
                type=click.IntRange(0, len(ready)),
                default=0,
            )
            scripts = tuple(script.command for script in ready[chosen - 1 : chosen]) if chosen else ()

    def models() -> Any:
        from chainer2torch import verify
        from chainer2torch.project import result_cache

        found = verify.verify_models(src, out, cache=result_cache.default_folder(), **comparing)
        return checks.models_of(found)

    results = [checks.compare(checks.MODELS, src, out, state, models, missing)]
    for command in scripts:

        def script(command: str = command) -> Any:
            from chainer2torch.port import scripts as room

            with room.synthetic_data():
                found, _ = room.compare_script(src, out, command, _UPDATES, comparing)
            return [found]

        results.append(checks.compare(command, src, out, state, script, missing, again=True))
    asked = {result.name for result in results}
    for name in state.checks:  # what earlier calls have compared, while it is still so
        if name not in asked and (name == checks.MODELS or checks.is_proved(state.checks[name])):
            results.append(checks.compare(name, src, out, state, models, "the files have changed since"))
    return tuple(results)
