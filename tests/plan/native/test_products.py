"""Lists of settings for parameterized tests, written as comprehensions; the rows' examples run them beside Chainer."""

import pytest

from chainer2torch.engine import Options, migrate_source

HEAD = "from chainer import testing\n"


def migrated(text):
    return migrate_source(HEAD + text, options=Options(style="native")).code


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("testing.product({'b': [1, 2], 'a': c})", "[{'b': b, 'a': a} for a in c for b in [1, 2]]"),
        ("testing.product({'a': [lambda x: x + 1]})", "[{'a': a} for a in [lambda x: x + 1]]"),
        ("testing.product_dict([{'a': 1}], [c])", "[{**first, **second} for first in [{'a': 1}] for second in [c]]"),
    ],
)
def test_a_comprehension(text, expected):
    assert migrated(f"rows = {text}\n") == f"rows = {expected}\n"


def test_long_ones_have_a_row_for_each_loop():
    values = str(list(range(40)))
    code = migrated(f"rows = testing.product({{\n    'x': {values},\n    'y': [1],\n}})\n")
    assert code == f"rows = [\n    {{'x': x, 'y': y}}\n    for x in {values}\n    for y in [1]\n]\n"


@pytest.mark.parametrize(
    "text",
    [
        "testing.product({'a': b, 'b': [1]})",  # the name would be the variable
        "testing.product({'a': [1], 'b': f()})",  # computed once in Chainer
        "testing.product({'a': [1], 'b c': [2]})",
        "testing.product({'a': [1], **more})",
        "testing.product({'a': [1], 'torch': [2]})",
        "testing.product({'a': [1], 'if': [2]})",
        "testing.product(table)",
        "testing.product({'a': [1],  # a comment\n    'b': [2]})",
        "testing.product_dict(rows, [{'a': 1}])",  # rows may be an iterator
        "testing.product_dict([first], [{'a': 1}])",
        "testing.product_dict([{'a': 1}])",
    ],
)
def test_others_stay_with_the_helper(text):
    assert " for " not in migrated(f"rows = {text}\n").replace("for the", "")


def test_not_in_the_body_of_a_class():
    code = migrated("class A:\n    n = 1\n    rows = testing.product({'a': [n], 'b': [n]})\n")
    assert "compat.product({" in code
    code = migrated("class A:\n    def f(self, n):\n        return testing.product({'a': [n], 'b': [n]})\n")
    assert "[{'a': a, 'b': b} for a in [n] for b in [n]]" in code
