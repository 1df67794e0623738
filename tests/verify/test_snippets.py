"""Snippets from examples: the module text, the call matrix, the emitted text read back, inputs from their words."""

import dataclasses
import types

import numpy as np
import pytest

from chainer2torch.rules.signature import Signature
from chainer2torch.verify.rules import given, snippets
from chainer2torch.verify.worker import wire
from chainer2torch.rules.row import Example, row_of
from chainer2torch.rules.table import Rules
from chainer2torch.verify.rules.callmatrix import Variant, variants
from chainer2torch.verify.judge.compare import compare_moments
from chainer2torch.verify.judge.outcome import FAILED, PASSED, UNVERIFIED
from chainer2torch.verify.rules.verify_rules import verify_rules

NAME = "chainer.functions.leaky_relu"
SIGNATURE = Signature.parse("(x, slope=0.2)")


def _texts(before, signature=SIGNATURE, name=NAME, setup="", names=("x",)):
    return {v.label: (v.before if not setup else v.setup) for v in variants(name, signature, setup, before, names)}


def test_call_matrix_of_a_function():
    assert _texts("F.leaky_relu(x, slope=0.1)") == {
        "as written": "F.leaky_relu(x, slope=0.1)",
        "positional": "F.leaky_relu(x, 0.1)",
        "shuffled keywords": "F.leaky_relu(slope=0.1, x=x)",
        "defaults left out": "F.leaky_relu(x=x, slope=0.1)",
        "values in variables": "F.leaky_relu(x, slope=slope_)",
    }


def test_call_matrix_fills_defaults():
    texts = _texts("F.leaky_relu(x)")
    assert texts["defaults written out"] == "F.leaky_relu(x, slope=0.2)"
    assert _texts("F.leaky_relu(x, 0.2)")["defaults left out"] == "F.leaky_relu(x=x)"
    sig = Signature.parse("(x, a=1, b=2, *, c=3)")
    assert _texts("F.leaky_relu(x, b=5, c=4)", sig)["positional"] == "F.leaky_relu(x, 1, 5, c=4)"


def test_call_matrix_of_a_method_and_of_a_link():
    sig = Signature.parse("(self, axis=None)")
    assert _texts("x.sum(1) + 1", sig, "chainer.Variable.sum")["by keyword"] == "x.sum(axis=1) + 1"
    sig = Signature.parse("(in_size, out_size=None, nobias=False)")
    texts = _texts("layer(x)", sig, "chainer.links.Linear", "layer = L.Linear(3, 4)")
    assert texts["shuffled keywords"] == "layer = L.Linear(out_size=4, in_size=3)"
    assert texts["defaults written out"] == "layer = L.Linear(3, out_size=4, nobias=False)"


def test_call_matrix_leaves_alone_what_it_does_not_know():
    assert list(_texts("F.relu(x)")) == ["as written"]
    assert list(_texts("F.leaky_relu(*[x])")) == ["as written"]
    assert list(_texts("F.leaky_relu(x, 1, 2, 3)")) == ["as written"]


def test_build_makes_a_module():
    text = snippets.build(Variant("", "layer = L.Linear(3, 4)", "h = layer(x)\nF.relu(h)"), {"x": "f32[2,3]"})
    assert text.endswith("layer = L.Linear(3, 4)\n\n\ndef run(x):\n    h = layer(x)\n    return F.relu(h)\n")
    inside = snippets.build(Variant("", "n = x.shape[0]", "x / n"), {"x": "f32[2,3]"})
    assert inside.endswith("def run(x):\n    n = x.shape[0]\n    return x / n\n")


def test_emitted_text():
    code = "import torch\n\n\ndef run(x):\n    # why\n    y = x + 1\n    return torch.foo(\n        y)\n"
    assert snippets.emitted(code) == "y = x + 1\ntorch.foo(\n    y)"


@pytest.mark.parametrize(
    "text, dtype, shape, low, high",
    [
        ("f32[3,4]", "float32", (3, 4), None, None),
        ("f32[]>0", "float32", (), 0, None),
        ("f32[200] in (-1,1)", "float32", (200,), -1, 1),
        ("i32[500]<4", "int32", (500,), 0, 3),
        ("i32[500] in [-1,3)", "int32", (500,), -1, 2),
        ("i64[500] in [2,3]", "int64", (500,), 2, 3),
        ("bool[9]", "bool", (9,), 0, 1),
    ],
)
def test_given(text, dtype, shape, low, high):
    array = given.parse(text).draw(np.random.RandomState(0))
    assert (array.dtype, array.shape) == (dtype, shape)
    assert low is None or array.min() >= low
    assert high is None or array.max() <= high
    if array.dtype.kind == "i":
        assert (array.min(), array.max()) == (low, high)


@pytest.mark.parametrize("text", ["f32", "g32[3]", "f32[3,x]", "f32[3] > one", "3", ""])
def test_given_that_is_wrong(text):
    with pytest.raises(given.GivenError):
        given.parse(text)


