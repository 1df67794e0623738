"""Classes that compute with what the scripts set first, that mix dtypes, or whose labels nobody names."""

import ast
import collections

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
import pytest

from chainer2torch.verify.judge.outcome import FAILED, PASSED
from chainer2torch.verify.models import trials
from chainer2torch.verify.models.preloaded import slow_imports
from chainer2torch.verify.models.script_state import _setters
from chainer2torch.verify.models.verify_models import verify_models
from chainer2torch.verify.worker import (
    attempt_values,
    chainer_trials,
    model_text,
    search_areas,
    search_parts,
    search_shapes,
)
from tests.support import model_batch

ARRAYS = """
import numpy
from chainer import Variable, cuda


class Lib:
    __lib = None

    @staticmethod
    def choose(args):
        if args.gpu >= 0:
            Lib.__lib = cuda.cupy
            cuda.get_device(args.gpu).use()
        else:
            Lib.__lib = numpy

    @staticmethod
    def zeros(shape):
        return Variable(Lib.__lib.zeros(shape, dtype=Lib.__lib.float32))
"""

NET = """
import chainer
import chainer.functions as F
import chainer.links as L
from tools.arrays import Lib


class Cell(chainer.Chain):
    def __init__(self, n_units):
        super().__init__(a=L.Linear(8, n_units), b=L.Linear(n_units, n_units))
        self.n_units = n_units

    def __call__(self, x):
        h = Lib.zeros((x.shape[0], self.n_units))
        return F.tanh(self.a(x) + self.b(h))


class Joined(chainer.Chain):
    def __init__(self):
        super().__init__(fc=L.Linear(11, 4))

    def __call__(self, x):
        zeros = self.xp.zeros((x.shape[0], 3), dtype='f')
        return F.maximum(self.fc(F.concat([x, zeros])), self.xp.zeros((x.shape[0], 4), dtype='f'))


class Body(chainer.Chain):
    def __init__(self):
        super().__init__(fc=L.Linear(8, 3))

    def __call__(self, x):
        return self.fc(x)

    def penalty(self):
        return F.sum(self.fc.W ** 2)


class Judge(L.Classifier):
    def __call__(self, x, t):
        return super().__call__(x, t) + 0.1 * self.predictor.penalty()


class Words(chainer.Chain):
    def __init__(self, loss_func):
        super().__init__(embed=L.EmbedID(8, 5), loss_func=loss_func)

    def __call__(self, x, context):
        return self.loss_func(self.embed(context), x)


class Steps(chainer.Chain):
    def __init__(self, n_vocab, n_units, batch_size):
        super().__init__(embed=L.EmbedID(n_vocab, n_units), x=L.Linear(n_units, 4 * n_units),
                         h=L.Linear(n_units, 4 * n_units), out=L.Linear(n_units, n_vocab))
        self.zeros = self.xp.zeros((batch_size, 1), 'f')

    def one_step(self, x, t, state):
        c, h = F.lstm(state['c1'], self.x(self.embed(x)) + self.h(state['h1']))
        y = self.out(h) + F.broadcast_to(self.zeros, (len(self.zeros), self.out.W.shape[0]))
        return {'c1': c, 'h1': h}, F.softmax_cross_entropy(y, t)


class Loss(chainer.Chain):
    def __init__(self):
        super().__init__(fc=L.Linear(5, 8))

    def __call__(self, h, t):
        return F.softmax_cross_entropy(self.fc(h), t)
"""

SCRIPT = """
import argparse

from net import Body, Judge, Loss, Steps, Words
from tools.arrays import Lib

parser = argparse.ArgumentParser()
parser.add_argument('--gpu', type=int, default=0)
args = parser.parse_args()
if __name__ == '__main__':
    Lib.choose(args)
    judge, words, steps = Judge(Body()), Words(Loss()), Steps(50, 512, 20)
"""


def _tree(root):
    for name, text in {"tools/__init__.py": "", "tools/arrays.py": ARRAYS, "net.py": NET, "train.py": SCRIPT}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    root = tmp_path_factory.mktemp("globals")
    src = _tree(root / "src")
    return src, model_batch.migrated_tree(src, root / "out")


