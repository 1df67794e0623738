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
    assert "not in the range" in migrate("--chainer-version", "8")
