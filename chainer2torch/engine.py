"""From source texts to PyTorch: analysis of all files together, then a plan and one rewriting pass for each."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import functools
import gc
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from chainer2torch.analysis.memory import Files, Memory, imported, key
from chainer2torch.analysis.module_index import Apart, Project
from chainer2torch.analysis.parts import connected, parts
from chainer2torch.analysis.places import Places
from chainer2torch.analysis.related import related
from chainer2torch.analysis.source import Source
from chainer2torch.plan.file_result import FileResult, of_plain, plain
from chainer2torch.plan.options import Options
from chainer2torch.plan.site import Mention, Site
from chainer2torch.rules.table import Rules, load_rules
from chainer2torch.vendor.compat_file import is_helper_module

if TYPE_CHECKING:
    from chainer2torch.analysis.kinds import Kind

Progress = Callable[[int, int], object]
_MENTIONS = re.compile(rb"chainer|cupy")


def mentions_chainer(data: bytes) -> bool:
    """Whether a file can contain Chainer at all: decided on bytes, before anything is parsed."""
    return _MENTIONS.search(data) is not None


def migrate_source(
    text: str,
    path: str | None = None,
    *,
    rules: Rules | None = None,
    hints: Mapping[str, str] | None = None,
    options: Options | None = None,
) -> FileResult:
    """Migrates one source text. ``hints`` name kinds: ``{"function.param": "tensor rank 2 dtype float32"}``."""
    path = path or "module.py"
    return migrate_sources({path: text}, rules=rules, hints=hints, options=options)[path]


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    """Trees are large and free of cycles: looking for garbage in them costs a fifth of the time and finds none."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@_without_collector()
def migrate_sources(
    sources: Mapping[str, str],
    *,
    rules: Rules | None = None,
    hints: Mapping[str, str] | None = None,
    options: Options | None = None,
    rewrite: bool = True,
    jobs: int = 1,
    progress: Progress | None = None,
    memory: Memory | None = None,
) -> dict[str, FileResult]:
    """Migrates the files of one project together; paths are relative, with ``/``.

    A file that cannot be parsed has its message in ``error`` and its text unchanged; the others are still done. So has
    one on which the tool itself fails (``defect``): what became of the others was decided with it in the project.
    With ``rewrite=False`` only the sites are found (for ``check``). The files are divided among ``jobs`` processes (0:
    as many as are worth it): the result is the same. ``progress`` is called with the number of files that are done and
    the number of all. What is in the ``memory`` of earlier runs is not worked out again.
    """
    results = {path: FileResult(path, text, text) for path, text in sources.items()}
    chosen = options or Options()
    rules = rules or load_rules(lazy=True, style=chosen.style)
    chosen = dataclasses.replace(chosen, style=rules.style)
    files = _read(sources, results, memory)
    if not files.outlines:
        return results
    tops = imported(files.outlines.values())
    # half way, and with hints about the whole, the files are one; so they are where each looks for its own imports only
    apart = chosen.style == "native" and not chosen.only and not hints
    for divided in (True, False) if apart else (False,):
        whole = Places(files.outlines, chosen.pinned, chosen.name)
        groups = connected(whole)
        found = parts(whole, groups)
        for path in files.outlines:  # before any part is analysed: what is remembered, and what is not, has one home
            whole.helper_home(path)
        if not divided:
            groups, found = [], [list(files.outlines)]
        work = _Work(files, whole, rules, tops, hints, chosen, rewrite, None if hints else memory, groups)
        try:
            results.update(_done(work, found, jobs, progress))
            break
        except Apart:  # a name was looked up in another part: no import statement tells
            continue
    return results


def _done(work: _Work, groups: list[list[str]], jobs: int, progress: Progress | None) -> dict[str, FileResult]:
    """The results for all parts: those of the memory, then large parts one by one, then small ones side by side."""
    results: dict[str, FileResult] = {}
    count = sum(len(group) for group in groups)

    def add(found: Mapping[str, FileResult], together: bool = True) -> None:
        results.update(found)
        if progress is not None:
            progress(len(results), count)

    missing: dict[str, list[str]] = {}
    for group in groups:
        known = work.remembered(group)
        if known is None:
            missing[group[0]] = group
        else:
            add(known)
    if not missing:
        return results
    import chainer2torch.part_engine  # noqa: F401 - before processes are forked
    from chainer2torch.project.worker_pool import Failed, sensible_jobs, spread  # not where all parts are known

    sizes = {name: sum(len(work.files.texts[path]) for path in group) for name, group in missing.items()}
    total = sum(sizes.values())
    jobs = jobs or sensible_jobs(total)
    large = [name for name in missing if jobs == 1 or len(missing) == 1 or sizes[name] * jobs > total]
    for name in large:
        add(work.part(missing[name], jobs, lambda done: progress and progress(len(results) + done, count)))
    small = {name: size for name, size in sizes.items() if name not in large}
    for name, found in spread(lambda name: work.part(missing[name], 1), small, jobs):
        # in this process the reason shows: it is an exception that says what has to be done
        add(work.part(missing[name], 1) if isinstance(found, Failed) else found)
    return results


