"""Code that asks whether a value is a Variable: an array on the model's device is a tensor, too."""

import numpy as np
import pytest

from tests.support import both_sides

HEAD = "import chainer\nfrom chainer import Variable\n\n\n"
HARMLESS = [
    "assert isinstance(x, Variable)",
    "assert isinstance(x, Variable), 'a message'",
    "assert isinstance(x, Variable) and x.ndim == 2",
    "assert isinstance(x, (Variable, int))",
    "if isinstance(x, Variable):\n        x = x.data",
    "if isinstance(x, Variable):\n        x = x.array\n    else:\n        pass",
    "if isinstance(x, Variable):\n        return x.array\n    else:\n        return x",
    "if isinstance(x, Variable):\n        return float(x.array)\n    return float(x)",
    "if not isinstance(x, Variable):\n        return x\n    return x.array",
    "if isinstance(x, Variable):\n        y = x.data\n    else:\n        y = x",
    "y = x.data if isinstance(x, Variable) else x",
    "y = x if not isinstance(x, Variable) else x.data",
    "y = float(x.data) if isinstance(x, Variable) else float(x)",
]
HARMFUL = [
    "assert not isinstance(x, Variable)",
    "assert isinstance(x, Variable) or x is None",
    "return isinstance(x, Variable)",
    "if isinstance(x, Variable):\n        y = 1",
    "if isinstance(x, Variable):\n        x = x.data\n        y = 2",
    "if isinstance(x, Variable):\n        return x.array\n    return x + 1",
    "if isinstance(x, Variable):\n        x = x.grad",
    "if isinstance(x, Variable) and x.ndim:\n        x = x.data",
    "y = x.data if isinstance(x, Variable) else x * 2",
    "y = x.data if isinstance(x, (Variable, int)) else x",
    "y = x.data if isinstance(z, Variable) else x",
    "if isinstance(x, Variable):\n        return x.data\n    print(x)\n    return x",
]


def _states(result) -> list[str]:
    return [site.state for site in result.sites if site.symbol == "chainer.Variable"]


@pytest.mark.parametrize("code", HARMLESS)
def test_taking_the_array_out_means_the_same_for_an_array(migrate, code):
    result = migrate(f"{HEAD}def f(x, z):\n    {code}\n")
    assert _states(result) == ["exact"] and "torch.Tensor" in result.code


@pytest.mark.parametrize("code", HARMFUL)
def test_other_code_may_take_the_wrong_branch(migrate, code):
    assert _states(migrate(f"{HEAD}def f(x, z):\n    {code}\n")) == ["review"]


@pytest.mark.parametrize(
    "code",
    [
        "if not isinstance(x, Variable):\n        x = Variable(x)",
        "x = x if isinstance(x, Variable) else Variable(x)",
        "h = chainer.Variable(x) if not isinstance(x, chainer.Variable) else x",
        "if isinstance(x, Variable):\n        return x\n    return Variable(x)",
        "if isinstance(x, Variable):\n        y = x * 2\n    else:\n        y = Variable(x) * 2",
    ],
)
def test_making_a_variable_of_what_is_none_yet(migrate, code):
    result = migrate(f"{HEAD}def f(x, z):\n    {code}\n")
    assert _states(result)[0] == "exact" and "compat.is_variable(x)" in result.code


@pytest.mark.parametrize(
    "code",
    [
        "if not isinstance(x, Variable):\n        x = Variable(z)",
        "if not isinstance(x, Variable):\n        x = Variable(x, requires_grad=False)",
        "x = x * 2 if isinstance(x, Variable) else Variable(x)",
        "x = Variable(x) if isinstance(x, Variable) else x",
    ],
)
def test_other_variables_that_are_made(migrate, code):
    assert "review" in _states(migrate(f"{HEAD}def f(x, z):\n    {code}\n"))


@pytest.mark.parametrize("given", ["x", "chainer.Variable(x)", "chainer.Variable(x) * 2"])
def test_an_array_that_enters_a_model_gets_a_gradient(given):
    original, migrated = both_sides.both(f"""
        class Net(chainer.Chain):
            def __call__(self, x):
                h = chainer.Variable(x) if not isinstance(x, chainer.Variable) else x
                return h, F.sum(h * h)

        def run(x):
            h, y = Net()({given})
            y.backward(retain_grad=True)
            return h.grad
        """)
    x = np.arange(6, dtype="float32").reshape(2, 3)
    assert migrated["run"](x.copy()).tolist() == original["run"](x).tolist()
