"""The version of Chainer that the code was written for decides what its words leave open."""

from pathlib import Path

from click.testing import CliRunner

from chainer2torch.cli.app import cli

SOURCE = "import chainer.links as L\nlink = L.Linear(3, 4, w)\n"


def test_the_version_can_be_said(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(SOURCE)

    def migrate(*options: str) -> str:
        return CliRunner().invoke(cli, ["migrate", "--diff", "--style", "faithful", *options, str(tmp_path)]).output

    assert "--chainer-version" in migrate()
    assert "LeCunNormal(scale=w)" in migrate("--chainer-version", "1")
    assert "+link = compat.Linear(3, 4, w)" in migrate("--chainer-version", "5")
    for wrong in ("8", "0", "one", "1.", "7.8.x y"):
        assert "is no version of Chainer" in migrate("--chainer-version", wrong)


def test_a_minor_version_answers_what_its_major_version_leaves_open(tmp_path: Path) -> None:
    """The factor of first weights: itself up to 1.8, its square root since 1.9."""
    (tmp_path / "net.py").write_text(SOURCE + "other = L.Linear(4, 5, wscale=w)\n")

    def migrate(*options: str) -> str:
        return CliRunner().invoke(cli, ["migrate", "--diff", "--style", "faithful", *options, str(tmp_path)]).output

    said = migrate("--chainer-version", "1")
    assert said.count("TODO(chainer2torch") == 1, "one question, for both layers"
    assert '`chainer-version = "1.8"`' in said and "2 review" in said
    for version, scale in (("1.8", "scale=w"), ("1.6.2", "scale=w"), ("1.9", "scale=math.sqrt(w)"), ("1.24", "sqrt")):
        said = migrate("--chainer-version", version)
        assert scale in said and "TODO" not in said and "2 exact" in said, said
        (tmp_path / "pyproject.toml").write_text(f'[tool.chainer2torch]\nchainer-version = "{version}"\n')
        assert scale in migrate() and "TODO" not in migrate()
        (tmp_path / "pyproject.toml").unlink()
    (tmp_path / "pyproject.toml").write_text("[tool.chainer2torch]\nchainer-version = 1.8\n")
    result = CliRunner().invoke(cli, ["migrate", str(tmp_path)])
    assert "in quotes" in str(result.exception) and "1.8" in str(result.exception)
    (tmp_path / "pyproject.toml").unlink()
    (tmp_path / "requirements.txt").write_text("chainer==1.10.0\n")
    assert "math.sqrt(w)" in migrate() and "TODO" not in migrate()
