"""``verify rules --rules DIR``: the user's own tables about a library of their own, through the command line."""

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = """
import chainer.functions as F


def twice(x, scale=2):
    return F.relu(x) * scale
"""
TABLE = """
module = "mylib"

[libraries.mylib]
name = "My library"
package = "mylib"
counterpart = "torch"

[twice]
signature = "(x, scale=2)"
torch = "torch.nn.functional.relu(x) * scale"
returns = "like x"
state = "exact"
[[twice.example]]
given = { x = "f32[3,4]" }
setup = "import mylib"
before = "mylib.twice(x, scale=3)"
"""


@pytest.mark.parametrize("fault", [False, True])
def test_own_tables(tmp_path, fault):
    (tmp_path / "rules").mkdir()
    (tmp_path / "mylib.py").write_text(LIBRARY)
    (tmp_path / "rules" / "mylib.toml").write_text(TABLE.replace("* scale", "* scale + 1") if fault else TABLE)
    env = dict(os.environ, PYTHONPATH=os.pathsep.join([str(tmp_path), str(ROOT)]))
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "chainer2torch",
            "verify",
            "rules",
            "mylib.twice",
            "--rules",
            str(tmp_path / "rules"),
            "--junit",
            str(tmp_path / "j.xml"),
        ],
        env=env,
        capture_output=True,
        text=True,
    )
    assert done.returncode == fault, done.stdout + done.stderr
    assert ("0 failed" in done.stdout) != fault and "float64" in done.stdout
    suite = ElementTree.parse(tmp_path / "j.xml").getroot().find("testsuite")
    assert {case.get("classname") for case in suite} == {"mylib.twice"}
    assert (int(suite.get("failures")) > 0) == fault and int(suite.get("tests")) >= 2
