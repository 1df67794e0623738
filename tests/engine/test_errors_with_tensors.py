"""Errors of the program's own classes that carry arrays: what is written of them is what Chainer's arrays look like."""

import pytest

from tests.support.printed import printed, printed_by_both
from chainer2torch.engine import migrate_source
from chainer2torch.rules.table import load_rules

_HEAD = """
import numpy as np
import chainer
import chainer.functions as F


class Stop(Exception):
    pass


class Held(ValueError):
    def __init__(self, message, value):
        super().__init__(message, value)
        self.value = value


class Quiet(Exception):
    def __init__(self, value):
        super(Quiet, self).__init__('quiet')
        self.value = value


class Own(Exception):
    def __str__(self):
        return 'own %s' % self.args[0]


def rows():
    return F.relu(chainer.Variable(np.arange(3, dtype='f'))).array


def fails(kind, *values):
    raise kind(*values)


"""
_WRITTEN = {
    "alone": """
try:
    raise Stop(rows())
except Stop as e:
    print(e)
    print(str(e), e.args)
    print('%s' % e, '{}'.format(e), f'{e} {e!r}')
    print(e.args[0] + 1)
""",
    "a number": """
try:
    raise Stop(rows()[1])
except Exception as error:
    text = str(error)
    print(text)
""",
    "beside a message": """
try:
    raise Held('bad', rows())
except (KeyError, ValueError) as e:
    print(e, e.value, e.args)
""",
    "a shape": """
try:
    raise Stop('bad shape', rows().shape)
except Stop as e:
    print(e)
""",
    "unpacked": """
values = [rows(), 1]
try:
    raise Stop(*values)
except Stop as e:
    print(e)
""",
    "through a function": """
try:
    fails(Stop, rows())
except Stop as e:
    print(e)
""",
    "never raised": """
errors = [Stop(rows())]
print(errors[0])
""",
    "a text of its own": """
for kind in (Own, Stop):
    try:
        if kind is Own:
            raise Own(rows())
        raise Stop(rows())
    except Exception as e:
        print(e)
""",
}


@pytest.mark.parametrize("style", ["native", "faithful"])
@pytest.mark.parametrize("way", _WRITTEN)
def test_text_of_an_error(way, style):
    program = _HEAD + "def work():\n" + "".join(f"    {line}\n" for line in _WRITTEN[way].splitlines()) + "\nwork()\n"
    assert "tensor" not in printed_by_both(program, style)


def test_an_error_that_says_nothing_of_an_array_is_written_as_it_is():
    program = _HEAD + "try:\n    raise Quiet(rows())\nexcept Quiet as e:\n    print(e, e.value.sum())\n"
    result = migrate_source(program, rules=load_rules(lazy=True))
    assert "print(e, " in result.code
    assert printed(result.code, "native", result.helpers) == printed(program)
