"""Mutants of what ``migrate`` emits: the emitted code is equal, each mutant is caught, and the report says where."""

import re
from pathlib import Path

import pytest

from chainer2torch.verify.judge.outcome import FAILED, PASSED
from tests.support import model_batch

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
PICTURES = """
import chainer
import chainer.functions as F
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(2, 4, 3, stride=1, pad=1)
            self.bn = L.BatchNormalization(4, decay=0.8)
            self.dilated = L.Convolution2D(4, 4, 3, pad=2, dilate=2)
            self.gn = L.GroupNormalization(2)
            self.up = L.Deconvolution2D(4, 4, 2, stride=2)
            self.last = L.Convolution2D(8, 4, 1)
            self.fc = L.Linear(4, 4)

    def forward(self, x):
        h = F.leaky_relu(self.bn(self.conv(x)))
        h = F.max_pooling_2d(h, 3, stride=2)
        h = F.elu(self.dilated(h), alpha=0.7)
        h = F.average_pooling_2d(h, 3, stride=1, pad=1)
        h = self.up(self.gn(h))
        h = F.concat((h, F.clipped_relu(h, z=0.6)), axis=1)
        h = F.hard_sigmoid(self.last(F.local_response_normalization(h)))
        h = F.normalize(F.mean(h, axis=(2, 3)))
        return F.softmax(self.fc(F.dropout(h, 0.3)))
"""
WORDS = """
import chainer
import chainer.functions as F
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__()
        with self.init_scope():
            self.embed = L.EmbedID(7, 6, ignore_label=-1)
            self.norm = L.LayerNormalization(6)
            self.lstm = L.LSTM(6, 6)
            self.gru = L.StatelessGRU(6, 6)
            self.left = L.Linear(6, 6)
            self.right = L.Linear(6, 6)
            self.tag = L.Linear(6, 4)

    def forward(self, words, tags):
        self.lstm.reset_state()
        h = self.lstm(self.norm(self.embed(words)))
        h = self.gru(F.tanh(h), self.lstm(h))
        h = F.sigmoid(self.left(h)) * self.right(h) - h
        y = self.tag(h)
        loss = F.softmax_cross_entropy(y, tags, ignore_label=-1)
        p = F.log_softmax(y)
        return loss + 0.1 * F.mean_squared_error(h, F.relu(h)), F.sum(p, axis=1), F.accuracy(y, tags, ignore_label=-1)
"""
FIRST = "first diverging link: "
OWN = "the model's own is not: the difference comes after "
BACK = "only in the backward pass"
# source: (inputs, {mutant: (text, in its place, where)})
MUTANTS = {
    "pictures": (
        PICTURES,
        {"x": "f32[3,2,8,8]"},
        {
            "slope": (", negative_slope=0.2", "", FIRST + "/dilated"),
            "eps": ("eps=2e-05, ", "", FIRST + "/bn"),
            "momentum": ("momentum=0.2", "momentum=0.8", "bn/avg_mean"),
            "cover_all": ("stride=2, ceil_mode=True", "stride=2", FIRST + "/dilated"),
            "pooling stride": ("h, 3, stride=2, ", "h, 3, ", FIRST + "/dilated"),
            "elu alpha": (", alpha=0.7", "", FIRST + "/gn"),
            "counted padding": ("stride=1, padding=1)", "stride=1, padding=1, count_include_pad=False)", FIRST + "/gn"),
            "dilation": ("padding=2, dilation=2", "padding=1", FIRST + "/dilated"),
            "padding": (
                "nn.Conv2d(2, 4, 3, padding=1)",
                "nn.Conv2d(2, 4, 3, padding=1, padding_mode='reflect')",
                FIRST + "/conv",
            ),
            "order of concat": (
                "torch.cat((h, F.hardtanh(h, 0.0, 0.6))",
                "torch.cat((F.hardtanh(h, 0.0, 0.6), h)",
                FIRST + "/last",
            ),
            "clip": ("0.0, 0.6", "0.0, 6.0", FIRST + "/last"),
            "alpha of the response": ("alpha=0.0005", "alpha=0.0001", FIRST + "/last"),
            "k of the response": (", k=2", "", FIRST + "/last"),
            "hard sigmoid": ("* 0.2 + 0.5", "/ 6 + 0.5", FIRST + "/fc"),
            "normalize": ("compat.normalize(", "F.normalize(", FIRST + "/fc"),
            "mean": ("torch.mean(h, dim=(2, 3))", "torch.amax(h, dim=(2, 3))", FIRST + "/fc"),
            "train mode left on": ("training=self.training", "training=True", FIRST + "/fc"),
            "no dropout": ("training=self.training", "training=False", FIRST + "/fc"),
            "dropout ratio": ("p=0.3", "p=0.5", FIRST + "/fc"),
            "softmax axis": ("self.training)), dim=1)", "self.training)), dim=0)", OWN + "/fc"),
            "groups": ("GroupNormalization(2)", "GroupNormalization(1)", FIRST + "/gn"),
            "detached": ("self.gn(h)", "self.gn(h).detach()", BACK),
            "bias left out": ("nn.Conv2d(8, 4, 1)", "nn.Conv2d(8, 4, 1, bias=False)", "of the original: last/b 4"),
            "transposed weight": (
                "self.fc(F.dropout(h, p=0.3, training=self.training))",
                "F.linear(F.dropout(h, p=0.3, training=self.training), self.fc.weight.t(), self.fc.bias)",
                OWN + "/last.*PyTorch did not call is /fc",
            ),
        },
    ),
    "words": (
        WORDS,
        {"words": "i32[9] in [-1,7)", "tags": "i32[9] in [-1,4)"},
        {
            "ignored words": ("self.embed(words)", "self.embed(words.clamp(min=0))", FIRST + "/embed"),
            "eps of the norm": (", eps=1e-06", "", FIRST + "/norm"),
            "state kept": (
                "        self.lstm.reset_state()\n",
                "",
                "step/1/out/0: 1 of 1 values differ",
            ),
            "swapped arguments": (
                "self.gru(torch.tanh(h), self.lstm(h))",
                "self.gru(self.lstm(h), torch.tanh(h))",
                FIRST + "/(gru|lstm)",
            ),
            "swapped gate": (
                "torch.sigmoid(self.left(h)) * self.right(h)",
                "self.left(h) * torch.sigmoid(self.right(h))",
                FIRST + "/tag",
            ),
            "sign": (" - h", " + h", FIRST + "/tag"),
            "nonlinearity": ("torch.tanh(h)", "torch.sigmoid(h)", FIRST + "/gru"),
            "ignored label": (
                "softmax_cross_entropy(y, tags, ",
                "softmax_cross_entropy(y, tags.clamp(min=0), ",
                OWN + "/tag",
            ),
            "normalize": (
                "softmax_cross_entropy(y, tags, ",
                "softmax_cross_entropy(y, tags, normalize=False, ",
                OWN + "/tag",
            ),
            "log_softmax axis": ("F.log_softmax(y, dim=1)", "F.log_softmax(y, dim=0)", OWN + "/tag"),
            "sum axis": ("torch.sum(p, dim=1)", "torch.sum(p, dim=1, keepdim=True)", "shape 9x1 instead of 9"),
            "label of the accuracy": ("accuracy(y, tags, ignore_label=-1)", "accuracy(y, tags)", "out/2"),
            "loss summed": (
                "compat.mean_squared_error(h, F.relu(h))",
                "F.mse_loss(h, F.relu(h), reduction='sum')",
                OWN + "/tag",
            ),
            "backpropagation cut": (
                "self.lstm(self.norm(self.embed(words)))",
                "self.lstm(self.norm(self.embed(words)).detach())",
                BACK + r"(.|\n)*pgrad/model/embed/W",
            ),
            "frozen": (
                "        compat.init_like_chainer(self)\n",
                "        compat.init_like_chainer(self)\n        self.tag.weight.requires_grad_(False)\n",
                BACK + r"(.|\n)*pgrad/model/tag/W",
            ),
        },
    ),
    "stripes": (
        (FIXTURES / "cnn_loop" / "models.py").read_text(encoding="utf-8"),
        {"x": "f32[4,3,13,13]"},
        {
            "eps": (", eps=2e-05", "", FIRST + "/block1/bn"),
            "no ceiling": ("F.max_pool2d(h, 2, ceil_mode=True)", "F.max_pool2d(h, 2)", FIRST + "/block2/conv"),
            "stride": ("nn.Conv2d(12, 16, 3, stride=2)", "nn.Conv2d(12, 16, 3, stride=2, padding=1)", FIRST + "/conv3"),
            "order of the map": ("torch.flatten(h, 1)", "torch.flatten(h.transpose(2, 3), 1)", FIRST + "/fc4"),
            "bias too many": (
                "padding=pad,\n                                  bias=False)",
                "padding=pad)",
                "block1.conv.b 8",
            ),
            "norm before": ("F.relu(self.bn(self.conv(x)))", "self.bn(F.relu(self.conv(x)))", FIRST + "/block1/bn"),
            "another size": ("Block(12, 3)", "Block(12, 1, pad=0)", "block2/conv/W 12x8x3x3"),
        },
    ),
}
CLASSES = {"pictures": ("Net", []), "words": ("Net", []), "stripes": ("StripeNet", [3])}


def results(source, folder):
    text, inputs, mutants = MUTANTS[source]
    emitted = model_batch.migrated(folder, text)
    variants = {"as emitted": emitted}
    for name, (before, after, _) in mutants.items():
        assert before in emitted, f"{source}, {name}: {before!r} is not in\n{emitted}"
        variants[name] = emitted.replace(before, after)
    return model_batch.verify(folder, text, variants, {None: (*CLASSES[source], inputs)})


@pytest.mark.parametrize("source", MUTANTS)
def test_what_is_emitted_is_equal_and_each_mutant_caught_and_located(source, tmp_path):
    found = results(source, tmp_path)
    status, text = found.pop("as emitted")
    assert status == PASSED, text
    wrong = []
    for name, (status, text) in found.items():
        told = re.search(MUTANTS[source][2][name][2], text)
        placed = FIRST not in text or model_batch.module_of(name) + ".py:" in text
        if status != FAILED or not told or not placed:
            wrong.append(f"{name}: {status}: {text}")
    assert not wrong, "\n\n".join(wrong)


def test_there_are_enough_mutants():
    assert sum(len(mutants) for _, _, mutants in MUTANTS.values()) >= 40
