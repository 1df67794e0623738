"""L.Linear in the native style: nn.Linear, where its calls flatten or nobody calls it."""

import numpy as np
import pytest
import torch

from tests.support.native_programs import both, migrated

IMPORTS = (
    "import math\n\nimport chainer\nimport chainer.functions as F\nimport chainer.links as L\nimport numpy as np\n\n"
)
NET = """
class Net(chainer.Chain):
    def __init__(self):
        super().__init__(
            a=L.Linear(6, 4),
            v=L.Linear(4, 1),
            scaled=L.Linear(4, 3, wscale=math.sqrt(2)),
        )
        self.inner = chainer.Chain(l1=L.Linear(6, 4))

    def __call__(self, x):
        return self.scaled(self.a(x) * self.v.W + self.inner.l1(x))
"""


def test_layers_are_plain_whose_calls_flatten_or_that_nobody_calls() -> None:
    _, ours, code = both(NET, IMPORTS)
    theirs: dict[str, type] = {}
    exec(IMPORTS + NET.replace(", wscale=math.sqrt(2)", ""), theirs)  # the weights are copied
    model, module = theirs["Net"](), ours["Net"]()
    assert "compat.Linear" not in code and "nn.Linear(4, 1)" in code and "self.inner.l1(torch.flatten(x, 1))" in code
    with torch.no_grad():
        for name in ("a", "v", "scaled"):
            getattr(module, name).weight.copy_(torch.as_tensor(model[name].W.array))
        module.inner.l1.weight.copy_(torch.as_tensor(model.inner.l1.W.array))
    for shape in ((5, 6), (5, 2, 3), (5, 1, 6), (2, 1, 1, 6)):
        x = np.random.RandomState(0).randn(*shape).astype(np.float32)
        want, got = model(x), module(torch.as_tensor(x))
        assert got.shape == want.shape
        np.testing.assert_allclose(got.detach().numpy(), want.array, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    "use",
    [
        "return getattr(self, name)(x)",
        "return self[name](x)",
        "return [f(x) for f in self.children()]",
        "return F.forget(self.v, x)",
        "return other.v(x)",
        "return call('v', x)",
    ],
)
def test_a_layer_that_may_be_called_unseen_flattens_itself(use: str) -> None:
    code = migrated(NET + f"\n    def other(self, name, x, other, call):\n        {use}\n", IMPORTS).code
    assert "self.v = compat.Linear(4, 1)" in code


LISTED = """
class Steps(chainer.ChainList):
    def __call__(self, x):
        for step in self:
            x = step(x)
        return x

class Net(chainer.Chain):
    def __init__(self, n_in=6, n=4):
        super().__init__()
        self.chosen = [F.tanh, F.relu]
        with self.init_scope():
            self.plain = Steps(L.Linear(n_in, n), L.Linear(n, n), L.Linear(n, 3){other})
            self.heads = Steps(L.Linear(n, n), L.Linear(n, n))

    def __call__(self, x):
        return self.plain(x) + sum([self.heads[i](x[:, :1, :4]) for i in range(2)])[:, :3]
"""


def test_layers_behind_others_in_a_list_get_rows() -> None:
    _, ours, code = both(LISTED.replace("{other}", ""), IMPORTS)
    theirs: dict[str, type] = {}
    exec(IMPORTS + LISTED.replace("{other}", ""), theirs)
    model, module = theirs["Net"](), ours["Net"]()
    assert code.count("compat.Linear(") == 3 and code.count("nn.Linear(n, ") == 2  # heads may get the same input
    with torch.no_grad():
        for ones, others in ((model.plain, module.plain), (model.heads, module.heads)):
            for one, other in zip(ones, others, strict=True):
                other.weight.copy_(torch.as_tensor(one.W.array))
    for shape in ((5, 1, 6), (2, 1, 6)):
        x = np.random.RandomState(0).randn(*shape).astype(np.float32)
        want, got = model(x), module(torch.as_tensor(x))
        assert got.shape == want.shape
        np.testing.assert_allclose(got.detach().numpy(), want.array, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    "layers",
    [
        "L.Linear(6, 4), F.reshape, L.Linear(4, 3)",  # what stands between may give other axes
        "L.Linear(6, 4), L.Convolution2D(1, 1, 1), L.Linear(4, 3)",
        "L.Linear(6, 4), L.Linear(5, 3)",  # not what the one before gives
        "L.Linear(4, 4), L.Linear(4, 4)",  # may be called with the same input
    ],
)
def test_a_layer_of_a_list_that_may_get_something_else_flattens_itself(layers: str) -> None:
    code = migrated(f"def made(make):\n    return make({layers})\n", IMPORTS).code
    assert code.count("compat.Linear(") == 2


def test_what_is_elementwise_may_stand_between() -> None:
    code = migrated(
        "def made(make, n):\n    return make(L.Linear(n, n), make.ReLU(), L.BatchNormalization(n), L.Linear(n, n))\n",
        IMPORTS,
    ).code
    assert code.count("compat.Linear(") == 1
