"""Files that one process loads find each helper that they use, whichever of the folders Python looks into first."""

import subprocess
import sys
from pathlib import Path

import pytest

CORE = """import chainer


class Twice(chainer.FunctionNode):
    def forward(self, inputs):
        return (inputs[0] * 2,)
"""
ALONE = "import chainer.functions as F\n\n\ndef f(x):\n    return F.accuracy(x, x)\n"
ABOVE = "import pathlib\nimport sys\n\nhere = pathlib.Path(__file__).resolve().parent\n"
ADDED = [
    ABOVE + "sys.path.append(str(here) + '/../core')\n",
    ABOVE + "sys.path.insert(0, str(here.parent / 'core'))\n",
    "import os\nimport sys\n\nsys.path.append(os.path.join(os.path.dirname(__file__), '..', 'core'))\n",
    "import sys\n\nsys.path.append('../core')\n",
    "import sys\n\nfor place in ['core']:\n    sys.path[1:1] = ['../' + place]\n",
]


def migrated(sources: dict[str, str], folder: Path) -> Path:
    for path, text in sources.items():
        (folder / "in" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "in" / path).write_text(text)
    command = [sys.executable, "-m", "chainer2torch", "migrate", "in", "-o", "out", "--no-cache", "-j", "1"]
    assert subprocess.run(command, cwd=folder).returncode < 2  # 1: something is left for a person
    return folder / "out"


@pytest.mark.parametrize("added", ADDED)
def test_folders_that_a_script_adds(added: str, tmp_path: Path) -> None:
    sources = {
        "core/node.py": CORE,
        "env/alone.py": ALONE,
        "env/world.py": added + "from node import Twice\nimport alone\n",
        "env/run.py": "from world import Twice, alone\n",
    }
    out = migrated(sources, tmp_path)
    assert [str(path.relative_to(out)) for path in out.rglob("chainer_compat.py")] == ["chainer_compat.py"]
    for script in ("run", "world", "alone"):
        subprocess.run([sys.executable, f"{script}.py"], cwd=out / "env", check=True, env={})


def test_what_a_module_finds_through_the_script_that_imports_it(tmp_path: Path) -> None:
    sources = {
        "core/node.py": CORE,
        "env/alone.py": ALONE,
        "env/part.py": "import node\n",
        "env/run.py": ADDED[0] + "import part\n",
    }
    subprocess.run([sys.executable, "run.py"], cwd=migrated(sources, tmp_path) / "env", check=True, env={})


def test_what_a_library_takes_from_itself_is_not_needed_above_it(tmp_path: Path) -> None:
    sources = {
        "lib/__init__.py": "import os\n\nos.environ['LIB'] = '1'\n",
        "lib/net.py": CORE,
        "examples/run.py": "from lib import net\n" + CORE,
        "alone.py": "import chainer.links as L\n\n\nclass Part(L.Scale):\n    pass\n",
    }
    out = migrated(sources, tmp_path)
    above, within = (out / folder / "chainer_compat.py" for folder in ("", "lib"))
    assert "class FunctionNode" in within.read_text() and "class FunctionNode" not in above.read_text()
    subprocess.run([sys.executable, "-c", "import alone, lib.net"], cwd=out, check=True, env={})


LOW = """import chainer

NAMES = list('ab')
NAMES.append('c')


def mode():
    return chainer.config.train, chainer.config.limit


def asked():
    return chainer.config.train


ASKING = [asked]
"""
HIGH = """import chainer
import chainer.links as L

SEEN = list('ab')
SEEN.append('c')


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(2, 2)

    def predict(self, ask):
        with chainer.using_config('train', False):
            return ask()
"""
TRY = """import chainer
import high
import low


def f(x):
    return chainer.functions.accuracy(x, x)


chainer.config.limit = 3
net = high.Net()
print(net.predict(low.mode), net.predict(low.ASKING[0]), low.mode())
with chainer.using_config('train', False):
    print(low.mode())
"""
PAIR = {"low/__init__.py": LOW, "high/__init__.py": HIGH, "tests/one/try_it.py": TRY}


@pytest.mark.parametrize(("more", "copies"), [({}, 2), ({"high/other.py": "import low\n"}, 1)])
def test_all_copies_of_the_helpers_have_one_train_flag_and_one_configuration(
    more: dict[str, str], copies: int, tmp_path: Path
) -> None:
    """Of a part that sets the flag, and is asked by nobody, the flag was left out, too."""
    out = migrated({**PAIR, **more}, tmp_path)
    assert len(list(out.rglob("chainer_compat.py"))) == copies
    run = [sys.executable, "tests/one/try_it.py"]
    said = subprocess.run(run, cwd=out, check=True, env={"PYTHONPATH": str(out)}, capture_output=True, text=True).stdout
    assert said == "(False, 3) False (True, 3)\n(False, 3)\n"
