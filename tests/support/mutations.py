"""Programs with damage, and what has to hold: no crash, valid output, no change without Chainer, twice is once."""

from __future__ import annotations

import ast
import io
import keyword
import random
import re
import tokenize
import traceback
import warnings
from collections.abc import Mapping

from chainer2torch.engine import FileResult, migrate_source, migrate_sources
from chainer2torch.rules.table import Rules
from chainer2torch.vendor.compat_file import build

# what generated programs get to say in place of their own names and numbers
CHAINER = [
    "F.relu(x)",
    "F.dropout",
    "L.Linear(3, 4)",
    "chainer.Variable(x)",
    "chainer.config.train",
    "x.data",
    "chainer",
    "model.cleargrads()",
    "F.max_pooling_2d(x, 2)",
    "xp.zeros(3)",
    "chainer.no_backprop_mode()",
    "L.LSTM(2, 3)",
    "optimizer.update()",
    "F",
    "chainer.optimizers.Adam()",
    "x.array[::-1]",
    "F.concat((x, y))",
    "loss.backward()",
]
IMPORTS = "import chainer\nimport chainer.functions as F\nimport chainer.links as L\nfrom chainer import cuda\n"
_WORD = re.compile(r"\b[^\W\d]\w*\b")


def seasoned(draw: random.Random, text: str) -> str:
    """A program that has nothing to do with Chainer, with Chainer in it: imports first, and calls for some names."""
    places = [found for found in _WORD.finditer(text) if not keyword.iskeyword(found[0])]
    for found in sorted(draw.sample(places, min(len(places), draw.randint(1, 4))), key=lambda f: -f.start()):
        text = text[: found.start()] + draw.choice(CHAINER) + text[found.end() :]
    return IMPORTS + text


def mutated(draw: random.Random, text: str) -> str:
    """A program with one to five tokens or lines deleted, doubled, renamed or exchanged, or other white space.

    Four of five are still Python: what is not ends in the parser.
    """
    valid = draw.random() < 0.8
    for _ in range(draw.randint(1, 5)):
        for _ in range(20 if valid else 1):
            other = _lines(draw, text) if draw.random() < 0.3 else _tokens(draw, text)
            if not valid or _parses(other):
                text = other
                break
    return text


def _lines(draw: random.Random, text: str) -> str:
    lines = text.splitlines(True)
    if not lines:
        return text
    first, second = draw.randrange(len(lines)), draw.randrange(len(lines))
    change = draw.choice(["delete", "double", "exchange", "indent", "dedent", "blank", "join"])
    if change == "delete":
        del lines[first]
    elif change == "double":
        lines.insert(first, lines[second])
    elif change == "exchange":
        lines[first], lines[second] = lines[second], lines[first]
    elif change == "join":
        lines[first] = lines[first].rstrip("\r\n") + draw.choice(["", ";", " \\\n"])
    else:
        lines[first] = {
            "indent": "    " + lines[first],
            "dedent": lines[first].removeprefix("    "),
            "blank": "\n" + lines[first],
        }[change]
    return "".join(lines)


def _tokens(draw: random.Random, text: str) -> str:
    try:
        tokens = [t for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.string.strip()]
    except (tokenize.TokenError, SyntaxError):
        return _lines(draw, text)
    if not tokens:
        return text
    names = [t for t in tokens if t.type == tokenize.NAME] or tokens
    change = draw.choice(["delete", "double", "rename", "rename", "space", "exchange", "comment"])
    token = draw.choice(names if change == "rename" else tokens)
    other = draw.choice(names if change == "rename" else tokens).string
    new = {
        "delete": "",
        "double": f"{token.string} {token.string}",
        "rename": other,
        "exchange": other,
        "space": draw.choice([" ", "  ", "\t", "\f", " \\\n"]) + token.string,
        "comment": f"{token.string}  # F.relu\n",
    }[change]
    lines = text.splitlines(True)
    (row, start), (end_row, end) = token.start, token.end
    if row > len(lines) or end_row > len(lines):  # splitlines counts a form feed as a line end, tokenize does not
        return text
    head, tail = lines[row - 1][:start], lines[end_row - 1][end:]
    return "".join(lines[: row - 1]) + head + new + tail + "".join(lines[end_row:])


def complaint(text: str, rules: Rules) -> str | None:
    """What is wrong with the migration of one file; None: nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a mutation makes of a literal
        try:
            result = migrate_source(text, rules=rules)
            found = _complaint(text, result)
            if found is None and result.error is None:
                again = migrate_source(result.code, rules=rules)
                found = None if again.code == result.code else "a second run changes the output"
        except Exception:
            return f"crash: {traceback.format_exc()}"
        return found


def complaints(texts: Mapping[str, str], rules: Rules) -> dict[str, str]:
    """The same for files that are analysed together, by path."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = migrate_sources(texts, rules=rules)
        found = {path: _complaint(texts[path], result) for path, result in results.items()}
        helpers = {name for result in results.values() for name in result.helpers}
        again = migrate_sources(
            {**{path: result.code for path, result in results.items()}, "chainer_compat.py": build(helpers)},
            rules=rules,
        )
        for path in texts:
            if found[path] is None and again[path].code != results[path].code:
                found[path] = "a second run changes the output"
    return {path: text for path, text in found.items() if text is not None}


def _complaint(text: str, result: FileResult) -> str | None:
    if not _parses(text):
        if result.code != text:
            return "a file that is not Python was changed"
        return "no error for a file that is not Python" if result.error is None and "chainer" in text else None
    if result.error is not None:
        return f"error: {result.error}"
    unplaced = [site for site in result.sites if site.code == "C2T011" and "pattern" not in site.message]
    if unplaced:
        return f"a change found no place: {unplaced[0]}"
    if "chainer" not in text and result.code != text:
        return "changed without Chainer"
    if not _parses(result.code):
        return "the output is not Python"
    return "the output does not compile" if _compiles(text) and not _compiles(result.code) else None


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


def _compiles(text: str) -> bool:
    try:
        compile(text, "source", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True
