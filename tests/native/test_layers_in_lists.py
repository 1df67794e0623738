"""Linear layers that lists of links hold, in projects where links are called of which nobody knows which they are."""

import numpy as np
import pytest

from tests.support.native_snippets import migrated, run

PROGRAM = """
import chainer.links as L


class Branched(chainer.ChainList):
    def __call__(self, *args, **kwargs):
        return tuple(link(*args, **kwargs) for link in self)


class MLP(chainer.Chain):
    def __init__(self, sizes):
        super().__init__()
        with self.init_scope():
            layers = []
            for n_in, n_out in zip(sizes, sizes[1:]):
                layers.append(L.Linear(n_in, n_out, initialW=0.5, initial_bias=0.25))
            self.layers = chainer.ChainList(*layers)

    def forward(self, x):
        h = x
        for layer in self.layers:
            h = F.relu(layer(h))
        return h


def run(xs):
    model = Branched(MLP([4, 3, 2]), MLP([4, 5]))
    x = np.concatenate([np.asarray(x) for x in xs]).astype('f')
    return [y.array for size in (8, 1) for y in model(x[:2].reshape(-1, 2, 2)[:size])]
"""


def test_what_a_list_holds_that_the_project_makes_is_not_what_others_call() -> None:
    theirs, ours, code = run(PROGRAM)
    for one, other in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(other.detach().numpy(), one, rtol=1e-6)
    assert "compat.Linear" not in code and "nn.Linear(n_in, n_out)" in code, code
    assert "layer(torch.flatten(h, 1))" in code, code


LSTM = """def step(net, xs):
    for link in net.links():
        if isinstance(link, L.NStepLSTM):
            link(None, None, xs)
"""
ANY = "class Other(chainer.ChainList):\n    def __call__(self, x):\n        return [link(x) for link in self]\n"
MADE = "made = Other(*made_elsewhere.links())\n"
AXES = "def rows(layer, x):\n    return layer(x, n_batch_axes=2)\n"


@pytest.mark.parametrize(
    ("more", "plain"),
    [
        (LSTM, True),  # a layer of another class
        (ANY + "made = Other(L.Linear(2, 2))\n", True),
        (ANY, False),  # nobody knows what it walks over
        (ANY + "import made_elsewhere\n" + MADE, False),
        ("def outputs(net, x):\n    return [link(x) for link in net.links()]\n", False),
    ],
)
def test_what_calls_links_that_nobody_knows_may_call_these(more: str, plain: bool) -> None:
    code = migrated(PROGRAM.replace("\ndef run", more + "\n\ndef run")).code
    assert ("nn.Linear(n_in, n_out)" in code) == plain, code


def test_a_class_that_hands_on_keywords_may_hand_on_axes_where_the_project_says_so() -> None:
    branched = PROGRAM.replace("MLP([4, 3, 2]), MLP([4, 5])", "L.Linear(4, 3), L.Linear(4, 5)")
    assert "compat.Linear(4, 3), compat.Linear(4, 5)" in migrated(branched).code
    code = migrated(branched + AXES).code
    assert "compat.LinearLink(4, 3), compat.LinearLink(4, 5)" in code, code


HEIR = """
class Own(Branched):
    def __init__(self):
        fc = L.Linear(4, 3, initialW=0.5)
        super().__init__(fc)
        self.first = fc(np.ones((1, 4), 'f'))


def run(xs):
    x = np.ones((2, 2, 2), 'f')
    return [y.array for net in (Branched(L.Linear(4, 5, initialW=0.25)), Own()) for y in net(x)]
"""


def test_a_class_walks_over_the_links_of_its_heirs() -> None:
    theirs, ours, code = run(PROGRAM.partition("class MLP")[0] + HEIR)
    for one, other in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(other.detach().numpy(), one, rtol=1e-6)
    assert "fc(torch.flatten(" in code or "fc = init_weights(compat.Linear(" in code or "LinearLink" in code, code
