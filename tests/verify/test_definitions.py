"""Modules that do something when they are imported: what they define is had without it."""

import argparse
import importlib
import sys

import pytest

from chainer2torch.verify.worker import definitions, missing
from chainer2torch.verify.worker.roots import Roots


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """``tree(name=text, ...)``: the modules written, with the workers' way of importing."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(sys, "argv", ["worker", "folder"])
    for name in ("parse_args", "parse_known_args"):
        monkeypatch.setattr(argparse.ArgumentParser, name, getattr(argparse.ArgumentParser, name))
    before = set(sys.modules)

    def write(**texts):
        for name, text in texts.items():
            path = tmp_path / (name.replace("__", "/") + ".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        importlib.invalidate_caches()
        return Roots(str(tmp_path))

    yield write
    for name in set(sys.modules) - before:
        del sys.modules[name]


def _imported(name):
    return missing.importing(lambda: importlib.import_module(name))


def test_a_script_defines_and_does_not_act(tree):
    tree(
        acts="""
import sys
ran = []
TABLE = dict(a=1)


def define():
    return TABLE


data = open('/no/such/file').read()
for i in range(3):
    ran.append(i)
sys.exit(1)
"""
    ).enter("acts")
    module = _imported("acts")
    assert module.define() == {"a": 1} and module.ran == []
    with pytest.raises(RuntimeError, match=r"data of acts.py:11 is needed here, and was not made: it is not run"):
        len(module.data)
    assert [line.partition(": ")[0] for line in definitions.left_out()] == ["acts.py:11", "acts.py:12", "acts.py:14"]


def test_a_module_that_does_nothing_else_runs_as_it_is(tree):
    tree(plain="import os\nFOLDER = os.path.join('a', str(len(os.listdir('/')) > 0))\n").enter("plain")
    assert _imported("plain").FOLDER.endswith("True") and definitions.left_out() == []


def test_a_branch_is_taken_as_it_would_be(tree):
    tree(branch="FAST = False\nif FAST:\n    KIND = 'a'\nelse:\n    KIND = 'b'\nprint('made')\n").enter("branch")
    assert _imported("branch").KIND == "b"


def test_options_have_their_defaults(tree):
    text = "import argparse\np = argparse.ArgumentParser()\np.add_argument('file')\n"
    text += "p.add_argument('--units', type=int, default=7)\nargs = p.parse_args()\n"
    tree(options=text).enter("options")
    module = _imported("options")
    assert (module.args.units, module.args.file) == (7, None) and sys.argv == ["worker", "folder"]


def test_what_fails_costs_what_it_would_bind(tree):
    tree(fails="import json\nNAME = json.no_such_name\nclass A(object):\n    b = json.neither\nC = 1\n").enter("fails")
    module = _imported("fails")
    assert module.C == 1
    for value, name in ((module.NAME, "NAME"), (module.A, "A")):
        with pytest.raises(RuntimeError, match=f"{name} of fails.py:.*AttributeError"):
            value()


def test_imports_that_start_in_another_folder(tree):
    tree(
        lib__deep__part="VALUE = 4\n", lib__net="import part\nfrom deep2 import OTHER\n", far__deep2="OTHER = 5\n"
    ).enter("lib.net")
    module = _imported("lib.net")
    assert (module.part.VALUE, module.OTHER) == (4, 5)


def test_a_file_whose_name_is_no_name(tree, tmp_path):
    roots = tree(other="")
    (tmp_path / "v-1").mkdir()
    (tmp_path / "v-1" / "my-net.py").write_text("from beside import B\n")
    (tmp_path / "v-1" / "beside.py").write_text("B = 2\n")
    roots.enter("my_net", "v-1", "v-1/my-net.py")
    assert _imported("my_net").B == 2
