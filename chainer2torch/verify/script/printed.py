"""What two runs of a script that trains nothing have printed: an evaluation, a generator, a few lines of arithmetic."""

from __future__ import annotations

import re
from collections.abc import Callable

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w])")
# numbers that measure the run itself
_DAY = r"(?<!\d)20\d\d[-_/.]\d\d?[-_/.]\d\d?|"
_OF_TIME = re.compile(
    _DAY + r"\b(?:\d+(?:\.\d+)?s|sec|secs|seconds?|elapsed|eta|time|it/s|iters?/s(?:ec)?|fps)\b", re.IGNORECASE
)
# what torch says of a tensor beside its values
_OF_TENSORS = re.compile(r"(?:, (?:grad_fn=<\w+>|requires_grad=True|dtype=torch\.\w+|device='[\w:]+'))+\)")
_WHOLE = re.compile(r"\b(?:variable(?: [^\s()]+)?|tensor)\(([^()]*)\)")
_BREAKS = re.compile(r"[\r\n]+")


def compare(
    chainer: str,
    torch: str,
    step: Callable[[int, int, str, float | None, float | None], None],
    problems: list[str],
    program: str = "",
) -> None:
    """Compares line by line: numbers go to ``step`` (the line, 0, a name, both values), other text to ``problems``.

    Lines of words alone are values, too (an answer, a translation), but for those that the ``program`` itself says.
    """
    left, right = (list(filter(str.strip, _BREAKS.split(_plain(text)))) for text in (chainer, torch))
    for i, (x, y) in enumerate(zip(left, right, strict=False), 1):
        if _OF_TIME.search(x) and _OF_TIME.search(y):
            continue
        if _without_numbers(x) != _without_numbers(y):
            problems.append(f"printed line {i}: {x.strip()!r} under Chainer, {y.strip()!r} under PyTorch")
            return
        for a, b in zip(*(_NUMBER.findall(line) for line in (x, y)), strict=True):
            told = abs(float(a) - float(b)) <= 0.501 * max(_last_digit(a), _last_digit(b))
            step(i, 0, "printed", float(a), float(a) if told else float(b))
        if not _NUMBER.search(x) and x.strip() not in program:
            step(i, 0, "printed lines of words", 1.0, 1.0)
    if len(left) != len(right):
        problems.append(f"printed: {len(left)} lines under Chainer, {len(right)} under PyTorch")


def _without_numbers(line: str) -> str:
    return "".join(_NUMBER.sub("#", line).split())


def _plain(text: str) -> str:
    """A text in which Variables and tensors, printed as they are, look like their arrays, over several lines, too."""
    return _WHOLE.sub(r"\1", _OF_TENSORS.sub(")", text))


def _last_digit(number: str) -> float:
    """What the last digit of a number stands for; whole numbers are told in full."""
    digits, _, exponent = number.lower().partition("e")
    decimals = len(digits.partition(".")[2])
    return 10.0 ** (int(exponent or 0) - decimals) if decimals or exponent else 0.0
