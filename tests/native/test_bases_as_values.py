"""A question for a class of Chainer's asks for what its objects are."""

import pytorch_pfn_extras as ppe
from tests.support.native_programs import both

PROGRAM = """
from chainer.training import extensions


def is_log(x):
    return isinstance(x, extensions.LogReport)


def make():
    return extensions.LogReport(['loss'])
"""


def test_a_log_report_is_found_by_its_class() -> None:
    theirs, ours, _ = both(PROGRAM)
    assert theirs["is_log"](theirs["make"]()) is ours["is_log"](ours["make"]()) is True
    assert isinstance(ours["make"](), ppe.training.extensions.LogReport)
    assert not ours["is_log"](3)
