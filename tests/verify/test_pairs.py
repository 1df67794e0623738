"""Pairs of snippets through both workers: what is equal passes, and every planted fault is found."""

import dataclasses

import pytest

from chainer2torch.verify.judge.outcome import FAILED, PASSED, Pair
from chainer2torch.verify.judge.pairs import run_pairs

CHAINER = "import chainer\nimport chainer.functions as F\nimport chainer.links as L\nimport numpy as np\n"
TORCH = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"

X = {"x": "f32[3,4]"}
XT = {"x": "f32[5,4]", "t": "i32[5] in [-1,4)"}
XY = {"x": "f32[3,4]", "y": "f32[3,4]"}
IMAGE = {"x": "f32[2,3,5,5]"}
MANY = {"x": "f32[10000]"}

# name: (given, Chainer's expression, PyTorch's expression, options)
EQUAL = {
    "leaky_relu": (X, "F.leaky_relu(x)", "F.leaky_relu(x, negative_slope=0.2)", {}),
    "softmax": (X, "F.softmax(x)", "F.softmax(x, dim=1)", {}),
    "cross_entropy": (XT, "F.softmax_cross_entropy(x, t)", "F.cross_entropy(x, t.long(), ignore_index=-1)", {}),
    "tuple": (X, "F.split_axis(x, 2, 1)", "torch.split(x, 2, 1)", {}),
    "list": ({"xs": ["f32[3,2]", "f32[2,2]"]}, "F.concat(xs, axis=0)", "torch.cat(xs, dim=0)", {}),
    "argmax": (X, "F.argmax(x, axis=1)", "x.argmax(1)", {}),
    "shape": (X, "x.shape", "x.shape", {}),
    "scalar": (X, "float(F.sum(x).data)", "torch.sum(x).item()", {}),
    "no gradient": (X, "F.sum(x.data)", "torch.sum(x.detach())", {}),
    "raises": (XY, "F.reshape(x, (5,)) + y", "x.reshape(5) + y", {"raises": True}),
    "dropout": (X, "F.dropout(x, 0.3)", "F.dropout(x, 0.3)", {"compare": "moments"}),
    "dropout in test mode": (X, "F.dropout(x, 0.3)", "F.dropout(x, 0.3, training=False)", {"mode": "eval"}),
    "float64": (IMAGE, "F.average_pooling_2d(x, 2)", "F.avg_pool2d(x, 2)", {"dtype": "float64"}),
    "both": (XY, "x * y, x + y", "(x * y, x + y)", {}),
    "terms that cancel": (MANY, "F.sum(x + 999) - 9.99e6", "x.double().sum().to(x.dtype)", {}),
}
FAULTS = {
    "slope": (X, "F.leaky_relu(x)", "F.leaky_relu(x)", {}),
    "axis": (X, "F.softmax(x)", "F.softmax(x, dim=0)", {}),
    "ignore label": (XT, "F.softmax_cross_entropy(x, t)", "F.cross_entropy(x, t.long() % 4)", {}),
    "order": (XY, "x - y", "y - x", {}),
    "detached": (XY, "x * y", "x * y.detach()", {}),
    "gradient only": (X, "F.relu(x) * 1", "F.relu(x).detach()", {}),
    "gradient added": (X, "F.sum(x.data) + 0 * F.sum(x)", "torch.sum(x)", {}),
    "dtype": (X, "x * 2", "x.double() * 2", {}),
    "kind": (X, "F.argmax(x, axis=1)", "x.argmax(1).float()", {}),
    "shape": (X, "F.sum(x, axis=1)", "torch.sum(x, 1, keepdim=True)", {}),
    "items": (X, "F.split_axis(x, 2, 1)", "torch.split(x, 1, 1)", {}),
    "probability": (X, "F.dropout(x, 0.3)", "F.dropout(x, 0.36)", {"compare": "moments"}),
    "distribution": (
        X,
        "np.random.normal(0, 1, (3, 4)).astype('f')",
        "(torch.rand(3, 4) * 2 - 1) * 3 ** 0.5",
        {"compare": "moments"},
    ),
    "train mode left on": (X, "F.dropout(x, 0.3)", "F.dropout(x, 0.3)", {"mode": "eval"}),
    "float64 precision": (X, "x * 3", "(x.float() * 3).double()", {"dtype": "float64"}),
    "does not raise": (XY, "F.reshape(x, (5,)) + y", "x + y", {"raises": True}),
    "raises for the wrong reason": (XY, "F.reshape(x, (5,)) + y", "undefined_name", {"raises": True}),
    "beside terms that cancel": (MANY, "F.sum(x + 999) - 9.99e6", "x.double().sum().to(x.dtype) * 1.01", {}),
    "crash": (X, "x * 2", "x.undefined", {}),
    "scalar": (X, "float(F.sum(x).data)", "torch.mean(x).item()", {}),
    "value": (X, "x.shape", "x.shape[::-1]", {}),
    "the worker dies": (X, "x * 2", "__import__('os')._exit(5)", {}),
    "chainer crash": (X, "F.no_such_function(x)", "x", {}),
}

