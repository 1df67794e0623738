"""The text of LibCST's nodes is LibCST's own, and what was printed once stays right when other statements change."""

from __future__ import annotations

import libcst as cst
import pytest

from chainer2torch.rewrite.printing import Printer, changed, code_of

TEXTS = (
    "",
    "\n",
    "# only a comment",
    "x = 1",
    "import a\n\n\nclass A(B):\n\n  # inside\n  def f(self, x, *, y=(1, 2)):\n    return [x for x in y if x]\n",
    "if a:\r\n\tf(\r\n\t\tb,\r\n\t)\r\nelse: c; d\r\n",
)


@pytest.mark.parametrize("text", TEXTS)
def test_a_module_is_printed_as_libcst_prints_it(text: str) -> None:
    assert Printer().code(cst.parse_module(text)) == text


def test_what_has_changed_since_is_printed_anew() -> None:
    module = cst.parse_module("import a\nimport b\nprint(a)\n")
    printer = Printer()
    assert printer.code(module) == module.code
    fewer = module.with_changes(body=[cst.parse_statement("import c\n"), *module.body[1:]])
    assert printer.code(fewer) == fewer.code == "import c\nimport b\nprint(a)\n"
    assert printer.code(module) == module.code


def test_a_node_is_printed_alone_or_with_the_line_ends_of_its_module() -> None:
    module = cst.parse_module("x = f(\r\n    1)\r\n")
    statement = module.body[0]
    assert code_of(statement, module) == module.code
    assert code_of(statement) == cst.Module([]).code_for_node(statement) == "x = f(\n    1)\n"


def test_a_changed_node_is_checked_as_libcst_checks_it() -> None:
    statement = cst.ensure_type(cst.parse_module("return(x)\n").body[0], cst.SimpleStatementLine).body[0]
    one = changed(statement, {"value": cst.parse_expression("(y)")})
    assert code_of(one) == "return(y)"
    assert code_of(statement) == "return(x)"
    with pytest.raises(cst.CSTValidationError):
        changed(statement, {"value": cst.Name("y")})
