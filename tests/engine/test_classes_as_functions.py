"""The name of a class that is called later, and objects of plain links: what the output says is what it does."""

import pytest

from chainer2torch.engine import migrate_source

HEAD = "import functools\n\nimport chainer\nimport numpy as np\n\n"
CALLED = {
    "assigned at the top": "wrap = chainer.Variable\n\n\ndef f(x):\n    return wrap(x)\n",
    "assigned in a function": "def f(x):\n    wrap = chainer.Variable\n    return wrap(x)\n",
    "handed to map": "def f(x):\n    return list(map(chainer.Variable, [x]))[0]\n",
    "handed to map by a name": "wrap = chainer.Variable\n\n\ndef f(x):\n    return list(map(wrap, [x]))[0]\n",
    "partly called": "wrap = functools.partial(chainer.Variable, requires_grad=False)\n\n\ndef f(x):\n    return wrap(x)\n",  # noqa: E501
}
ASKED = {
    "asked for": "def f(x):\n    return isinstance(x, chainer.Variable)\n",
    "asked for by a name": "KIND = chainer.Variable\n\n\ndef f(x):\n    return isinstance(x, KIND)\n",
    "asserted": "def f(case, x):\n    case.assertIsInstance(x, chainer.Variable)\n",
    "in a tuple": "KINDS = (chainer.Variable, int)\n\n\ndef f(x):\n    return isinstance(x, KINDS)\n",
}


@pytest.mark.parametrize("name", CALLED)
def test_a_class_that_is_called_becomes_the_function_that_makes_its_objects(name: str) -> None:
    result = migrate_source(HEAD + CALLED[name])
    assert "compat.variable" in result.code and "torch.Tensor" not in result.code
    assert {site.state for site in result.sites} == {"exact"}


@pytest.mark.parametrize("name", ASKED)
def test_a_class_that_is_asked_for_stays_a_class(name: str) -> None:
    code = migrate_source(HEAD + ASKED[name]).code
    assert "torch.Tensor" in code and "compat.variable" not in code


@pytest.mark.parametrize(
    "text",
    [
        "make = chainer.Variable\n\n\ndef f(x):\n    return x if isinstance(x, make) else make(x)\n",
        "make = chainer.Parameter\n\n\ndef f(x):\n    return x if isinstance(x, make) else make(x)\n",
    ],
)
def test_what_is_both_is_for_a_person(text: str) -> None:
    assert "manual" in {site.state for site in migrate_source(HEAD + text).sites}


@pytest.mark.parametrize("name", ["chainer.Link()", "chainer.Chain()", "chainer.ChainList()"])
def test_a_link_without_parameters_has_no_values_to_start_from(name: str) -> None:
    result = migrate_source(HEAD + f"def f():\n    link = {name}\n    return link\n")
    assert "initialize" not in result.code


def test_the_device_of_ideep_is_none_of_today() -> None:
    text = "from chainer.backend import Intel64Device\n\n\ndef f(d):\n    return isinstance(d, Intel64Device)\n"
    assert "return False" in migrate_source(text).code
