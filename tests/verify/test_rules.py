"""Every example of every row in both frameworks: the proof behind `exact`.

A third of the rows has its call matrix here, always the same; all have it in the nightly run (`verify rules`).
"""

import json
import os
import time
import zlib

import pytest

from chainer2torch.rules.table import load_rules
from chainer2torch.verify.judge.outcome import FAILED, PASSED
from chainer2torch.verify.rules.verify_rules import verify_rules

RULES = load_rules(strict=False)
ROWS = sorted(name for name, row in RULES.every.items() if row.examples)

WITH_MATRIX = {name for name in RULES.every if zlib.crc32(name.encode()) % 3 == 0}


@pytest.fixture(scope="session")
def cases(tmp_path_factory, request):
    """All cases by row, run once: under xdist the first process runs them and the others read what it wrote."""
    worker = getattr(request.config, "workerinput", None)
    if worker is None:
        return _run()
    shared = tmp_path_factory.getbasetemp().parent
    done, lock = shared / "rules.json", shared / "rules.lock"
    try:
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        deadline = time.time() + 1800
        while not done.exists() and time.time() < deadline:
            time.sleep(0.2)
        return json.loads(done.read_text())
    result = _run()
    part = shared / "rules.part"
    part.write_text(json.dumps(result))
    part.rename(done)
    return result


def _run():
    report = verify_rules(rules=RULES, matrix=WITH_MATRIX, timeout=900)
    assert report.problems == []
    found = {}
    for outcome in report.outcomes:
        found.setdefault(outcome.pair.row, []).append(
            [outcome.pair.label, outcome.pair.dtype, outcome.status, outcome.compared, outcome.reasons]
        )
    return found


@pytest.mark.parametrize("name", ROWS)
def test_row(cases, name):
    outcomes = cases[name]
    failed = [f"{label}: " + "; ".join(reasons) for label, _, status, _, reasons in outcomes if status == FAILED]
    assert not failed, "\n".join(failed)
    row = RULES.every[name]
    if row.state in ("exact", "close"):
        for index in range(len(row.examples)):
            start = f"example {index + 1}, as written"
            assert any(
                label.startswith(start) and status == PASSED and compared for label, _, status, compared, _ in outcomes
            ), f"{start}: nothing was compared: {outcomes}"
