"""Classes that need names which only their script would make: data, sizes that follow from data, flags."""

import ast

import pytest

from chainer2torch.verify.judge.outcome import PASSED
from chainer2torch.verify.models.verify_models import verify_models
from chainer2torch.verify.models import tables
from chainer2torch.verify.worker import model_text, search_globals, search_parts
from tests.support import model_batch

CONSTANTS = """
import no_such_environment

env = no_such_environment.make('one')
n_in = env.shape[0]
n_actions = env.space.n
n_state = n_in * 2
n_all = n_state if env is None else n_state
n_memory = n_state
"""
STAR = """
import chainer
import chainer.links as L
from constants import *


class Starred(chainer.Chain):
    def __init__(self):
        super().__init__(a=L.Linear(n_in, n_memory), b=L.Linear(n_state, n_actions))

    def __call__(self, x):
        return self.b(self.a(x))
"""
NET = """
import chainer
import chainer.functions as F
import chainer.links as L
from chainer import Variable

table = open('/no/such/file').read()
n_words = len(table.split())
sizes = [n_words, 16, len(set(table))]
train, test = chainer.datasets.split_dataset(list(table), 10)


class Words(chainer.Chain):
    def __init__(self):
        super().__init__(embed=L.EmbedID(n_words, 4), out=L.Linear(4, n_words))

    def __call__(self, x):
        return self.out(self.embed(x))


class Deep(chainer.Chain):
    def __init__(self):
        super().__init__(a=L.Linear(sizes[0], sizes[1]), b=L.Linear(sizes[1], sizes[2]))

    def __call__(self, x):
        return self.b(F.relu(self.a(x)))


class Noisy(chainer.Chain):
    def __init__(self):
        super().__init__(a=L.Linear(6, 5))

    def __call__(self, x):
        h = self.a(x)
        return F.dropout(h, 0.4) if train else h


class Hidden(chainer.Chain):
    def __init__(self):
        super().__init__(a=L.Linear(6, n_units), b=L.Linear(n_units, 2))

    def __call__(self, x):
        return self.b(F.tanh(self.a(x)))


class Old(chainer.Chain):
    def __init__(self):
        super().__init__(conv=L.Convolution2D(1, 4, 5), fc=L.Linear(576, 3))

    def forward(self, x_data, y_data):
        x, t = Variable(x_data), Variable(y_data)
        h = F.max_pooling_2d(F.relu(self.conv(x)), 2)
        return F.softmax_cross_entropy(self.fc(h), t)


class Pair(chainer.Chain):
    def __init__(self, latent_dim):
        super().__init__(a=L.Linear(12, 5), b=L.Linear(latent_dim, 5))

    def __call__(self, pair):
        x = pair[0]
        z = pair[1]
        return F.relu(self.a(F.reshape(x, (-1, 12)))) + self.b(z)


class Lost(chainer.Chain):
    def __init__(self):
        super().__init__(a=L.Linear(6, n_never))

    def __call__(self, x):
        return self.a(x)


if __name__ == '__main__':
    n_units = 12
    for epoch in range(3):
        print(Hidden(), epoch)
"""


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    root = tmp_path_factory.mktemp("supplied")
    (root / "src").mkdir()
    for name, text in {"net": NET, "constants": CONSTANTS, "star": STAR}.items():
        (root / "src" / f"{name}.py").write_text(text)
    return root / "src", model_batch.migrated_tree(root / "src", root / "out")


@pytest.fixture(scope="module")
def report(trees):
    return verify_models(*trees, steps=1, timeout=300)


@pytest.mark.parametrize(
    "name, said",
    [
        ("Words", "Words() after n_words = 8 of"),
        ("Deep", "Deep() after sizes = [8, 16, 8] of"),
        ("Noisy", "Noisy() after train = True of"),
        ("Hidden", "Hidden() after n_units = 12 of"),
        ("Old", "Old() of f32[4,1,"),
        ("Pair", "Pair("),
    ],
)
def test_what_only_the_script_makes_is_given(report, name, said):
    outcomes = [outcome for outcome in report.outcomes if outcome.pair.row == f"net:{name}"]
    assert [(o.status, o.reasons) for o in outcomes] == [(PASSED, [])] * 4, [str(what) for what in report.left]
    assert any(said in note for outcome in outcomes for note in outcome.notes)


