"""``verify rules`` fails where no example emits a template of a row, and where one that is emitted is wrong."""

import dataclasses
from pathlib import Path

import pytest

from chainer2torch.engine import migrate_source
from chainer2torch.rules.table import load_rules
from chainer2torch.verify.judge.outcome import FAILED
from chainer2torch.verify.rules.coverage import branches, never_emitted, with_template
from chainer2torch.verify.rules.verify_rules import Plan, verify_rules

RULES = load_rules(strict=False)
ELU = "chainer.functions.elu"
POOLING = "chainer.functions.max_pooling_nd"
OWN = """
module = "mylib"

[libraries.mylib]
name = "My library"
package = "mylib"
counterpart = "torch"

[twice]
signature = "(x, scale=2)"
cases = [{ when = "scale == 1", torch = "torch.nn.functional.relu(x)" }]
torch = "torch.nn.functional.relu(x) * scale"
fallback = "torch.nn.functional.relu(x) * scale"
value = "compat.twice"
returns = "like x"
state = "exact"
[[twice.example]]
given = { x = "f32[3,4]" }
setup = "import mylib"
before = "mylib.twice(x, scale=3)"
"""


def missing(name, rules=RULES):
    """The labels of the failures that need no run: the branches that no example emits."""
    plan = Plan(rules, migrate_source)
    plan.add(rules.rows[name])
    return [outcome.pair.label for outcome in plan.outcomes if outcome.status == FAILED]


def test_own_tables_are_held_to_their_branches(tmp_path: Path):
    (tmp_path / "mylib.toml").write_text(OWN)
    assert missing("mylib.twice", load_rules([tmp_path])) == ["case `scale == 1`"]


def test_a_branch_is_missed_when_its_example_goes():
    row = RULES.rows[POOLING]
    assert missing(POOLING) == []
    fewer = dataclasses.replace(row, examples=row.examples[:3])
    assert len(missing(POOLING, RULES.replacing(fewer))) == 11


def test_a_value_counts_only_where_the_name_is_not_called():
    row = RULES.rows[POOLING]
    plan = Plan(RULES, migrate_source)
    called = dataclasses.replace(row, value=None)  # then no example calls it through a variable
    migrations = list(plan._migrations([called]))
    assert [branch.label for branch in never_emitted(row, RULES, migrations)] == ["`value`"]


@pytest.mark.parametrize(
    "name, label, old, new",
    [
        (ELU, "`value`", "torch.nn.functional.elu", "torch.nn.functional.relu"),
        (POOLING, "case `not return_indices and rank(x) == 3 and not cover_all and", "stride=stride", "stride=1"),
    ],
)
def test_a_wrong_template_that_is_emitted_fails(name, label, old, new):
    row = RULES.rows[name]
    branch = next(branch for branch in branches(row) if branch.label.startswith(label))
    wrong = with_template(row, branch, branch.template.replace(old, new))
    assert wrong != row
    report = verify_rules([name], rules=RULES.replacing(wrong))
    assert report.exit_code == 1 and any(outcome.status == FAILED for outcome in report.outcomes)


def test_rows_that_are_proved_by_tests_are_listed():
    report = verify_rules(["chainer.datasets.ImageDataset", "chainer.functions.relu"], rules=RULES)
    assert report.elsewhere == {"tests/compat/test_datasets.py": ["chainer.datasets.ImageDataset"]}
    assert any("proved by tests/compat/test_datasets.py" in line for line in report.lines())
