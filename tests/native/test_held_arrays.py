"""`x.array = values`: the parameter holds them from now on; one without a shape yet keeps the helper."""

import numpy as np
import pytest

from tests.support.native_snippets import migrated, run

PROGRAM = """
import chainer.links as L
class Net(chainer.Chain):
    def __init__(self, n, rest=None):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(n, 3)
            self.bn = L.BatchNormalization(3)
    def forward(self, x):
        return self.bn(self.l(x))

def load(net, values, other):
    net.l.W.array = values['W']
    net.l.b.data = other.l.b.array * 2
    net.bn.gamma.array = np.arange(3).astype('f')[::-1]
    other.l.W.data = values['W'].astype('d')

def run(xs):
    net, other = Net(2), Net(2)
    values = {'W': np.arange(6).astype('f').reshape(3, 2)}
    other.l.b.array[...] = 3
    load(net, values, other)
    values['W'][0] = 7  # it is held, not copied
    y = net(chainer.Variable(np.arange(8).astype('f').reshape(4, 2) ** 2))
    loss = chainer.functions.sum(y * y)
    net.cleargrads()
    loss.backward()
    return y.array, net.l.W.array, net.l.b.array, net.bn.gamma.array, net.l.W.grad, other.l.W.array
"""


def test_an_array_is_held():
    theirs, ours, code = run(PROGRAM)
    for one, other in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(np.asarray(one), other.detach().numpy(), rtol=1e-4, atol=1e-5)
        assert str(np.asarray(one).dtype) == str(other.dtype).removeprefix("torch.")
    assert "net.l.weight.data = torch.as_tensor(values['W'])" in code and "set_array" not in code, code


@pytest.mark.parametrize(
    "line",
    [
        "L.Linear(rest, 3)",
        "L.Linear(3)",
        "L.Linear(out_size=3)",
        "L.Linear(None, 3)",
        "L.Linear(*[n, 3])",
        "made(L.Linear)(None, 3)",
    ],
)
def test_a_layer_that_may_wait_for_its_shape_keeps_the_helper(line):
    code = migrated("import chainer\nimport numpy as np\n" + PROGRAM.replace("L.Linear(n, 3)", line)).code
    assert "compat.set_array(net.l.weight, values['W'])" in code, code


_OTHERS = """
class Own(L.Linear):
    pass

class Other(chainer.Chain):
    def __init__(self, *args):
        super().__init__()
        with self.init_scope():
            self.p = chainer.Parameter(1.0)
            self.l = L.Linear(*args)
            self.own = Own(None, 3)

def load_others(net, model, values, *layers):
    net.p.array = values['p']
    net.l.W.array = values['l']
    net.own.W.array = values['own']
    model.l.W.array = values['model']
    for layer in [L.Linear(2, 2), L.Linear(None, 2)]:
        layer.W.array = values['layer']
    for layer in layers:
        layer.W.array = values['unknown']

load_others(Other(), Net(2), {})
"""


def test_only_what_may_wait_keeps_the_helper():
    """A layer that was made with its sizes does not wait, whatever the others do."""
    code = migrated("import chainer\nimport numpy as np\n" + PROGRAM + _OTHERS).code
    helped = [line.partition("set_array(")[2] for line in code.splitlines() if "set_array(" in line]
    assert [text.split("'")[1] for text in helped if "values['" in text] == ["p", "l", "own", "layer", "unknown"], code
    assert "model.l.weight.data = torch.as_tensor(values['model'])" in code, code


def test_a_class_that_is_only_asked_for_makes_no_layer():
    text = PROGRAM + "\n\ndef is_one(x):\n    return isinstance(x, (L.Linear, L.EmbedID))\n"
    assert "set_array(" not in migrated("import chainer\nimport numpy as np\n" + text).code
