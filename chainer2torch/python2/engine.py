"""The engine for projects with files of Python 2: these are converted first, and places are given in the old files."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from chainer2torch.analysis.kinds import UNKNOWN, Kind
from chainer2torch.analysis.source import Source
from chainer2torch.engine import FileResult
from chainer2torch.plan.site import Mention, Site
from chainer2torch.python2 import beside, division, names, questions, reserved, suspects
from chainer2torch.python2.lines import Lines
from chainer2torch.python2.questions import Question

if TYPE_CHECKING:
    from chainer2torch.python2.convert import Converted

# texts by path -> for each path what is known of its expressions; None where the file was not analysed
Kinds = Callable[[Mapping[str, str]], Callable[[str], "tuple[Source, Callable[[ast.AST], Kind]] | None"]]
Parses = Callable[[str], bool]
OfToday = Callable[[str], "str | None"]
Migrate = Callable[[Mapping[str, str]], Mapping[str, Any]]
_BETWEEN_CELLS = re.compile(r"^__c2t_\w+\(\d+\)$", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Modern:
    """A file of Python 2 as it is migrated: with markers, and with the questions behind them."""

    text: str
    sites: tuple[Site, ...]
    lines: Lines


def migrate(
    texts: Mapping[str, str],
    run: Migrate,
    kinds: Kinds,
    known: Collection[str] = (),
    parses: Parses = suspects.parses,
    of_today: OfToday = names.of_today,
) -> dict[str, Any]:
    """What ``run`` makes of the texts when those of Python 2 are converted first.

    Their sites and mentions have the lines of the old files; ``FileResult.python2`` says that one was converted.
    ``known`` are the files of the project, with which imports of Python 2 are understood; ``parses`` says whether
    Python 3 parses a text, ``of_today`` what a text is with the names of today.
    """
    modern = modernised(texts, kinds, known, parses, of_today)
    if not modern:
        return dict(run(texts))
    results = run({path: modern[path].text if path in modern else text for path, text in texts.items()})
    return {
        path: _placed(result, texts[path], modern[path]) if path in modern else result
        for path, result in results.items()
    }


def modernised(
    texts: Mapping[str, str],
    kinds: Kinds,
    known: Collection[str] = (),
    parses: Parses = suspects.parses,
    of_today: OfToday = names.of_today,
) -> dict[str, Modern]:
    """The files among the texts that only Python 2 runs, as Python 3."""
    known = {*known, *texts}
    plain: dict[str, str] = {}
    warned: dict[str, tuple[tuple[int, str], ...]] = {}
    run_today: set[str] = set()
    for path, old in texts.items():
        text = reserved.renamed(old, known) if reserved.suspected(old) and not parses(old) else None
        if text is not None and parses(text) and _fits(path, old, text):
            plain[path] = text
            run_today.add(path)
            continue
        text = text or old
        if suspects.may_be_python2(text) and not parses(text):
            found = _converted(text, beside.siblings_of(path, known, texts))
            if found is not None and _fits(path, old, found.text):
                plain[path], warned[path] = found.text, found.warnings
        elif names.suspected(old) and parses(old):
            new = of_today(old)
            if new is not None:
                plain[path] = new
                run_today.add(path)
    _with_neighbours(texts, known, parses, plain, warned, run_today)
    if not plain:
        return {}
    beside_them = [p for p in beside.run_with(texts, plain.keys() - run_today) if p not in plain and parses(texts[p])]
    viewed = {p: new for p in beside_them if (new := names.with_views(texts[p])) is not None}
    together = [path for path in beside_them if path in viewed or _divides(texts[path])]
    plain.update((path, viewed.get(path, texts[path])) for path in together)
    asked = _decided(plain, texts, run_today, together, kinds)
    return {
        path: _modern(texts[path], *asked[path], warned.get(path, ()))
        for path in plain
        if (path not in together or path in viewed or asked[path][1] or asked[path][0].text != texts[path])
        and _fits(path, texts[path], asked[path][0].text)
    }


def _converted(text: str, siblings: Collection[str]) -> Converted | None:
    from chainer2torch.python2 import convert  # not where no file is Python 2

    return convert.convert(text, siblings)


def _with_neighbours(
    texts: Mapping[str, str],
    known: Collection[str],
    parses: Parses,
    plain: dict[str, str],
    warned: dict[str, tuple[tuple[int, str], ...]],
    run_today: set[str],
) -> None:
    """Converts the files that Python 3 parses, and that only Python 2 runs for what they import or lie in.

    They import by its bare name what lies beside them; they have names of Python 2 alone and import a file of Python 2;
    or they lie in a package whose own file is one.
    """

    def take(path: str) -> None:
        if path in plain and path not in run_today:
            return
        found = _converted(texts[path], beside.siblings_of(path, known, texts))
        if found is not None and _fits(path, texts[path], found.text):
            plain[path], warned[path] = found.text, found.warnings
            run_today.discard(path)

    old = [
        path for path in plain if path not in run_today or parses(texts[path]) and names.imports_of_then(texts[path])
    ]
    for path in beside.only_python2(texts, known, old, parses):
        take(path)
    before = -1
    while before != (before := len(plain.keys() - run_today)):
        for path in sorted(path for path in run_today if names.suspected(texts[path]) and parses(texts[path])):
            if beside.import_of(path, texts[path], plain.keys() - run_today) is not None:
                take(path)
    for path in beside.in_packages(texts, plain.keys() - run_today):
        if path not in plain and _divides(texts[path]):
            take(path)


def _divides(text: str) -> bool:
    """Whether a text parses under Python 3 and has divisions, which may be those of Python 2."""
    if "/" not in text or suspects.syntax_error(text) is not None:
        return False
    return division.changed_meaning(Source(text, ast.parse(text)))


def _fits(path: str, old: str, new: str) -> bool:
    """Whether a text can be put back: a notebook needs the statements that stand between its cells."""
    if not path.endswith(".ipynb"):
        return True
    return _BETWEEN_CELLS.findall(old) == _BETWEEN_CELLS.findall(new)


def _decided(
    plain: Mapping[str, str],
    texts: Mapping[str, str],
    run_today: Collection[str],
    together: Collection[str],
    kinds: Kinds,
) -> dict[str, tuple[Source, list[Question]]]:
    """Each converted file with its divisions decided, as far as that can be, and with what is left to ask."""
    sources = {path: Source(text, ast.parse(text)) for path, text in plain.items()}
    divided = {path: source for path, source in sources.items() if division.changed_meaning(source)}
    asked = {**texts, **plain, **{path: division.as_it_was(source) for path, source in divided.items()}}
    facts = kinds(asked) if divided else lambda path: None
    found: dict[str, tuple[Source, list[Question]]] = {}
    for path, source in sources.items():
        meanings = _meanings(source, facts(path)) if path in divided else {}
        left: list[Question] = []
        if path in run_today or path in together:
            # who runs it under Python 3 has got used to what it does there, where it does not stop
            old = division.run_by_python2(source, meanings)
            rest = {one: meaning for one, meaning in meanings.items() if one not in old}
            left = questions.of_divisions(source, rest, "floor" if path in run_today else "together")
            meanings = {one: meaning for one, meaning in meanings.items() if one in old}
        left += [one for which in ("unknown", "loud") for one in questions.of_divisions(source, meanings, which)]
        left += questions.of_integers(source, meanings)
        floor = {one for one, meaning in meanings.items() if meaning == "floor"}
        text = division.floored(source, floor.__contains__)
        new = Source(text, ast.parse(text))
        same = dict(zip(source.nodes, new.nodes))
        left = [dataclasses.replace(question, node=same[question.node]) for question in left]
        others = [] if path in run_today or path in together else questions.others(new)
        found[path] = new, left + others
    return found


def _meanings(source: Source, facts: tuple[Source, Callable[[ast.AST], Kind]] | None) -> dict[division.Division, str]:
    """What each division meant. The facts are those of a text with the same nodes, in which every one is ``//``."""
    if facts is None:
        return {one: division.meant(one, source, lambda node: UNKNOWN) for one in division.true_ones(source)}
    other, kind = facts
    same = dict(zip(source.nodes, other.nodes))
    return {one: division.meant(one, source, lambda node: kind(same[node])) for one in division.true_ones(source)}


def _modern(old: str, source: Source, asked: list[Question], warned: tuple[tuple[int, str], ...]) -> Modern:
    text = questions.marked(source, asked)
    unmarked = Lines(old, source.text)
    sites = [
        unmarked.site(Site.at(question.node, question.symbol, "review", question.code, question.message))
        for question in asked
    ]
    sites += [Site(line, 1, "Python 2", "review", questions.OTHER, message) for line, message in warned]
    return Modern(text, tuple(sites), Lines(old, text))


def _placed(result: FileResult, old: str, modern: Modern) -> FileResult:
    """A result as one of the old file."""
    if result.error is not None:
        return dataclasses.replace(result, source=old, code=old, modules=None, uses=frozenset(), said=None)
    sites = [modern.lines.site(site) for site in result.sites] + list(modern.sites)
    mentions: list[Mention] = [
        dataclasses.replace(found, line=modern.lines.old(found.line)) for found in result.mentions
    ]
    return dataclasses.replace(
        result,
        source=old,
        code=result.code.replace(questions.MARK, "# TODO(chainer2torch "),
        sites=sorted(sites, key=lambda site: (site.line, site.column, site.symbol)),
        kept=[modern.lines.site(site) for site in result.kept],
        mentions=mentions,
        python2=True,
    )
