"""Arrays of NumPy's that reach a layer through methods of a model: on the CPU they are still arrays there."""

import pytest

from chainer2torch.engine import migrate_source
from chainer2torch.plan.options import Options
from tests.support.native_programs import check

HEAD = """\
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import cuda, optimizers


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(3, 4)

    def hidden(self, x):
        return F.tanh(self.l1(x))

    def loss(self, x, y):
        return F.mean((F.sum(self.hidden(x), axis=1) - y) ** 2)


class Rows:
    def __init__(self, rows):
        self.rows = rows

    def load(self):
        return np.array(self.rows, "f").reshape({shape})


gpu = -1
"""
PROGRAM = """
def train(model):
    x = {array}
    y = np.random.RandomState(1).uniform(size=5).astype(np.float32)
    if gpu >= 0:
        x = cuda.to_gpu(x)
        y = cuda.to_gpu(y)
    optimizer = optimizers.SGD(0.1)
    optimizer.setup(model)
    seen = []
    for _ in range(3):
        loss = model.loss(x, y)
        model.cleargrads()
        loss.backward()
        optimizer.update()
        seen.append(float(loss.array))
    x = np.zeros((2, 3), "f")
    seen.append(float(F.sum(model.hidden(x)).array))
    return seen


if gpu > 5:
    train(Net())
"""
ROWS = "[[0.25 * i + j for j in range(3)] for i in range(5)]"


@pytest.mark.parametrize("shape", ["(5, 3)", "(5, 3, 1)"])
@pytest.mark.parametrize(
    "array",
    [
        f"np.float32(np.array({ROWS}))",
        f"np.float32({ROWS})",
        f"np.array({ROWS}, 'f')",
        f"getattr(Rows({ROWS}), 'lo' + 'ad')()",  # nothing is known of it
    ],
)
def test_a_layer_in_a_method_gets_a_tensor(array, shape):
    code = check(PROGRAM.format(array=array), head=HEAD.format(shape=shape))
    assert "retain_graph" not in code or "getattr" in array


CHOSEN = """
def pair(rows):
    return rows[:, :2], rows[:, 2:]


def score(model, rows):
    x, y = pair(rows)
    if gpu >= 0:
        x = cuda.to_gpu(x)
        y = cuda.to_gpu(y)
    return F.mean((model.hidden(x) - F.sum(y)) ** 2)


def train(model):
    rows = getattr(Rows([[1.0, 2.0, 0.5], [0.5, -1.0, 2.0]]), 'lo' + 'ad')()
    seen = []
    for use in {'a': score}.values():
        loss = use(model, rows)
        model.cleargrads()
        loss.backward()
        seen.append(float(loss.array))
        x, _ = pair(rows)
        if gpu >= 0:
            x = cuda.to_gpu(x)
        seen.append(float(F.sum(model.hidden(x)).array))
    return seen
"""


def test_what_a_gpu_would_get_is_an_array_on_the_cpu_too():
    """Nothing is known of the rows but that they may be sent to a GPU; nor, in `score`, of the model."""
    check(CHOSEN, head=HEAD.format(shape="(2, 3)").replace("L.Linear(3, 4)", "L.Linear(2, 4)"))


FROM_OUTSIDE = """
import io
import pickle


def train(model):
    file = io.BytesIO(pickle.dumps({"x": np.random.RandomState(2).rand(4, 3).astype("f"), "n": 4}))
    data = pickle.load(file)
    seen = [float(F.sum(USE).array)]
    optimizer = optimizers.SGD(0.1)
    optimizer.setup(model)
    loss = F.sum(F.square(USE))
    model.cleargrads()
    loss.backward()
    optimizer.update()
    return seen + [float(F.sum(USE).array), data["n"]]


if gpu > 5:
    train(Net())
"""


@pytest.mark.parametrize("use", ["model.hidden(data['x'])", "model.hidden(x=data['x'])", "model(data['x'])"])
def test_what_nobody_knows_reaches_a_model_as_a_tensor(use: str) -> None:
    head = HEAD.replace("{shape}", "5, 3").replace(
        "    def loss", "    def forward(self, x):\n        return self.l1(x)\n\n    def loss"
    )
    check(head + FROM_OUTSIDE.replace("USE", use))


@pytest.mark.parametrize(
    "body",
    [
        "h = x\n        for layer in [self.l1]:\n            h = F.relu(layer(h))\n        return h",
        "return self.hidden(x)",
        "y = x\n        return self.hidden(y)",
    ],
)
def test_another_name_of_what_a_model_gets(body: str) -> None:
    head = HEAD.replace("{shape}", "5, 3").replace(
        "    def loss",
        "    def handed(self, x):\n        return self(x)\n\n"
        f"    def forward(self, x):\n        {body}\n\n    def loss",
    )
    for use in ("model(data['x'])", "model.handed(data['x'])"):
        check(head + FROM_OUTSIDE.replace("USE", use))


@pytest.mark.parametrize(
    "body",
    [
        "return sum(x) if isinstance(x, list) else F.relu(x)",
        "return F.concat(x)",
        "return F.relu(self.l1(x)) if x is not None else None",
        "return [F.relu(v) for v in x]",
        "return F.relu(x[0])",
        "return helper(x) + F.relu(x)",
        "h = x\n        return F.relu(h[0])",
        "h = x\n        return F.relu(x) if h is not None else None",
    ],
)
def test_a_parameter_that_may_be_more_than_a_tensor_is_left(body: str) -> None:
    text = HEAD.replace("{shape}", "5, 3") + (
        f"class Other(Net):\n    def forward(self, x):\n        {body}\n\n\n"
        "def f(data):\n    return Other()(data['x'])\n"
    )
    assert "Other()(data['x'])" in migrate_source(text, options=Options(style="native")).code
