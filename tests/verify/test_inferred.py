"""Chains that no table names: their arguments and inputs come from the code, or they are not verified."""

import pytest

from chainer2torch.verify.models.inferred import infer
from chainer2torch.verify.models.ports import Ports
from chainer2torch.verify.models.verify_models import ModelsError, verify_models
from chainer2torch.verify.judge.outcome import FAILED, PASSED, UNVERIFIED

HEAD = "import os\nimport chainer\nimport chainer.functions as F\nimport chainer.links as L\n"
NET = (
    HEAD
    + """

class Body(chainer.Chain):
    def __init__(self, n_in, n_units=6):
        super().__init__()
        with self.init_scope():
            self.fc = L.Linear(n_in, n_units)

    def forward(self, x):
        return F.relu(self.fc(x))


class Classify(chainer.Chain):
    def __init__(self, n_units, n_class):
        super().__init__()
        self.n_units = n_units
        with self.init_scope():
            self.body = Body(7, n_units * 2)
            self.out = L.Linear(n_units * 2, n_class)

    def predict(self, x):
        h = F.dropout(x, 0.2)
        return self.out(self.body(h))

    def __call__(self, x, t, ratio=0.5):
        if t is None:
            return self.predict(x)
        y = self.predict(x)
        return F.softmax_cross_entropy(y, t) * ratio


class Words(chainer.Chain):
    def __init__(self, *, n_vocab):
        super().__init__(embed=L.EmbedID(n_vocab, 3), out=L.Linear(15, 2))

    def forward(self, words):
        return self.out(F.tanh(self.embed(words)))


class Digits(chainer.Chain):  # no image has so many values
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(1, 2, 5)
            self.fc = L.Linear(2 * 19 * 19 + 1, 10)

    def forward(self, x):
        return self.fc(self.conv(x))


class Ends(chainer.Chain):
    def __init__(self):
        super().__init__(fc=L.Linear(3, 2))

    def forward(self, x):
        os._exit(3)
        return self.fc(x)


class Opaque(chainer.Chain):
    def __init__(self):
        super().__init__(fc=L.Linear(3, 2))

    def forward(self, x):
        return iter([self.fc(x)])


class Activated(chainer.Chain):
    def __init__(self, activation):
        super().__init__(fc=L.Linear(3, 2))
        self.activation = activation

    def forward(self, x):
        return self.activation(self.fc(x))
"""
)
PORT = """
import torch
import torch.nn as nn
import torch.nn.functional as F


class Body(nn.Module):
    def __init__(self, n_in, n_units=6):
        super().__init__()
        self.fc = nn.Linear(n_in, n_units)

    def forward(self, x):
        return F.relu(self.fc(x))


class Classify(nn.Module):
    def __init__(self, n_units, n_class):
        super().__init__()
        self.body = Body(7, n_units * 2)
        self.out = nn.Linear(n_units * 2, n_class)

    def forward(self, x, t, ratio=0.5):
        y = self.out(self.body(F.dropout(x, 0.2, training=self.training)))
        return F.cross_entropy(y, t.long()) * ratio


class Words(nn.Module):
    def __init__(self, *, n_vocab):
        super().__init__()
        self.embed = nn.Embedding(n_vocab, 3)
        self.out = nn.Linear(15, 2)

    def forward(self, words):
        return self.out(torch.sigmoid(self.embed(words.long())).flatten(1))


class Digits(nn.Module):
    pass


class Ends(nn.Module):
    pass


class Opaque(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)

    def forward(self, x):
        return iter([self.fc(x)])


class Activated(nn.Module):
    pass
"""
TRAIN = (
    HEAD
    + """

class Late(chainer.Chain):
    def forward(self, x):
        return x


open("was_imported", "w").close()
print("training")
"""
)


def _write(tmp_path, net=NET, port=PORT, **more):
    src, out = tmp_path / "src", tmp_path / "out"
    for folder, text in ((src, net), (out, port)):
        folder.mkdir()
        (folder / "net.py").write_text(text)
        for name, other in more.items():
            (folder / f"{name}.py").write_text(other)
    return src, out


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    src, out = _write(tmp_path_factory.mktemp("inferred"), train=TRAIN)
    report = verify_models(src, out, steps=1, timeout=100)
    assert not (src / "was_imported").exists() and not (out / "was_imported").exists()
    return report


