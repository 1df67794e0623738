"""Shapes in texts look as Chainer's, wherever in a value that is written they stand."""

import pytest

from tests.support.native_snippets import migrated, run

PROGRAM = """
import logging


def run(xs):
    said, logger = [], logging.Logger('own')
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())
    logger.addHandler(handler)
    a = chainer.Variable(xs[0])
    ys = F.split_axis(a, [1], axis=1)
    shapes = [y.shape for y in ys]
    by_name = {{}}
    by_name['a'] = a.shape
    by_name['pair'] = (a.shape, len(a))
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
    "'%s %s %s' % (('a',) + by_name['pair'])",
    "str(by_name['pair'])",
    "logged('%s %s', a.shape, a.array)",
    "logged(a.array)",
    "logged('%d rows of %r', len(a), [y.shape for y in ys])",
    "logged('{}'.format(a.shape))",
]


@pytest.mark.parametrize("text", TEXTS)
def test_texts_are_equal(text):
    text = f"logger.info({text[7:]} or said[-1]" if text.startswith("logged(") else text
    theirs, ours, code = run(PROGRAM.format(text=text))
    assert theirs == ours, code


def test_numbers_in_a_log_need_no_array():
    assert "numpy()" not in migrated("def f(y):\n    import logging\n    logging.info('%.3f', F.sum(y).array)\n").code
