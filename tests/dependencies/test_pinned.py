"""Requirements that rule out the last version of Chainer say for which one a project was written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from chainer2torch.cli.app import cli
from chainer2torch.project.dependencies.pinned import highest_major, only_minor

# the fourth argument of Linear is a scale in version 1 and an initializer since version 2
DOUBTFUL = "import chainer.links as L\nlink = L.Linear(3, 4, w)\n"
NORMALIZATION = "import chainer.links as L\nlink = L.BatchNormalization(3)\n"


@pytest.mark.parametrize(
    ("version", "major"),
    [
        ("", 7),
        ("==4.2.0", 4),
        ("== 1.24", 1),
        ("<6.0.0", 5),
        ("<6", 5),
        ("<5.1", 5),
        ("<=3.1", 3),
        ("~=3.1", 3),
        (">=1.5,<2", 1),
        (">=1.5.1", 7),
        (">=4.0.0,!=5.0.0", 7),
        (">3", 7),
        ("(>=2,<4)", 3),
        ("==4.*", 4),
        ("==4.0.0a1", 4),
        ('"^4.1"', 4),
        ('"~4.1"', 4),
        ('"*"', 7),
        ("=3.5=py36_0", 3),
        ("===6.5.0", 6),
        ("<7.8", 7),
        ("==7.0.0b1", 7),
        ("@ https://host/chainer-3.0.tar.gz", 7),
        ("git+https://host/chainer.git@v5.0.0", 7),
        (">=3,<8", 7),
    ],
)
def test_the_highest_major_version_that_a_requirement_allows(version: str, major: int) -> None:
    assert highest_major(version) == major


@pytest.mark.parametrize(
    ("version", "minor"),
    [
        ("==1.6.2", 6),
        ("==1.8", 8),
        ("~=1.6.0", 6),
        ("==1.6.*", 6),
        ("=1.20=py36_0", 20),
        ("~=1.6", None),
        ("==1.*", None),
        ("==1", None),
        (">=1.6", None),
        ("<=1.6", None),
        (">=1.6,<1.7", None),
        ("@ https://host/chainer-1.6.tar.gz", None),
    ],
)
def test_the_minor_version_that_a_requirement_names(version: str, minor: int | None) -> None:
    assert only_minor(version) == minor


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("requirements.txt", "numpy\nchainer==1.24.0  # the last of them\n"),
        ("requirements/base.txt", "chainer>=1.5,<2\n"),
        ("setup.py", "from setuptools import setup\nsetup(name='x', install_requires=['chainer<2', 'numpy'])\n"),
        ("pyproject.toml", "[project]\nname = 'x'\ndependencies = ['chainer~=1.20']\n"),
        ("environment.yml", "dependencies:\n  - python=3.6\n  - pip:\n    - chainer==1.14.0\n"),
    ],
)
def test_a_file_without_a_sign_is_of_the_version_that_is_pinned(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / "net.py").write_text(DOUBTFUL)
    assert "--chainer-version" in migrate(tmp_path)
    (tmp_path / name).write_text(text)
    scale = "math.sqrt(w)" if "==" in text.partition("chainer")[2] else "w"  # since 1.9, where a minor version is named
    assert f"LeCunNormal(scale={scale})" in migrate(tmp_path)
    assert "+link = compat.Linear(3, 4, w)" in migrate(tmp_path, "--chainer-version", "5")  # what is said counts


def test_a_pin_on_a_later_version_decides_too(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(DOUBTFUL)
    (tmp_path / "requirements.txt").write_text("chainer==5.2.0\n")
    output = migrate(tmp_path)
    assert "+link = compat.Linear(3, 4, w)" in output
    assert "note:" not in output


def test_requirements_above_the_folder_and_of_files_named_one_by_one(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "src").mkdir()
    net = tmp_path / "src" / "net.py"
    net.write_text(DOUBTFUL)
    (tmp_path / "requirements.txt").write_text("chainer==1.24\n")
    assert "LeCunNormal(scale=math.sqrt(w))" in migrate(tmp_path / "src")
    assert "LeCunNormal(scale=math.sqrt(w))" in migrate(net)


def test_what_lies_above_the_repository_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("chainer==1.24\n")
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / "net.py").write_text(DOUBTFUL)
    assert "--chainer-version" in migrate(project)


@pytest.mark.parametrize("pins", [("chainer==1.24\n", "chainer==3.1\n"), ("chainer==1.24\n", "chainer\n")])
def test_files_that_disagree_say_nothing(tmp_path: Path, pins: tuple[str, str]) -> None:
    (tmp_path / "net.py").write_text(DOUBTFUL)
    for number, pin in enumerate(pins):
        (tmp_path / f"requirements-{number}.txt").write_text(pin)
    assert "--chainer-version" in migrate(tmp_path)


def test_the_words_of_the_project_contradict_the_pin(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(DOUBTFUL)
    (tmp_path / "requirements.txt").write_text("chainer==1.24\n")
    (tmp_path / "train.py").write_text("import chainer\nwith chainer.using_config('train', False):\n    pass\n")
    output = migrate(tmp_path)
    assert "say --chainer-version" in output


def test_versions_2_to_4_are_a_note_in_every_report(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NORMALIZATION)
    (tmp_path / "requirements.txt").write_text("chainer<5\n")
    note = (
        f"{tmp_path.as_posix()}/requirements.txt asks for Chainer 4, and this reads calls as Chainer 7 does; "
        "--chainer-version 4 keeps what that version computed"
    )
    assert f"note: {note}\n" in migrate(tmp_path)
    said = migrate(tmp_path, "--chainer-version", "4")
    assert "note:" not in said and "initial_avg_var=0" in said
    for form in ("text", "markdown"):
        assert note in report(tmp_path, form)
    assert "requirements.txt asks for Chainer 4" in report(tmp_path, "html")  # where its paths are relative
    assert json.loads(report(tmp_path, "json"))["notes"] == [note]
    (tmp_path / "requirements.txt").write_text("chainer<7\n")
    assert "notes" not in json.loads(report(tmp_path, "json"))


def migrate(path: Path, *options: str) -> str:
    """The patch and the summary."""
    return CliRunner().invoke(cli, ["migrate", "--style", "faithful", *options, str(path)]).output


def report(path: Path, form: str) -> str:
    return CliRunner().invoke(cli, ["report", "--format", form, str(path)]).stdout


def test_without_a_repository_nothing_above_is_looked_at(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("chainer==1.24\n")
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "net.py").write_text(DOUBTFUL)
    assert "--chainer-version" in migrate(tmp_path / "project")
    assert "LeCunNormal(scale=math.sqrt(w))" in migrate(tmp_path)
