"""What is answered before the command line is imported is what the command line says; and it is said fast."""

import os
import subprocess
import sys

import pytest

from chainer2torch import startup
from chainer2torch.cli.app import cli
from chainer2torch.cli.errors import guarded

PLAIN = {"a.py": "import os\n", "pkg/__init__.py": "", "pkg/b.pyi": "x: int\n", "data.bin": "\0", "LICENSE": "free\n"}

# name of the case, files on top of PLAIN, whether the answer is plain
TREES = [
    ("plain", {}, True),
    ("hidden names", {".c.py": "x = 1\n", ".py": "x = 1\n"}, True),
    ("requirements without Chainer", {"requirements.txt": "numpy\n", "setup.cfg": "[metadata]\n"}, True),
    ("ignored files that are no source", {".gitignore": "*.py[cod]\n__pycache__/\n/build/\n*.egg-info\n!a.py\n"}, True),
    ("settings of other tools", {"pyproject.toml": "[tool.ruff]\n"}, True),
    ("a word of Chainer", {"pkg/c.py": "import chainer\n"}, False),
    ("a word of CuPy", {"pkg/c.pyw": "import cupy\n"}, False),
    ("a script without an ending", {"run": "#!/usr/bin/env python\nimport chainer\n"}, False),
    ("requirements", {"requirements/base.in": "Chainer>=5\n"}, False),
    ("an environment", {"conda-dev.yaml": "dependencies: [chainer]\n"}, False),
    ("a notebook", {"n.ipynb": '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'}, False),
    ("an ignored file", {".gitignore": "a.py\n"}, False),
    ("an ignored ending", {".gitignore": "*.pyi\n"}, False),
    ("an ignored folder", {".gitignore": "/pkg/\n"}, False),
    ("an ignored folder by a set of names", {".gitignore": "[Pp]kg/**\n"}, False),
    ("ignored by a beginning", {".gitignore": "pk*\n"}, False),
    ("settings", {"pyproject.toml": "[tool.chainer2torch]\nexclude = ['a.py']\n"}, False),
    ("an environment of Python", {"env/pyvenv.cfg": "", "env/lib.py": "x = 1\n"}, False),
    ("a folder that nobody writes", {"node_modules/x.py": "x = 1\n"}, False),
]


def guarded_cli(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["chainer2torch", *words])
    return guarded(cli)


def tree(root, files):
    for name, text in {**PLAIN, **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize("files, plain", [case[1:] for case in TREES], ids=[case[0] for case in TREES])
def test_the_short_way_says_what_the_command_says(tmp_path, capsys, monkeypatch, files, plain):
    monkeypatch.chdir(tree(tmp_path, files))
    status = startup.answered(["check", "."])
    short = capsys.readouterr()
    assert (status is not None) == plain
    if plain:
        assert guarded_cli(monkeypatch, "check", ".") == status
        assert capsys.readouterr() == short
        for words in (["--quiet", "."], ["--quiet", "--format", "todo", "."], [".", "-q", "--format", "text"]):
            assert startup.answered(["check", *words]) == guarded_cli(monkeypatch, "check", *words) == 0
            assert capsys.readouterr() == ("", "")


def test_links_other_options_and_missing_folders_are_for_the_command(tmp_path, capsys):
    folder = tree(tmp_path / "here", {})
    assert startup.answered(["check", str(folder)]) == 0
    for words in (
        ["check"],
        ["check", str(folder), "--kinds"],
        ["check", str(folder), "--format", "json"],
        ["check", str(folder / "a.py")],
        ["migrate", "."],
    ):
        assert startup.answered(words) is None
    assert startup.answered(["check", str(tmp_path / "nowhere")]) is None
    os.symlink("a.py", folder / "link.py")
    assert startup.answered(["check", str(folder)]) is None


def test_settings_and_ignored_files_above_the_folder_count(tmp_path, capsys):
    folder = tree(tmp_path / "src", {})
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("b.pyi\n")
    assert startup.answered(["check", str(folder)]) is None
    (tmp_path / ".gitignore").write_text("*.o\n")
    assert startup.answered(["check", str(folder)]) == 0
    (tmp_path / "pyproject.toml").write_text("[tool.chainer2torch]\nignore = ['C2T390']\n")
    assert startup.answered(["check", str(folder)]) is None


def test_a_killed_run_is_not_passed_over(tmp_path, capsys):
    folder = tree(tmp_path / "src", {})
    (tmp_path / ".chainer2torch-journal").write_text("")
    assert startup.answered(["check", str(folder)]) is None


def test_versions_are_those_of_the_installed_packages(capsys):
    from importlib import metadata

    assert startup.answered(["--version"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("chainer2torch ")
    for package, line in zip(startup.PACKAGES, said[1:], strict=True):
        try:
            assert line == f"{package} {metadata.version(package)}"
        except metadata.PackageNotFoundError:
            assert line == f"{package} is not installed"


def test_packages_in_other_forms_are_left_to_the_library(tmp_path, monkeypatch):
    (tmp_path / "torch-1.0.egg-info").mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert startup.versions() is None
    monkeypatch.setattr(sys, "path", [])
    assert "torch is not installed\n" in startup.versions()


def test_neither_imports_anything_that_python_has_not_imported_already(tmp_path):
    folder = tree(tmp_path, {})
    code = (
        "import sys; before = set(sys.modules)\n"
        "from chainer2torch.__main__ import main\n"
        f"for words in (['--version'], ['check', {str(folder)!r}]):\n"
        "    sys.argv[1:] = words\n"
        "    try: main()\n"
        "    except SystemExit as end: assert not end.code\n"
        "print(sorted(name for name in set(sys.modules) - before if not name.startswith('chainer2torch')))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] in ("[]", "['__future__']"), done.stdout


ENDED = """
import gc, sys
from chainer2torch.__main__ import main
try:
    main()
except SystemExit as end:
    print(end.code, gc.isenabled(), gc.get_freeze_count() > 0)
"""


@pytest.mark.parametrize(
    ("words", "said"),
    [(("check", "-q"), "1 False True"), (("migrate",), "1 False True"), (("explain", "C2T009"), "0 True False")],
)
def test_what_a_short_command_has_made_is_not_looked_through_when_it_ends(words, said, tmp_path) -> None:
    """That took 0.2 s of a second."""
    (tmp_path / "net.py").write_text("import chainer.functions as F\ny = F.relu(x)\n")
    paths = [str(tmp_path)] if words[0] != "explain" else []
    command = [sys.executable, "-c", ENDED, *words, *paths]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout.splitlines()[-1] == said
