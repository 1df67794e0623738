"""What reaches the layers of a Sequential, by its own calls; and what does not show, which stays a general layer."""

import re

import numpy as np
import pytest

from chainer2torch.engine import migrate_source
from tests.support.both_sides import check_class

_HEAD = "import chainer\nimport chainer.functions as F\nimport chainer.links as L\nimport numpy as np\n"


def layers(body):
    """The constructors of layers in the migrated code of a program, in order, without their arguments."""
    result = migrate_source(_HEAD + body)
    assert result.error is None
    return re.findall(r"\b(?:nn|compat)\.(?:Linear|LazyLinear|BatchNorm\w+|BatchNormalization|Conv2d)\b", result.code)


_ROWS = "x = chainer.Variable(np.ones((5, 3), 'f'))\n"
_MAPS = "x = chainer.Variable(np.ones((5, 1, 3), 'f'))\n"

KNOWN = {
    "called with rows": (
        "m = chainer.Sequential(L.Linear(3, 4), F.relu, L.Linear(4, 2))\n" + _ROWS + "m(x)\n",
        ["nn.Linear", "nn.Linear"],
    ),
    "whoever calls it: behind a linear layer are rows": (
        "def f():\n    return chainer.Sequential(L.Linear(3, 4), F.relu, L.BatchNormalization(4), L.Linear(4, 2))\n",
        ["compat.Linear", "nn.BatchNorm1d", "nn.Linear"],
    ),
    "a list of layers, in a loop": (
        "layers = []\nfor i in range(3):\n    layers.append(L.Linear(3, 3))\n    layers.append(F.relu)\n"
        "layers.append(L.Linear(3, 2))\nm = chainer.Sequential(*layers)\n" + _ROWS + "m(x)\n",
        ["nn.Linear", "nn.Linear"],
    ),
    "put in later": (
        "m = chainer.Sequential()\nm.append(L.Linear(3, 4))\nm.append(F.relu)\n" + _ROWS + "m(x)\n",
        ["nn.Linear"],
    ),
    "in a Classifier": (
        "m = L.Classifier(chainer.Sequential(L.Linear(3, 4), F.relu, L.Linear(4, 2)))\n"
        + _ROWS
        + "m(x, np.zeros(5, 'i'))\n",
        ["nn.Linear", "nn.Linear"],
    ),
    "a function of the project between them": (
        "m = chainer.Sequential(L.Linear(3, 4), lambda h: F.expand_dims(h, 2), "
        "lambda h: F.squeeze(h, 2), L.Linear(4, 2))\n" + _ROWS + "m(x)\n",
        ["nn.Linear", "nn.Linear"],
    ),
    "one in another": (
        "m = chainer.Sequential(chainer.Sequential(L.Linear(3, 4), F.relu), L.Linear(4, 2))\n" + _ROWS + "m(x)\n",
        ["nn.Linear", "nn.Linear"],
    ),
    "a class on it": (
        "class Net(chainer.Sequential):\n    def __init__(self):\n"
        "        super().__init__(L.Linear(3, 4), F.relu, L.Linear(4, 2))\n" + _ROWS + "Net()(x)\n",
        ["nn.Linear", "nn.Linear"],
    ),
    "one of two": (
        "a = chainer.Sequential(L.Linear(3, 4), F.relu)\nb = chainer.Sequential(L.Linear(3, 4), F.tanh)\n"
        + _ROWS
        + "(a if np.random.rand() < 0.5 else b)(x)\n",
        ["nn.Linear", "nn.Linear"],
    ),
    "a list of links": (
        "class Net(chainer.Chain):\n    def __init__(self):\n        super().__init__()\n"
        "        with self.init_scope():\n"
        "            self.hidden = chainer.ChainList(L.Linear(3, 3), L.Linear(3, 3))\n"
        "    def forward(self, x):\n        for layer in self.hidden:\n            x = F.relu(layer(x))\n"
        "        return x\n" + _ROWS + "Net()(x)\n",
        ["nn.Linear", "nn.Linear"],
    ),
}
OPEN = {
    "maps behind a convolution": (
        "m = chainer.Sequential(L.Convolution2D(3, 4, 3), F.relu, L.Linear(4, 2))\n",
        ["nn.Conv2d", "compat.Linear"],
    ),
    "called with rows and with maps": (
        "m = chainer.Sequential(L.Linear(3, 4), F.relu)\n" + _ROWS + "m(x)\n" + _MAPS + "m(x)\n",
        ["compat.Linear"],
    ),
    "handed to a library": (
        "import somewhere\nm = chainer.Sequential(L.Linear(3, 4), F.relu)\n" + _ROWS + "m(x)\nsomewhere.run(m)\n",
        ["compat.Linear"],
    ),
    "a layer is taken out": (
        "m = chainer.Sequential(L.Linear(3, 4), F.relu, L.Linear(4, 2))\n"
        + _ROWS
        + "m(x)\nm[2](F.expand_dims(x, 2))\n",
        ["compat.Linear", "compat.Linear"],
    ),
    "a part of it": (
        "m = chainer.Sequential(L.Linear(3, 4), F.relu, L.Linear(4, 2))\n"
        + _ROWS
        + "m(x)\nm[1:](F.expand_dims(x, 2))\n",
        ["compat.Linear", "compat.Linear"],
    ),
    "walked through": (
        "m = chainer.Sequential(L.Linear(3, 4), F.relu)\n"
        + _ROWS
        + "m(x)\nfor child in m.children():\n    run(child)\n",
        ["compat.Linear"],
    ),
    "repeated": (
        "m = chainer.Sequential(F.relu, L.Linear(3, 3))\n" + _ROWS + "m(x)\nr = m.repeat(2)\n",
        ["compat.Linear"],
    ),
    "joined with another": (
        "m = chainer.Sequential(L.Linear(3, 4), F.relu)\n" + _ROWS + "m(x)\nr = chainer.Sequential(F.relu) + m\n",
        ["compat.Linear"],
    ),
    "put in front of it": (
        "m = chainer.Sequential(L.Linear(3, 4), F.relu)\nm.insert(0, lambda h: F.reshape(h, shape))\n"
        + _ROWS
        + "m(x)\n",
        ["compat.Linear"],
    ),
    "an unknown function before it": (
        "from somewhere import f\nm = chainer.Sequential(L.Linear(3, 4), f, L.Linear(4, 2))\n" + _ROWS + "m(x)\n",
        ["nn.Linear", "compat.Linear"],
    ),
    "one of two, and then with maps": (
        "a = L.Linear(3, 4)\nb = L.Linear(3, 4)\n" + _ROWS + "a(x), b(x)\n" + _MAPS + "(a if x.size > 5 else b)(x)\n",
        ["compat.Linear", "compat.Linear"],
    ),
    "a list whose links are called from elsewhere": (
        "m = chainer.ChainList(L.Linear(3, 4))\n"
        + _ROWS
        + "m[0](x)\nfor link in chainer.Chain().children():\n    link(F.expand_dims(x, 1))\n",
        ["compat.Linear"],
    ),
    "handed on before it is called": (
        "import somewhere\nfc = L.Linear(3, 4)\nsomewhere.run(fc)\n" + _ROWS + "fc(x)\n",
        ["compat.Linear"],
    ),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known(name):
    body, expected = KNOWN[name]
    assert layers(body) == expected


@pytest.mark.parametrize("name", OPEN)
def test_what_does_not_show_stays_open(name):
    body, expected = OPEN[name]
    assert layers(body) == expected


def test_values():
    """Outputs and gradients are those of the original, with maps in front of the first linear layer, too."""
    code = check_class(
        """
        class Net(chainer.Chain):
            def __init__(self):
                super().__init__()
                with self.init_scope():
                    self.maps = chainer.Sequential(
                        L.Convolution2D(2, 3, 3), F.relu, L.Linear(12, 5), F.tanh, L.Linear(5, 4))
                    self.rows = chainer.Sequential(
                        L.Linear(4, 4), F.sigmoid, L.BatchNormalization(4), L.Linear(4, 2))

            def forward(self, x):
                return self.rows(self.maps(x))
        """,
        [np.random.RandomState(0).randn(3, 2, 4, 4).astype("f")],
    )
    assert len(re.findall(r"\bnn\.Linear", code)) == 3 and "compat.Linear(12, 5)" in code and "nn.BatchNorm1d" in code
