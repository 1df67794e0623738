"""``optimizer.setup((parameters, gradients))`` of the first versions of Chainer is a person's; of models it is not."""

import pytest

from chainer2torch.engine import migrate_source
from chainer2torch.plan.options import Options

HEAD = "import numpy as np\nimport chainer.links as L\nfrom chainer import optimizers\nx = g = np.zeros(3, 'f')\n"


def states(text: str, style: str) -> list[str]:
    result = migrate_source(HEAD + text, options=Options(style=style))
    assert result.error is None
    return [site.state for site in result.sites if site.symbol.endswith(".setup")]


@pytest.mark.parametrize("style", ["native", "faithful"])
@pytest.mark.parametrize("given", ["(x, g)", "[(x, g)]", "([x], [g])", "{'x': x}"])
@pytest.mark.parametrize(
    "made", ["optimizer = optimizers.SGD(0.1)\n", "def f():\n    return optimizers.Adam()\noptimizer = f()\n"]
)
def test_arrays_and_gradients_are_left(style: str, given: str, made: str) -> None:
    assert states(f"{made}optimizer.setup({given})\noptimizer.update()\n", style) == ["manual"]


@pytest.mark.parametrize("style", ["native", "faithful"])
@pytest.mark.parametrize("given", ["L.Linear(3, 2)", "model", "L.Linear(3, 2).repeat(2)"])
def test_models_are_not(style: str, given: str) -> None:
    assert "manual" not in states(
        f"def fit(model):\n    o = optimizers.SGD(0.1)\n    o.setup({given})\n    o.update()\n", style
    )


@pytest.mark.parametrize(("part", "state"), [("m.l", "review"), ("m", "exact"), ("n.l", "exact")])
def test_two_optimizers_of_one_model(part: str, state: str) -> None:
    made = "m, n = (chainer.Chain(l=L.Linear(2, 2)) for _ in range(2))\na, b = optimizers.SGD(0.1), optimizers.Adam()\n"
    whole = "m" if part != "m" else "n"
    assert state in states(
        f"import chainer\n{made}a.setup({part})\nb.setup({whole})\na.update()\nb.update()\n", "native"
    )
    assert ("review" in states(f"import chainer\n{made}a.setup({part})\nb.setup({whole})\n", "native")) is (
        part == "m.l"
    )