def _of(report, target):
    outcomes = [o for o in report.outcomes if o.pair.row == target]
    return {o.status for o in outcomes}, "\n".join(reason for o in outcomes for reason in o.reasons)


@pytest.mark.parametrize(
    "target, note",
    [
        ("net:Body", "Body(8) of f32[4,8]"),
        ("net:Classify", "Classify(8, 10) of f32[4,7], i32[4]<10"),
    ],
)
def test_what_was_inferred_is_verified_and_said(report, target, note):
    assert _of(report, target)[0] == {PASSED}, report.lines(verbose=True)
    assert all(o.compared > 5 and o.pair.label.endswith(", inferred") for o in report.outcomes if o.pair.row == target)
    assert f"{target}: inferred from the code: {note}" in report.lines()


def test_a_port_that_differs_fails(report):
    status, reasons = _of(report, "net:Words")
    assert status == {FAILED} and "first diverging link: /out" in reasons
    assert report.exit_code == 1
    assert "net:Words: inferred from the code: Words(n_vocab=8) of i32[4,5]<8" in report.lines()


@pytest.mark.parametrize(
    "target, reason",
    [
        ("net:Digits", "Chainer: InvalidType in first forward"),  # the original refuses the inputs
        ("net:Ends", "Chainer: WorkerDied in run"),  # or ends its process
        ("net:Opaque", "output: holds no array that can be compared"),
    ],
)
def test_what_the_original_refuses_or_the_code_leaves_open_is_not_verified(report, target, reason):
    status, reasons = _of(report, target)
    assert status == {UNVERIFIED} and reason in reasons, reasons
    assert report.problems == []
    assert f"not verified: {target} (" in "\n".join(report.lines(verbose=True))


FORWARDS = {
    "F.reshape(x, (2, 4))": "input x: it goes to chainer.functions.reshape in line 12 before any layer",
    "self.fc(x[0])": "input x: what line 12 does with it comes before any layer",
    "F.softmax_cross_entropy(F.reshape(x, (4, 2)), x)": "input x: it goes to chainer.functions.reshape",
    "self.fc(F.relu(x / 255.))": ["f32[4,3]"],
    "self.fc(x=x)": "input x: the array that line 12 takes is not known",
    "F.accuracy(self.fc(self.xp.ones((4, 3))), x)": ["i32[4]<2"],
    "F.accuracy(self.other, x)": "input x: the number of classes is not known",
    "self.loop(x)": "input x: methods call each other in a circle",
    "self.fc(self.bound(x))": "input x: z is bound anew in line 18",
}


@pytest.mark.parametrize("body", FORWARDS)
def test_the_first_layer_that_an_input_reaches(tmp_path, body):
    text = (
        HEAD
        + f"""

class Net(chainer.Chain):
    def __init__(self):
        super().__init__(fc=L.Linear(3, 2))

    def forward(self, x):
        return {body}

    def loop(self, y):
        return self.loop(y)

    def bound(self, z):
        z = 1
        return self.fc(z)
"""
    )
    src, out = _write(tmp_path, text)
    (out / "net.py").write_text("class Net:\n    pass\n")
    found, left = infer(src, out, (), Ports(out, {}))
    expected = FORWARDS[body]
    if isinstance(expected, list):
        assert [list(some.entries[0].inputs.values()) for some in found] == [expected], left
    else:
        assert found == [] and len(left) == 1 and str(left[0]).startswith(f"net:Net: {expected}"), left


def test_what_is_known_or_has_no_counterpart_is_left_out(tmp_path):
    src, out = _write(tmp_path, port=PORT.replace("class Body", "class Trunk"))
    found, left = infer(src, out, {"net:Classify", "net:Words"}, Ports(out, {}))
    assert [some.target for some in found] == ["net:Digits", "net:Ends", "net:Opaque"]
    assert any(str(what).startswith("net:Body: net.py of out has no class of this name") for what in left)
    assert not any("Classify" in what.target or "Words" in what.target for what in left)


def test_names_choose_among_them(tmp_path):
    src, out = _write(tmp_path)
    report = verify_models(src, out, ["Activated"])
    assert {o.pair.row for o in report.outcomes} == {"net:Activated"} and report.exit_code == 1
    with pytest.raises(ModelsError, match="no model is named Nobody"):
        verify_models(src, out, ["Nobody"])
