"""``using_config('train', False)`` as ``model.eval()`` and ``model.train()``: where the mode before is known."""

import pytest

from tests.support.native_programs import check, migrated

NET = """
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import training


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.fc = L.Linear(3, 4)

    def __call__(self, x):
        return self.fc(x) * (3 if chainer.config.train else 1)

"""
PROGRAM = """
def drawn(model, x, found):
    @training.make_extension(trigger=(1, 'epoch'))
    def draw(trainer):
        # without noise
        with chainer.using_config('train', False), chainer.no_backprop_mode():
            y = model(x)
        found.append(y)
    return draw


def predict(model, x):
    with chainer.using_config('train', False):
        return model(x)


def train(model):
    x = chainer.Variable(np.random.RandomState(0).randn(5, 3).astype(np.float32))
    found = []
    draw = drawn(model, x, found)
    for i in range(4):
        found.append(model(x))
        if i % 2:
            with chainer.no_backprop_mode():
                with chainer.using_config('train', False):
                    for j in range(3):
                        if j == 1:
                            continue
                        found.append(model(x + j))
        with chainer.using_config('train', True):
            found.append(model(x))
        draw(None)
        found.append(predict(model, x))
    found.append(model(x))
    return found
"""


def test_blocks_that_begin_in_train_mode() -> None:
    code = check(PROGRAM, head=NET)
    assert "with compat.evaluating" not in code and "compat.in_mode" not in code
    assert (
        "        # without noise\n        model.eval()\n        with torch.no_grad():\n            y = model(x)\n"
        "        model.train()\n        found.append(y)\n"
    ).replace("\\\n", "\n") in code
    assert "    model.eval()\n    result = model(x)\n    model.train()\n    return result\n" in code


INNER = """
def compose(x, functions):
    for f in functions:
        x = f(x)
    return x


def embedded(i, table):
    return table(i)


class Deep(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.fc = L.Linear(3, 4)
            self.bn = L.BatchNormalization(4)
            self.first = L.EmbedID(5, 4)
            self.second = L.EmbedID(5, 4)
            self.net = Net()
        self.first.W.array[...], self.second.W.array[...] = .5, .25
        self.fc.W.array[...] = self.net.fc.W.array[...] = .25

    def __call__(self, x, i, activation=None):
        h = compose(self.net(x), [self.fc, self.bn, F.relu] if len(i) > 9 else [self.bn, F.relu])
        h = compose(h, [self.bn, F.relu, lambda x: x * 2])
        h += embedded(i, self.first) + embedded(i, self.second)
        return activation(h) if activation else h

    def predict(self, x, i):
        return self(x, i, activation=F.sigmoid) + self(x, i)


def train(_):
    model = Deep()
    x = chainer.Variable(np.random.RandomState(0).randn(5, 3).astype(np.float32))
    i = np.array([0, 2, 1, 4, 4])
    found = []
    for _ in range(3):
        found.append(model(x, i))
        with chainer.using_config('train', False):
            found.append(model(x, i))
            found.append(model.predict(x, i))
    return found
"""


def test_parts_of_a_model_that_its_functions_are_handed() -> None:
    """A list of layers, a table, a function that may be None: they are its own, and `eval()` reaches them."""
    code = check(INNER, head=NET)
    assert "compat.in_mode" not in code and "        model.eval()\n" in code


HELD = "def test(model, x):\n    with chainer.using_config('train', False):\n        y = model(x)\n    return y\n\n\n"


@pytest.mark.parametrize(
    "use",
    [
        "def run(model, x):\n    with chainer.using_config('train', False):\n        return test(model, x)\n",
        "def run(model, x):\n    try:\n        test(model, x)\n    except ValueError:\n        return model(x)\n",
        "def run(model, x, function):\n    return function(test)\n",
        "def run(model, x):\n    return map(lambda x: test(model, x), x)\n",
        "class Other(Net):\n    def forward(self, x):\n        return test(self, x)\n",
        "def run(model, x, mode):\n    with chainer.using_config('train', mode):\n        return other(model, x)\n\n\n"
        "def other(model, x):\n    return test(model, x)\n",
        "class Solver:\n    def __init__(self, model, x):\n        test(model, x)\n",
        "def stop():\n    chainer.config.train = False\n",
    ],
)
def test_blocks_that_may_begin_in_another_mode(use: str) -> None:
    assert "    y = model(" in migrated(NET + HELD + use, "").code
    assert "    model.eval()\n    y =" not in migrated(NET + HELD + use, "").code


