"""Programs in the native style beside their originals: both are migrated, run on the same inputs, and given back."""

import sys
import types
from unittest import mock

import numpy as np
import torch

from chainer2torch.engine import migrate_source
from chainer2torch.rules.table import load_rules
from chainer2torch.vendor import compat_file, said

RULES = load_rules(style="native", lazy=True)
HEAD = """
import numpy as np
import chainer
import chainer.functions as F
"""


def migrated(text):
    source = HEAD + text
    result = migrate_source(source, rules=RULES)
    assert result.error is None, result.error
    return result


def run(text):
    """What the original and what its migration give for the same inputs, and the migrated text."""
    source = HEAD + text
    result = migrated(text)
    rng = np.random.RandomState(0)
    xs = [rng.randn(1, 2).astype("f") for _ in range(4)]
    theirs: dict = {}
    exec(compile(source, "<original>", "exec"), theirs)
    compat = types.ModuleType("chainer_compat")
    exec(
        compile(compat_file.build(result.helpers, style="native", said=said.words(result.code)), "<helpers>", "exec"),
        compat.__dict__,
    )
    ours: dict = {}
    with mock.patch.dict(sys.modules, chainer_compat=compat):
        exec(compile(result.code, "<migrated>", "exec"), ours)
    return theirs["run"](xs), ours["run"]([torch.from_numpy(x) for x in xs]), result.code
