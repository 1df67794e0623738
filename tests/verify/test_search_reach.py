"""Classes that a search finds by what the program's own checks say, by lists that belong together, and in functions."""

import chainer
import chainer.functions as F
import numpy as np
import pytest

from chainer2torch.verify.judge.outcome import PASSED
from chainer2torch.verify.models.verify_models import verify_models
from chainer2torch.verify.worker import attempt_values, definitions, search_lists, search_methods, search_parts
from chainer2torch.verify.worker.search_values import ROWS, SENTENCES, WORDS, array
from tests.support import model_batch

PROJECT = """
import chainer
import chainer.functions as F
import chainer.links as L


class Points(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(6, 8, 1)

    def __call__(self, x, places):
        assert x.ndim == 4
        assert x.shape[2] // 2 == places.shape[1], 'no fit'
        bs, ch, n, w = x.shape
        assert w == 1
        x = F.transpose(F.reshape(x, (bs, ch, n // 2, 2)), (0, 1, 3, 2))
        x = F.reshape(self.conv(F.reshape(x, (bs, ch * 2, n // 2, 1))), (bs, 8, n // 2))
        return x[self.xp.arange(bs)[:, None], places]


class Tagger(chainer.Chain):
    def __init__(self, n_vocab, n_tag):
        super().__init__(
            embed=L.EmbedID(n_vocab, 8), rnn=L.NStepLSTM(1, 8, 8, 0.0), out=L.Linear(8, n_tag), crf=L.CRF1d(n_tag))

    def __call__(self, xs, hx, cx, ts):
        ys = self.rnn(hx, cx, [self.embed(x) for x in xs])[2]
        ys = F.transpose_sequence([self.out(y) for y in ys])
        return self.crf(ys, F.transpose_sequence(ts))


class Masks(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.fc = L.Linear(8, 8)

    def __call__(self, x, other=None, mask=None):
        h = self.fc(x)
        mask = self.xp.concatenate([mask] * 2, axis=0)
        return F.where(mask, F.concat([h, h], axis=0), F.concat([-h, h], axis=0))


class Applies(chainer.Chain):
    def __init__(self, ops):
        super().__init__()
        self.ops = ops

    def __call__(self, x):
        return self.ops(x)


class Kernel(chainer.Chain):
    def __init__(self, n_in, n_out, ksize=None):
        super().__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(n_in, n_out, ksize=ksize)

    def __call__(self, x):
        return self.conv(x)


class Kernels(chainer.Chain):
    def __init__(self, size=3):
        super().__init__()
        with self.init_scope():
            self.a = Kernel(3, 4, ksize=1)
            self.b = Kernel(4, 5, ksize=size)

    def __call__(self, x):
        return self.b(self.a(x))


class Pools(chainer.Chain):
    def __init__(self):
        super().__init__(conv=L.Convolution2D(3, 4, 1))

    def __call__(self, x):
        pool = F.MaxPooling2D(2, 2)
        h = pool(self.conv(x))
        size, step = (pool.kh, pool.kw), (pool.sy, pool.sx)
        return F.upsampling_2d(h, pool.indexes, ksize=size, stride=step, outsize=x.shape[2:])


def made(n):
    class Inner(chainer.Chain):
        def __init__(self):
            super(Inner, self).__init__()
            with self.init_scope():
                self.fc = L.Linear(8, 4)

        def __call__(self, x):
            return F.relu(self.fc(x))

    class Bound(chainer.Chain):
        def __call__(self, x):
            return x * n

    return Inner(), Bound()
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    root = tmp_path_factory.mktemp("reach")
    (root / "src").mkdir()
    (root / "src" / "net.py").write_text(PROJECT)
    return verify_models(root / "src", model_batch.migrated_tree(root / "src", root / "out"), steps=1, timeout=300)


@pytest.mark.parametrize(
    "name, note",
    [
        ("Points", "found by trying: Points() of f32[4,3,32,1], i32[4,16]<2"),
        ("Tagger", "found by trying: Tagger(8, 8) of "),
        ("Masks", "found by trying: Masks() of f32[4,8], None, bool["),
        ("Applies", "found by trying: Applies(F.relu) of f32[4,8]"),
        # every call gives it, one by a variable
        ("Kernel", "inferred from the code: Kernel(8, 8, 1) of f32[4,8,32,32]"),
        ("Pools", "inferred from the code: Pools() of f32[4,3,32,32]"),
        ("Inner", "inferred from the code: Inner() of f32[4,8]"),
    ],
)
def test_what_is_found(report, name, note):
    outcomes = [o for o in report.outcomes if o.pair.row == f"net:{name}"]
    assert outcomes and outcomes[0].status == PASSED, report.lines(verbose=True)
    assert report.classes()[f"net:{name}"] == "proved"
    assert any(text.startswith(note) for o in outcomes for text in o.notes), outcomes[0].notes


def test_a_class_that_uses_its_function_says_so(report):
    assert "defined inside of a function, and uses n of that" in report.reason("net:Bound")


def test_classes_of_functions_in_order():
    import ast

    tree = ast.parse("class A(B):\n class C(B): pass\n def f(self):\n  if x:\n   class D(B): pass\n   class E: pass\n")
    assert [node.name for node in definitions.inner_classes(tree.body)] == ["D"]


class _Unlike(Exception):
    expect, actual = "in_types[0].shape[0] >= in_types[1].shape[0]", "4 < 6"


def _lists(inputs, text, error=None):
    return [found for found, _ in search_lists.repaired(inputs, {}, text, error or ValueError())]


def test_lists_that_belong_together():
    label = array("int32", (4,), 2)
    first, *_ = _lists({"xs": SENTENCES, "ts": label}, "", _Unlike())
    assert [item["shape"] for item in first["xs"]] == [[6], [4], [4]]
    assert [item["shape"] for item in first["ts"]] == [[6], [4], [4]] and first["ts"][0]["below"] == 2
    first, *_ = _lists(
        {"xs": WORDS, "ts": label}, "The truth value of an array with more than one element is ambiguous"
    )
    assert [item["shape"] for item in first["ts"]] == [[5]] * 4
    nested = [[array("int32", (3,), 5)] * n for n in (4, 6)]
    assert len(_lists({"xs": nested}, "", _Unlike())[0]["xs"][0]) == 6
    found = _lists({"xs": [array("int32", (2,), 5)]}, "incompatible array types are mixed: <class 'numpy.int32'>")
    assert found == [{"xs": [[array("int32", (3,), 5)] * 2]}]
    assert _lists({"fs": SENTENCES, "n": 4}, "'int' object is not iterable") == [{"fs": SENTENCES, "n": SENTENCES}]


class _Spares:
    def __call__(self, x, h=None, mask=None, ratio=0.5, last=None):
        """Takes any of them."""

    def forward_all(self, *args):
        """Takes any number."""


class _Search:
    spare, any_number = {"": ["h", "mask"]}, ["all"]


class _Attempt:
    arguments, inputs, method = {}, {"x": ROWS}, ""


def test_inputs_that_are_none_by_default():
    assert search_methods.spare(_Spares, "") == ["h", "mask"]
    found = [inputs for inputs, _ in search_parts.inputs_for_none(_Search(), _Attempt(), TypeError("of NoneType"))]
    assert any(list(inputs) == ["x", "h"] for inputs in found)
    assert any(inputs.get("h", 0) is None and inputs["mask"]["dtype"] == "bool" for inputs in found if "mask" in inputs)
    assert not list(search_parts.inputs_for_none(_Search(), _Attempt(), TypeError("of something else")))


def test_as_many_inputs_as_what_is_called_takes():
    class Attempt(_Attempt):
        method = "all"

    lacks = TypeError("call() missing 1 required positional argument: 'condition'")
    assert [list(inputs) for inputs, _ in search_parts.another_number(_Search(), Attempt(), lacks)][0] == [
        "x",
        "condition",
    ]
    assert not list(search_parts.another_number(_Search(), _Attempt(), lacks))


def test_a_layer_that_the_model_does_not_hold_is_no_part_of_it():
    model, other = chainer.links.Linear(8, 8), chainer.links.Linear(8, 8)
    x = np.ones((2, 8), np.float32)
    assert attempt_values.must_be_comparable(model(x), model, "")
    assert not attempt_values.must_be_comparable(F.relu(chainer.Variable(x)), model, "")
    with pytest.raises(TypeError, match="does not hold"):
        attempt_values.must_be_comparable(other(x), model, "L.Linear(8, 8)")
    with pytest.raises(TypeError, match="no layer has been called"):
        attempt_values.must_be_comparable(chainer.Variable(x), chainer.links.Linear(None, 8), "")
