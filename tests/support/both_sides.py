"""Runs a Chainer program as it is and migrated, in one process, and compares what it defines."""

import sys
import textwrap
from pathlib import Path

import chainer2torch
from chainer2torch.engine import migrate_source
from chainer2torch.verify.worker import compat_module
from tests.support.links import check_link

HEAD = """\
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
"""


def both(source, *, left=(), head=HEAD):
    """The namespaces of the original and of its migration; ``left`` are the symbols that may stay for a person."""
    source = head + textwrap.dedent(source)
    result = migrate_source(source)
    assert result.error is None
    assert sorted({s.symbol for s in result.sites if s.state in ("manual", "review")}) == sorted(left), result.code
    again = migrate_source(result.code)
    assert again.code == result.code, "a second run changes nothing"
    original, migrated = {"__name__": "original"}, {"__name__": "migrated"}
    exec(compile(source, "<original>", "exec"), original)
    if "chainer_compat" not in sys.modules:
        compat_module.install(str(Path(chainer2torch.__file__).parent / "compat"))
    exec(compile(result.code, "<migrated>", "exec"), migrated)
    migrated["__code__"] = result.code
    return original, migrated


def check_class(source, inputs, *, name="Net", left=(), head=HEAD, **options):
    """Trains the class (or factory) ``name`` in both, from the same weights; returns the migrated text."""
    original, migrated = both(source, left=left, head=head)
    check_link(original[name], migrated[name], inputs, **options)
    return migrated["__code__"]
