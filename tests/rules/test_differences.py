"""The declared differences: a row may name only those that are described."""

from pathlib import Path

import pytest

from chainer2torch.rules import differences
from chainer2torch.rules.table import RulesError, load_rules


def test_every_difference_says_what_it_is_and_how_it_is_checked() -> None:
    assert {"batch-geometry", "shuffle-order", "first-values", "noise", "weight-files", "loaded-settings"} <= set(
        differences.table()
    )
    assert all(found.what.endswith(".") and found.checked.endswith(".") for found in differences.table().values())


def test_a_row_names_declared_differences_only(tmp_path: Path) -> None:
    (tmp_path / "native").mkdir()
    text = (
        'module = "chainer.functions"\n[relu]\ncases = [{ when = "rank(x) == 2", torch = "x", difference = "odd" }]\n'
    )
    (tmp_path / "native" / "f.toml").write_text(text, encoding="utf-8")
    with pytest.raises(RulesError, match="difference `odd` is not declared"):
        load_rules([tmp_path], style="native")
