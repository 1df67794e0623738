"""A folder that is named may be a package itself, whose files import each other by its name."""

import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner

from chainer2torch.cli.app import cli
from chainer2torch.engine import migrate_sources
from chainer2torch.plan.options import Options

LOSS = "import chainer.functions as F\n\n\ndef loss(x):\n    return F.spatial_pyramid_pooling_2d(x, 2, pooling='max')\n"
TEST = """import chainer
import numpy as np

from mylib.sub.loss import loss


def check():
    y = loss(chainer.Variable(np.ones((1, 1, 4, 4), 'f')))
    assert y.dtype == np.float32
    chainer.testing.assert_allclose(y.data, np.ones((1, 5, 1, 1)))
"""
LIBRARY = {"__init__.py": "", "sub/__init__.py": "", "sub/loss.py": LOSS, "tests/__init__.py": "", "tests/one.py": TEST}
OWN, PLAIN = "from mylib import chainer_compat as compat", "import chainer_compat as compat"


def written(folder: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return folder


def migrated(*args: str) -> None:
    result = CliRunner().invoke(cli, ["migrate", "--no-cache", *args])
    assert result.exit_code == 0, result.output


def runs(folder: Path, statement: str) -> None:
    done = subprocess.run([sys.executable, "-c", statement], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def lines(sources: dict[str, str], name: str = "mylib") -> dict[str, str]:
    """For each file with helpers the line that imports them."""
    results = migrate_sources(sources, options=Options(style="native", name=name))
    codes = {path: result.code for path, result in results.items()}
    return {p: line for p, code in codes.items() for line in code.splitlines() if "chainer_compat as" in line}


def test_a_package_that_is_named_itself_can_be_imported_and_run_by_its_name(tmp_path: Path) -> None:
    source = written(tmp_path / "src/mylib", LIBRARY)
    out = tmp_path / "out/mylib"
    migrated(str(source), "-o", str(out))
    runs(out.parent, "from mylib.tests.one import check; check()")
    assert "y.dtype == torch.float32" in (out / "tests/one.py").read_text()


def test_what_is_migrated_later_takes_the_helpers_that_are_there(tmp_path: Path) -> None:
    out = written(tmp_path / "mylib", LIBRARY)
    migrated(str(out), "--write", "--force")
    written(out, {"sub/more.py": "import chainer.functions as F\n\n\ndef more(x, t):\n    return F.accuracy(x, t)\n"})
    written(out, {"tests/two.py": "from mylib.sub.more import more\n"})
    migrated(str(out), "--write", "--force")
    assert [p.relative_to(out).as_posix() for p in out.rglob("chainer_compat.py")] == ["chainer_compat.py"]
    runs(tmp_path, "from mylib.tests.one import check; check(); import mylib.tests.two")


def test_files_that_are_imported_as_modules_of_the_folder_find_the_helpers_there() -> None:
    scripts = {**LIBRARY, "train.py": "from sub.loss import loss\nimport chainer.functions as F\nF.accuracy(1, 2)\n"}
    assert lines(LIBRARY) == {"sub/loss.py": OWN, "tests/one.py": OWN}
    assert lines(scripts) == {"sub/loss.py": PLAIN, "tests/one.py": OWN, "train.py": PLAIN}


def test_another_library_with_the_same_folders_is_not_meant() -> None:
    text = LOSS + "\n\nimport otherlib.sub.loss\n"
    assert lines({"__init__.py": "", "sub/__init__.py": "", "sub/loss.py": text}) == {"sub/loss.py": PLAIN}


def test_relative_imports_hand_the_package_on() -> None:
    sources = {
        "__init__.py": "from .net import loss\n",
        "net.py": LOSS,
        "use.py": "import chainer\nfrom mylib import loss\n",
    }
    assert lines(sources) == {"net.py": OWN}
