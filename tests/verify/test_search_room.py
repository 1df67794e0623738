"""What a search may take: time in shares, memory; and what of it counts as proved."""

import time

import chainer.links as L
import numpy as np
import pytest

from chainer2torch.verify.judge import rounding
from chainer2torch.verify.judge.outcome import FAILED, PASSED, UNVERIFIED, Outcome, Pair
from chainer2torch.verify.models.models_report import ModelsReport
from chainer2torch.verify.models.trials import Left
from chainer2torch.verify.models.verify_models import verify_models
from chainer2torch.verify.worker import cheap_layers, search_room
from tests.support.model_batch import migrated_tree

NET = """
import chainer
import chainer.functions as F
import chainer.links as L
import nowhere


class Base(chainer.Chain):
    def forward(self, x):
        return self.head(F.relu(self.body(x)))


class Small(Base):
    def __init__(self):
        super(Small, self).__init__()
        with self.init_scope():
            self.body = L.Linear(4, 4)
            self.head = L.Linear(4, 2)


class Trained(chainer.Chain):
    def __init__(self, n_units, pretrained_model='auto'):
        super(Trained, self).__init__()
        if pretrained_model:
            nowhere.fetch(pretrained_model)
        with self.init_scope():
            self.fc = L.Linear(n_units, 3)

    def forward(self, x):
        return self.fc(x)


class Masked(chainer.Chain):
    def __init__(self):
        super(Masked, self).__init__()
        with self.init_scope():
            self.fc = L.Linear(4, 3)

    def forward(self, x):
        if chainer.config.train:
            self.mask = x.array > 0
        return self.fc(x) * self.mask.any()


class Drawn(chainer.Chain):
    def __init__(self):
        super(Drawn, self).__init__()
        with self.init_scope():
            self.fc = L.Linear(None, 3)

    def forward(self, x, n):
        if float(n.array.reshape(-1)[0]) < 1:
            raise ValueError('too few')
        return self.fc(x)


class Block(chainer.Chain):
    def __init__(self, parts):
        super(Block, self).__init__()
        for name, part in parts:
            self.add_link(name, part)
        self.names = [name for name, _ in parts]

    def forward(self, x):
        for name in self.names:
            x = self[name](x)
        return x


class Whole(chainer.Chain):
    def __init__(self):
        super(Whole, self).__init__()
        with self.init_scope():
            self.block = Block([('fc', L.Linear(4, 3)), ('bn', L.BatchNormalization(3))])

    def forward(self, x):
        return F.sum(self.block(x) ** 3)
"""


def test_bases_pretrained_models_and_those_of_one_mode_are_proved(tmp_path):
    src = tmp_path / "src"
    src.mkdir()
    (src / "net.py").write_text(NET)
    out = migrated_tree(src, tmp_path / "out")
    report = verify_models(src, out, steps=1, timeout=300)
    text = "\n".join(report.lines(verbose=True))
    states = report.classes()
    assert {name: states[f"net:{name}"] for name in ("Base", "Small", "Trained", "Masked")} == dict.fromkeys(
        ("Base", "Small", "Trained", "Masked"), "proved"
    ), text
    assert "net:Base: proved as the base of net:Small" in text
    assert states["net:Whole"] == states["net:Block"] == "proved" and "net:Block: proved inside of net:Whole" in text
    assert "pretrained_model=None" in text
    assert "not verified: net:Masked (float32, eval, inferred): Chainer: AttributeError" in text


def _outcome(row, status, **more):
    return Outcome(Pair(row, row, "", "", ""), status, ["it does"], compared=int(status != UNVERIFIED), **more)


def test_a_base_is_not_proved_by_what_differs():
    left = [Left("net:Base", "no conv", derived=["net:A", "net:B"]), Left("net:Other", "no conv")]
    for status, state in ((PASSED, "proved"), (FAILED, "not verified"), (UNVERIFIED, "proved")):
        report = ModelsReport([_outcome("net:A", PASSED), _outcome("net:B", status)], [], {}, "cpu")
        report.add_left(left)
        assert report.classes()["net:Base"] == state and report.classes()["net:Other"] == "not verified"
    report = ModelsReport([_outcome("net:A", UNVERIFIED)], [], {}, "cpu")
    report.add_left(left)
    assert report.classes()["net:Base"] == "not verified"


