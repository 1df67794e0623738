"""Every example of every row of the native style, in both frameworks: what is emitted by default runs and is equal.

Here as written; the nightly run has the call matrix, and tests/verify/test_rules.py has that of a third, faithful.
Functions whose rows are the same in both styles are run there only.
"""

import pytest

from chainer2torch.rules.table import load_rules
from tests.support import proved_rows

RULES = load_rules(strict=False, style="native")
_FUNCTIONS = ("chainer.functions.", "chainer.utils.", "chainer.distributions.")
_FAITHFUL = load_rules(strict=False).rows
NAMES = [
    name
    for name, row in RULES.rows.items()
    if row.examples and not (name.startswith(_FUNCTIONS) and _FAITHFUL.get(name) == row)
]
NAMES += [name for name, row in RULES.python.items() if row.examples and name.startswith("?.")]


@pytest.mark.parametrize("part", range(proved_rows.PARTS))
def test_no_example_of_a_row_differs(part: int) -> None:
    rows = proved_rows.part([RULES.every[name] for name in NAMES], part)
    found = proved_rows.outcomes(rows, RULES, matrix=False)
    failed = list(proved_rows.differing(found))
    assert not failed, "\n".join(failed)
    claims = [row.name for row in rows if row.state in ("exact", "close")]
    without = [name for name in claims if not any(map(proved_rows.is_compared, found[name]))]
    assert not without, without