def test_given_literals_and_nesting():
    arrays = {}
    spec = given.draw({"a": "=(1, [2])", "xs": ["f32[2]", "f32[3]"], "n": 3}, "seed", "float64", arrays, "p")
    assert spec == {"a": {"tuple": [1, [2]]}, "xs": [{"array": "p/xs/0"}, {"array": "p/xs/1"}], "n": 3}
    assert {k: (v.dtype, v.shape) for k, v in arrays.items()} == {
        "p/xs/0": ("float64", (2,)),
        "p/xs/1": ("float64", (3,)),
    }


def _row(name, before, after=None, signature=None, state="exact", **options):
    """A row without templates: what migrates is the test's own."""
    example = Example({"x": "f32[3,4]"}, before, {**options, **({"after": after} if after else {})})
    row = row_of(f"chainer.functions.{name}", "test.toml", {"state": state}, [])
    return dataclasses.replace(row, signature=signature, examples=(example,))


def _migrator(table, left=()):
    """Stands for the engine: replaces texts, and leaves what is in ``left``."""

    def migrate_source(text, path=None, *, rules=None, hints=None, options=None):
        sites = [types.SimpleNamespace(symbol=s, state="manual", message="why", code="") for s in left if s in text]
        for before, after in table.items():
            text = text.replace(before, after)
        for line in ("import chainer\n", "import chainer.functions as F\n", "import chainer.links as L\n"):
            text = text.replace(line, "")
        code = "import torch\nimport torch.nn.functional as F\n" + text
        return types.SimpleNamespace(code=code, sites=sites, error=None)

    return migrate_source


def test_verify_rules(tmp_path):
    rules = Rules(
        {
            row.name: row
            for row in [
                _row("relu", "F.relu(x)", "F.relu(x)", Signature.parse("(x)")),
                _row("leaky_relu", "F.leaky_relu(x)", None, SIGNATURE),
                _row("softmax", "F.softmax(x)", "F.softmax(x, 1)"),
                _row("elu", "F.elu(x)"),
                _row("selu", "F.selu(x)", state="manual"),
            ]
        },
        {},
    )
    migrate_source = _migrator({"softmax(x)": "softmax(x, dim=1)", "relu(x=x)": "relu(x)"}, ["F.elu(x)", "F.selu(x)"])
    junit = tmp_path / "junit.xml"
    report = verify_rules(rules=rules, migrate_source=migrate_source, junit=junit, timeout=100)
    rows = {row.row.rsplit(".", 1)[1]: row for row in report.rows()}
    assert rows["relu"].failed == 0 and rows["relu"].passed == 3, report.lines()  # float32, float64, by keyword
    assert rows["leaky_relu"].failed and rows["leaky_relu"].passed == 0
    assert rows["softmax"].failed == 1  # the text is not the one that the example states; the values are equal
    assert (rows["elu"].failed, rows["elu"].passed) == (1, 0)  # an exact row may not be left
    assert (rows["selu"].unverified, rows["selu"].failed) == (2, 0)
    assert report.exit_code == 1
    text = "\n".join(report.lines(verbose=True))
    assert "F.softmax(x, dim=1)" in text and "not verified: chainer.functions.selu" in text
    assert {o.status for o in report.outcomes} == {PASSED, FAILED, UNVERIFIED}
    assert 'classname="chainer.functions.elu"' in junit.read_text()

    only = verify_rules(["relu"], rules=rules, migrate_source=migrate_source, timeout=100)
    assert only.exit_code == 0
    nothing = verify_rules(["selu"], rules=rules, migrate_source=migrate_source, timeout=100)
    assert nothing.exit_code == 1 and "nothing was compared" in "\n".join(nothing.lines())
    with pytest.raises(LookupError, match="no rule is named nothing"):
        verify_rules(["nothing"], rules=rules, migrate_source=migrate_source)


def test_a_random_function_runs_until_its_sample_is_large_enough():
    few, many = [np.zeros(10)] * 20, [np.zeros(10_000)] * 20
    assert wire.is_enough(20, {"out": many})
    assert not wire.is_enough(19, {"out": many})
    assert not wire.is_enough(20, {"out": many, "grad/x/0": few})
    assert wire.is_enough(4_000, {"out": many * 200, "grad/x/0": few * 200})


def test_samples_are_told_apart_by_the_largest_gap_between_their_frequencies():
    rng = np.random.RandomState(0)
    a, b = rng.uniform(-1, 1, 20_000), rng.choice([-1, 1], 20_000) * np.sqrt(rng.uniform(0, 1 / 1.5, 20_000))
    assert compare_moments("x", a, rng.uniform(-1, 1, 20_000)).equal
    assert "distributions differ" in compare_moments("x", a, b / b.std() * a.std()).reason
    assert compare_moments("x", np.repeat([0.0, 1.0], 5_000), np.tile([1.0, 0.0], 5_000)).equal
