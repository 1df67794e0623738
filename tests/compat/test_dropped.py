"""Functions that Python 3.12 has dropped, beside what they did."""

from __future__ import annotations

import sys

import pytest

from chainer2torch.compat.utils.dropped import load_source, strtobool
from chainer2torch.engine import migrate_source


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
