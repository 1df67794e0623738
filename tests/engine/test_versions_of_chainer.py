"""Tests of Chainer's version are decided, and what else is computed from it is known."""

import pytest

from chainer2torch.engine import migrate_source

HEAD = "import chainer\n"
TESTS = {
    "int(chainer.__version__[0]) >= 3": True,
    "int(chainer.__version__.split('.')[0]) < 4": False,
    "chainer.__version__ >= '2.0.0'": True,
    "chainer.__version__ == '7.0.0b3'": False,
    "chainer.__version__.startswith('1.')": False,
    "not chainer.__version__.startswith(('1.', '2.'))": True,
    "'7.' in chainer.__version__": True,
    "LooseVersion(chainer.__version__) >= LooseVersion('5.0')": True,
    "LooseVersion(chainer.__version__) < '7.8.1'": None,  # a version and a text: left to the library
    "version.parse(chainer.__version__) < version.parse('7.8.1rc1')": False,
    "tuple(int(p) for p in chainer.__version__.split('.')) < (2, 0)": False,
    "tuple(map(int, chainer.__version__.split('.')[:2])) == (7, 8)": True,
    "[int(p) for p in chainer.__version__.split('.')] > [4]": True,
    "tuple(p for p in chainer.__version__ if p) > ('4',)": None,
    "check(chainer.__version__)": None,
    "chainer.__version__ >= LIMIT": None,
}


@pytest.mark.parametrize("test", TESTS)
def test_a_test_is_decided(test: str) -> None:
    imports = "from distutils.version import LooseVersion\nfrom packaging import version\nLIMIT = str(check)\n"
    result = migrate_source(f"{HEAD}{imports}if {test}:\n    side = 'then'\nelse:\n    side = 'other'\n")
    expected = TESTS[test]
    left = result.code.count("side = ")
    assert left == (2 if expected is None else 1)
    if expected is not None:
        assert ("side = 'then'" in result.code) == expected
        assert "TODO" not in result.code
    else:
        assert "TODO" in result.code


def test_what_is_computed_from_the_version_is_its_value() -> None:
    result = migrate_source(HEAD + "MAJOR = int(chainer.__version__.split('.')[0])\nprint(MAJOR > 3)\n")
    assert "MAJOR = 7\n" in result.code and "chainer" not in result.code


def test_the_version_itself_is_for_a_person() -> None:
    result = migrate_source(HEAD + "save(chainer.__version__)\n")
    assert [site.state for site in result.sites] == ["manual"]


def test_a_name_of_the_users_own_is_no_version() -> None:
    text = "def f(chainer):\n    return chainer.__version__ >= '2'\n"
    assert migrate_source(HEAD + text).code.endswith(text)


NAMES = {
    "a number": "MAJOR = int(chainer.__version__.split('.')[0])\n",
    "parts that are taken apart": "major, _, _ = chainer.__version__.split('.')\nMAJOR = int(major)\n",
    "a name of a name": "VERSION = chainer.__version__\nMAJOR = int(VERSION[0])\n",
}
BOTH = """
if MAJOR >= 5:
    from chainer import static_graph
else:
    def static_graph(f):
        return f


class Net(chainer.Chain):
    @static_graph
    def forward(self, x):
        return x
"""


@pytest.mark.parametrize("name", NAMES)
def test_a_test_of_a_name_that_holds_the_version_is_decided(name: str) -> None:
    """What the other branch defines is not there for the analysis, either: the name has one meaning."""
    result = migrate_source(HEAD + NAMES[name] + BOTH)
    assert "    @compat.static_graph\n" in result.code
    assert "def static_graph" not in result.code and "if MAJOR" not in result.code
    assert "from chainer import static_graph" not in result.code
    again = migrate_source(result.code)
    assert again.code == result.code


@pytest.mark.parametrize(
    "text",
    [
        "MAJOR = int(chainer.__version__[0])\ndef f(MAJOR):\n    if MAJOR > 3:\n        return 1\n",
        "MAJOR = int(chainer.__version__[0])\nMAJOR = 3\nif MAJOR > 3:\n    pass\n",
        "MAJOR = int(chainer.__version__[0])\nif MAJOR > limit():\n    pass\n",
        "MAJOR, OTHER = chainer.__version__.split('.')\nif MAJOR > '3':\n    pass\n",
    ],
)
def test_a_name_that_may_hold_something_else_is_not_decided(text: str) -> None:
    assert "if MAJOR > " in migrate_source(HEAD + text).code