def test_a_part_is_proved_by_a_whole_that_is_proved_in_each_mode():
    def cases(eval_inside, status=PASSED):
        found = [
            Outcome(Pair("", "net:A", "", "", "", mode=mode), compared=1, inside=frozenset(inside))
            for mode, inside in (("train", ["net:Part", "net:B"]), ("eval", eval_inside))
        ]
        found[0].status = status
        return found

    for outcomes, state in (
        (cases(["net:Part"]), "proved"),
        (cases(["net:B"]), "not verified"),
        (cases(["net:Part"], FAILED), "not verified"),
    ):
        report = ModelsReport(outcomes, [], {}, "cpu")
        report.add_left([Left("net:Part", "nothing runs")])
        assert report.classes()["net:Part"] == state and "net:B" not in report.classes()


def test_what_float64_has_not_decided_is_no_difference_if_it_is_small():
    for value, status in ((1.0 + 2e-4, UNVERIFIED), (1.1, FAILED)):
        single = Outcome(Pair("m-train@float32", "net:A", "", "", ""))
        single.fail("out differs")
        single.differing["out"] = "out differs"
        double = Outcome(Pair("m-train@float64", "net:A", "", "", "", dtype="float64"), not_reached=True)
        double.leave("its time was up")
        found = {"m-train@float32": {"out": np.float32([1.0, 0.5])}, "m-train@float64": {}}
        other = {"m-train@float32": {"out": np.float32([value, 0.5])}, "m-train@float64": {}}
        rounding.explain([single, double], found.__getitem__, other.__getitem__)
        assert single.status == status
        assert "float64 was not compared: whether this is rounding is not known" in single.reasons


def test_a_gradient_that_cancels_is_measured_by_the_largest():
    for value, status in ((2e-5, UNVERIFIED), (2e-3, UNVERIFIED), (0.9, FAILED)):
        single = Outcome(Pair("m-train@float32", "net:A", "", "", ""))
        single.fail("pgrad/model/b differs")
        single.differing["pgrad/model/b"] = "differs"
        double = Outcome(Pair("m-train@float64", "net:A", "", "", "", dtype="float64"), not_reached=True)
        double.leave("its time was up")
        weight = {"pgrad/model/W": np.float32([4.0, 0.5])}
        found = {"m-train@float32": {**weight, "pgrad/model/b": np.float32([1e-6])}, "m-train@float64": {}}
        other = {"m-train@float32": {**weight, "pgrad/model/b": np.float32([value])}, "m-train@float64": {}}
        rounding.explain([single, double], found.__getitem__, other.__getitem__)
        assert single.status == status


def test_shares_of_time():
    room = search_room.Shares(100)
    now = time.time()
    assert 40 < room.share(2) - now < 46
    assert room.share(0) - now < 91
    assert search_room.Shares(None).share(3) == float("inf")
    assert search_room.Shares(1e-9).share(3) - time.time() < 1


@pytest.mark.parametrize(
    "make, shape",
    [
        (lambda: L.Convolution2D(64, 192, 3, stride=2, pad=1), (2, 64, 9, 7)),
        (lambda: L.DilatedConvolution2D(64, 192, 3, pad=2, dilate=2), (2, 64, 9, 9)),
        (lambda: L.Deconvolution2D(64, 192, 4, stride=2, pad=1), (2, 64, 5, 3)),
        (lambda: L.ConvolutionND(3, 64, 64, 3), (2, 64, 4, 5, 3)),
        (lambda: L.ConvolutionND(1, 192, 192, 3, nobias=True), (2, 192, 8)),
        (lambda: L.DeconvolutionND(1, 192, 192, 3), (2, 192, 8)),
    ],
)
def test_convolutions_with_zeros_give_what_they_would(make, shape):
    x = np.random.randn(*shape).astype(np.float32)
    with cheap_layers.cheap_weights():
        layer = make()
    assert not layer.W.array.any()
    if layer.b is not None:
        layer.b.array[...] = np.random.randn(*layer.b.shape)
    expected = layer(x)
    with cheap_layers.cheap_convolutions() as saved:
        got = layer(x)
        assert saved.seconds > 0
        np.testing.assert_array_equal(got.array, expected.array)
        assert got.dtype == expected.dtype and got.creator is not None
        before = saved.seconds
        layer.W.array[...] = 1
        with_ones = layer(x)
        assert saved.seconds == before
    np.testing.assert_array_equal(with_ones.array, layer(x).array)


def test_a_convolution_of_nothing_says_so_as_before():
    with cheap_layers.cheap_weights(), cheap_layers.cheap_convolutions():
        with pytest.raises(Exception, match="should be positive"):
            L.Convolution2D(64, 192, 5)(np.zeros((2, 64, 3, 3), np.float32))
