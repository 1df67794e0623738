"""``L.Linear(3, 4, **self.options)`` of dictionaries that a base class, a constructor or the file writes down."""

import pytest

from chainer2torch.engine import Options, migrate_source, migrate_sources
from tests.support.native_programs import HEAD, check

PROGRAM = """
PLAIN = {'nobias': True}


class Base(chainer.Chain):
    small = {'initialW': chainer.initializers.Normal(0.1), 'initial_bias': chainer.initializers.Constant(0.5)}

    def __init__(self):
        super().__init__()
        self.none = dict(nobias=True, initialW=0.5)
        with self.init_scope():
            self.a = L.Linear(3, 4, **self.small)
            self.b = L.Linear(4, 4, **self.none)


class Net(Base):
    def __init__(self):
        super().__init__()
        self.add_link('c', L.Convolution2D(1, 2, 1, **self.small))
        self.add_link('d', L.Linear(8, 2, **self.none))
        self.add_link('e', L.Linear(2, 2, **PLAIN))

    def __call__(self, x):
        h = self.b(F.tanh(self.a(x)))
        return self.e(self.d(self.c(F.reshape(h, (len(x), 1, 2, 2)))))


def train(model):
    optimizer = optimizers.SGD(0.1)
    optimizer.setup(model)
    losses = []
    for _ in range(3):
        loss = F.sum(model(np.ones((2, 3), 'f')) ** 2)
        model.cleargrads()
        loss.backward()
        optimizer.update()
        losses.append(float(loss.array))
    fresh = Net()
    return losses + [float(fresh.d.W.array.sum()), float(fresh.c.b.array.sum()), len(list(fresh.params()))]
"""


def test_they_are_read_as_if_each_was_passed():
    code = check(PROGRAM, head=HEAD.partition("class Net")[0])
    assert "**" not in code.replace("** 2", "") and "compat.Linear" not in code and "compat.Conv" not in code, code


CLASS = "class A(chainer.Chain):\n    def __init__(self, o):\n        super().__init__()\n"


@pytest.mark.parametrize(
    "text",
    [
        "P = {'nobias': True}\nP['nobias'] = False\nlayer = L.Linear(3, 4, **P)\n",
        "P = {'nobias': True}\nf(P)\nlayer = L.Linear(3, 4, **P)\n",
        "P = {'nobias': True}\ndef g():\n    global P\n    P = {}\n\ndef f():\n    return L.Linear(3, 4, **P)\n",
        "P = {}\nP = {'nobias': True}\nlayer = L.Linear(3, 4, **P)\n",
        "from other import *\nP = {'nobias': True}\nlayer = L.Linear(3, 4, **P)\n",
        "def f(P):\n    return L.Linear(3, 4, **P)\nP = {'nobias': True}\n",
        CLASS
        + "        self.o = {'nobias': True}\n        self.o.update(o)\n        self.l = L.Linear(3, 4, **self.o)\n",
        CLASS + "        if o:\n            self.o = {'nobias': True}\n        self.l = L.Linear(3, 4, **self.o)\n",
        CLASS
        + "        self.o = {'nobias': True}\n\n    def change(self):\n        self.o = {}\n\n    def add(self):\n"
        "        self.l = L.Linear(3, 4, **self.o)\n",
    ],
)
def test_what_may_change_is_left_to_the_helper(text):
    result = migrate_source(HEAD + text, options=Options(style="native"))
    assert "compat.LinearLink(3, 4, **" in result.code, result.code


@pytest.mark.parametrize("other", ["from a import P\nP['nobias'] = False\n", "import a\na.P['nobias'] = False\n"])
def test_another_file_may_change_it(other):
    text = HEAD + "P = {'nobias': True}\nlayer = L.Linear(3, 4, **P)\n"
    alone, changed = ({"a.py": text}, {"a.py": text, "b.py": other})
    codes = [migrate_sources(files, options=Options(style="native"))["a.py"].code for files in (alone, changed)]
    assert "compat.Linear(3, 4, bias=False)" in codes[0] and "compat.LinearLink(3, 4, **P)" in codes[1], codes
