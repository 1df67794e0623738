"""A sample of the variations of every function's examples, drawn by the row's name: none has another result,
and where only Chainer raises the row says so.

`python -m tests.support.adversary chainer.functions` runs all of them (some 27,000, ten minutes).
"""

import random
import re

import pytest

from tests.support import adversary
from tests.support.adversary import Verdict

SAMPLE = 8
# Results that differ, by patterns of the row's name and the variation, with the reason (nobody's program has them).
EXPLAINED = [
    (".*", "infinite", "a derivative, or a weight of zero, beside an infinite value: nan on one of the sides"),
    (".*", "all float16|.* is narrower", "float16 is rounded at other places"),
    ("__r?(add|sub|mul|truediv|floordiv)__", ".*bool|.*integers", "reported: the number is cast"),
    ("__r?floordiv__", "zeros|special values", "a division by 0"),
    ("debug_print", ".*", "the last digits of a printed mean"),
    ("add", ".*bool", "Chainer adds a number to truth values and keeps them"),
    ("batch_normalization|r2_score|zeta|(de)?convolution_.d", ".* is wider", "parts computed in float32 by one side"),
    ("cholesky", "x .*", "the matrix is singular"),
    ("(dilated_)?convolution_.d", "axes of length 2 have length 0", "an image without channels"),
    ("group_normalization", ".* no length .*|.* have length 0", "images without pixels: PyTorch's gradient is nan"),
    ("connectionist_temporal_classification", "large", "underflow in Chainer; noted"),
    ("layer_normalization", "axes of length 3 have length 1", "0 by way of a division by nearly 0"),
    ("local_response_normalization", "k=0", "a division by nearly 0"),
    ("log_ndtr", "large", "Chainer's float32 derivative loses its digits far from 0; the row's note says so"),
    ("polygamma", "n is negative", "there is no such order"),
    ("rrelu", "special values|r is negative", "slopes that are not positive hide the sign of x from Chainer"),
    ("simplified_dropconnect|zoneout", "train=.*|ratio=.*", "random"),
]
# What PyTorch takes in silence where Chainer raises, by the kind of variation: the row's note must speak of it. (What
# is empty broadcasts to nothing; an argument of another type is nobody's.)
IN_SILENCE = [
    (r".* length 0|.* no length .*|nothing along .*", ""),
    (r"all (integers|bool)|\w+ is (of integers|bool)", "float|dtype|integers"),
    (r"all float\d\d|\w+ is (narrower|wider)", "dtype|float32"),
    (r"axes of .*|first element|\w+ (has|is longer) .*|\w+ is a scalar", "shape|length|equal|fit|broadcast|axes|axis"),
]
ROWS = [
    name
    for name, row in sorted(adversary.RULES.rows.items())
    if name.startswith(("chainer.functions.", "chainer.Variable.")) and row.examples
]


def _explanation(name: str, variation: str) -> str | None:
    return next(
        (why for row, pattern, why in EXPLAINED if re.fullmatch(row, name) and re.fullmatch(pattern, variation)), None
    )


def _is_function(name: str) -> bool:
    """Whether it is a function. Its class (chainer.functions.activation.relu.ReLU) refuses what its own row says."""
    return name.startswith("chainer.functions.") and name.count(".") == 2


@pytest.mark.parametrize("name", ROWS)
def test_no_variation_has_another_result(name):
    row, last = adversary.RULES.rows[name], name.rsplit(".", 1)[1]
    cases = list(adversary.cases(row))
    for case in random.Random(name).sample(cases, min(SAMPLE, len(cases))):
        finding = case.judge()
        if finding.verdict is Verdict.DIFFERENT:
            assert _explanation(last, case.label), str(finding)
        elif finding.verdict is Verdict.SILENT and (_is_function(name) or last.startswith("__")):
            words = next((words for pattern, words in IN_SILENCE if re.fullmatch(pattern, case.label)), "")
            assert re.search(words, row.note), f"the note of {name} does not say it: {finding}"


def test_a_wrong_default_is_found(monkeypatch):
    row = adversary.RULES.rows["chainer.functions.leaky_relu"]
    migrate = adversary._migrate
    monkeypatch.setattr(
        adversary,
        "_migrate",
        lambda source, hints: (
            migrate(source, hints)[0].replace("negative_slope=0.2", "negative_slope=0.01"),
            "",
            None,
        ),
    )
    found = {case.judge().verdict for case in adversary.cases(row) if case.example == 0}
    assert Verdict.DIFFERENT in found


def test_what_only_chainer_refuses_is_seen():
    row = adversary.RULES.rows["chainer.functions.relu"]
    verdicts = {case.label: case.judge().verdict for case in adversary.cases(row) if case.example == 0}
    assert verdicts["x is of integers"] is Verdict.SILENT
    assert verdicts["ties"] is verdicts["Fortran's order"] is Verdict.SAME
