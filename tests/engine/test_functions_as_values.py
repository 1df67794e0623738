"""Chainer's functions as values in every position: the result is Chainer's, or a person is asked."""

import types

import chainer
import numpy as np
import pytest
import torch

from chainer2torch.engine import migrate_sources
from tests.support import both_sides

COMMON = """
import functools
import chainer.functions as F

ACTIVATIONS = dict(relu=F.relu, leaky=F.leaky_relu, soft=F.softmax)
DEFAULT = F.leaky_relu
STEEP = functools.partial(F.leaky_relu, slope=.3)

def choose(name='leaky', table=ACTIVATIONS):
    return table[name]

class Base(object):
    activation = staticmethod(F.leaky_relu)
    pooling = staticmethod(F.max_pooling_2d)
    table = {'a': F.softmax, 'b': F.log_softmax}
"""
MAIN = """
import functools
import operator
import chainer
import chainer.functions as F
import common
from chainer.functions import leaky_relu as leaky
from common import DEFAULT, STEEP, Base, choose
from common import F as Fun

class Sub(Base):
    def __init__(self, f=DEFAULT, **options):
        self.f = f
        self.norm = options.get('norm', F.normalize)
    def __call__(self, x):
        return self.norm(self.f(self.activation(x)) + self.table['a'](x))

def block(x, act=F.relu, *, norm=F.softmax):
    return norm(act(x))

def apply(f, *args, **options):
    return f(*args, **options)

def star(x, *args, **options):
    return F.leaky_relu(x, *args, **options)

def compose(*functions):
    def composed(x):
        for f in functions:
            x = f(x)
        return x
    return composed

def values(x, image):
    f = F.leaky_relu
    a, b = F.max, F.softmax
    grown = [F.sum]
    grown.append(F.softmax)
    grown += [F.leaky_relu]
    return [
        choose()(x), choose('soft')(x), DEFAULT(x), STEEP(x), Sub()(x), Sub(F.elu, norm=F.log_softmax)(x),
        Fun.leaky_relu(x), common.F.softmax(x), block(x), block(x, leaky, norm=F.hard_sigmoid),
        functools.reduce(F.maximum, [x, x * 2, x - 1]), functools.reduce(operator.add, map(F.sum, [x, x])),
        star(x), star(x, 0.5), star(x, slope=.7), compose(F.leaky_relu, F.softmax, F.tanh)(x),
        (F.leaky_relu or None)(x), [F.softmax][0](x), {'k': F.leaky_relu}['k'](x), (lambda g=F.leaky_relu: g(x))(),
        f(x), f(slope=.1, x=x), a(x, axis=0), b(x), b(x, axis=0), *[g(x) for g in grown],
        *[g(x) for g in (F.softmax, F.leaky_relu)], Base.pooling(image, 2), getattr(common, 'DEFAULT')(x),
        apply(F.concat, (x, x)), apply(F.split_axis, x, 2, axis=0)[1], apply(F.transpose, x), apply(F.repeat, x, 2),
        apply(F.squeeze, x[:, :1]), apply(F.average_pooling_2d, image, 2, stride=1), apply(F.sum, x, axis=(0, 1)),
        apply(F.argmax, x, axis=1), apply(F.dropout, x, ratio=0.), apply(F.matmul, x, x, transb=True),
    ]

def identities():
    return [F.leaky_relu is leaky, common.ACTIVATIONS['leaky'] is DEFAULT, F.softmax == Base.table['a'],
            F.average is F.mean, F.relu is F.elu, leaky in (F.relu, F.leaky_relu), {F.leaky_relu: 1}[leaky]]

def names():
    return [f.__name__ for f in (leaky, DEFAULT, Sub(F.tanh).f, Sub(F.softmax).f, choose('relu'))]
"""


def _program(codes: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> dict:
    common = types.ModuleType("common")
    monkeypatch.setitem(__import__("sys").modules, "common", common)
    exec(compile(codes["common.py"], "common.py", "exec"), common.__dict__)
    main: dict = {"__name__": "main"}
    exec(compile(codes["main.py"], "main.py", "exec"), main)
    return main


def test_what_they_compute(monkeypatch):
    sources = {"common.py": COMMON, "main.py": MAIN}
    results = migrate_sources(sources)
    assert {site.state for result in results.values() for site in result.sites} == {"exact"}
    both_sides.both("")  # the helpers can be imported
    original = _program(sources, monkeypatch)
    rng = np.random.RandomState(0)
    x, image = rng.randn(4, 3).astype("f"), rng.randn(2, 3, 7, 8).astype("f")
    expected = original["values"](chainer.Variable(x), chainer.Variable(image))
    facts = original["identities"](), original["names"]()
    migrated = _program({name: result.code for name, result in results.items()}, monkeypatch)
    actual = migrated["values"](torch.tensor(x), torch.tensor(image))
    for number, (theirs, ours) in enumerate(zip(expected, actual, strict=True)):
        np.testing.assert_allclose(ours.numpy(), theirs.array, rtol=1e-5, atol=1e-6, err_msg=f"value {number}")
    assert (migrated["identities"](), migrated["names"]()) == facts


@pytest.mark.parametrize(
    "line",
    [
        "f = F.__dict__[name]",
        "f = F.leaky_relu.__name__",
        "f = F.leaky_relu.__call__",
    ],
)
def test_what_nobody_can_tell_is_left_to_a_person(line):
    code = f"import chainer.functions as F\n\ndef g(name, apply):\n    {line}\n"
    result = migrate_sources({"a.py": code})["a.py"]
    assert [site.state for site in result.sites] == ["manual"]
    assert "import chainer.functions as F" in result.code and line in result.code


@pytest.mark.parametrize(
    "before, after",
    [
        ("f = getattr(F, name)", "f = getattr(compat.FunctionsByName, name)"),
        ("f = getattr(F, name, None)", "f = getattr(compat.FunctionsByName, name, None)"),
        ("f = vars(F)[name]", "f = vars(compat.FunctionsByName)[name]"),
        ("apply(F)", "apply(compat.FunctionsByName)"),
        ("modules = {'F': F}", "modules = {'F': compat.FunctionsByName}"),
    ],
)
def test_the_module_as_a_value_has_the_activation_functions(before, after):
    code = f"import chainer.functions as F\n\ndef g(name, apply):\n    {before}\n"
    result = migrate_sources({"a.py": code})["a.py"]
    assert [site.state for site in result.sites] == ["review"]
    assert result.code.endswith(f"    {after}\n")
