"""A file for a newer Python than this one is named as that: it is no mistake of its author."""

import ast
import sys

import pytest

from chainer2torch.project import scan
from chainer2torch.project.newer_syntax import newer_syntax
from tests.project.fakes import Engine

NEW = {
    "try:\n    pass\nexcept* ValueError:\n    pass\n": (3, 11),
    "a[*b]\n": (3, 11),
    "def f(*a: *T): pass\n": (3, 11),
    "type X = int\n": (3, 12),
    "type X[T] = list[T]\n": (3, 12),
    "def f[T](x: T) -> T:\n    return x\n": (3, 12),
    "async def f[T](x): pass\n": (3, 12),
    "class C[T: int](Base):\n    pass\n": (3, 12),
    "a = f'{d['x']}'\n": (3, 12),
    "a = f'{\n  x\n}'\n": (3, 12),
    "a = f'{\"\\n\".join(x)}'\n": (3, 12),
    "a = f'''{x # c\n}'''\n": (3, 12),
    "def f[T = int](x): pass\n": (3, 13),
    "x = t'{a}'\n": (3, 14),
}


@pytest.mark.parametrize("text", NEW)
def test_what_this_python_cannot_parse_names_the_one_that_can(tmp_path, text):
    try:
        ast.parse(text)
    except SyntaxError:
        pass
    else:
        assert sys.version_info >= NEW[text]
        return
    assert sys.version_info < NEW[text]
    (tmp_path / "new.py").write_text("import chainer\n" + text)
    (tmp_path / "plain.py").write_text("x = chainer.old\n")
    found = scan.collect([tmp_path])
    scan.analyse(found, Engine())
    assert [problem.code for problem in found.problems] == ["C2T004"]
    version = ".".join(map(str, NEW[text]))
    assert f"needs Python {version} or newer" in found.problems[0].message, found.problems[0].message
    assert "torch.new" in found.trees[0].results["plain.py"].code


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("def f[T(x): pass\n", "def f[T(x): pass", "invalid syntax"),
        ("type X = \n", "type X = ", "invalid syntax"),
        ("f'{a b}'\n", "f'{a b}'", "f-string: invalid syntax"),
        ("x = (\n", "x = (", "'(' was never closed"),
    ],
)
def test_a_mistake_stays_one(text, line, message):
    assert newer_syntax(text, line, message, (3, 10)) == ""


def test_a_python_that_knows_the_syntax_is_not_too_old():
    text = "def f[T](x): pass\n"
    assert "3.12" in newer_syntax(text, text, "", (3, 11)) and newer_syntax(text, text, "", (3, 12)) == ""
