"""An empty ``__init__.py`` makes a package of a folder: tests in it find the helpers from where pytest finds them."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from chainer2torch.cli.app import cli
from chainer2torch.project import candidates

TEST = """import chainer
import numpy as np


def test_it():
    assert chainer.functions.crelu(chainer.Variable(np.array([[-1.0, 2]], 'f'))).shape == (1, 4)
"""


@pytest.mark.parametrize("packages", [True, False])
def test_where_the_helpers_of_tests_lie(tmp_path, monkeypatch, packages):
    source, output = tmp_path / "src", tmp_path / "out"
    for folder in ("tests/library_tests", "tests/library_tests/sub_tests"):
        (source / folder).mkdir(parents=True, exist_ok=True)
        (source / folder / f"test_of_{folder[-9:-6]}.py").write_text(TEST)
        if packages:
            (source / folder / "__init__.py").write_text("")
    found = CliRunner().invoke(cli, ["migrate", str(source), "-o", str(output), "--quiet"])
    assert found.exit_code in (0, 1), found.output
    helpers = [str(path.relative_to(output).parent) for path in output.rglob("chainer_compat.py")]
    assert helpers == (["tests"] if packages else ["tests/library_tests"])
    files = sorted(output.rglob("test_of_*.py"))
    texts = [path.read_text() for path in files]
    if packages:
        assert all("sys.path" not in text and "import chainer_compat as compat" in text for text in texts), texts
        assert all((path.parent / "__init__.py").read_text() == "" for path in files)
    monkeypatch.syspath_prepend(output / helpers[0])
    monkeypatch.delitem(sys.modules, "chainer_compat", raising=False)
    for path, text in zip(files, texts):
        names = {"__file__": str(path)}
        exec(compile(text, str(path), "exec"), names)
        names["test_it"]()
    del sys.modules["chainer_compat"]


def test_the_packages_around_files():
    files = dict.fromkeys(["a/__init__.py", "a/b/__init__.py", "a/b/c/d.py", "a/b/e.py", "f/__init__.py", "g.py"], b"")
    assert candidates.around(["a/b/c/d.py", "g.py"], files) == {"a/__init__.py", "a/b/__init__.py"}
    assert candidates.around(["a/__init__.py", "a/b/e.py"], files) == {"a/b/__init__.py"}
    assert candidates.around([], files) == set()


@pytest.mark.parametrize(
    "does",
    ["print(chainer.functions.crelu(x * 2).shape)", "for y in [x]:\n    print(chainer.functions.crelu(y * 2).shape)"],
)
def test_a_program_in_a_package_runs_as_it_is_started(tmp_path, does):
    """`python tools/train.py`: Python searches the folder of the program, whatever `__init__.py` is in it."""
    source, output = tmp_path / "src", tmp_path / "out"
    (source / "tools").mkdir(parents=True)
    (source / "tools" / "__init__.py").write_text("")
    head = "import chainer\nimport numpy as np\nx = chainer.Variable(np.array([[-1.0, 2]], 'f'))\n"
    (source / "tools" / "train.py").write_text(head + does + "\n")
    found = CliRunner().invoke(cli, ["migrate", str(source), "-o", str(output), "--quiet"])
    assert found.exit_code in (0, 1), found.output
    assert "chainer_compat" in (output / "tools" / "train.py").read_text()
    run = subprocess.run([sys.executable, "train.py"], cwd=output / "tools", capture_output=True, text=True)
    assert "4" in run.stdout, run.stderr
