"""From source texts to PyTorch: analysis of all files together, then a plan and one rewriting pass for each."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import gc
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Kind
from chainer2torch.analysis.listing import kinds_of
from chainer2torch.analysis.module_index import Project
from chainer2torch.analysis.related import related
from chainer2torch.analysis.source import Source, nodes_of
from chainer2torch.plan.hard_cases import HARD_CASES
from chainer2torch.plan.ledger import Ledger
from chainer2torch.plan.native.imports import imported_by
from chainer2torch.plan.options import Options
from chainer2torch.plan.outcome import exports
from chainer2torch.plan.outcome.imports import Imports
from chainer2torch.plan.outcome.left import left
from chainer2torch.plan.outcome.mentions import mentions
from chainer2torch.plan.pipeline import decide
from chainer2torch.plan.residue import left_over
from chainer2torch.plan.site import Mention, Site
from chainer2torch.project.worker_pool import Failed, spread
from chainer2torch.rules.table import Rules, load_rules
from chainer2torch.vendor.compat_file import NATIVE, helper_names, is_helper_module

Progress = Callable[[int, int], object]
# edits whose place is not found are left out in the next attempt
_ATTEMPTS = 4
_TOO_DEEP = "left as it is: expressions are nested too deeply"
_MENTIONS = re.compile(rb"chainer|cupy")


@dataclasses.dataclass
class FileResult:
    """What became of one file."""

    path: str
    source: str
    code: str
    sites: list[Site] = dataclasses.field(default_factory=list)
    helpers: frozenset[str] = frozenset()
    root: str = ""
    left: int = 0
    error: str | None = None
    defect: bool = False  # the error is ours: the work on this file failed, or the process that did it
    kinds: list[str] = dataclasses.field(default_factory=list)
    mentions: list[Mention] = dataclasses.field(default_factory=list)
    kept: list[Site] = dataclasses.field(default_factory=list)  # what another stage migrates
    python2: bool = False  # the file was Python 2, and was converted first
    imports: frozenset[str] = frozenset()  # the project's files that it imports

    @property
    def changed(self) -> bool:
        """Whether the text is another one."""
        return self.code != self.source


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
) -> dict[str, FileResult]:
    """Migrates the files of one project together; paths are relative, with ``/``.

    A file that cannot be parsed has its message in ``error`` and its text unchanged; the others are still done. So has
    one on which the tool itself fails (``defect``): what became of the others was decided with it in the project.
    With ``rewrite=False`` only the sites are found (for ``check``). After the analysis of the whole the files are
    divided among ``jobs`` processes (0: as many as are worth it): the result is the same. ``progress`` is called with
    the number of files that are done and the number of all.
    """
    results = {path: FileResult(path, text, text) for path, text in sources.items()}
    chosen = options or Options()
    rules = rules or load_rules(lazy=True, style=chosen.style)
    chosen = dataclasses.replace(chosen, style=rules.style)
    analysis = _analyse(sources, results, rules, hints, chosen.pinned)
    if analysis is None:
        return results
    for path in analysis.too_deep:
        results[path].error = _TOO_DEEP
    modules = {path: module for path, module in analysis.project.modules.items() if path not in analysis.too_deep}
    ledgers: dict[str, Ledger] = {}
    taken: Mapping[str, frozenset[str]] = {}
    if rewrite:  # which imports go depends on what the other files go on using
        for path, module in modules.items():
            try:
                ledgers[path] = decide(analysis, module, chosen)
            except Exception as error:
                _fail(results[path], f"{type(error).__name__}: {error}")
        modules = {path: modules[path] for path in ledgers}
        taken = exports.taken(analysis, ledgers)

    def work(path: str) -> FileResult:
        ledger = ledgers.pop(path) if rewrite else decide(analysis, modules[path], chosen)
        return _migrate_file(ledger, sources[path], taken.get(path, frozenset()) if rewrite else None)

    sizes = {path: len(sources[path]) for path in modules}
    for done, (path, result) in enumerate(spread(work, sizes, jobs), 1):
        if isinstance(result, Failed):
            _fail(results[path], result.reason)
        else:
            results[path] = result
        if progress is not None:
            progress(done, len(sizes))
    return results


def _fail(result: FileResult, reason: str) -> None:
    result.error, result.defect = f"internal error of chainer2torch ({reason}); please report it", True


def facts(
    sources: Mapping[str, str], *, rules: Rules | None = None, pinned: int | None = None
) -> Callable[[str], tuple[Source, Callable[[ast.AST], Kind]] | None]:
    """What is known of the expressions of a project: for a path its source, and the kind of each of its nodes.

    None for a file that was not analysed, because it has nothing to do with Chainer or cannot be parsed.
    """
    results = {path: FileResult(path, text, text) for path, text in sources.items()}
    with _without_collector():
        analysis = _analyse(sources, results, rules or load_rules(lazy=True), None, pinned)

    def of(path: str) -> tuple[Source, Callable[[ast.AST], Kind]] | None:
        module = analysis.project.modules.get(path) if analysis is not None else None
        return None if analysis is None or module is None else (module.source, analysis.kind)

    return of


def _analyse(
    sources: Mapping[str, str],
    results: Mapping[str, FileResult],
    rules: Rules,
    hints: Mapping[str, str] | None,
    pinned: int | None,
) -> Analysis | None:
    """The analysis of the files that have to do with Chainer (None: there are none); errors go to the results."""
    own = {path: text for path, text in sources.items() if not is_helper_module(path, text)}
    start = {path for path, text in own.items() if mentions_chainer(text.encode("utf-8", "surrogatepass"))}
    if not start:
        return None
    trees: dict[str, Source] = {}
    for path in related(own, start):
        text = sources[path]
        try:
            trees[path] = Source(text, ast.parse(text))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            if path in start:
                results[path].error = _syntax_message(error, text)
    return Analysis(Project(trees, pinned), rules.with_packs(_imported(trees)), hints).run()


def _imported(trees: Mapping[str, Source]) -> frozenset[str]:
    """The top-level modules that some file imports: the rules of libraries on Chainer are loaded for these."""
    return frozenset(
        name.split(".", 1)[0]
        for source in trees.values()
        for node in source.of(ast.Import, ast.ImportFrom)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if not node.level
            else ()
        )
    )


def _migrate_file(ledger: Ledger, text: str, taken: frozenset[str] | None) -> FileResult:
    """The result for one file; ``taken`` are the names that other files take from it, None: it is not rewritten."""
    context = ledger.context
    module, analysis = context.module, context.analysis
    result = FileResult(module.path, text, text, root=analysis.project.helper_home(module.path).folder)
    result.imports = frozenset(other.path for other in imported_by(analysis.project, module))
    if context.choices.kinds:
        result.kinds = list(kinds_of(analysis, module))
    if taken is not None:
        _rewrite(ledger, taken, result)
    result.sites = sorted(ledger.sites.values(), key=lambda s: (s.line, s.column, s.symbol))
    result.kept = sorted(ledger.kept.values(), key=lambda s: (s.line, s.column, s.symbol))
    result.mentions = mentions(context, ledger.sites)
    return result


def _rewrite(ledger: Ledger, taken: frozenset[str], result: FileResult) -> None:
    import libcst as cst

    from chainer2torch.rewrite.apply import apply
    from chainer2torch.rewrite.torch_names import Helpers, Names

    context = ledger.context
    source = context.source
    native = helper_names(NATIVE) if context.choices.style == "native" else frozenset[str]()
    home = context.analysis.project.helper_home(context.module.path)
    anchor = next((n for n in source.tree.body if home.behind and n.end_lineno == home.behind), None)
    helpers = Helpers(home.package, native, source.text[slice(*source.span(anchor))] if anchor is not None else "")
    imports = Imports.of(ledger, taken)
    edits = ledger.live(imports.edits())
    if not edits:
        result.left = _left(ledger, source.nodes)
        return
    try:
        for _ in range(_ATTEMPTS):
            names = Names.of(source, imports.names, helpers)
            applied = apply(source, edits, names)
            if not applied.failed:
                break
            ledger.fail(applied.failed)
            imports = Imports.of(ledger, taken)
            edits = [e for e in ledger.live(imports.edits()) if e not in applied.failed]
        output = nodes_of(ast.parse(applied.code))
        fewer = imports.without_idle(output)
        if fewer is not None:  # array libraries whose last use an edit has taken
            names = Names.of(source, fewer.names, helpers)
            again = apply(source, ledger.live(fewer.edits()), names)
            if not again.failed:
                applied, output = again, nodes_of(ast.parse(again.code))
    except cst.ParserSyntaxError as error:
        result.error = f"line {error.raw_line}: {error.message}"
        return
    except (SyntaxError, RecursionError) as error:
        result.error = (
            f"left as it is: the rewritten text would not be valid Python ({error})"
            if isinstance(error, SyntaxError)
            else _TOO_DEEP
        )
        return
    result.code = applied.code
    result.helpers = frozenset(_helpers(names, output))
    result.left = _left(ledger, output)


def _left(ledger: Ledger, nodes: list[ast.AST]) -> int:
    """How many references to Chainer are left in the nodes of an output."""
    context = ledger.context
    return left(context, ledger.kept.values(), left_over(nodes, context.analysis.libraries))


def _helpers(names: Any, nodes: list[ast.AST]) -> set[str]:
    alias = names.needed.get("compat") or names.existing.get("compat")
    if alias is None:
        return set()
    return {
        n.attr for n in nodes if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == alias
    }


def _syntax_message(error: BaseException, text: str) -> str:
    if isinstance(error, SyntaxError):
        return f"line {error.lineno}: {error.msg}" if error.lineno is not None else error.msg
    return f"cannot be parsed: {error or type(error).__name__}"


__all__ = ["HARD_CASES", "FileResult", "Mention", "Options", "Site", "facts", "migrate_source", "migrate_sources"]
