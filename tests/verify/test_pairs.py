"""Pairs of snippets through both workers: what is equal passes, and every planted fault is found."""
import pytest

from chainer2torch.verify.pairs import FAILED, PASSED, Pair, run_pairs

CHAINER = "import chainer\nimport chainer.functions as F\nimport chainer.links as L\nimport numpy as np\n"
TORCH = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"

X = {"x": "f32[3,4]"}
XT = {"x": "f32[5,4]", "t": "i32[5] in [-1,4)"}
XY = {"x": "f32[3,4]", "y": "f32[3,4]"}
IMAGE = {"x": "f32[2,3,5,5]"}

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
    "distribution": (X, "np.random.normal(0, 1, (3, 4)).astype('f')",
                     "(torch.rand(3, 4) * 2 - 1) * 3 ** 0.5", {"compare": "moments"}),
    "train mode left on": (X, "F.dropout(x, 0.3)", "F.dropout(x, 0.3)", {"mode": "eval"}),
    "float64 precision": (X, "x * 3", "(x.float() * 3).double()", {"dtype": "float64"}),
    "does not raise": (XY, "F.reshape(x, (5,)) + y", "x + y", {"raises": True}),
    "raises for the wrong reason": (XY, "F.reshape(x, (5,)) + y", "undefined_name", {"raises": True}),
    "crash": (X, "x * 2", "x.undefined", {}),
    "scalar": (X, "float(F.sum(x).data)", "torch.mean(x).item()", {}),
    "value": (X, "x.shape", "x.shape[::-1]", {}),
    "chainer crash": (X, "F.no_such_function(x)", "x", {}),
}


def _pair(kind, name, given, before, after, options):
    names = ", ".join(given)
    return Pair(f"{kind}-{name}".replace(" ", "_"), name, name, f"{CHAINER}\ndef run({names}):\n    return {before}\n",
                f"{TORCH}\ndef run({names}):\n    return {after}\n", given, **options)


@pytest.fixture(scope="module")
def batch():
    pairs = [_pair("equal", name, *row) for name, row in EQUAL.items()]
    pairs += [_pair("fault", name, *row) for name, row in FAULTS.items()]
    result = run_pairs(pairs, timeout=120)
    assert result.problems == []
    return {outcome.pair.id: outcome for outcome in result.outcomes}


@pytest.mark.parametrize("name", EQUAL)
def test_equal(batch, name):
    outcome = batch[f"equal-{name}".replace(" ", "_")]
    assert (outcome.status, outcome.reasons) == (PASSED, [])
    assert outcome.compared


@pytest.mark.parametrize("name", FAULTS)
def test_planted_fault_is_found(batch, name):
    outcome = batch[f"fault-{name}".replace(" ", "_")]
    assert outcome.status == FAILED
    assert outcome.reasons
