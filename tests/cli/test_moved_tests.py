"""A test module in Chainer's style runs under pytest after the migration, with PyTorch only, and still finds faults."""

import subprocess
import sys
from pathlib import Path

import pytest

from chainer2torch.vendor import compat_file
from chainer2torch.engine import migrate_source
from tests.support import command_line

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "tests" / "support" / "tests_in_chainers_style.txt").read_text()
WITHOUT_CHAINER = "import sys\nfor name in ('chainer', 'chainermn', 'cupy'):\n    sys.modules[name] = None\n"
CHAINER_OF_TODAY = "from chainer2torch.verify.worker.chainer_patches import import_chainer\nimport_chainer()\n"


def pytest_of(folder, path=""):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not gpu", str(folder)]
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        env={"PYTHONPATH": path, "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"},
    )
    return done.stdout.strip().splitlines()[-1], done.stdout


@pytest.fixture
def migrated(tmp_path):
    result = migrate_source(TEXT, "test_scaled.py")
    assert result.error is None and result.left == 0
    assert not [site for site in result.sites if site.state == "manual"]
    (tmp_path / "test_scaled.py").write_text(result.code)
    (tmp_path / "chainer_compat.py").write_text(compat_file.build(result.helpers))
    (tmp_path / "conftest.py").write_text(WITHOUT_CHAINER)
    return tmp_path


def test_the_same_tests_pass_in_both(migrated, tmp_path_factory):
    original = tmp_path_factory.mktemp("original")
    (original / "test_scaled.py").write_text(TEXT)
    (original / "conftest.py").write_text(CHAINER_OF_TODAY)
    before, log = pytest_of(original, str(ROOT))
    assert before.startswith("14 passed, 4 deselected"), log
    after, log = pytest_of(migrated)
    assert after.startswith("14 passed, 4 deselected"), log


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("negative_slope=self.slope)\n\n\n@", "negative_slope=0.1)\n\n\n@"),  # the model
        ("2 * x", "3 * x"),  # what a numerical gradient is compared with
        ("(3,), (2,)", "(2,), (3,)"),
        ("compat.torch_dtype(self.dtype)", "torch.float64"),
    ],
)
def test_they_still_find_faults(migrated, right, wrong):
    path = migrated / "test_scaled.py"
    text = path.read_text()
    assert text.count(right) == 1, right
    path.write_text(text.replace(right, wrong))
    last, log = pytest_of(migrated)
    assert " failed, " in last and " passed, " in last and "error" not in last, log


def migrated_tree(folder, files):
    for name, text in files.items():
        (folder / "src" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "src" / name).write_text(text)
    command_line.run("migrate", folder / "src", "-o", folder / "out", "--style", "faithful")
    return folder / "out"


def test_a_script_and_the_package_that_it_imports_share_their_helpers(tmp_path):
    """The script adds the folder above and imports the package from there: so it finds the helpers there, too."""
    files = {
        "net/__init__.py": "",
        "net/model.py": "import chainer.functions as F\n\n\ndef act(x):\n    return F.crelu(x)\n",
        "scripts/show.py": "import sys\nsys.path.append(sys.argv[1])\n"
        "import chainer.functions as F\nimport numpy as np\n"
        "from net.model import act\n\n\nx = F.maxout(np.arange(-2, 2, dtype='f')[None], 2)\n"
        "print(act(x).shape == (1, 4))\n",
    }
    out = migrated_tree(tmp_path, files)
    ran = subprocess.run(
        [sys.executable, str(out / "scripts/show.py"), str(out)], capture_output=True, text=True, check=False
    )
    assert ran.stdout == "True\n", ran.stderr
    text = (out / compat_file.FILE_NAME).read_text()
    assert "def crelu(" in text and "def maxout(" in text
    assert not (out / "scripts" / compat_file.FILE_NAME).exists()


def test_folders_side_by_side_share_the_helpers_above_them(tmp_path):
    out = migrated_tree(
        tmp_path,
        {f"{name}/train.py": f"import chainer.functions as F\ny = F.{name}(x, 2)\n" for name in ("crelu", "maxout")},
    )
    assert [str(path.relative_to(out)) for path in out.rglob(compat_file.FILE_NAME)] == [compat_file.FILE_NAME]
    text = (out / compat_file.FILE_NAME).read_text()
    assert "def crelu(" in text and "def maxout(" in text
    assert all("sys.path.append(" in (out / name / "train.py").read_text() for name in ("crelu", "maxout"))
