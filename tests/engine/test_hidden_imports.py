"""``from chainer import datasets`` above another library's ``datasets``: nothing reads what the first one gave."""

import pytest

from chainer2torch.engine import migrate_source

READ = "\n\ndef main():\n    return datasets.load_iris()\n"


def left(imports: str, rest: str = READ) -> tuple[str, list[str]]:
    result = migrate_source(imports + rest)
    assert result.error is None
    return result.code, [site.state for site in result.sites if site.state != "exact"]


@pytest.mark.parametrize(
    "imports",
    [
        "from chainer import cuda, datasets\nimport numpy as np\nfrom sklearn import datasets\n",
        "from chainer import datasets\nfrom chainer import datasets\nfrom sklearn import datasets\n",
        "import chainer.datasets as datasets\nimport sklearn.datasets as datasets\n",
    ],
)
def test_the_first_goes(imports: str) -> None:
    code, states = left(imports)
    assert "chainer" not in code and "sklearn" in code and "TODO" not in code
    assert states == []


def test_the_other_way_round() -> None:
    code, states = left(
        "from sklearn import datasets\nfrom chainer import datasets\n", "\n\ntrain, _ = datasets.get_mnist()\n"
    )
    assert "chainer import" not in code and states == []


@pytest.mark.parametrize("between", ["data = datasets.get_mnist()\n", "print('Hi')\n"])
def test_what_runs_in_between_may_read_it(between: str) -> None:
    code, _ = left(f"from chainer import datasets\n{between}from sklearn import datasets\n")
    assert "TODO" in code


def test_submodules_add_to_a_package() -> None:
    code, _ = left(
        "import chainer\nimport chainer.functions\n", "\n\ny = chainer.functions.relu(chainer.Variable(None))\n"
    )
    assert "relu" in code and "chainer.functions" not in code
