"""What one answer settles for a whole project is asked at the first of its places, which says how many files follow.

Only markers go, and only those of which the engine says that one answer settles them (``FileResult.asked``): names
that have no counterpart, the version of Chainer. The sites stay, so the report lists every place.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping

from chainer2torch.project.tree import ResultLike

_STAND_IN = re.compile(r"^[^#\n]*\bnot_migrated\('(?P<name>[\w.]+)'\)(?P<told>(?:  # \(C2T[^\r\n]*)?)", re.MULTILINE)
_AND_IN_OTHERS = r" \(also in \d+ other files?: the report lists them\)"


def ask_once(results: Mapping[str, ResultLike], reported: Iterable[str]) -> None:
    """Takes markers out of the new texts: of each question the first file of ``reported`` keeps one.

    A marker goes when all that it stands for in its file was asked in files before. What this run does not write is
    not asked there, so it does not count.
    """
    first: dict[str, str] = {}  # what is asked -> the file that asks it
    others: dict[tuple[str, str], set[str]] = {}  # the file and text of a marker that stays -> who asks the same
    texts: dict[tuple[str, str], str] = {}
    for path in reported:
        result = results.get(path)
        if result is None or result.error:
            continue
        for text, questions in result.asked:
            if not _lines(text).search(result.code):
                continue
            known = [question for question in questions if question in first]
            if len(known) < len(questions):
                first.update((question, path) for question in questions if question not in first)
                others[path, text] = set()
                texts.update({(path, question): text for question in questions})
                continue
            result.code = _lines(text).sub("", _told(result.code, text))
            for question in known:
                asker = first[question]
                others[asker, texts[asker, question]].add(path)
    for (path, text), files in others.items():
        more = f" (also in {len(files)} other file{'s' * (len(files) > 1)}: the report lists them)" if files else ""
        results[path].code = _lines(text).sub(functools.partial(_with, more), results[path].code, 1)


def alone(code: str) -> str:
    """The code without what markers say of other files: a run that finds a place answered counts one file less."""
    return re.sub(_AND_IN_OTHERS, "", code)


def _told(code: str, text: str) -> str:
    """The code in which the words of a marker stand beside the import that it explains: an error shows them there.

    A traceback has the line of an import that fails; a stand-in for one looks for them in the file that uses it.
    """
    words = text.partition("TODO(chainer2torch ")[2]
    if "chainer-version" in words:  # of something that was migrated
        return code
    symbol = words.partition("): ")[2].partition(": ")[0]
    below = re.compile(rf"(# not migrated: )the comment below says why(?=\r?\n[ \t]*{re.escape(text)})")
    code = below.sub(lambda found: f"{found[1]}({words}", code)

    def beside(found: re.Match[str]) -> str:
        explains = f"{symbol}.".startswith(f"{found['name']}.") and f"): {symbol}: " not in found["told"]
        return f"{found[0]}  # ({words}" if explains else found[0]

    return _STAND_IN.sub(beside, code)


def _with(more: str, line: re.Match[str]) -> str:
    return f"{line[1]}{line[2]}{more}{line[3]}"


def _lines(text: str) -> re.Pattern[str]:
    """The lines that are this marker, with or without what an earlier run said of other files."""
    return re.compile(rf"^([ \t]*)({re.escape(text)})(?:{_AND_IN_OTHERS})?(\r?\n|\Z)", re.MULTILINE)