@pytest.fixture(scope="module")
def report(trees):
    return verify_models(*trees, steps=1, timeout=300)


@pytest.mark.parametrize("name", ["Cell", "Joined", "Body", "Judge", "Words", "Loss", "Steps"])
def test_each_class_is_proved_in_both_dtypes(report, name):
    outcomes = [outcome for outcome in report.outcomes if outcome.pair.row == f"net:{name}"]
    assert [(o.status, o.reasons) for o in outcomes] == [(PASSED, [])] * 4, [str(what) for what in report.left]
    notes = "\n".join(note for outcome in outcomes for note in outcome.notes)
    assert ("arrays of float32 that the program makes" in notes) == (name in ("Cell", "Joined", "Steps"))


def test_the_report_says_what_went_first(report):
    notes = [note for o in report.outcomes if o.pair.row == "net:Cell" for note in o.notes]
    assert any("Cell(8) after Lib.choose(types.SimpleNamespace(gpu=-1)) of" in note for note in notes), notes


@pytest.mark.parametrize(
    "cls, right, wrong",
    [
        ("Cell", "Lib.zeros((x.shape[0], self.n_units))", "Lib.zeros((x.shape[0], self.n_units)) + 1e-4"),
        ("Joined", "return torch.maximum(", "return 1e-4 + torch.maximum("),
        ("Steps", "['h1'])", "['c1'])"),
        ("Judge", "0.1 * self.predictor.penalty()", "0.1001 * self.predictor.penalty()"),
    ],
)
def test_planted_faults_are_not_proved(trees, tmp_path, cls, right, wrong):
    src, out = trees
    bad = tmp_path / "bad"
    for path in out.rglob("*.py"):
        place = bad / path.relative_to(out)
        place.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text()
        if path.name == "net.py":
            changed = text.replace(right, wrong).replace(
                right.replace("torch.maximum", "compat.maximum"), wrong.replace("torch.maximum", "compat.maximum")
            )
            assert changed != text, text
            text = changed
        place.write_text(text)
    found = verify_models(src, bad, [cls], steps=1, timeout=300)
    assert found.outcomes and found.proved == 0
    assert cls not in ("Judge", "Steps") or any(outcome.status == FAILED for outcome in found.outcomes)


@pytest.mark.parametrize(
    "text, calls",
    [
        ("def use(gpu):\n    global xp\n    xp = cuda.cupy if gpu >= 0 else np", ["use(-1)"]),
        ("def use(use_gpu, gpu_id=0):\n    global xp\n    xp = cp if use_gpu else np", ["use(False)"]),
        (
            "class X:\n    lib = None\n    @classmethod\n    def set(cls, o):\n        cls.lib = cp if o.gpu else np",
            ["X.set(types.SimpleNamespace(gpu=-1))"],
        ),
        # it trains, keeps no array module, asks for what nobody knows, or belongs to an object
        ("def main(gpu):\n    global xp\n    xp = np\n    for n in range(3):\n        train(n)", []),
        ("def use(gpu):\n    global size\n    size = gpu", []),
        ("def use(path):\n    global xp\n    xp = np if path else cp", []),
        ("class X:\n    def set(self, gpu):\n        X.lib = np", []),
        ("def use(gpu):\n    xp = np", []),
    ],
)
def test_functions_that_choose_the_array_module_are_read(text, calls):
    assert [call for _, call in _setters(ast.parse(text))] == calls


def test_the_text_starts_in_each_module_that_has_the_name():
    text = model_text.text("net:Cell", "", "", ["x"], started=["a/util.py: Lib.choose(types.SimpleNamespace(gpu=-1))"])
    assert text.index("import types") < text.index("Lib.choose") < text.index("model = ")
    assert "endswith('/a/util.py') and hasattr(_module, 'Lib')" in text
    assert model_text.text("net:Cell", "", "", ["x"]).count("sys") == 0


def test_tables_are_called_with_what_they_have():
    names = search_parts.with_tables(["x", "state"], {"step": {"state": ["c", "h"]}}, "step")
    assert names == ["x", "state[c]", "state[h]"]
    assert model_text.call_of("step", names) == "model.step(x0, {'c': x1, 'h': x2})"
    assert model_text.call_of("step", ["x", "t"]) == ""
    assert search_parts.with_tables(["x", "s"], {"forward": {"s": ["a"]}}, "") == ["x", "s[a]"]
    assert model_text.call_of("", ["s[a]", "x"]) == "model({'a': x0}, x1)"


