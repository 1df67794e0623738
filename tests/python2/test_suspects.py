"""The signs of Python 2 are looked for one by one, and fast: what is found is what one plain expression finds."""

from __future__ import annotations

import random
import re

import pytest

from chainer2torch.python2.convert import convert
from chainer2torch.python2.suspects import may_be_python2

PLAIN = re.compile(
    r"^[ \t]*(?:print|exec)\b(?![ \t]*[(=.])|\bprint[ \t]*>>|\bexcept\b[^:\n(]*,[^:\n]*:|\bexcept[ \t]*\(.*\),"
    r"|\braise[ \t]+[\w.]+[ \t]*,|<>|`|(?<![\w.])0[0-7]+\b|(?<![\w.])\d+[lL]\b|(?<![\w.])0[xX][\da-fA-F]+[lL]\b"
    r"|\b[uU][rR]['\"]|\bprint[ \t]+['\"\w]|\blambda[ \t]*\(|\bdef\b[^\n]*\([^\n)]*\("
    r"|\bdef[ \t]+\w+[ \t]*\([^()=:]*\(",
    re.MULTILINE,
)
TABS = (re.compile(r"^ *\t", re.MULTILINE), re.compile(r"^ ", re.MULTILINE))
TOKENS = (
    *("print", "exec", "except", "raise", "lambda", "def", " ", "  ", "\t", "\n", "(", ")", ",", ":", "=", ".", ">>"),
    *("<>", "`", "0", "07", "8", "12L", "0x1fL", "0xg", "x", "ur", "uR", '"', "'", "_", "a", "٣", "1.0", "é"),
)


def plain(text: str) -> bool:
    return PLAIN.search(text) is not None or all(tabs.search(text) for tabs in TABS)


@pytest.mark.parametrize("seed", range(4))
def test_the_signs_are_those_of_one_plain_expression(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(5_000):
        text = "".join(rng.choice(TOKENS) for _ in range(rng.randint(1, 7)))
        assert may_be_python2(text) == plain(text), text
        if text.isascii():
            assert may_be_python2(text.encode()) == plain(text), text


@pytest.mark.parametrize("place", ["self, path, (a, b), n=1", "self,\n    path,\n    (a, b),\n    n=1"])
def test_a_parameter_in_brackets_is_one_of_python_2(place: str) -> None:
    text = f"def f({place}):\n    return a\n"
    assert may_be_python2(text)
    found = convert(text)
    assert found is not None and "a_b" in found.text and "(a, b) = a_b" in found.text
