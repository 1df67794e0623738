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
from chainer2torch.analysis.listing import kinds_of
from chainer2torch.analysis.module_index import ModuleInfo, Project
from chainer2torch.analysis.related import related
from chainer2torch.analysis.source import Source, nodes_of
from chainer2torch.project.worker_pool import Failed, spread
from chainer2torch.plan.passes import (
    array_modules,
    array_crossings,
    device_cases,
    older_versions,
    exports,
    fold,
    unused_imports,
    link_hook_classes,
    link_members,
    names_of_links,
    links,
    train_modes,
    single_device,
    registration,
    serializing,
    shadowing,
)
from chainer2torch.plan import skips, stages
from chainer2torch.plan.edits import Comment, Mention, Replace, Site, StatementEdit, Unmark, Wrap
from chainer2torch.plan.passes.kept_gradients import kept_gradients
from chainer2torch.plan.passes.left_imports import empty_guards, left_imports
from chainer2torch.plan.passes.mentions import mentions
from chainer2torch.plan.passes.other_members import overridden
from chainer2torch.plan.passes.overridden_moves import own_moves
from chainer2torch.plan.residue import left_over
from chainer2torch.plan.sites import HardCase, Options, Plan
from chainer2torch.plan.passes.model_copies import copied_models
from chainer2torch.plan.passes.states import kept_states
from chainer2torch.plan.passes.texts import texts
from chainer2torch.plan.passes.unresolved import unresolved
from chainer2torch.rules.table import Rules, load_rules
from chainer2torch.vendor.compat_file import is_helper_module

Edit = Replace | Wrap | StatementEdit
Progress = Callable[[int, int], object]
# edits whose place is not found are left out in the next attempt
_ATTEMPTS = 4
_TOO_DEEP = "left as it is: expressions are nested too deeply"
_MENTIONS = re.compile(rb"chainer|cupy")
HARD_CASES: Mapping[str, HardCase] = {
    "init_scope": links.init_scope,
    "using_config": train_modes.using_config,
    "collect_parameters": older_versions.collect_parameters,
    "copy_parameters_from": older_versions.copy_parameters_from,
    "parameters": older_versions.parameters,
    "train_value": train_modes.train_value,
    "device_send": device_cases.send,
    "astype": array_crossings.astype,
    "converted_reduction": array_crossings.converted_reduction,
    "link_hook": link_hook_classes.link_hook,
    "link_name": names_of_links.link_name,
    "parameter_name": names_of_links.parameter_name,
    "link_serialize": serializing.link_serialize,
    "serializer_test": serializing.serializer_test,
}


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
    analysis = _analyse(sources, results, rules, hints, chosen.pinned)
    if analysis is None:
        return results
    for path in analysis.too_deep:
        results[path].error = _TOO_DEEP
    modules = {path: module for path, module in analysis.project.modules.items() if path not in analysis.too_deep}
    plans: dict[str, Plan] = {}
    if rewrite:  # which imports go depends on what the other files go on using
        for path, module in modules.items():
            try:
                plans[path] = make_plan(analysis, module, chosen)
            except Exception as error:
                _fail(results[path], f"{type(error).__name__}: {error}")
        modules = {path: modules[path] for path in plans}
        for path, names in exports.taken(analysis, plans).items():
            if path in plans:
                plans[path].taken = names

    def work(path: str) -> FileResult:
        plan = plans.pop(path) if rewrite else make_plan(analysis, modules[path], chosen)
        return _migrate_file(plan, sources[path], rewrite)

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


