"""A row that names its proof elsewhere names something that is there."""
import re
from pathlib import Path

import pytest

from chainer2torch.rules import Row, load_rules

ROOT = Path(__file__).resolve().parents[2]
ROWS = [row for row in load_rules(strict=False).rows.values() if row.proof]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_proof_is_there(row: Row) -> None:
    assert row.proof is not None
    if row.proof.endswith(".py"):
        text = (ROOT / row.proof).read_text(encoding="utf-8")
        last = row.name.rsplit(".", 1)[1]
        assert re.search(rf"\b{re.escape(last)}\b", text), f"{row.proof} does not use `{last}`"
    else:
        other = load_rules(strict=False).find(row.proof)
        assert other is not None and other.examples, f"no row with examples is called {row.proof}"
