"""The wheel and the source distribution: built, installed into an empty folder, and run from there."""

import os
import subprocess
import sys
import tarfile
import zipfile

import pytest
import yaml

from chainer2torch import __version__
from tests.cli.test_cli import EASY, ROOT


def _run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """The folder with both."""
    pytest.importorskip("build", reason="the package `build` is not installed")
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("packages")
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True)
    if listed.returncode:
        pytest.skip("not a git checkout: its files are not known")
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    done = subprocess.run(
        [sys.executable, "-m", "build", "--outdir", str(out), str(source)], capture_output=True, text=True, timeout=300
    )
    if done.returncode and "hatchling" in done.stdout + done.stderr:
        pytest.skip("the build backend cannot be fetched: no package index")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return out


@pytest.mark.parametrize("form", ["whl", "tar.gz"])
def test_it_runs_where_it_is_installed(packages, tmp_path, form):
    (file,) = packages.glob(f"*.{form}")
    site = tmp_path / "site"
    _run(sys.executable, "-m", "pip", "install", "--no-deps", "--quiet", "--target", site, file)
    source = tmp_path / "source"
    source.mkdir()
    (source / "easy.py").write_text(EASY)
    environment = {**os.environ, "PYTHONPATH": str(site)}
    where = _run(
        sys.executable, "-c", "import chainer2torch; print(chainer2torch.__file__)", cwd=tmp_path, env=environment
    ).stdout
    assert where.startswith(str(site))
    _run(
        sys.executable, "-m", "chainer2torch", "migrate", source, "-o", tmp_path / "out", cwd=tmp_path, env=environment
    )
    assert "torch" in (tmp_path / "out" / "easy.py").read_text()
    shown = _run(sys.executable, "-m", "chainer2torch", "rules", "F.relu", cwd=tmp_path, env=environment).stdout
    assert "chainer.functions.relu" in shown


def test_what_is_inside(packages):
    (wheel,) = packages.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert any(name.endswith("_rules/core.toml") for name in names)
    assert not [name for name in names if name.startswith(("tests", "fixtures", "docs"))]
    (source,) = packages.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        inside = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    assert {"rules/core.toml", "chainer2torch/cli/app.py", "LICENSE", "README.md", "constraints.txt"} <= inside


def test_the_release_knows_the_version():
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())
    assert set(workflow["jobs"]) == {"build", "publish"} and workflow["jobs"]["publish"]["needs"] == "build"
    assert __version__ in (ROOT / "CHANGELOG.md").read_text()
    assert "run: .ci/run" in (ROOT / ".github/workflows/ci.yml").read_text()