@pytest.mark.parametrize("leaving", ["break", "yield y", "return y\n            print(y)"])
def test_blocks_that_are_left_before_their_end(leaving: str) -> None:
    block = f"        with chainer.using_config('train', False):\n            y = model(x)\n            {leaving}\n"
    source = f"def run(model, x):\n    for x in [x]:\n{block}\nrun(Net(), 1)\n"
    code = migrated(NET + source, "").code
    assert "was_training = model.training\n        model.eval()\n        try:\n            y = model(x)\n" in code
    assert "        finally:\n            model.train(was_training)\n" in code and "compat" not in code


PUT_BACK = """
class Guarded(Net):
    def predict(self, x, fails=False):
        with chainer.using_config('train', False), chainer.no_backprop_mode():
            if fails:
                raise ValueError
            for i in range(3):
                return self(x) + i

    def both(self, x):
        with chainer.using_config('train', False):
            y = self(x)
            with chainer.using_config('train', False):
                y += self(x)
            return y + self(x) + self.predict(x)


def train(_):
    model = Guarded()
    model.fc.W.array[...] = .5
    x = chainer.Variable(np.random.RandomState(0).randn(5, 3).astype(np.float32))
    found = []
    for i in range(4):
        try:
            found.append(model.predict(x, fails=i == 1))
        except ValueError:
            pass
        found += [model(x), model.both(x), model(x)]
    return found
"""


def test_the_mode_before_comes_back_whatever_ends_a_block() -> None:
    code = check(PUT_BACK, head=NET)
    assert code.count("self.train(was_training)") == 1 and code.count("with compat.evaluating(self):") == 1


BY_NAME = """
class Blocks(chainer.Chain):
    def __init__(self, parts):
        super().__init__()
        for name, part in parts:
            if not name.startswith('_'):
                self.add_link(name, part)
        self.parts = parts

    def __call__(self, x):
        for name, part in self.parts:
            x = part(x)
        return x


class Tall(chainer.Chain):
    def __init__(self):
        super().__init__()
        layers = [('begin', Blocks([('fc', L.Linear(3, 4)), ('_act', F.tanh), ('NORM', L.BatchNormalization(4))]))]
        for i in range(2):
            layers.append(('fc{}'.format(i), L.Linear(4, 4)))
            layers.append(('DROP{}'.format(i), F.tanh))
        for layer in layers:
            if not layer[0].startswith('_'):
                self.add_link(*layer)
        self.layers = layers

    def __call__(self, x):
        for _, layer in self.layers:
            x = layer(x)
        return x


def train(_):
    model = Tall()
    for param in model.params():
        param.array[...] = .5
    x = chainer.Variable(np.random.RandomState(0).randn(5, 3).astype(np.float32))
    found = []
    for _ in range(3):
        found.append(model(x))
        with chainer.using_config('train', False):
            found.append(model(x))
    return found
"""


def test_links_in_a_list_of_which_a_loop_adds_those_with_a_name() -> None:
    """`_relu` stands beside a function: whatever has a mode is registered, and `eval()` reaches it."""
    source = BY_NAME.replace("NORM", "bn").replace("DROP", "_act")
    code = check(source, head=NET)
    assert "        model.eval()\n" in code and "eval_mode" not in code
    left_out = BY_NAME.replace("NORM", "_bn").replace("DROP", "_act")
    assert "compat.eval_mode(model)" in migrated(NET + left_out, "").code


PREDICT = """
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.fc = L.Linear(3, 4)

    def __call__(self, x):
        return self.fc(x) * (3 if chainer.config.train else 1)

    def scores(self, x):
        with chainer.using_config('train', True):
            return F.softmax(self(x)).array

    def smooth(self, x):
        return self(x) * 0.5


def train(model):
    x = chainer.Variable(np.random.RandomState(0).randn(5, 3).astype(np.float32))
    held = {'model': model}
    found = [model.scores(x)]
    with chainer.using_config('train', False):
        found.append(model.scores(x))
        found.append(model(x))
    found.append(drawn(held, x))
    found.append(model(x))
    return found


def drawn(held, x):
    for model in sorted(held.values(), key=id):
        with chainer.using_config('train', False):
            a = model.smooth(x)
            b = model.forward(x) if hasattr(model, 'forward_') else model.smooth(x)
    return [a, b]
"""


def test_train_mode_inside_of_test_mode_and_methods_that_only_links_have() -> None:
    code = check(PREDICT, head="")
    assert "in_mode" not in code and "eval_mode" not in code, code
    assert "self.train()\n" in code and "self.train(was_training)" in code


def test_a_method_that_others_have_too_tells_nothing() -> None:
    other = PREDICT.replace("def drawn", "class Other:\n    def smooth(self, x):\n        return x\n\n\ndef drawn")
    other = other.replace("model.forward(x) if hasattr(model, 'forward_') else ", "")
    assert "compat.in_mode(False)" in migrated(other, head="").code