# name: (inputs, Chainer's link, PyTorch's module, Chainer's expression, PyTorch's expression, options)
LINEAR = (
    {"x": "f32[5,4]"},
    "l = L.Linear(4, 4)",
    "l = compat.initialize(nn.Linear(4, 4), W=compat.LeCunNormal(), b=0)",
    "l(x)",
    "l(x)",
    {"initial": True},
)
NORM = ({"x": "f32[4,3,2,2]"}, "l = L.BatchNormalization(3)", "l = nn.BatchNorm2d(3, eps=2e-5)", "l(x)", "l(x)", {})
EMBED = ({"i": "i32[6]<5"}, "l = L.EmbedID(5, 3)", "l = nn.Embedding(5, 3)", "l(i)", "l(i)", {})
LINKS = {
    "linear": LINEAR,
    "norm": NORM,
    "embed": EMBED,
    "norm in test mode": (*NORM[:5], {"mode": "eval"}),
    "lazy linear": (LINEAR[0], "l = L.Linear(None, 4)", "l = nn.LazyLinear(4)", "l(x)", "l(x)", {}),
    "norm in float64": (*NORM[:5], {"dtype": "float64"}),
}
LINK_FAULTS = {
    "transposed weight": (LINEAR, {4: "F.linear(x, l.weight.t(), l.bias)"}),
    "dropped bias": (LINEAR, {4: "F.linear(x, l.weight)"}),
    "swapped units": (LINEAR, {4: "l(x)[:, [1, 0, 2, 3]]"}),
    "detached weight": (LINEAR, {4: "F.linear(x, l.weight.detach(), l.bias)"}),
    "bias counted twice in the gradient": (LINEAR, {4: "l(x) + l.bias - l.bias.detach()"}),
    "initial weights": (LINEAR, {2: "l = nn.Linear(4, 4)"}),
    "initial bias": (LINEAR, {2: "l = compat.initialize(nn.Linear(4, 4), W=compat.LeCunNormal(), b=1)"}),
    "initial scale": (LINEAR, {2: "l = compat.initialize(nn.Linear(4, 4), W=compat.HeNormal(), b=0)"}),
    "no bias": (LINEAR, {2: "l = nn.Linear(4, 4, bias=False)"}),
    "another name": (LINEAR, {2: "m = nn.Linear(4, 4)", 4: "m(x)"}),
    "another size": (LINEAR, {2: "l = nn.Linear(4, 5)"}),
    "eps": (NORM, {2: "l = nn.BatchNorm2d(3, eps=1e-3)"}),
    "momentum": (NORM, {2: "l = nn.BatchNorm2d(3, eps=2e-5, momentum=0.9)"}),
    "momentum and decay": (NORM, {2: "l = nn.BatchNorm2d(3, eps=2e-5, momentum=0.2)"}),
    "no running statistics": (NORM, {4: "F.batch_norm(x, None, None, l.weight, l.bias, True, eps=2e-5)"}),
    "train mode in test mode": (
        LINKS["norm in test mode"],
        {4: "F.batch_norm(x, l.running_mean, l.running_var, l.weight, l.bias, True, eps=2e-5)"},
    ),
    "index shifted": (EMBED, {4: "l((i + 1) % 5)"}),
    "row without gradient": (EMBED, {2: "l = nn.Embedding(5, 3, padding_idx=2)"}),
}


def _link_pair(kind, name, row):
    given, link, module, before, after, options = row
    names = ", ".join(given)
    return Pair(
        f"{kind}-{name}".replace(" ", "_"),
        name,
        name,
        f"{CHAINER}{link}\ndef run({names}):\n    return {before}\n",
        f"{TORCH}import chainer_compat as compat\n{module}\ndef run({names}):\n    return {after}\n",
        given,
        **options,
    )


def _pair(kind, name, given, before, after, options):
    names = ", ".join(given)
    return Pair(
        f"{kind}-{name}".replace(" ", "_"),
        name,
        name,
        f"{CHAINER}\ndef run({names}):\n    return {before}\n",
        f"{TORCH}\ndef run({names}):\n    return {after}\n",
        given,
        **options,
    )


