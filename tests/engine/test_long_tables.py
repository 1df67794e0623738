"""The middle of a long list of numbers is not parsed; nothing else of the text is lost."""

import ast

import pytest

from chainer2torch.analysis.parsing import keeps_tables, long_tables, parse
from chainer2torch.engine import migrate_source

NUMBERS = ", ".join(str(i % 997) for i in range(60_000))
PART = ", ".join(str(i % 997) for i in range(20_000))
FLOATS = ",\n".join(f"{i % 997}.5e-3" for i in range(60_000))
ROWS = ",\n".join(f"[{i}, -{i}.25]" for i in range(20_000))
CODE = "import chainer.functions as F\n{}\n\n\ndef f(x):\n    return F.relu(x)\n"


@pytest.mark.parametrize(
    "table", [f"X = [{NUMBERS}]", f"X = [\n{FLOATS},\n]", f"X = [{ROWS}]", f"f(0, [{ROWS}], 3)"], ids=str.__len__
)
def test_positions_and_first_items_stay(table: str) -> None:
    text = CODE.format(table)
    short, whole = parse(text), ast.parse(text)
    assert sum(1 for _ in ast.walk(short)) < 4000 < sum(1 for _ in ast.walk(whole))
    assert ast.dump(short.body[-1], include_attributes=True) == ast.dump(whole.body[-1], include_attributes=True)
    lists = [next(n for n in ast.walk(tree) if isinstance(n, ast.List)) for tree in (short, whole)]
    assert [ast.dump(e, include_attributes=True) for e in lists[0].elts[:200]] == [
        ast.dump(e, include_attributes=True) for e in lists[1].elts[:200]
    ]
    last = [ast.dump(one.elts[-1], include_attributes=True) for one in lists]
    assert last[0] == last[1]
    code = migrate_source(text).code
    assert "F.relu(x)" in code and "import torch.nn.functional as F" in code
    assert table in code


@pytest.mark.parametrize(
    "table",
    [
        f"X = ({NUMBERS})",  # the length of a tuple is known
        f"X = '''[{NUMBERS}]'''",
        f"# [{NUMBERS}]",
        f"X = [{PART}, 'a', {PART}]",
        f"X = [[{ROWS}], [{ROWS}]]",
        f"X = [{NUMBERS}, 1.5, {PART}]",  # nothing before says that there are floats
        f"X = ['ä', {NUMBERS}]",
        f"X[{NUMBERS}]",
    ],
    ids=str.__len__,
)
def test_what_is_something_else_is_parsed_whole(table: str) -> None:
    text = CODE.format(table)
    assert ast.dump(parse(text)) == ast.dump(ast.parse(text))


def test_a_text_that_lost_numbers_is_noticed() -> None:
    text = CODE.format(f"X = [{NUMBERS}]")
    assert long_tables(text)
    assert keeps_tables(text, text) and not keeps_tables(text, text.replace("500, 501, 502", "500, 502", 3))


def test_errors_are_those_of_the_text() -> None:
    text = CODE.format(f"X = [{NUMBERS}]") + "x = = 3\n"
    with pytest.raises(SyntaxError) as found:
        parse(text)
    assert found.value.lineno == text.count("\n")
