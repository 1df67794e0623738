"""A project that is only read runs nothing: no module that it brings, and nothing that its rule tables say."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NET = "import chainer\nimport chainer.functions as F\n\n\ndef f(x):\n    return F.relu(F.mine(x))\n"


def tool(folder, *arguments):
    """As it is installed: from another folder than the one that has its source."""
    program = (
        f"import runpy, sys; sys.path.insert(1, {str(ROOT)!r}); sys.argv[0] = 'chainer2torch'; "
        "runpy.run_module('chainer2torch', run_name='__main__', alter_sys=True)"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture
def project(tmp_path):
    src = tmp_path / "src"
    src.mkdir()
    (src / "net.py").write_text(NET)
    return src


def trapped(src):
    """Modules with the names of what chainer2torch, and the project, import."""
    canary = src.parent / "canary"
    trap = f"open({str(canary)!r}, 'a').write(__name__)\n"
    for name in ("click", "libcst", "pathspec", "tomllib", "numpy", "torch", "chainer", "json", "difflib", "hashlib"):
        (src / f"{name}.py").write_text(trap)
    (src / "conftest.py").write_text(trap)
    return canary


def test_no_module_of_the_project_is_imported(project):
    canary = trapped(project)
    subprocess.run([sys.executable, "-c", "import pathspec"], cwd=project, check=True)
    assert canary.read_text() == "pathspec", "the trap works"
    canary.unlink()
    for arguments in (["check", "."], ["migrate", "."], ["migrate", ".", "-o", "../out"], ["report", "."]):
        done = tool(project, *arguments)
        assert "net.py" in done.stdout + done.stderr or (project / "../out/net.py").exists(), done.stderr
        assert not canary.exists(), (arguments, canary.read_text())
    assert "nn.functional.relu" in (project.parent / "out/net.py").read_text()


RUN = "__import__('os').system(CANARY)"
ROWS = {
    "a template": 'torch = "RUN"\nstate = "review"\nnote = "a note"',
    "a function": 'function = "os.system"\nstate = "review"\nnote = "a note"',
    "a guard": 'cases = [{ when = "RUN", torch = "x" }]\nstate = "review"\nnote = "a note"',
    "an example": 'torch = "x"\nstate = "exact"\n[[mine.example]]\nbefore = "F.mine(RUN)"',
}


@pytest.mark.parametrize("row", ROWS)
def test_rule_tables_of_the_project_are_data(project, row):
    canary = project.parent / "canary"
    (project / "pyproject.toml").write_text('[tool.chainer2torch]\nrules = ["tables"]\n')
    (project / "tables").mkdir()
    text = ROWS[row].replace("RUN", RUN).replace("CANARY", f"'touch {canary}'")
    (project / "tables/own.toml").write_text(f'module = "chainer.functions"\n\n[mine]\nsignature = "(x)"\n{text}\n')
    for arguments in (["check", "."], ["migrate", "."], ["explain", "F.mine"], ["rules"]):
        done = tool(project, *arguments)
        assert "Traceback" not in done.stderr and "internal error" not in done.stderr
        assert not canary.exists(), arguments
    if row == "a function":
        done = tool(project, "check", ".")
        assert (
            done.returncode == 2 and "chainer.functions.mine: chainer2torch has no function 'os.system'" in done.stderr
        )
