"""Models of two small projects: equal ones pass, and each planted fault is found and located."""

import pytest

from chainer2torch.report.verification import document_of, read
from chainer2torch.verify.models.verify_models import ModelsError, verify_models
from chainer2torch.verify.judge.outcome import FAILED
from tests.support import model_batch

PYPROJECT = """
[[tool.chainer2torch.verify.model]]
target = "net:Net"
args = [6, 3]
inputs = ["f32[4,2,8,8]"]
"""
CHAINER = """
import chainer
import chainer.functions as F
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self, n_mid, n_out):
        super(Net, self).__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(None, n_mid, 3, pad=1)
            self.bn = L.BatchNormalization(n_mid)
            self.fc1 = L.Linear(None, 10)
            self.fc2 = L.Linear(10, n_out)

    def forward(self, x):
        h = F.max_pooling_2d(F.leaky_relu(self.bn(self.conv(x))), 2)
        h = F.dropout(F.relu(self.fc1(h)), 0.3)
        return self.fc2(h)
"""
TORCH = """
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self, n_mid, n_out):
        super(Net, self).__init__()
        self.conv = nn.LazyConv2d(n_mid, 3, padding=1)
        self.bn = nn.BatchNorm2d(n_mid, eps=2e-5, momentum=0.1)
        self.fc1 = nn.LazyLinear(10)
        self.fc2 = nn.Linear(10, n_out)

    def forward(self, x):
        h = F.max_pool2d(F.leaky_relu(self.bn(self.conv(x)), 0.2), 2)
        h = F.dropout(F.relu(self.fc1(torch.flatten(h, 1))), 0.3, training=self.training)
        return self.fc2(h)
"""


def _verify(tmp_path, torch=TORCH, chainer=CHAINER, pyproject=PYPROJECT, **options):
    for name, text in (("src", chainer), ("out", torch)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "net.py").write_text(text)
    (tmp_path / "src" / "pyproject.toml").write_text(pyproject)
    return verify_models(tmp_path / "src", tmp_path / "out", timeout=100, **options)


def test_what_a_new_model_starts_with_is_compared_where_the_port_sets_it(tmp_path):
    """A port that sets first values somewhere means to have Chainer's; others (``--init torch``) are told."""
    for name, more, status in (("own", "", 0), ("set", "\nSET = nn.init.zeros_\n", 1)):
        (tmp_path / name).mkdir()
        report = _verify(tmp_path / name, torch=TORCH + more)
        text = "\n".join(report.lines())
        assert report.exit_code == status, text
        if more:
            assert "only what a new model starts with differs: init/model/conv/W, init/model/conv/b, init/" in text
            assert "init/model/conv/W: variance" in text and "random on one side and fixed on the other" in text
        else:
            assert "net:Net: a new model does not start as Chainer's does (PyTorch's own first values): conv/W" in text


def test_what_stops_at_a_comment_says_so(tmp_path):
    place = "        return self.fc2(h)"
    comment = "        # TODO(chainer2torch C2T090): chainer.functions.some: no rule for this name\n"
    report = _verify(tmp_path, torch=TORCH.replace(place, f"{comment}        return some(self.fc2(h))"))
    assert report.classes()["net:Net"] == "raises"
    assert "left this place to a person: TODO(chainer2torch C2T090): chainer.functions.some" in "\n".join(
        report.lines()
    )


def test_equal_models(tmp_path):
    report = _verify(tmp_path)
    assert report.exit_code == 0, "\n".join(report.lines())
    assert [o.pair.label for o in report.outcomes] == [
        "float32, train",
        "float64, train",
        "float32, eval",
        "float64, eval",
    ]
    # output, its gradients, 10 arrays of state, and the steps: nothing may fall out of the comparison unseen
    assert all(outcome.compared > 30 for outcome in report.outcomes)


def test_the_errors_by_layer_are_in_the_report(tmp_path):
    """The first layer that differs stands out; the file of --report has them for the plot."""
    report = _verify(tmp_path, TORCH.replace("F.relu(self.fc1", "F.elu(self.fc1"), steps=0)
    assert report.exit_code == 1
    single = next(outcome for outcome in report.outcomes if outcome.pair.label == "float64, eval")
    assert [label.split()[0] for label, _ in single.layers] == ["/conv", "/bn", "/fc1", "/fc2", "/"]
    assert all(error < 1e-6 for _, error in single.layers[:3]) and all(error > 1e-2 for _, error in single.layers[3:])
    (tmp_path / "report.json").write_text(document_of(report))
    (check,) = read(tmp_path / "report.json")
    assert [label.split()[0] for label, _ in check.layers] == ["/conv", "/bn", "/fc1", "/fc2", "/"]


