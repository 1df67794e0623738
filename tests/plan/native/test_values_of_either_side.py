"""Functions that some calls hand tensors, and others arrays of the host or what nobody knows."""

import pytest

from chainer2torch.engine import Options, migrate_source
from tests.support.native_programs import check

UNKNOWN = """
class Fixed(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.fc = L.Linear(3, 3, initialW=np.arange(9, dtype='f').reshape(3, 3) / 9)

    def __call__(self, x):
        return self.fc(x)

class Box:
    def __init__(self, value, other=None):
        self.value, self.other = value, other

def unknown(box, name='value'):
    return vars(box)[name]
"""

FED = """
def taken(x, order, axis=-1):
    return np.take(x, order, axis=axis).copy()

def area(boxes):
    return np.prod(boxes[:, 2:] - boxes[:, :2], axis=1), np.swapaxes(boxes, 0, 1).copy(), np.asarray(boxes)

def train(net):
    x = np.random.RandomState(0).randn(4, 3).astype('f')
    order = np.array([2, 0, 1])
    y = F.concat([F.tanh(x), F.relu(x)[:, :1]], axis=1).array
    ways = [taken(x, order), taken(F.tanh(x).array, order), taken(unknown(Box(x)), order, axis=1)]
    ways += [*area(y), *area(np.tanh(y)), *area(unknown(Box(np.ones((2, 4)))))]
    return [float(abs(way).sum()) for way in ways]
"""


def test_numpy_gets_arrays() -> None:
    code = check(UNKNOWN + FED)
    assert "np.take(compat.to_host(x), order, axis=axis).copy()" in code
    assert "np.asarray(boxes)" in code


HANDED = """
def masked(x, mask=None):
    if mask is None:
        h = x
    else:
        h = x + (mask - 1) * 10
    return F.softmax(h)

def extended(x, size):
    xp = chainer.backends.cuda.get_array_module(x[0])
    out = xp.zeros((size, 3), dtype=x[0].dtype)
    for i in range(len(x)):
        out[i] = x[i]
    return out

def run(model, *args):
    return model(*args).array

def joined(model, xs):
    return model(xs)

class Lists(chainer.Chain):
    def __init__(self, net):
        super().__init__()
        with self.init_scope():
            self.net = net

    def __call__(self, xs):
        return F.concat([self.net(x) for x in xs], axis=0)

def train(net):
    x = np.random.RandomState(0).randn(4, 3).astype('f')
    extended(unknown(Box(x)), 5)
    longer = extended(x, 6)
    outputs = [masked(x), masked(unknown(Box(x))), masked(F.tanh(x)), masked(x, np.ones((4, 3), 'f'))]
    outputs += [Fixed()(longer), joined(Lists(Fixed()), [x, x]), joined(Lists(Fixed()), unknown(Box([x])))]
    arrays = [run(Fixed(), x), run(Fixed(), unknown(Box(x))), run(Fixed(), F.tanh(x))]
    return [float((y.array * y.array).sum()) for y in outputs] + [float((a * a).sum()) for a in arrays]
"""


def test_functions_and_models_get_tensors() -> None:
    code = check(UNKNOWN + HANDED)
    assert "F.softmax(torch.as_tensor(h), dim=1)" in code
    assert "model(*map(compat.from_host, args))" in code


BRANCH = """
def chosen(boxes, limit, score=None):
    xp = chainer.backends.cuda.get_array_module(boxes)
    if {}:
        return _on_cpu(boxes, limit, score)
    else:
        return _on_gpu(boxes, limit, score)

def _on_cpu(boxes, limit, score=None):
    if score is not None:
        boxes = boxes[score.argsort()[::-1]]
    sizes = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1)
    return np.where(sizes > limit)[0].astype(np.int32)

def _on_gpu(boxes, limit, score=None):
    raise NotImplementedError

def train(net):
    x = np.random.RandomState(0).rand(9, 4).astype('f')
    y, score = F.tanh(x).array, F.tanh(x[:, 0]).array
    box = Box(x, x[:, 0])
    ways = [chosen(x, 0.1, x[:, 0]), chosen(y, 0.1, score), chosen(y, 0.2)]
    ways.append(chosen(unknown(box), 0.1, unknown(box, 'other')))
    return [float(way.sum()) for way in ways] + [float(y[ways[1]].sum())]
"""


@pytest.mark.parametrize("test", ["xp == np", "xp is np"])
def test_what_numpy_does_on_the_cpu_is_done_with_its_arrays(test: str) -> None:
    code = check(UNKNOWN + BRANCH.format(test))
    assert "return _on_cpu(compat.to_host(boxes), limit, compat.to_host(score))" in code
    assert "return _on_gpu(boxes, limit, score)" in code


TYPES = """
import unittest

class Case(unittest.TestCase):
    def runTest(self):
        pass

def one(y, x):
    case = Case()
    case.assertIsInstance(y.array, type(x))
    case.assertIsInstance(y.array, np.ndarray)
    case.assertNotIsInstance(y.array, (list, tuple))
    assert isinstance(y.array, type(x)) and type(y.array) == type(x) and not type(x) is not type(y.array)
    return isinstance(np.tanh(x), type(x)) + 2 * isinstance(x, type(y.array))

def items(y, xs):
    return isinstance(y.array, type(xs[0])) + 2 * isinstance(xs, type(y.array))

def train(net):
    x = np.random.RandomState(0).rand(2, 3).astype('f')
    y = Fixed()(x)
    found = [one(y, x), one(y, F.tanh(x).array), one(y, y.array), items(y, [x]), items(y, [y.array])]
    return found + [isinstance(y.array, type(x)), type(x) != type(y.array), isinstance(x, type(y))]
"""


def test_the_type_of_one_array_is_asked_of_another() -> None:
    code = check(UNKNOWN + TYPES)
    assert (
        "case.assertIsInstance(y.detach(), torch.Tensor)\n    case.assertIsInstance(y.detach(), torch.Tensor)" in code
    )


def test_a_variable_is_no_array() -> None:
    text = """
import chainer
import numpy as np

def f():
    x = np.ones((2, 3), dtype='f')
    y = chainer.functions.relu(x)
    return isinstance(y, type(x)), isinstance(y.array, type(x)), isinstance(f, type(x))
"""
    states = [
        site.state for site in migrate_source(text, options=Options(style="native")).sites if site.code == "C2T320"
    ]
    assert sorted(states) == ["exact", "review"]