@pytest.fixture(scope="module")
def batch():
    pairs = [_pair("equal", name, *row) for name, row in EQUAL.items()]
    pairs += [_pair("fault", name, *row) for name, row in FAULTS.items()]
    pairs += [_link_pair("link", name, row) for name, row in LINKS.items()]
    for name, (row, changes) in LINK_FAULTS.items():
        row = [changes.get(i, part) for i, part in enumerate(row)]
        assert any(row[i] != part for i, part in enumerate(LINK_FAULTS[name][0]))
        pairs.append(_link_pair("broken", name, row))
    result = run_pairs(pairs, timeout=120)
    # The others' results are kept, and that one died is said.
    assert len(result.problems) == 1 and "the PyTorch worker ended with exit status 5" in result.problems[0]
    return {outcome.pair.id: outcome for outcome in result.outcomes}


@pytest.mark.parametrize("name", EQUAL)
def test_equal(batch, name):
    outcome = batch[f"equal-{name}".replace(" ", "_")]
    assert (outcome.status, outcome.reasons) == (PASSED, [])
    assert outcome.compared


def test_float64_decides_where_terms_cancel(batch):
    """The sum of numbers near 999 is a whole number in float32: what is left of it differs by a percent."""
    outcome = batch["equal-terms_that_cancel"]
    assert outcome.rounded and "rounding" in outcome.notes[0]


@pytest.mark.parametrize("name", FAULTS)
def test_planted_fault_is_found(batch, name):
    outcome = batch[f"fault-{name}".replace(" ", "_")]
    assert outcome.status == FAILED
    assert outcome.reasons


@pytest.mark.parametrize("name", LINKS)
def test_equal_links(batch, name):
    outcome = batch[f"link-{name}".replace(" ", "_")]
    assert (outcome.status, outcome.reasons) == (PASSED, [])
    assert outcome.compared >= 3


@pytest.mark.parametrize("name", LINK_FAULTS)
def test_planted_fault_in_a_link_is_found(batch, name):
    outcome = batch[f"broken-{name}".replace(" ", "_")]
    assert outcome.status == FAILED
    assert outcome.reasons


def test_halves_are_joined_in_order(monkeypatch):
    rows = [_pair("equal", name, *EQUAL[name]) for name in ("leaky_relu", "argmax", "both")]
    rows.insert(1, _pair("fault", "slope", *FAULTS["slope"]))
    whole = run_pairs(rows, timeout=120)
    monkeypatch.setattr("chainer2torch.verify.judge.pairs._WORTH_HALVING", 2)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    halves = run_pairs(rows, timeout=120)
    assert [o.pair for o in halves.outcomes] == [o.pair for o in whole.outcomes] == rows
    assert [o.status for o in halves.outcomes] == [o.status for o in whole.outcomes] == [PASSED, FAILED, PASSED, PASSED]
    assert [o.forward for o in halves.outcomes] == [o.forward for o in whole.outcomes]
    assert halves.versions == whole.versions and halves.problems == whole.problems == []


# All outputs of one layer hang on the same weights: they are no independent draws, whatever their number.
DRAWN = (
    {"x": "f32[2000,30]"},
    "l = L.Linear(30, 40, initialW=chainer.initializers.HeNormal())",
    "l = nn.Linear(30, 40)\nnn.init.kaiming_normal_(l.weight)\nnn.init.zeros_(l.bias)",
    "l(x)",
    "l(x)",
    {"compare": "moments", "grad": False},
)
FEW = ({"x": "f32[1000,3]"}, *(part.replace("30, 40", "3, 4") for part in DRAWN[1:3]), *DRAWN[3:])


@pytest.fixture(scope="module")
def drawn():
    rows = [(name, row, seed) for name, row in (("drawn", DRAWN), ("few", FEW)) for seed in range(12)]
    pairs = [
        dataclasses.replace(_link_pair(f"{name}-{seed}", name, row), seed=f"{name}{seed}") for name, row, seed in rows
    ]
    module = DRAWN[2].replace("kaiming", "xavier")
    return run_pairs([*pairs, _link_pair("wrong", "drawn", (*DRAWN[:2], module, *DRAWN[3:]))], timeout=120).outcomes


def test_weights_drawn_alike_are_equal_for_every_seed(drawn):
    assert [(o.pair.id, o.reasons) for o in drawn[:-1] if o.status != PASSED] == []


def test_weights_drawn_otherwise_are_found(drawn):
    assert drawn[-1].status == FAILED and "instead of" in drawn[-1].reasons[0]
