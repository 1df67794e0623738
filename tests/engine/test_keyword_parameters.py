"""What ``**kwargs`` holds: known where all visible calls are, and nothing is known where one is not."""

import ast

import pytest

from chainer2torch.analysis.kind_specs import describe
from chainer2torch.engine import facts, migrate_source
from chainer2torch.plan.options import Options

PROGRAM = """
import numpy as np
import chainer
import chainer.links as L

class Pair(object):
    def __init__(self, **kwargs):
        self.first, self.second = kwargs.pop('models')
        self.third = kwargs.get('third', None)

    def zeros(self):
        return self.first.xp.zeros(3, 'f')

    def others(self):
        return self.third.xp.zeros(3, 'f')

def main(other, **options):
    net = L.Linear(3, 4)
    pair = Pair(models=(net, net){more})
    return pair.zeros(), pair.others()
{calls}
"""
KNOWN = "next(self.first.parameters()).device"


def code(more: str = "", calls: str = "") -> str:
    source = PROGRAM.format(more=more, calls=calls)
    return migrate_source(source, options=Options(style="native")).code


def test_the_keywords_of_the_calls_are_known() -> None:
    assert f"return torch.zeros(3, dtype=torch.float32, device={KNOWN})" in code()


@pytest.mark.parametrize(
    ("more", "calls"),
    [
        (", **options", ""),
        ("", "def again(a):\n    Pair(models=a)"),
        ("", "def again(a):\n    a(Pair.__init__)"),
    ],
)
def test_a_call_that_does_not_show_its_keywords(more: str, calls: str) -> None:
    assert KNOWN not in code(more, calls)


def test_a_default_is_one_of_the_values() -> None:
    plain = code(", third=net")
    assert "device=next(self.third.parameters()).device" in plain, "None beside a link says nothing"
    other = PROGRAM.replace("'third', None", "'third', np").format(more=", third=net", calls="")
    assert "self.third.parameters()" not in migrate_source(other, options=Options(style="native")).code


def test_a_function_that_nobody_calls() -> None:
    source = "import chainer\n\ndef make(**kwargs):\n    return kwargs.pop('model').xp.zeros(3)\n"
    assert "compat.xp_of(kwargs.pop('model')).zeros(3)" in migrate_source(source, options=Options(style="native")).code


SPREAD = """
import chainer
import chainer.links as L
from chainer import training

class Updater(training.StandardUpdater):
    def __init__(self, *args, **kwargs):
        self.net = kwargs.pop('model')
        super().__init__(*args, **kwargs)

    def update_core(self):
        batch = self.net.xp.zeros(3, 'f')

def picture():
    @training.make_extension(trigger=(1, 'epoch'))
    def draw(trainer):
        return trainer.updater.net(trainer.updater.net.xp.zeros((3, 3), 'f')).data.transpose(1, 0)
    return draw

def main(other, iterator):
    net = L.Linear(3, 4)
    options = {{'device': -1}}
    options['model'] = net
    {more}
    options['iterator'] = iterator
    return Updater(**options)
"""


def test_a_dictionary_that_is_spread_and_what_an_extension_asks_the_updater_for() -> None:
    result = migrate_source(SPREAD.format(more="print(options['device'])"), options=Options(style="native")).code
    assert "torch.zeros(3, dtype=torch.float32, device=next(self.net.parameters()).device)" in result
    assert ".detach().permute(1, 0)" in result


@pytest.mark.parametrize(
    "more",
    ["other(options)", "options.update(other)", "options[other] = 1", "if other:\n        options['model'] = other"],
)
def test_a_dictionary_into_which_something_else_may_be_put(more: str) -> None:
    result = migrate_source(SPREAD.format(more=more), options=Options(style="native")).code
    assert "device=next(self.net.parameters()).device" not in result


DEFAULTS = """
import chainer.functions as F

def scaled(x, y, *, by=2.5, name='y', other):
    return by, name, x, y

print(scaled(F.relu(1), F.relu(2), other=None))
"""


def test_the_defaults_of_keyword_only_parameters_are_theirs() -> None:
    found = facts({"a.py": DEFAULTS})("a.py")
    assert found is not None
    source, kind = found
    (returned,) = source.of(ast.Return)
    assert isinstance(returned.value, ast.Tuple)
    assert [describe(kind(item)) for item in returned.value.elts] == ["float", "str", "tensor", "tensor"]
