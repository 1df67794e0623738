"""Shapes in texts look as Chainer's, wherever in a value that is written they stand."""

import pytest

from tests.support.native_snippets import run

PROGRAM = """
def run(xs):
    a = chainer.Variable(xs[0])
    ys = F.split_axis(a, [1], axis=1)
    shapes = [y.shape for y in ys]
    by_name = {{}}
    by_name['a'] = a.shape
    more = []
    more.append(a.shape)
    more.append((a.shape, 'text'))
    return {text}
"""
TEXTS = [
    "repr([y.shape for y in ys])",
    "repr([[y.shape, y.shape[:1]] for y in ys])",
    "repr({i: y.shape for i, y in enumerate(ys)})",
    "str(a.shape if len(xs) else None)",
    "'{}'.format(a.shape or None)",
    "'%s %s' % (a.shape + (1,), 2)",
    "'%s' % [a.shape * 2]",
    "str(shapes)",
    "'{} {}'.format(by_name, more)",
    "f'{shapes} {more}'",
    "repr(list(map(lambda y: y.shape, ys)))",
    "str(sorted(y.shape for y in ys))",
    "repr(dict((k, y.shape) for k, y in zip('ab', ys)))",
    "repr([y.array for y in ys])",
    "repr({'a': a.array if len(xs) else None})",
]


@pytest.mark.parametrize("text", TEXTS)
def test_texts_are_equal(text):
    theirs, ours, code = run(PROGRAM.format(text=text))
    assert theirs == ours, code
