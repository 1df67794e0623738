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
