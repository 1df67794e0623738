"""Every example of every row of the native style, in both frameworks: what is emitted by default runs and is equal.

Here as written; the nightly run has the call matrix, and tests/verify/test_rules.py has that of a third, faithful.
Functions whose rows are the same in both styles are run there only.
"""

from chainer2torch.rules.table import load_rules
from chainer2torch.verify.judge.outcome import FAILED, PASSED
from chainer2torch.verify.rules.verify_rules import verify_rules

RULES = load_rules(strict=False, style="native")
_FUNCTIONS = ("chainer.functions.", "chainer.utils.", "chainer.distributions.")
_FAITHFUL = load_rules(strict=False).rows
NAMES = [
    name
    for name, row in RULES.rows.items()
    if row.examples and not (name.startswith(_FUNCTIONS) and _FAITHFUL.get(name) == row)
]
NAMES += [name for name, row in RULES.python.items() if row.examples and name.startswith("?.")]


def test_no_example_of_a_row_differs() -> None:
    report = verify_rules(NAMES, rules=RULES, matrix=False, timeout=900)
    failed = [f"{o.pair.row}, {o.pair.label}: " + "; ".join(o.reasons) for o in report.outcomes if o.status == FAILED]
    assert not failed, "\n".join(failed)
    assert report.problems == []
    compared = {o.pair.row for o in report.outcomes if o.status == PASSED and o.compared}
    claims = {name for name in NAMES if RULES.every[name].state in ("exact", "close")}
    assert claims <= compared, sorted(claims - compared)
