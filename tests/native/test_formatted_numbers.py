"""``'{:.3f}'.format(loss)``: what a number's format writes is no text of an array, beside what is written as it is."""

import pytest

from tests.support.native_snippets import run

PROGRAM = """
def run(xs):
    loss, count = F.sum(F.sign(xs[0]) + 1.3125) / 4, F.argmax(xs[1], axis=1)
    if not isinstance(loss, chainer.Variable):
        loss = chainer.as_variable(loss)
    part, shape = loss.data, xs[0].shape
    return TEXT
"""
# the text, and the parts of its migration that are asked for nothing
TEXTS = [
    ("'{:.3f}, {}'.format(part, part)", ["format(part, "]),
    ("'{1} of {0:5.2e}: {1}'.format(part, shape)", ["format(part, tuple("]),
    ("'{a:.2f} {b!r} {a:+.1f}'.format(a=part, b=part)", ["format(a=part, "]),
    ("'{0.shape} {0:.2f}'.format(part)", []),
    ("'{:{}.2f} {}'.format(part, 9, part)", []),
    ("'{{}} {:d} {}'.format(count.data[0], count.data[0])", []),
    ("'%.3f, %s' % (part, part)", ["% (part, "]),
    ("'%5.1e %s%% %d' % (part, shape, count.data[0])", ["% (part, tuple("]),
    ("'%(a).2f %(a)s' % {'a': part}", []),
    ("'%*.2f %r' % (9, part, shape)", []),
    ("'%g' % part", ["% part"]),
    ("'%f %f' % (part, loss.array) + str(part)", []),
]


@pytest.mark.parametrize(("text", "plain"), TEXTS)
def test_both_write_the_same(text: str, plain: list[str]) -> None:
    theirs, ours, code = run(PROGRAM.replace("TEXT", text))
    assert ours == theirs
    assert all(part in code for part in plain), code


def test_a_logger_too() -> None:
    logged = "lines = []\n    log = type('Log', (), {'info': lambda self, text, *rest: lines.append(text % rest)})()\n"
    program = PROGRAM.replace("return TEXT", f"{logged}    log.info('%.4f %s', part, part)\n    return lines")
    theirs, ours, code = run(program)
    assert ours == theirs and "log.info('%.4f %s', part, " in code