class _Work:
    """Files that are migrated part by part, with the choices that are the same for all of them."""

    def __init__(
        self,
        files: Files,
        whole: Places,
        rules: Rules,
        tops: frozenset[str],
        hints: Mapping[str, str] | None,
        options: Options,
        rewrite: bool,
        memory: Memory | None,
        groups: list[list[str]],
    ):
        self.groups = groups  # of files that imports connect; none: it is not known of which they do
        self.files, self.whole, self.rules, self.hints = files, whole, rules.with_packs(tops), hints
        self.packs = sorted(tops & rules.packs.keys())
        self.options, self.rewrite, self.memory = options, rewrite, memory

    def remembered(self, paths: list[str]) -> dict[str, FileResult] | None:
        """What an earlier run has found for a part, when nothing of all that it was decided from has changed."""
        kept = self.memory.get(self._key(paths)) if self.memory is not None else None
        try:
            return (
                None if kept is None else {path: of_plain(path, self.files.texts[path], kept[path]) for path in paths}
            )
        except (KeyError, TypeError, ValueError):  # nothing that we have written
            return None

    def part(
        self, paths: list[str], jobs: int, progress: Callable[[int], object] | None = None
    ) -> dict[str, FileResult]:
        """The results for the files of one part."""
        from chainer2torch.part_engine import TOO_DEEP, migrate_part  # not where all parts are known

        inside = frozenset(paths)
        results = migrate_part(
            self.files,
            paths,
            self.whole,
            self.rules,
            self.hints,
            self.options,
            self.rewrite,
            jobs,
            progress,
            groups=[group for group in self.groups if group[0] in inside],
        )
        if self.memory is not None and not any(r.defect or r.error == TOO_DEEP for r in results.values()):
            self.memory.put(self._key(paths), {path: plain(result) for path, result in results.items()})
        return results

    @functools.cached_property
    def _around(self) -> str:
        """What the results of all parts are decided from: the choices, and where imports lead."""
        return key(
            "part",
            dataclasses.asdict(self.options) | {"only": sorted(self.options.only)},
            self.rewrite,
            self.packs,
            list(self.whole.files),
            sorted((path, sorted(found)) for path, found in self.whole.import_folders.items()),
            sorted((path, sorted(found)) for path, found in self.whole.packages_of.items()),
        )

    def _key(self, paths: list[str]) -> str:
        """All that the results of a part are decided from, the tool itself and its rules excepted."""
        homes = {path: self.whole.helper_home(path) for path in paths}
        return key(
            self._around,
            [
                [path, self.files.digest(path), self.whole.eras[path], list(vars(homes[path]).values())]
                for path in paths
            ],
        )


def facts(
    sources: Mapping[str, str], *, rules: Rules | None = None, pinned: int | None = None
) -> Callable[[str], tuple[Source, Callable[[ast.AST], Kind]] | None]:
    """What is known of the expressions of a project: for a path its source, and the kind of each of its nodes.

    None for a file that was not analysed, because it has nothing to do with Chainer or cannot be parsed.
    """
    from chainer2torch.analysis.flow import Analysis

    results = {path: FileResult(path, text, text) for path, text in sources.items()}
    with _without_collector():
        files = _read(sources, results, None)
        known = (rules or load_rules(lazy=True)).with_packs(imported(files.outlines.values()))
        trees = {path: files.source(path) for path in files.outlines}
        analysis = Analysis(Project(trees, pinned), known).run() if trees else None

    def of(path: str) -> tuple[Source, Callable[[ast.AST], Kind]] | None:
        module = analysis.project.modules.get(path) if analysis is not None else None
        return None if analysis is None or module is None else (module.source, analysis.kind)

    return of


def _read(sources: Mapping[str, str], results: Mapping[str, FileResult], memory: Memory | None) -> Files:
    """The files that have to do with Chainer (there may be none); those that cannot be parsed have their error."""
    own = {path: text for path, text in sources.items() if not is_helper_module(path, text)}
    start = {path for path, text in own.items() if mentions_chainer(text.encode("utf-8", "surrogatepass"))}
    files = Files.read({path: sources[path] for path in related(own, start)} if start else {}, memory)
    for path, error in files.errors.items():
        if path in start:
            results[path].error = error
    return files


__all__ = ["FileResult", "Mention", "Options", "Site", "facts", "migrate_source", "migrate_sources"]
