"""Every example of every row in both frameworks: the proof behind `exact`.

A third of the rows has its call matrix here, always the same; all have it in the nightly run (`verify rules`).
"""

import zlib

import pytest

from chainer2torch.rules.table import load_rules
from tests.support import proved_rows

RULES = load_rules(strict=False)
ROWS = [row for row in RULES.every.values() if row.examples]

WITH_MATRIX = {name for name in RULES.every if zlib.crc32(name.encode()) % 3 == 0}


@pytest.mark.parametrize("part", range(proved_rows.PARTS))
def test_examples(part):
    rows = proved_rows.part(ROWS, part)
    found = proved_rows.outcomes(rows, RULES, WITH_MATRIX)
    failed = list(proved_rows.differing(found))
    failed += [f"{row.name}: {text}" for row in rows for text in _not_compared(row, found[row.name])]
    assert not failed, "\n".join(failed)


def _not_compared(row, cases):
    """The examples of a row that claims something, of which nothing was compared as they are written."""
    if row.state in ("exact", "close"):
        for index in range(len(row.examples)):
            start = f"example {index + 1}, as written"
            if not any(one.pair.label.startswith(start) and proved_rows.is_compared(one) for one in cases):
                yield f"{start}: nothing was compared: {cases}"


def test_each_row_is_in_one_part():
    names = [row.name for part in range(proved_rows.PARTS) for row in proved_rows.part(ROWS, part)]
    assert sorted(names) == sorted(row.name for row in ROWS)
