"""Functions that Python 3.12 has dropped, beside what they did."""

from __future__ import annotations

import sys

import pytest

from chainer2torch.compat.utils.dropped import load_source, strtobool
from chainer2torch.engine import migrate_source
from chainer2torch.rules.table import load_rules


def test_texts_that_say_yes_or_no():
    for text in ("y", "YES", "t", "True", "on", "1"):
        assert strtobool(text) == 1
    for text in ("n", "no", "F", "false", "Off", "0"):
        assert strtobool(text) == 0
    with pytest.raises(ValueError, match="invalid truth value"):
        strtobool("perhaps")


def test_a_file_is_run_as_a_module(tmp_path, monkeypatch):
    path = tmp_path / "net_of_a_test.py"
    path.write_text("size = 3\n", encoding="utf-8")
    monkeypatch.delitem(sys.modules, "net_of_a_test", raising=False)
    module = load_source("net_of_a_test", str(path))
    assert module.size == 3 and sys.modules["net_of_a_test"] is module
    path.write_text("other = __name__\n", encoding="utf-8")
    again = load_source("net_of_a_test", str(path))  # the same module, run again
    assert again is module and again.other == "net_of_a_test"
    with pytest.raises(FileNotFoundError):
        load_source("net_of_a_test", str(tmp_path / "none.py"))
    monkeypatch.delitem(sys.modules, "net_of_a_test", raising=False)


def test_the_import_goes_with_its_last_use():
    head = "import imp\nimport chainer.functions as F\nfrom distutils.util import strtobool\n\n\n"
    text = head + "def f(p, n):\n    p.add(type=strtobool, default=F.relu(n))\n"
    code = migrate_source(text + "    return imp.load_source(n, p).model\n").code
    assert "p.add(type=compat.strtobool, default" in code and "return compat.load_source(n, p).model" in code
    assert "distutils" not in code and "import imp\n" not in code and "TODO" not in code
    code = migrate_source(text + "    return imp.load_source(n, p, open(p)), imp.find_module(n)\n").code
    assert "imp.load_source(n, p, open(p)), imp.find_module(n)" in code and "TODO" in code


OWN = """import argparse
from distutils.util import strtobool
import torch
import chainer.functions as F


def asked(words):
    parser = argparse.ArgumentParser()
    parser.add_argument('--up', type=strtobool, default='no')
    return parser.parse_args(words).up, F.relu(torch.ones(1))
"""


@pytest.mark.parametrize("line", ["", "answers = list(map(strtobool, ['Yes', 'off']))\n"])
def test_the_native_style_writes_the_function_down_where_its_import_stood(line):
    code = migrate_source(OWN + line, rules=load_rules(style="native")).code
    assert code.count("def strtobool(text):") == 1 and "compat" not in code and "distutils" not in code
    space: dict = {}
    exec(compile(code, "own", "exec"), space)
    for text in ("y", "YES", "t", "true", "On", "1", "n", "no", "f", "False", "off", "0"):
        assert space["strtobool"](text) == strtobool(text)
        assert space["asked"](["--up", text])[0] == strtobool(text)
    with pytest.raises(ValueError, match="invalid truth value 'perhaps'"):
        space["strtobool"]("Perhaps")
    assert space.get("answers", [1, 0]) == [1, 0]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def strtobool(text):\n    return text\n\n\n", "compat.strtobool"),  # another thing of the name
        ("from words import strtobool\n", "compat.strtobool"),
    ],
)
def test_a_file_with_another_function_of_the_name_keeps_the_helper(before, after):
    text = "import distutils.util\nimport chainer.functions as F\n" + before
    text += "y = F.relu(x), distutils.util.strtobool('y')\n"
    code = migrate_source(text, rules=load_rules(style="native")).code
    assert after in code and code.count("def strtobool") == before.count("def strtobool")
