"""One part of a project, from texts to results: analysis of its files together, then a plan and a rewrite for each.

A module of its own: where all parts are known from an earlier run none of this is imported.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.libraries import Libraries
from chainer2torch.analysis.listing import kinds_of
from chainer2torch.analysis.memory import Files
from chainer2torch.analysis.module_index import Apart, ModuleInfo, Project
from chainer2torch.analysis.parsing import keeps_tables, parse
from chainer2torch.analysis.places import Places
from chainer2torch.analysis.source import Nodes, nodes_of
from chainer2torch.plan.apart_from_chainer import is_apart
from chainer2torch.plan.context import Context
from chainer2torch.plan.file_result import FileResult
from chainer2torch.plan.ledger import Ledger
from chainer2torch.plan.native.imports import imported_by
from chainer2torch.plan.options import Options
from chainer2torch.plan.outcome import exports
from chainer2torch.plan.outcome.imports import Imports
from chainer2torch.plan.outcome.left import left
from chainer2torch.plan.outcome.mentions import mentions
from chainer2torch.plan.pipeline import decide
from chainer2torch.plan.questions.first_values import OWN
from chainer2torch.plan.questions import own_classifier, own_dropped
from chainer2torch.plan.questions.own_first_values import definition
from chainer2torch.plan.residue import left_over
from chainer2torch.project.worker_pool import Failed, spread
from chainer2torch.rules.table import Rules
from chainer2torch.vendor.compat_file import names_used_in, short_helper_names, top_modules
from chainer2torch.vendor.said import said_by, said_of_optimizers

# edits whose place is not found are left out in the next attempt
_ATTEMPTS = 4
TOO_DEEP = "left as it is: expressions are nested too deeply"


def migrate_part(
    files: Files,
    paths: list[str],
    whole: Places,
    rules: Rules,
    hints: Mapping[str, str] | None,
    options: Options,
    rewrite: bool,
    jobs: int,
    progress: Callable[[int], object] | None,
    groups: Iterable[list[str]] = (),
) -> dict[str, FileResult]:
    """The results for the files that have these paths; ``whole``: where imports of all files lead.

    ``groups``: those of the files that imports connect, where that is known. A group in which nothing is Chainer's is
    not analysed.
    """
    trees = {path: files.source(path) for path in paths}
    results = {path: FileResult(path, files.texts[path], files.texts[path]) for path in paths}
    done = 0
    if not hints and not options.kinds and not options.only:
        libraries = Libraries.of(rules.libraries, whole.files)
        for group in list(groups) or [paths]:
            project = Project({path: trees[path] for path in group}, whole=whole)
            if is_apart(project, libraries, rules):
                work = _Work(
                    Analysis(project, rules), {path: results[path] for path in group}, options, rewrite, idle=True
                )
                results.update(work.results(1, progress, done))
                done += len(group)
                for path in group:
                    del trees[path]
    if trees:
        analysis = Analysis(Project(trees, whole=whole), rules, hints).run()
        work = _Work(analysis, {path: results[path] for path in trees}, options, rewrite)
        results.update(work.results(jobs, progress, done))
    return results


class _Work:
    """Files that are decided on, and rewritten, with one analysis; where they are ``idle`` it was not run."""

    def __init__(
        self,
        analysis: Analysis,
        results: dict[str, FileResult],
        options: Options,
        rewrite: bool,
        idle: bool = False,
    ):
        self.analysis, self._results, self.options, self.rewrite, self.idle = analysis, results, options, rewrite, idle

    def _decided(self, module: ModuleInfo) -> Ledger:
        if self.idle:
            return Ledger(Context(self.analysis, module, self.options))
        return decide(self.analysis, module, self.options)

    def results(self, jobs: int, progress: Callable[[int], object] | None, before: int) -> dict[str, FileResult]:
        """The results for all files; ``before``: how many files of the part were done before these."""
        analysis, results = self.analysis, self._results
        for path in analysis.too_deep:
            results[path].error = TOO_DEEP
        modules = {path: module for path, module in analysis.project.modules.items() if path not in analysis.too_deep}
        ledgers: dict[str, Ledger] = {}
        taken: Mapping[str, frozenset[str]] = {}
        if self.rewrite:  # which imports go depends on what the other files go on using
            for path, module in modules.items():
                try:
                    ledgers[path] = self._decided(module)
                except Apart:
                    raise
                except Exception as error:
                    _fail(results[path], f"{type(error).__name__}: {error}")
            modules = {path: modules[path] for path in ledgers}
            taken = exports.taken(analysis, ledgers)

        def work(path: str) -> FileResult:
            ledger = ledgers.pop(path) if self.rewrite else self._decided(modules[path])
            return _migrate_file(ledger, results[path].source, taken.get(path, frozenset()) if self.rewrite else None)

        sizes = {path: len(results[path].source) for path in modules}
        for done, (path, result) in enumerate(spread(work, sizes, jobs), before + 1):
            if isinstance(result, Failed):
                if result.reason.startswith(f"{Apart.__name__}:"):
                    raise Apart(path)
                _fail(results[path], result.reason)
            else:
                results[path] = result
            if progress is not None:
                progress(done)
        analysis.forget()
        return results


def _fail(result: FileResult, reason: str) -> None:
    result.error, result.defect = f"internal error of chainer2torch ({reason}); please report it", True


def _migrate_file(ledger: Ledger, text: str, taken: frozenset[str] | None) -> FileResult:
    """The result for one file; ``taken`` are the names that other files take from it, None: it is not rewritten."""
    context = ledger.context
    module, analysis = context.module, context.analysis
    result = FileResult(module.path, text, text, root=analysis.project.helper_home(module.path).folder)
    result.imports = frozenset(other.path for other in imported_by(analysis.project, module))
    if context.choices.kinds:
        result.kinds = list(kinds_of(analysis, module))
    nodes: Nodes = context.source
    if taken is not None:
        nodes = _rewrite(ledger, taken, result)
        if context.choices.text_only and not result.changed:
            context.forget()
            return result
    result.modules, result.uses = top_modules(nodes), names_used_in(nodes, context.choices.style)
    result.sites = sorted(ledger.sites.values(), key=lambda s: (s.line, s.column, s.symbol))
    result.kept = sorted(ledger.kept.values(), key=lambda s: (s.line, s.column, s.symbol))
    if result.said:
        result.said |= said_of_optimizers([site.symbol for site in result.sites], result.said)
    result.mentions = mentions(context, ledger.sites)
    context.forget()
    return result


def _rewrite(ledger: Ledger, taken: frozenset[str], result: FileResult) -> Nodes:
    """Sets the new text; gives its nodes."""
    import libcst as cst

    from chainer2torch.rewrite.apply import apply
    from chainer2torch.rewrite.long_lines import with_short_lines
    from chainer2torch.rewrite.merged_casts import with_merged_casts
    from chainer2torch.rewrite.named_devices import with_named_devices
    from chainer2torch.rewrite.torch_names import Helpers, Names, OwnFunction

    context = ledger.context
    source = context.source
    native = short_helper_names() if context.choices.style == "native" else frozenset[str]()
    home = context.analysis.project.helper_home(context.module.path)
    anchor = next((n for n in source.tree.body if home.behind and n.end_lineno == home.behind), None)
    behind = source.text[slice(*source.span(anchor))] if anchor is not None else ""
    helpers = Helpers(home.package, native, behind, home.way, context.module.path.endswith(".ipynb"))
    own = [OwnFunction(OWN, *definition(context))] if native else []
    for part in (own_classifier, own_dropped) if native else ():
        defined = part.definition(context)
        own += [OwnFunction(part.DOTTED, *defined)] if defined is not None else []
    imports = Imports.of(ledger, taken)
    edits = ledger.live(imports.edits())
    result.asked = ledger.asked()
    if not edits and context.choices.text_only:
        return source
    if not edits:
        result.left = _left(ledger, source)
        result.said = frozenset(said_by(source, own=True))
        return source
    try:
        for _ in range(_ATTEMPTS):
            names = Names.of(source, imports.names, helpers, own)
            applied = apply(source, edits, names)
            if not applied.failed:
                break
            ledger.fail(applied.failed)
            imports = Imports.of(ledger, taken)
            edits = [e for e in ledger.live(imports.edits()) if e not in applied.failed]
        output = Nodes(nodes_of(parse(applied.code)))
        fewer = imports.without_idle(output)
        if fewer is not None:  # array libraries whose last use an edit has taken
            names = Names.of(source, fewer.names, helpers, own)
            again = apply(source, ledger.live(fewer.edits()), names)
            if not again.failed:
                applied, output = again, Nodes(nodes_of(parse(again.code)))
    except cst.ParserSyntaxError as error:
        result.error = f"line {error.raw_line}: {error.message}"
        return source
    except (SyntaxError, RecursionError) as error:
        result.error = (
            f"left as it is: the rewritten text would not be valid Python ({error})"
            if isinstance(error, SyntaxError)
            else TOO_DEEP
        )
        return source
    if not keeps_tables(source.text, applied.code):
        result.error = "left as it is: a table of numbers would not be the same"
        return source
    notebook = context.module.path.endswith(".ipynb")
    result.code = applied.code
    if native and not notebook:
        code = with_merged_casts(with_named_devices(applied.code), source.text)
        result.code = with_short_lines(code, source.text, context.choices.width)
    result.helpers = frozenset(_helpers(names, output))
    result.left = _left(ledger, output)
    result.said = frozenset(said_by(output, own=True))
    return output


def _left(ledger: Ledger, nodes: Nodes) -> int:
    """How many references to Chainer are left in the nodes of an output."""
    context = ledger.context
    return left(context, ledger.kept.values(), left_over(nodes, context.analysis.libraries))


def _helpers(names: Any, nodes: Nodes) -> set[str]:
    alias = names.needed.get("compat") or names.existing.get("compat")
    if alias is None:
        return set()
    return {n.attr for n in nodes.of(ast.Attribute) if isinstance(n.value, ast.Name) and n.value.id == alias}


__all__ = ["TOO_DEEP", "migrate_part"]