def test_words_one_by_one_where_their_rows_were_flattened():
    rows = {"dtype": "int32", "shape": [4, 5], "below": 5}
    found = [inputs for inputs, _ in search_shapes.without_axis({"x": rows, "t": rows}, {}, 40, 8)]
    assert [[spec["shape"] for spec in inputs.values()] for inputs in found] == [
        [[4], [4, 5]],
        [[4, 5], [4]],
        [[4], [4]],
    ]
    assert not list(search_shapes.without_axis({"x": rows}, {}, 48, 8))


def test_inputs_of_floats_are_no_labels():
    place = attempt_values.Place()
    function = F.loss.softmax_cross_entropy.SoftmaxCrossEntropy
    whole = function.apply
    try:
        place.labels_are_integers()
        given = place.given({"t": {"dtype": "float32", "shape": [4, 8], "below": 0}})
        y = chainer.Variable(np.ones((4, 8), np.float32))
        with pytest.raises(TypeError, match="of integer|only integers"):
            F.softmax_cross_entropy(y, given["t"])
        assert F.softmax_cross_entropy(y, np.zeros(4, np.int32)).shape == ()
        assert F.softmax_cross_entropy(y, F.softmax(given["t"])).shape == ()  # what the program makes of it
    finally:
        function.apply = whole


def test_few_examples_only_where_nothing_normalizes():
    image = {"dtype": "float32", "shape": [4, 3, 16, 16], "below": 0}
    label = {"dtype": "int32", "shape": [4], "below": 2}
    fewer = search_areas.two_examples(collections.OrderedDict(x0=image, x1=label))
    assert [spec["shape"][0] for spec in fewer.values()] == [2, 2]
    for other in ({"x0": image, "x1": dict(label, shape=[5])}, {"x0": [label]}, {"x0": dict(image, shape=[])}, {}):
        assert search_areas.two_examples(other) is None
    source = "import chainer.links as L\nmodel = L.{}\n\ndef run(x0):\n    return model(x0)\n"
    place = attempt_values.Place()
    for layer, normalizes in (("BatchNormalization(3)", True), ("Convolution2D(3, 2, 3)", False)):
        assert chainer_trials._normalizes(source.format(layer), {"x0": image}, place) is normalizes
    assert L.BatchNormalization  # the text above is run with Chainer's own


@pytest.mark.parametrize(
    "kind, message, why",
    [
        (
            "NotRun",
            "fast of a/__init__.py:1 is needed: ImportError: cannot import name 'fast' from 'a' (a.py)",
            "a/fast.pyx",
        ),
        ("ModuleNotFoundError", "No module named 'a.fast'", "a/fast.pyx"),
        ("ModuleNotFoundError", "No module named 'a.other'", "lacks a package"),
        ("AttributeError", "module 'numpy' has no attribute 'cuda'", "it runs on a GPU only"),
    ],
)
def test_reasons_say_what_a_person_can_do(monkeypatch, tmp_path, kind, message, why):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "fast.pyx").write_text("")
    record = {"status": "error", "type": kind, "phase": "build", "message": message, "tried": 1}
    monkeypatch.setattr(trials, "_tried", lambda *args, **kwargs: {"m0": record})
    hints = {"is_first_version": False, "started": [], "recipes": []}
    _, (left,) = trials.choose([], [trials.Left("net:Net", "", hints=hints)], tmp_path, tmp_path)
    assert why in left.why and (left.package == "a.other") == ("other" in message), left


def test_slow_imports_are_those_of_the_tree(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.py").write_text("import pytorch_pfn_extras as ppe\nfrom scipy.stats import norm\nimport cv2\n")
    assert slow_imports(tmp_path) == ["pytorch_pfn_extras", "scipy", "cv2"]
    (tmp_path / "scipy.py").write_text("")
    assert slow_imports(tmp_path) == ["pytorch_pfn_extras", "cv2"]
