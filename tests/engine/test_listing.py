"""`check --kinds`: what was inferred, as text."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from chainer2torch.cli.app import cli
from chainer2torch.engine import Options, migrate_sources

NET = """\
import chainer
import chainer.functions as F
import chainer.links as L
from base import Base


class Net(Base):
    def __init__(self, n=10):
        super().__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(None, n, 3)
            self.fc = L.Linear(None, n)

    def forward(self, x, names=()):
        h = F.max_pooling_2d(F.relu(self.conv(x)), 2)
        sizes = [len(name) for name in names]
        return self.fc(h), (lambda y: y)(sizes)


def unused():
    return unknown_name.data
"""
BASE = "import chainer\nclass Base(chainer.Chain):\n    pass\n"


def kinds(text=NET, **more):
    results = migrate_sources({"net.py": text, "base.py": BASE, **more}, options=Options(kinds=True), rewrite=False)
    return results["net.py"].kinds


def found(lines, source):
    """The kinds of a piece of source, wherever it stands."""
    return {line[72:] for line in lines if line[11:72].strip() == source}


def test_names_attributes_and_calls_have_their_kinds():
    lines = kinds()
    assert found(lines, "h") == {"tensor rank 4"}
    assert found(lines, "self") == {"instance Net"}
    assert found(lines, "L.Linear(None, n)") == {"instance chainer.links.Linear"}
    assert found(lines, "self.fc(h)") == {"tensor rank 2"}
    assert found(lines, "F.max_pooling_2d") == {"chainer.functions.max_pooling_2d"}
    assert found(lines, "sizes") == {"list of int"}
    assert found(lines, "unknown_name") == {"unknown"}


def test_each_function_has_a_heading_with_its_summary():
    headings = [line for line in kinds() if not line.startswith(" ")]
    assert headings == [
        "net.py: module",
        "net.py:8: Net.__init__(self: instance Net, n: unknown) -> None",
        "net.py:14: Net.forward(self: instance Net, x: tensor, names: unknown) -> (tensor rank 2, list of int)",
        "net.py:17: Net.forward.<lambda>(y: list of int) -> list of int",
        "net.py:20: unused() -> unknown",
    ]


def test_lines_are_in_the_order_of_the_source_and_say_where():
    lines = kinds()
    first, last = (lines.index(next(line for line in lines if name in line)) for name in ("Net.forward(", "<lambda>("))
    assert lines[first + 1].split() == ["15:9", "h", "tensor", "rank", "4"]
    places = [tuple(map(int, line.split()[0].split(":"))) for line in lines[first + 1 : last]]
    assert places == sorted(places)
    assert {line for line, _ in places} == {15, 16, 17}


def test_what_is_never_reached_says_so():
    lines = kinds("import chainer\ndef f(x):\n    return g(x)\ndef g(y):\n    return g(y)\n")
    assert any(line.endswith("g(y: unknown) -> not reached") for line in lines)


def test_the_command(tmp_path):
    (tmp_path / "base.py").write_text(BASE)
    (tmp_path / "net.py").write_text(NET)
    (tmp_path / "plain.py").write_text("x = 1\n")
    result = CliRunner().invoke(cli, ["check", "--kinds", str(tmp_path / "net.py")], standalone_mode=False)
    assert result.return_value == 0
    assert f"{tmp_path}/net.py:8: Net.__init__(self: instance Net, n: unknown) -> None" in result.output.splitlines()
    assert "base.py" not in result.output, "only what was asked for"
    assert "site" not in result.output


def test_a_file_that_does_not_parse_is_named(tmp_path):
    (tmp_path / "bad.py").write_text("import chainer\nx = (\n")
    (tmp_path / "net.py").write_text("import chainer\ny = chainer.config\n")
    result = CliRunner().invoke(cli, ["check", "--kinds", str(tmp_path)], standalone_mode=False)
    assert result.return_value == 2
    assert "chainer.config" in result.output and "bad.py:2: C2T004" in result.output


@pytest.mark.parametrize("seed", ["1", "2"])
def test_the_same_text_in_every_run(tmp_path, seed):
    program = "import sys; from tests.engine.test_listing import kinds; print('\\n'.join(kinds()))"
    output = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert output.splitlines() == kinds()
