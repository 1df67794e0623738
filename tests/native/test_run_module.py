"""``chainer.testing.run_module`` becomes the lines that call pytest."""

import ast

import pytest

from tests.support.native_snippets import migrated

TESTS = "from chainer import testing\n\n\ndef test():\n    pass\n\n\n"


def test_at_the_end_of_a_file():
    code = migrated(TESTS + "testing.run_module(__name__, __file__)\n").code
    assert code.endswith("if __name__ == '__main__':\n    pytest.main([__file__, '-vvs', '-x', '--pdb'])\n")
    assert "import pytest" in code and "compat" not in code


@pytest.mark.parametrize(
    "call",
    [
        "testing.run_module('tests', __file__)",
        "def main():\n    testing.run_module(__name__, __file__)",
        "test(); testing.run_module(__name__, __file__)",
    ],
)
def test_elsewhere_it_stays_a_helper(call):
    code = migrated(TESTS + call + "\n").code
    assert "compat.run_module(" in code
    ast.parse(code)
