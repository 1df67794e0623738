"""What migrate, check and report have in common: one run of the engine over the files, and one report of it."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from chainer2torch.cli.errors import DONE, FAILED, LEFT, Failure
from chainer2torch.cli.progress import shown
from chainer2torch.cli.settings import Goal, Settings
from chainer2torch.project import files
from chainer2torch.project.scan import Project, analyse, collect
from chainer2torch.project.tree import Engine
from chainer2torch.report.extras import Extras
from chainer2torch.report.model import Report

if TYPE_CHECKING:  # only what writes needs it
    from chainer2torch.project.output import Change

_LONG_RUN = 20
_WIDTH = 79  # columns of PEP 8, which is what most Chainer code keeps to


def run(
    paths: tuple[Path, ...],
    options: Settings,
    rewrite: bool = True,
    kinds: bool = False,
    writing: bool = False,
    text: bytes | None = None,
) -> Project:
    """Finds, reads and analyses the files; LibCST is only imported when something is rewritten.

    ``text`` takes the place of the standard input.
    What a killed run left is finished first when this one writes (in_place.alone); else nothing is read.
    """
    project = collect(paths, options.exclude, gitignore=options.gitignore, stdin=options.stdin, text=text)
    if folders := project.interrupted():
        from chainer2torch.cli.in_place import finished

        problems = finished(folders, writing)
        project = collect(paths, options.exclude, gitignore=options.gitignore, stdin=options.stdin)
        project.problems.extend(problems)
    options = dataclasses.replace(options, style=_style(project, "faithful" if options.only else options.style))
    for tree in project.trees:
        tree.style = options.style
        tree.trainer = options.trainer if options.style == "native" and options.trainer != "ppe" else ""
    count = sum(len(tree.sources) for tree in project.trees)
    if count:
        memory = _memory(options)
        for tree in project.trees:
            tree.memory = memory
        if options.chainer_version is None:
            from chainer2torch.project.dependencies.pinned import pinned

            for tree in project.trees:
                tree.pin = pinned(tree) if tree.sources else None
            options = dataclasses.replace(options, chainer_minor=_minor(project))
        with shown(count, wanted=count > _LONG_RUN and not options.quiet) as progress:
            known = [entry.relative for tree in project.trees for entry in tree.entries]
            analyse(project, _engine(options, rewrite, kinds, progress, known))
    if any(tree.place for tree in project.trees):
        from chainer2torch.project import dependencies

        dependencies.move(project, lambda: _rules(options.rules, options.style).libraries, rewrite)
    return project


def _minor(project: Project) -> int | None:
    """The minor version of Chainer 1 that the requirements ask for, where they agree."""
    found = {tree.pin.minor if tree.pin is not None else None for tree in project.trees if tree.sources}
    return found.pop() if len(found) == 1 else None


def _style(project: Project, asked: str) -> str:
    """The style of the run: that of an earlier one, whose helpers the files name, else the one that is asked for."""
    if not any(tree.sources for tree in project.trees):  # then nothing more is imported
        return asked
    written = [
        (path, source.text)
        for tree in project.trees
        for path, source in tree.sources.items()
        if path.endswith("chainer_compat.py")  # most projects have none: nothing more is imported then
    ]
    if not written:
        return asked
    from chainer2torch.vendor import compat_file

    found = {compat_file.style_of(text) for path, text in written if compat_file.is_helper_module(path, text)}
    return found.pop() if len(found) == 1 else asked


def _engine(
    options: Settings, rewrite: bool, kinds: bool, progress: Any, known: Collection[str], text_only: bool = False
) -> Engine:
    """The engine with these options; ``known`` are all files of the project, also those that are not read."""
    from chainer2torch import engine as room
    from chainer2torch.python2 import engine as python2
    from chainer2torch.python2 import names, suspects

    rules = _rules(options.rules, options.style)
    if options.trace is not None:
        from chainer2torch.verify import trace

        hints = trace.hints(trace.read(options.trace))

    memory = _memory(options)

    def engine(texts: Mapping[str, str], pinned: int | None, name: str) -> Mapping[str, Any]:
        settings: dict[str, Any] = {
            "rules": rules,
            "rewrite": rewrite,
            "jobs": options.jobs,
            "progress": progress,
            "memory": memory,
            "options": room.Options(
                options.init,
                chainer_version=options.chainer_version,
                chainer_minor=options.chainer_minor,
                pinned=pinned,
                name=name,
                kinds=kinds,
                text_only=text_only,
                only=frozenset(options.only),
                style=options.style,
                trainer=options.trainer,
                parallel_updater=options.parallel_updater,
                modernize=options.modernize,
                width=_WIDTH,
            ),
        }

        def run(texts: Mapping[str, str]) -> Mapping[str, Any]:
            if options.trace is not None:
                return trace.migrate_with_trace(texts, hints, **settings)
            return room.migrate_sources(texts, **settings)

        if not options.modernize:
            return run(texts)
        facts = functools.partial(room.facts, rules=rules, pinned=pinned)
        if memory is None:
            return python2.migrate(texts, run, facts, known)
        parses = functools.partial(_kept, memory, "parses", suspects.parses)
        of_today = functools.partial(_kept, memory, "names of today", names.of_today)
        return python2.migrate(texts, run, facts, known, parses, of_today)

    return engine


def checked(project: Project, wanted: Sequence[Change], options: Settings) -> None:
    """Migrates the output once more, in memory; that it would change is a problem of the project."""
    if wanted and options.self_check:
        from chainer2torch.project.self_check import self_check

        options = dataclasses.replace(options, trace=None, style=project.trees[0].style)
        known = [entry.relative for tree in project.trees for entry in tree.entries]
        project.problems.extend(self_check(project, wanted, _engine(options, True, False, None, known, text_only=True)))


def extras_of(report: Report, options: Settings, goal: Goal) -> Extras:
    """What the report can say beside the sites, as far as it was asked for."""
    from chainer2torch.report import baseline, verification

    checks = tuple(found for path in goal.verified for found in verification.read(path))
    comparison = baseline.compare(report, goal.baseline) if goal.baseline else None
    next_step = functools.cache(functools.partial(_next_step, options.rules, options.style))
    quiet = functools.cache(functools.partial(asks_nothing, options, options.style))
    return Extras(next_step, comparison, checks, asks_nothing=quiet)


def _next_step(rule_dirs: tuple[Path, ...], style: str, symbol: str) -> str:
    """What the rule of a symbol tells a person to do."""
    row = _rules(rule_dirs, style).find(symbol)
    return row.next if row is not None else ""


def asks_nothing(options: Settings, style: str, symbol: str) -> bool:
    """Whether a place for review asks a person nothing: it was not executed, and has no comment in the file."""
    row = _rules(options.rules, style).find(symbol)
    return row is not None and row.quiet


def _kept(memory: Any, question: str, asked: Callable[[str], Any], text: str) -> Any:
    """What a question about one text has for an answer; the answer is kept."""
    from chainer2torch.analysis.memory import made_once

    return made_once(memory, lambda: asked(text), question, text)


def _memory(options: Settings) -> Any:
    """What earlier runs have found; None where nothing is kept."""
    from chainer2torch.project import result_cache

    folder = options.cache_dir or result_cache.default_folder()
    if not options.cache or folder is None or options.trace is not None:
        return None
    return result_cache.ResultCache(folder, _version_of_all(options.rules))


@functools.lru_cache(maxsize=1)
def _version_of_all(rule_dirs: tuple[Path, ...]) -> str:
    from chainer2torch.project import result_cache

    return result_cache.version_of_all(rule_dirs)


@functools.lru_cache(maxsize=1)
def _rules(rule_dirs: tuple[Path, ...], style: str) -> Any:
    from chainer2torch.rules.table import RulesError, load_rules

    rules = load_rules(rule_dirs, lazy=True, style=style)
    if rule_dirs:  # a table can name functions of chainer2torch, and no others
        from chainer2torch.plan.hard_cases import HARD_CASES

        for row in rules.rows.values():
            if row.function and row.function not in HARD_CASES:
                raise RulesError(f"{row.name}: chainer2torch has no function {row.function!r}; use a template")
    return rules


def write_report(path: Path, form: str, report: Report, extras: Extras) -> None:
    """Writes a report in one of the formats."""
    from chainer2torch.report import formats

    files.write_atomic(path, formats.render(form, report, extras).encode("utf-8", "replace"))


def format_for(path: Path) -> str:
    """The format that the ending of the file name asks for."""
    from chainer2torch.report import formats

    form = formats.format_of(path.name)
    if form is None:
        known = ", ".join(sorted(formats.endings()))
        raise Failure(f"{path}: the report's format follows the ending, which must be one of {known}")
    return form


def show_problems(report: Report) -> None:
    """Says on stderr which files could not be handled."""
    for problem in report.problems:
        click.echo(str(problem), err=True)


def exit_code(report: Report, left: bool) -> int:
    """The status of a command that has made a report."""
    return FAILED if report.problems else LEFT if left else DONE
