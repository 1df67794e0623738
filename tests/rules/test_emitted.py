"""What every example of every row becomes is what the record has: no guard and no template changes a text unseen.

Whether a text is right is shown where the examples run (test_native_rows.py, tests/verify/test_rules.py). Where a text
was meant to change: `python -m tests.support.emitted`, and read the difference.
"""

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

from chainer2torch.engine import migrate_source
from chainer2torch.rules.table import load_rules
from chainer2torch.verify.rules import emitted
from tests.support import proved_rows
from tests.support.emitted import FOLDER

ROOT = Path(__file__).resolve().parents[2]
RULES = {style: load_rules(strict=False, style=style) for style in emitted.STYLES}
ROWS = {style: [row for row in rules.every.values() if row.examples] for style, rules in RULES.items()}


@pytest.mark.parametrize("part", range(proved_rows.PARTS))
@pytest.mark.parametrize("style", emitted.STYLES)
def test_the_record_has_what_the_examples_become(style, part):
    record = emitted.Record.read(FOLDER, style)
    problems = [
        problem
        for row in proved_rows.part(ROWS[style], part)
        for problem in record.problems(row.name, emitted.of_row(row, RULES[style], migrate_source))
    ]
    assert not problems, "\n".join(problems) + "\nIf that is meant: python -m tests.support.emitted"


@pytest.mark.parametrize("style", emitted.STYLES)
def test_the_record_has_no_row_that_is_gone(style):
    gone = set(emitted.Record.read(FOLDER, style).rows) - {row.name for row in ROWS[style]}
    assert not gone, f"python -m tests.support.emitted: {sorted(gone)}"


def test_what_is_written_is_read_again(tmp_path):
    one = {"1": "x = [\n    a,\n]\nx", f"1{emitted.BLIND}": "y"}
    other = {"1": "z"}
    texts = {"faithful": {"F.a": one, "F.b": one}, "native": {"F.a": one, "F.b": other}}
    emitted.write(tmp_path, texts, {"F.a": "functions/a.toml", "F.b": "functions/b.toml"})
    assert emitted.Record.read(tmp_path, "faithful").rows == texts["faithful"]
    native = emitted.Record.read(tmp_path, "native")
    assert native.rows == texts["native"]
    assert [path.name for path in sorted((tmp_path / "native").rglob("*.txt"))] == ["b.txt"]
    assert not list(native.problems("F.b", other))
    (problem,) = native.problems("F.b", {"1": "w"})
    assert "the record has\nz\nand it becomes\nw" in problem


def test_a_guard_that_chooses_a_form_with_the_same_values_is_noticed():
    """`torch.zeros(3, dtype=...)` for `torch.zeros(3, dtype=native.torch_dtype(...))`: only the text is another one."""
    name = "xp.Module.zeros"
    row = RULES["native"].every[name]
    guards = [dataclasses.replace(case, when="on_device()") for case in row.cases[1:]]
    wrong = RULES["native"].replacing(dataclasses.replace(row, cases=tuple(guards)))
    record = emitted.Record.read(FOLDER, "native")
    assert list(record.problems(name, emitted.of_row(row, wrong, migrate_source)))


def test_the_report_tells_values_from_the_record():
    """By the command itself: such a run makes its process one without Chainer."""
    words = ["xp.Module.identity", "--style", "native", "--mutants", "all,0", "--record", str(FOLDER)]
    done = subprocess.run(
        [sys.executable, "-m", "chainer2torch", "verify", "rules", *words], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = (line.split() for line in done.stdout.splitlines() if line.startswith("row ") and " all " in line)
    assert int(row[3]) > 0 and int(row[4]) > 0, done.stdout  # killed, and recorded
