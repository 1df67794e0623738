"""Every public link and initializer has a row, with Chainer's signature."""

import inspect

import chainer
import pytest
from chainer import initializers, links

from chainer2torch.rules.table import load_rules

RULES = load_rules()
LINKS = sorted(
    n for n in dir(links) if isinstance(getattr(links, n), type) and issubclass(getattr(links, n), chainer.Link)
)
INITIALIZERS = sorted(
    n
    for n in dir(initializers)
    if isinstance(getattr(initializers, n), type) and issubclass(getattr(initializers, n), chainer.Initializer)
)


def test_there_is_a_row_for_everything():
    assert len(LINKS) == 62 and len(INITIALIZERS) == 16
    assert [n for n in LINKS if f"chainer.links.{n}" not in RULES.rows] == []
    assert [n for n in INITIALIZERS if f"chainer.initializers.{n}" not in RULES.rows] == []


@pytest.mark.parametrize("module,name", [("links", n) for n in LINKS] + [("initializers", n) for n in INITIALIZERS])
def test_signature_is_chainers(module, name):
    parameters = list(inspect.signature(getattr(getattr(chainer, module), name).__init__).parameters.values())[1:]
    real = [p.name for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    row = RULES.rows[f"chainer.{module}.{name}"].signature
    stated = {p.name: p.default for p in parameters if isinstance(p.default, (int, float, str, bool, type(None)))}
    for parameter, default in row.defaults.items():
        if parameter in stated:
            assert eval(default) == stated[parameter], parameter
    assert [n for n in real if n not in row.names] == []


def test_how_many_are_exact():
    states = [RULES.rows[f"chainer.links.{n}"].state for n in LINKS]
    assert states.count("exact") >= 55 and states.count("manual") == 1  # Theano
