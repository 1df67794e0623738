"""A port written by hand: its names are found, and each classic mistake is caught and located."""

import re
from pathlib import Path

import pytest

from chainer2torch.verify.models.verify_models import verify_models
from chainer2torch.verify.judge.outcome import FAILED
from tests.support.model_batch import module_of, verify

FIXTURE = Path(__file__).resolve().parents[2] / "fixtures" / "hand_port"
PORT = (FIXTURE / "port" / "net.py").read_text()
DIGITS = ("Digits", [10], {"x": "f32[4,1,11,11]"})
TAGGER = ("Tagger", [12, 6, 5], {"words": "i32[3,4]<3", "tags": "i32[12] in [-1,5)"})
FIRST = "first diverging link: "
OWN = r"the model's own is not: the difference comes after /out \(m_\w+\.py:\d+\)"
MISTAKES = {
    "slope": (DIGITS, FIRST + "/conv2"),
    "eps": (DIGITS, FIRST + "/bn1"),
    "momentum": (DIGITS, "bn1/avg_mean"),
    "ceil mode": (DIGITS, FIRST + '/conv2(.|\\n)*m_ceil_mode.py", line 3\\d, in forward'),
    "padding": (DIGITS, FIRST + "/conv3"),
    "last axis": (DIGITS, r"of the original: fc/b 16, fc/W 16x150; of the port: dense\.W 16x5"),
    "swapped layers": (DIGITS, FIRST + "/conv2"),
    "flatten": (DIGITS, FIRST + "/fc"),
    "train mode": (DIGITS, FIRST + "/out"),
    "transposed": (DIGITS, FIRST + "/out"),
    "softmax axis": (DIGITS, OWN),
    "padding index": (TAGGER, "only in the backward pass(.|\n)*pgrad/model/embed/W"),
    "gates in blocks": (TAGGER, FIRST + "/out"),
    "swapped gates": (TAGGER, FIRST + "/out"),
    "detached": (TAGGER, "only in the backward pass"),
    "ignored label": (TAGGER, OWN),
    "reduction": (TAGGER, OWN),
}


def test_the_port_is_equal_and_its_names_are_said():
    report = verify_models(FIXTURE / "original", FIXTURE / "port", timeout=200, steps=2)
    text = "\n".join(report.lines())
    assert report.exit_code == 0 and report.compared == 8, text
    for line in (
        "net:Digits: names: mix/W = mixing.T, by the table",
        "net:Digits: names: conv1 = entry.0, by shape",
        "net:Digits: names: conv2 = first, by order of use",
        "net:Tagger: names: lstm/upward = from_input, by shape",
    ):
        assert line in text.splitlines()


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    assert 'MISTAKE = ""' in PORT and set(re.findall(r'MISTAKE [!=]= "([a-z ]+)"', PORT)) == set(MISTAKES)
    table = "".join(
        f'[tool.chainer2torch.verify.names."{module_of(name)}:Digits"]\n"mix/W" = "mixing.T"\n' for name in MISTAKES
    )
    # Without it, a port that uses layers of one shape in another order is proposed the mapping that makes it equal.
    swapped = f'[tool.chainer2torch.verify.names."{module_of("swapped layers")}:Digits"]\n'
    table = table.replace(swapped, swapped + 'conv2 = "first"\nconv3 = "second"\n')
    return verify(
        tmp_path_factory.mktemp("port"),
        (FIXTURE / "original" / "net.py").read_text(),
        {name: PORT.replace('MISTAKE = ""', f'MISTAKE = "{name}"') for name in MISTAKES},
        {name: entry for name, (entry, _) in MISTAKES.items()},
        pyproject=table,
    )


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_caught_and_located(results, name):
    status, text = results[name]
    assert status == FAILED
    assert re.search(MISTAKES[name][1], text), text
    assert FIRST not in text or module_of(name) + ".py:" in text


TINY = """
import chainer
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__()
        with self.init_scope():
            self.a = L.Linear(4, 4)
            self.b = L.Linear(4, 4)
            self.c = L.Linear(4, 3)

    def forward(self, x):
        return self.c(self.b(self.a(x)))
"""
TINY_PORT = """
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.two = nn.Linear(4, 4)
        self.one = nn.Linear(4, 4)
        self.c = nn.Linear(4, 3)

    def forward(self, x):
        return self.c(self.two(self.one(x)))
"""
# variant: (port, table, what the report says; None: equal)
TABLES = {
    "order of use": (TINY_PORT, "", "a = one, by order of use"),
    "a table": (TINY_PORT, 'a = "one"\nb = "two"', "a = one, by the table"),
    "a wrong table": (TINY_PORT, 'a = "two"', FIRST + "/"),
    "a key": (TINY_PORT, '"a/W" = "one.weight"\n"a/b" = "one.bias"', "a/W = one.weight, by the table"),
    "transposed": (
        TINY_PORT.replace("self.one(x)", "(x @ self.one.weight + self.one.bias)"),
        '"a/W" = "one.weight.T"\n"a/b" = "one.bias"',
        "a/W = one.weight.T, by the table",
    ),
    "no such module": (TINY_PORT, 'a = "three"', 'names: a = "three": the port has no module of this name'),
    "no such parameter": (TINY_PORT, '"a/W" = "one.kernel"', "the port has no parameter of this name"),
    "another shape": (TINY_PORT, 'a = "c"', "b 4, W 4x4 and W 3x4, b 3"),
    "one too few": (
        TINY_PORT.replace("self.one = nn.Linear(4, 4)", "self.one = nn.Identity()"),
        "",
        "of the original: b/b 4, b/W 4x4; of the port: nothing",
    ),
    "one too many": (
        TINY_PORT.replace("        self.c =", "        self.more = nn.Linear(2, 2)\n        self.c ="),
        "",
        "of the original: nothing; of the port: more.W 2x2",
    ),
}
EQUAL = {"order of use", "a table", "a key", "transposed"}


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    text = "".join(
        f'[tool.chainer2torch.verify.names."{module_of(name)}:Net"]\n{table}\n'
        for name, (_, table, _) in TABLES.items()
        if table
    )
    return verify(
        tmp_path_factory.mktemp("tables"),
        TINY,
        {name: port for name, (port, _, _) in TABLES.items()},
        {None: ("Net", [], {"x": "f32[5,4]"})},
        pyproject=text,
        modes=["train"],
    )


@pytest.mark.parametrize("name", TABLES)
def test_tables_and_proposals(tables, name):
    status, text = tables[name]
    assert (status != FAILED) == (name in EQUAL), text
    assert TABLES[name][2] in text