FAULTS = {
    "slope": ("F.leaky_relu(self.bn(self.conv(x)), 0.2)", "F.leaky_relu(self.bn(self.conv(x)))", "/fc1"),
    "eps": ("eps=2e-5", "eps=1e-3", "/bn"),
    "momentum": ("momentum=0.1", "momentum=0.9", "avg_mean"),
    "stride": ("3, padding=1)", "3, padding=1, padding_mode='reflect')", "/conv"),
    "axis": ("torch.flatten(h, 1)", "torch.flatten(h.transpose(2, 3), 1)", "/fc1"),
    "activation": ("F.relu(self.fc1", "F.elu(self.fc1", "/fc2"),
    "train mode left on": ("training=self.training", "training=True", "/fc2"),
    "detached": ("return self.fc2(h)", "return self.fc2(h.detach())", "only in the backward pass"),
    "a missing parameter": ("nn.Linear(10, n_out)", "nn.Linear(10, n_out, bias=False)", "fc2/b 3"),
    "frozen": (
        "        self.fc2 = nn.Linear(10, n_out)",
        "        self.fc2 = nn.Linear(10, n_out)\n        self.fc2.weight.requires_grad = False",
        "fc2/W",
    ),
}


@pytest.fixture(scope="module")
def faults(tmp_path_factory):
    assert all(before in TORCH for before, _, _ in FAULTS.values())
    variants = {name: TORCH.replace(before, after) for name, (before, after, _) in FAULTS.items()}
    return model_batch.verify(
        tmp_path_factory.mktemp("faults"), CHAINER, variants, {None: ("Net", [6, 3], {"x": "f32[4,2,8,8]"})}, steps=3
    )


@pytest.mark.parametrize("name", FAULTS)
def test_planted_faults_are_found_and_located(faults, name):
    status, reasons = faults[name]
    assert status == FAILED
    assert FAULTS[name][2] in reasons, reasons
    assert "first diverging link" not in reasons or model_batch.module_of(name) + ".py:" in reasons
    # An exception is no difference between values.
    assert ("float64 shows the same difference" in reasons) != reasons.startswith("PyTorch: ")


def test_nothing_to_verify_is_a_failure(tmp_path):
    report = _verify(tmp_path, pyproject="", chainer=CHAINER.replace("forward(self, x)", "forward(self, *xs)"))
    assert report.exit_code == 1
    assert "nothing was compared" in "\n".join(report.lines())


@pytest.mark.parametrize(
    "pyproject, message",
    [
        (PYPROJECT.replace("args", "arg"), "model 1 .* unknown key `arg`; did you mean `args`"),
        (PYPROJECT.replace("verify.model", "verify.models"), "unknown key `models`; did you mean `model`"),
        (PYPROJECT.replace("[[", "[").replace("]]", "]"), "in two brackets"),
        (PYPROJECT.replace("net:Net", "net.Net"), "`target` is written"),
        (PYPROJECT.replace("f32[4", "f31[4"), r"`f31\[4,2,8,8\]` is not an input"),
        ("[", "not valid TOML"),
    ],
)
def test_a_wrong_table_is_an_error(tmp_path, pyproject, message):
    with pytest.raises(ModelsError, match=message):
        _verify(tmp_path, pyproject=pyproject)


def test_a_model_that_chainer_cannot_run_is_not_verified(tmp_path):
    report = _verify(tmp_path, chainer=CHAINER.replace("F.relu", "F.undefined"))
    assert report.exit_code == 1
    assert {outcome.status for outcome in report.outcomes} == {"not verified"}


@pytest.mark.parametrize(
    "head, said",
    [
        ("import chainer\nfrom chainer import config\n", True),  # as a file with a leftover does
        ("", False),
    ],
)
def test_a_module_that_is_migrated_in_part_may_import_chainer(tmp_path, head, said):
    report = _verify(tmp_path, torch=head + TORCH, steps=0)
    assert report.exit_code == 0, report.lines()
    assert ("net:Net: its migrated module still imports chainer" in report.lines()) == said