def _analyse(
    sources: Mapping[str, str],
    results: Mapping[str, FileResult],
    rules: Rules | None,
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
    rules = (rules or load_rules(lazy=True)).with_packs(_imported(trees))
    return Analysis(Project(trees, pinned), rules, hints).run()


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


def make_plan(analysis: Analysis, module: ModuleInfo, options: Options) -> Plan:
    """All decisions for one file."""
    plan = Plan(analysis, module, dict(HARD_CASES), options)
    if plan.with_models:
        fold.conditions(plan)
        array_modules.modules(plan)
        link_members.class_tests(plan)
        device_cases.class_tests(plan)
    plan.run()
    if plan.with_models:
        names_of_links.names(plan)
        device_cases.texts(plan)
        link_members.members(plan)
        copied_models(plan)
        array_crossings.crossings(plan)
        kept_states(plan)
        kept_gradients(plan)
        links.classes(plan)
        own_moves(plan)
    overridden(plan)
    if plan.with_models:
        registration.unregistered(plan)
    if plan.choices.parallel_updater == "single":
        single_device.on_one_device(plan)
    stages.seams(plan)
    shadowing.rename_hidden(plan)
    unresolved(plan)
    texts(plan)
    skips.apply(plan)
    return plan


def _migrate_file(plan: Plan, text: str, rewrite: bool) -> FileResult:
    module = plan.module
    if "# TODO(chainer2torch " in text:
        plan.extra_edits += [
            Unmark(module.source.start(module.source.line_statement(node)), site.symbol)
            for node, site in plan.sites.items()
            if site.state in ("exact", "close")
        ]
    result = FileResult(module.path, text, text, root=plan.analysis.project.import_root(module.path))
    if plan.choices.kinds:
        result.kinds = list(kinds_of(plan.analysis, module))
    if rewrite:
        _rewrite(plan, result)
    result.sites = sorted(plan.sites.values(), key=lambda s: (s.line, s.column, s.symbol))
    result.kept = sorted(plan.kept.values(), key=lambda s: (s.line, s.column, s.symbol))
    result.mentions = mentions(plan)
    return result


def _rewrite(plan: Plan, result: FileResult) -> None:
    import libcst as cst

    from chainer2torch.rewrite.apply import apply
    from chainer2torch.rewrite.torch_names import Names

    removed = _removed(plan)
    edits: list[Edit] = _live(plan)
    if not edits:
        result.left = stages.left(plan, left_over(plan.source.nodes, plan.analysis.libraries))
        return
    try:
        for _ in range(_ATTEMPTS):
            names = Names.of(plan.source, removed)
            applied = apply(plan.source, edits, names)
            if not applied.failed:
                break
            _mark_failed(plan, applied.failed)
            removed = _removed(plan)
            edits = [e for e in _live(plan) if e not in applied.failed]
        output = nodes_of(ast.parse(applied.code))
        idle = unused_imports.idle_imports(plan, output)
        if idle:  # array libraries whose last use an edit has taken
            removed |= idle
            names = Names.of(plan.source, removed)
            again = apply(plan.source, _live(plan), names)
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
    result.left = stages.left(plan, left_over(output, plan.analysis.libraries))


def _removed(plan: Plan) -> frozenset[str]:
    """Plans the removal of imports that nobody needs any more; gives their names."""
    names = unused_imports.unused_imports(plan)
    empty_guards(plan)
    return names


def _live(plan: Plan) -> list[Edit]:
    """The edits outside of what other edits remove."""
    gone = [plan.source.span(n) for n in plan.removed if hasattr(n, "lineno")]

    def lives(edit: Edit) -> bool:
        start, end = (edit.start, edit.start + 1) if isinstance(edit, StatementEdit) else edit.span
        return not any(a <= start and end <= b for a, b in gone)

    return [e for e in [*plan.edits.values(), *plan.wraps.values(), *plan.extra_edits, *left_imports(plan)] if lives(e)]


def _mark_failed(plan: Plan, failed: list[Any]) -> None:
    """Sites whose edit found no place in the tree stay as they were, and say so."""
    nodes = [n for planned in (plan.edits, plan.wraps) for n, edit in planned.items() if edit in failed]
    for node in nodes:
        plan.edits.pop(node, None)
        plan.wraps.pop(node, None)
    for node in nodes:
        parts = list(_own_parts(plan, node))
        sites = {part: plan.sites.pop(part) for part in parts if part in plan.sites}
        plan.consumed.difference_update(parts)
        for part, symbol in [(p, s.symbol) for p, s in sites.items()] or [(node, ast.unparse(node)[:60])]:
            plan.mark(part, None, symbol, "manual", "the rewriter could not place the change here", "C2T011")


def _own_parts(plan: Plan, node: ast.AST) -> Iterator[ast.AST]:
    """A node and what is in it, without the parts that have edits of their own."""
    yield node
    for child in ast.iter_child_nodes(node):
        if child not in plan.edits:
            yield from _own_parts(plan, child)


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


__all__ = ["Callable", "Comment", "FileResult", "Options", "migrate_source", "migrate_sources"]