def test_what_is_imported_with_a_star_is_given_where_it_is_used(report):
    outcomes = [outcome for outcome in report.outcomes if outcome.pair.row == "star:Starred"]
    assert [(o.status, o.reasons) for o in outcomes] == [(PASSED, [])] * 4, [str(what) for what in report.left]
    notes = "\n".join(note for outcome in outcomes for note in outcome.notes)
    assert (
        all(f"{said}," in notes for said in ("n_actions = 8", "n_in = 8", "n_memory = 16")) and "n_state = 16" in notes
    )


def test_a_name_that_nothing_binds_is_the_reason(report):
    (left,) = [what for what in report.left if what.target == "net:Lost"]
    assert "name 'n_never' is not defined" in left.why


@pytest.mark.parametrize(
    "cls, right, wrong",
    [
        ("Noisy", "if train else", "if not train else"),
        ("Hidden", "torch.tanh(", "torch.sigmoid("),
        ("Old", "self.conv(x)), 2,", "self.conv(x)), 2, padding=1,"),
        ("Pair", "+ self.b(", "- self.b("),
    ],
)
def test_planted_faults_are_not_proved(trees, tmp_path, cls, right, wrong):
    src, out = trees
    bad = tmp_path / "bad"
    bad.mkdir()
    for path in out.glob("*.py"):
        (bad / path.name).write_text(path.read_text())
    text = (bad / "net.py").read_text()
    changed = text.replace(right, wrong)
    assert changed != text, text
    (bad / "net.py").write_text(changed)
    found = verify_models(src, bad, [cls], steps=1, timeout=300)
    assert found.outcomes and found.proved == 0


@pytest.mark.parametrize(
    "text, value",
    [
        ("12", "12"),
        ("'relu'", "'relu'"),
        ("[n, 800, len(names)]", "[8, 800, 8]"),
        ("(n, 2)", "(8, 2,)"),
        ("max(lengths) + 1", "9"),
        ("n * 4", "32"),
        ("2 * n if deep else n", "16"),
        ("names + ['a']", ""),
        ("x_train.shape[1]", "8"),
        ("parser.parse_args()", "types.SimpleNamespace()"),
        ("load(path)", ""),
        ("names", ""),
    ],
)
def test_an_expression_that_cannot_be_computed(text, value):
    assert search_globals.guess(ast.parse(text, mode="eval").body) == value


def test_what_is_taken_apart_is_given_as_several():
    cls = ast.parse(
        "class A:\n"
        "    def pair(self, x, t):\n        return x[0] + x[1] + t[0]\n"
        "    def unpacked(self, x):\n        a, b, c = x\n        return a\n"
        "    def rows(self, x):\n        return x[0] + x[1] + len(x)\n"
        "    def last(self, x):\n        return x[-1] + x[1]\n"
        "    def state(self, s):\n        return s['c'] + s['h']\n"
    ).body[0]
    found = {
        method.name: {a.arg: list(tables._keys(method, a.arg)) for a in method.args.args[1:]} for method in cls.body
    }
    assert found == {
        "pair": {"x": ["0", "1"], "t": []},
        "unpacked": {"x": ["0", "1", "2"]},
        "rows": {"x": []},
        "last": {"x": []},
        "state": {"s": ["c", "h"]},
    }
    assert model_text.call_of("step", ["x[0]", "x[1]", "t"]) == "model.step([x0, x1], x2)"
    ways = [list(reading(["x", "t"])) for reading in search_parts.readings({"forward": {"x": ["0", "1"]}}, "")]
    assert ways == [["x[0]", "x[1]", "t"], ["x", "t"]]


def test_a_value_goes_to_its_own_module_alone(tmp_path, monkeypatch):
    for folder in ("a", "b/a"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "__init__.py").write_text("")
        (tmp_path / folder / "net_of_two.py").write_text("size = 3\n\n\ndef make():\n    return size\n")
    (tmp_path / "b" / "__init__.py").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    namespace = {}
    text = model_text.text("a.net_of_two:make", "", "", [], started=["a/net_of_two.py: size = 5"])
    exec(f"import b.a.net_of_two\n{text}", namespace)
    assert namespace["model"] == 5 and namespace["importlib"].import_module("b.a.net_of_two").size == 3
